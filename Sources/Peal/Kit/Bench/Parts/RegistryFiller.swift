internal import Core
internal import EventLoop
internal import Redis
internal import Registry

/// Registers a device for each of many recipients with commands in a pipeline: one at a time would take
/// minutes for millions.
///
/// The device records are those of a registration by the gateway; the index of the tokens' owners, which only
/// registrations read, is left out.
final class RegistryFiller: RedisReplyHandler {
    private var failure: RedisFailure?

    private init() {}

    /// Registers the device `phone` for `user-0`, `user-1` and so on.
    /// - Throws: `.redis` when the store refuses one or stops answering.
    static func fill(_ endpoint: RedisEndpoint, app: String, recipients: Int) throws(StackFailure) {
        let filler = RegistryFiller()
        let loop: EventLoop
        do throws(SystemFailure) { loop = try EventLoop() } catch {
            throw StackFailure(.redis, "registering the devices failed: \(error)")
        }
        var options = RedisClientOptions(endpoint: endpoint)
        options.scripts = [RegistryScripts.putDevice]
        options.whenDisconnected = .hold
        // On a busy machine a full pipeline may take its time.
        options.timeoutMs = 30_000
        let client = RedisClient(loop: loop, options: options, handler: filler)
        defer { client.close() }
        client.start()
        let deadlineMs = Clock.monotonicMs + 30_000
        while !client.isReady, Clock.monotonicMs < deadlineMs { loop.runOnce(maxWaitMs: 100) }
        for number in 0..<recipients {
            guard let record = record(number) else { continue }
            filler.register("user-\(number)", record, app: app, client: client)
            // A turn of the loop sends what has gathered; half a pipeline is enough to keep the store busy.
            if number % 512 == 511 { loop.runOnce(maxWaitMs: 0) }
            while client.inFlight > 8_192, filler.failure == nil { loop.runOnce(maxWaitMs: 1_000) }
            if filler.failure != nil { break }
        }
        while client.inFlight > 0, filler.failure == nil { loop.runOnce(maxWaitMs: 1_000) }
        if let failure = filler.failure {
            throw StackFailure(.redis, "registering the devices failed: \(failure)")
        }
    }

    private static func record(_ number: Int) -> [UInt8]? {
        var token = ByteBuffer(capacity: 64)
        BenchJobs.append(token: UInt64(number), to: &token)
        return DeviceRecord(
            platform: .ios, token: token.text, registeredAtMs: Clock.wallMs, isSandbox: false,
            locale: "en_GB", timeZone: "Europe/London", appVersion: "4.2.0"
        ).encoded
    }

    private func register(_ recipient: String, _ record: [UInt8], app: String, client: RedisClient) {
        let refusal = RecipientReference.with(app: app, recipient: recipient) { reference in
            client.issue(RedisTag(kind: 0, value: 0)) { out in
                out.begin(RegistryScripts.putDevice, keys: 1, arguments: 5)
                out.argument { RegistryKeys.devices(reference, into: &$0) }
                out.argument(text: recipient)
                out.argument(text: "phone")
                out.argument(array: record)
                out.argument(decimal: Int64(DeviceDirectory.devicesMax))
                out.argument(decimal: DeviceDirectory.staleAfterMs)
            }
        }
        if let refusal { failure = RedisFailure(refusal, "the command was not taken") }
    }

    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {}

    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) { self.failure = failure }
}
