/// The program that sends with aioapns, the client of `peal bench peers`.
enum PeerScript {
    /// What it is given, in order: host, port, CA file, key file, key id, team id, topic, requests,
    /// requests in flight, bytes of a body, and `asyncio` or `uvloop`. It prints one JSON object.
    ///
    /// aioapns knows Apple's address only, so the two attributes that hold it are set; everything else is its
    /// public interface. It opens another connection only when one is full.
    static let text = """
        import asyncio
        import json
        import logging
        import platform
        import ssl
        import sys
        import time
        import uuid
        from importlib.metadata import version

        from aioapns import APNs, NotificationRequest, PushType
        from aioapns.connection import APNsProductionClientProtocol

        host, port, ca_file, key_file, key_id, team_id, topic = sys.argv[1:8]
        requests, in_flight, body_bytes = (int(word) for word in sys.argv[8:11])
        loop_kind = sys.argv[11]

        logging.disable(logging.WARNING)
        APNsProductionClientProtocol.APNS_SERVER = host
        APNsProductionClientProtocol.APNS_PORT = int(port)


        def message(number):
            empty = {"aps": {"alert": {"title": "Trade executed", "body": ""}}}
            spare = max(1, body_bytes - len(json.dumps(empty)))
            empty["aps"]["alert"]["body"] = str(number).rjust(spare, "x")
            return empty


        async def main():
            context = ssl.create_default_context(cafile=ca_file)
            context.set_alpn_protocols(["h2"])
            with open(key_file) as file:
                key = file.read()
            client = APNs(
                key=key, key_id=key_id, team_id=team_id, topic=topic, ssl_context=context)
            numbers = iter(range(requests))
            succeeded = 0

            async def lane():
                nonlocal succeeded
                for number in numbers:
                    request = NotificationRequest(
                        device_token="%064x" % (number * 2654435761 + 1),
                        message=message(number), notification_id=str(uuid.uuid4()),
                        priority=10, push_type=PushType.ALERT)
                    result = await client.send_notification(request)
                    succeeded += result.is_successful

            start, cpu = time.monotonic(), time.process_time()
            await asyncio.gather(*(lane() for _ in range(in_flight)))
            seconds = time.monotonic() - start
            print(json.dumps({
                "succeeded": succeeded, "us": round(seconds * 1e6),
                "cpu_us": round((time.process_time() - cpu) * 1e6), "version": version("aioapns"),
                "python": platform.python_version(),
                "connections": len(client.pool.connections)}))
            client.pool.close()


        if loop_kind == "uvloop":
            import uvloop
            uvloop.run(main())
        else:
            asyncio.run(main())

        """
}
