import Core
import HTTP2
import Testing

@testable import HTTP2

/// Requests and answers over real TLS sockets when nothing fails.
@Suite(.bothSessions) struct PoolDeliveryTests {
    @Test func tenThousandDistinctRequestsGetTheirOwnAnswers() throws {
        let rig = try Rig()
        defer { rig.end() }
        var wrongPaths = 0
        rig.scripted.handler = { request, connection, server in
            let id = ScriptedServer.text(request[.apnsID])
            let path = ScriptedServer.text(request[.path])
            if path != "/3/device/" + id.dropFirst(3) { wrongPaths += 1 }
            if ScriptedServer.text(request[.contentLength]) != "\(request.body.count)" { wrongPaths += 1 }
            server.answer(request, connection)
        }
        let total: UInt64 = 10_000
        var next: UInt64 = 0
        while next < 2_000 {
            #expect(rig.submit(next, bodyBytes: Int(next % 300)))
            next += 1
        }
        rig.outcomes.onOutcome = { _ in
            if next < total {
                rig.submit(next, bodyBytes: Int(next % 300))
                next += 1
            }
        }
        // An empty body has no content-length header.
        #expect(rig.turn(untilOutcomes: Int(total)))
        rig.outcomes.onOutcome = { _ in }
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.outcomes.repeated == 0)
        #expect(rig.scripted.seen.count == Int(total))
        #expect(rig.scripted.seen.values.allSatisfy { $0 == 1 })
        for (tag, answer) in rig.outcomes.answers {
            guard answer.status == 200, answer.id == Rig.id(tag), answer.body == Rig.body(tag, Int(tag % 300))
            else {
                Issue.record("tag \(tag) got \(answer)")
                break
            }
        }
        // Each hundredth or so request has no body, and those only.
        #expect(wrongPaths == (0..<Int(total)).count { $0 % 300 == 0 })
    }

    @Test func largeBodiesPassThroughTheDefaultFlowControlWindows() throws {
        let rig = try Rig()
        defer { rig.end() }
        for tag in 0..<UInt64(1_000) { #expect(rig.submit(tag, bodyBytes: 4_096)) }
        #expect(rig.turn(untilOutcomes: 1_000))
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.outcomes.answers.allSatisfy { $0.value.body == Rig.body($0.key, 4_096) })
    }

    @Test func aStreamLimitThatShrinksAndGrowsUnderLoadIsObeyed() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 100
        var limits = PoolLimits()
        limits.connectionsMax = 1
        limits.shrunkMs = 60_000
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(2_000) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.scripted.held.count == 100 })
        #expect(rig.pool.snapshot.streams == 100)

        rig.server.connections.first?.setMaxConcurrentStreams(1)
        #expect(rig.turn { rig.pool.snapshot.streamLimit == 1 })
        rig.scripted.release()
        var most = 0
        let received = rig.scripted.received
        #expect(
            rig.turn {
                most = max(most, rig.scripted.held.count)
                rig.scripted.release()
                return rig.scripted.received >= received + 50
            })
        #expect(most == 1)

        rig.server.connections.first?.setMaxConcurrentStreams(100)
        #expect(rig.turn { rig.scripted.held.count == 100 })
        rig.scripted.handler = ScriptedServer.accept
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 2_000))
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.scripted.seen.values.allSatisfy { $0 == 1 })
    }

    @Test func thePoolAddsConnectionsWhenStreamsRunOutAndSharesThemFairly() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 10
        var limits = PoolLimits()
        limits.connectionsMax = 4
        limits.growAfterMs = 1
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(60) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.scripted.held.count == 40 })
        #expect(rig.pool.snapshot.open == 4)
        #expect(rig.pool.snapshot.waiting == 20)
        #expect(rig.pool.connections.map(\.inFlight) == [10, 10, 10, 10])
        rig.scripted.handler = ScriptedServer.accept
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 60))
        // Few requests spread over all connections.
        rig.scripted.handler = ScriptedServer.hold
        for tag in 100..<UInt64(128) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.scripted.held.count == 28 })
        #expect(rig.pool.connections.map(\.inFlight).allSatisfy { $0 >= 4 })
    }

    @Test func aServerWithoutALimitIsHeldToOurOwn() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = nil
        var limits = PoolLimits()
        limits.streamsMax = 7
        limits.connectionsMax = 1
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(20) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.scripted.held.count == 7 })
        #expect(rig.pool.snapshot.streamLimit == 7)
        rig.scripted.handler = ScriptedServer.accept
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 20))
        #expect(rig.outcomes.failures.isEmpty)
    }

    @Test func aLimitOfOneStreamDoesNotMakeThePoolOpenMoreConnections() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 1
        var limits = PoolLimits()
        limits.growAfterMs = 1
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        // The server opens up after the first accepted request, as APNs does with token authentication.
        rig.scripted.handler = { request, connection, server in
            #expect(server.opened == 1)
            server.answer(request, connection)
            if server.received == 20 { connection.setMaxConcurrentStreams(100) }
        }
        for tag in 0..<UInt64(200) { #expect(rig.submit(tag)) }
        #expect(rig.turn(untilOutcomes: 200))
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.scripted.opened == 1)
    }

    @Test func aReplacedTemplateReachesLaterRequestsOnly() throws {
        let rig = try Rig()
        defer { rig.end() }
        var tokens: [String] = []
        rig.scripted.handler = { request, connection, server in
            tokens.append(ScriptedServer.text(request[.authorization]))
            server.answer(request, connection)
        }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        try rig.pool.replaceTemplate(
            rig.template,
            HeaderTemplate(authority: "127.0.0.1", fields: [.init("authorization", "bearer two")]))
        rig.submit(2)
        #expect(rig.turn(untilOutcomes: 2))
        #expect(tokens == ["bearer one", "bearer two"])
    }

    @Test func aFullPoolRefusesAndTakesAgainWhenOneIsDone() throws {
        var limits = PoolLimits()
        limits.requestsMax = 3
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        for tag in 0..<UInt64(3) { #expect(rig.submit(tag)) }
        #expect(!rig.submit(3))
        #expect(rig.pool.room == 0)
        var tookFromSink = false
        rig.outcomes.onOutcome = { tag in if tag == 0 { tookFromSink = rig.submit(10) } }
        #expect(rig.turn(untilOutcomes: 4))
        #expect(tookFromSink)
        #expect(rig.pool.snapshot.refused == 1)
    }

    @Test func aDrainFinishesWhatWasAcceptedAndRefusesMore() throws {
        let rig = try Rig()
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(20) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.scripted.held.count == 20 })
        rig.pool.drain(deadlineMs: 10_000)
        #expect(!rig.submit(99))
        rig.scripted.release()
        #expect(rig.turn { rig.pool.isDown })
        #expect(rig.outcomes.answers.count == 20)
        #expect(rig.turn { rig.scripted.closed == 1 })
    }

    @Test func aDrainThatTakesTooLongFailsTheRestAsAmbiguous() throws {
        let rig = try Rig()
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        rig.submit(1)
        #expect(rig.turn { rig.scripted.held.count == 1 })
        rig.pool.drain(deadlineMs: 1)
        #expect(rig.turn { rig.pool.isDown })
        #expect(rig.outcomes.failures[1]?.code == .ambiguous)
    }

    @Test func theSinkMayCloseThePoolFromItsCall() throws {
        let rig = try Rig()
        defer { rig.end() }
        rig.outcomes.onOutcome = { tag in if tag == 5 { rig.pool.close() } }
        for tag in 0..<UInt64(10) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.pool.isDown })
        #expect(rig.outcomes.count == 10)
        #expect(rig.outcomes.repeated == 0)
    }
}
