import Core
import EventLoop
import HTTP2
import Security
import Testing

@testable import SimulatorKit

@Suite("Faults over real sockets", .serialized)
struct WireFaultTests {
    private let body = RunningSimulator.body
    private func path(_ number: Int) -> String { RunningSimulator.path(number) }

    @Test("A swallowed stream is never answered, the others are") func swallow() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        _ = client.send(path: path(1), body: body)
        let lost = client.submit(path: "/3/device/fa11fa11000100000000", body: body, deadlineMs: 800)
        let others = (2..<10).map { client.submit(path: path($0), body: body) }
        #expect(client.wait(others).allSatisfy { $0.status == 200 })
        #expect(client.wait([lost])[0].failure?.code == .timedOutSent)
        let request = try #require(running.simulator.record.requests(token: "fa11fa11000100000000").first)
        #expect(request.action == .swallow && !request.delivered && request.status == 0)
    }

    @Test("A reset after processing is ambiguous and counts as delivered; REFUSED_STREAM is resent")
    func reset() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        let after = client.send(path: "/3/device/fa11fa11000900000000", body: body)
        #expect(after.failure?.code == .ambiguous)
        #expect(running.simulator.record.requests(token: "fa11fa11000900000000").first?.delivered == true)
        let refused = client.send(path: "/3/device/fa11fa11000301000000", body: body)
        #expect(refused.status == 200)
        #expect(running.simulator.record.requests(token: "fa11fa11000301000000").map(\.status) == [0, 200])
    }

    @Test("GOAWAY before the stream: it is resent elsewhere, nothing is lost or doubled")
    func goawayPrevious() throws {
        let running = try RunningSimulator()
        try running.simulator.setFaults(
            "{\"rules\":[{\"connection_request\":20,\"answer\":{\"action\":\"goaway\",\"reason\":\"Shutdown\"}}]}"
        )
        let client = try running.apns()
        let tags = (0..<60).map { client.submit(path: path($0), body: body) }
        #expect(client.wait(tags).allSatisfy { $0.status == 200 })
        let summary = running.simulator.record.summary()
        #expect(summary.deliveries == 60)
        #expect(summary.duplicates == 0)
        #expect((running.simulator.stats()?.goaways ?? 0) >= 2)
    }

    @Test("GOAWAY after the stream: it is answered") func goawayThis() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        #expect(client.send(path: "/3/device/fa11fa11000700000000", body: body).status == 200)
        #expect(client.send(path: path(2), body: body).status == 200)
        let connections = running.simulator.record.requests(from: 0, limit: 2).map(\.connection)
        #expect(connections == [1, 2])
    }

    @Test("A killed connection leaves its requests ambiguous, and the next ones get a new connection")
    func kill() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        #expect(client.send(path: path(1), body: body).status == 200)
        #expect(client.send(path: "/3/device/fa11fa11000400000000", body: body).failure?.code == .ambiguous)
        #expect(client.send(path: path(2), body: body).status == 200)
        #expect(client.send(path: "/3/device/fa11fa11000500000000", body: body).failure?.code == .ambiguous)
        #expect(client.send(path: path(3), body: body).status == 200)
        #expect(running.simulator.stats()?.connections.first == 3)
    }

    @Test("Every answer waits its delay, in order") func delay() throws {
        let running = try RunningSimulator { $0.delayMs = 60 }
        let client = try running.apns()
        let start = Clock.monotonicMs
        let slow = client.submit(path: "/3/device/fa11fa11000800012c", body: body)
        let tags = (0..<20).map { client.submit(path: path($0), body: body) }
        #expect(client.wait(tags).allSatisfy { $0.status == 200 })
        #expect(Clock.monotonicMs - start >= 60)
        #expect(client.wait([slow])[0].status == 200)
        #expect(Clock.monotonicMs - start >= 300)
    }

    @Test("One stream until the first valid token, then many") func firstToken() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        client.pool.warmUp()
        #expect(client.run { client.pool.snapshot.open == 1 && client.pool.snapshot.streamLimit == 1 })
        #expect(client.send(path: path(1), body: body).status == 200)
        #expect(client.run { client.pool.snapshot.streamLimit == 1000 })
        let stranger = try running.apns(token: "a.b.c")
        #expect(stranger.send(path: path(1), body: body).status == 403)
        #expect(stranger.pool.snapshot.streamLimit == 1)
    }

    @Test("Stream limits shrink and grow by script, and no request is lost") func streams() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        #expect(client.send(path: path(1), body: body).status == 200)
        try running.simulator.setFaults(
            "{\"events\":[{\"do\":{\"max_streams\":2}}],\"rules\":[{\"answer\":{\"delay_ms\":5}}]}")
        #expect(client.run { client.pool.snapshot.streamLimit == 2 })
        let tags = (0..<30).map { client.submit(path: path($0), body: body) }
        #expect(client.wait(tags).allSatisfy { $0.status == 200 })
        try running.simulator.setFaults("{\"events\":[{\"at_ms\":10,\"do\":{\"max_streams\":50}}]}")
        #expect(client.run { client.pool.snapshot.streamLimit == 50 })
    }

    @Test("GOAWAY, kill and TLS close by event reach idle connections") func events() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        for action in ["goaway", "kill", "tls_close"] {
            #expect(client.send(path: path(1), body: body).status == 200)
            let before = client.pool.snapshot.connects
            try running.simulator.setFaults(
                "{\"events\":[{\"do\":{\"action\":\"\(action)\",\"last_stream\":\"all\"}}]}")
            #expect(
                client.run {
                    client.send(path: path(2), body: body).status == 200
                        && client.pool.snapshot.connects > before
                })
        }
    }

    @Test("Refused connections: requests wait, and go out once the window is over") func refusedConnections()
        throws
    {
        let running = try RunningSimulator()
        try running.simulator.setFaults(
            "{\"events\":[{\"do\":{\"refuse_connections\":true}},{\"at_ms\":200,\"do\":{\"refuse_connections\":false}}]}"
        )
        var limits = PushClient.limits
        limits.failWaitingAfterConnects = 1000
        let client = try running.apns(limits: limits)
        #expect(client.send(path: path(1), body: body).status == 200)
        #expect((running.simulator.stats()?.connectionsRefused ?? 0) > 0)
        #expect(client.pool.snapshot.connectFailures > 0)
    }

    @Test("A hung server and one that sends garbage are noticed") func hungAndGarbage() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        #expect(client.send(path: path(1), body: body).status == 200)
        try running.simulator.setFaults("{\"events\":[{\"do\":\"garbage\"}]}")
        #expect(client.run { client.pool.snapshot.open == 0 })
        #expect(client.send(path: path(2), body: body).status == 200)
        try running.simulator.setFaults("{\"events\":[{\"do\":\"hang\"}]}")
        let lost = client.send(path: path(3), body: body, deadlineMs: 500)
        #expect(lost.failure?.code == .timedOutSent || lost.failure?.code == .ambiguous)
    }

    @Test("A window of 503 with Retry-After, with its own body") func window() throws {
        let running = try RunningSimulator()
        try running.simulator.setFaults(
            "{\"rules\":[{\"provider\":\"fcm\",\"first\":3,\"answer\":{\"error\":\"UNAVAILABLE\",\"retry_after\":7}},"
                + "{\"provider\":\"apns\",\"first\":1,\"answer\":{\"status\":500,\"body\":\"<oops>\",\"content_type\":\"text/plain\"}}]}"
        )
        let fcm = try running.fcm()
        let outcomes = (0..<4).map { _ in fcm.send(path: running.sendPath, body: running.message("t")) }
        #expect(outcomes.map(\.status) == [503, 503, 503, 200])
        #expect(outcomes.prefix(3).allSatisfy { $0.retryAfter == "7" })
        let apns = try running.apns().send(path: path(1), body: body)
        #expect(apns.status == 500)
        #expect(apns.body == "<oops>")
    }

    @Test("Retry-After as a date") func retryDate() throws {
        let running = try RunningSimulator()
        try running.simulator.setFaults(
            "{\"rules\":[{\"answer\":{\"status\":503,\"retry_after\":90,\"retry_after_date\":true}}]}")
        let outcome = try running.apns().send(path: path(1), body: body)
        let candidates = (80...90).map { HTTPDate.text(ms: Clock.wallMs + $0 * 1000) }
        #expect(candidates.contains(outcome.retryAfter))
    }

    @Test("An hour passes when the clock is moved") func clock() throws {
        let running = try RunningSimulator()
        let client = try running.apns()
        #expect(client.send(path: path(1), body: body).status == 200)
        running.simulator.setClockOffset(ms: 3_700_000)
        let late = client.send(path: path(1), body: body)
        #expect(late.status == 403)
        #expect(late.json?["reason"]?.string == "ExpiredProviderToken")
    }
}
