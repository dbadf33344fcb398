import Core
import EventLoop
import HTTP2
import Security
import Testing

@testable import HTTP2

/// What the pool makes of servers that fail, each on real TLS sockets.
@Suite(.bothSessions) struct PoolFaultTests {
    static func quick() -> PoolLimits {
        var limits = PoolLimits()
        limits.session = SessionUnderTest.kind
        limits.backoffFirstMs = 5
        limits.backoffMaxMs = 20
        limits.connectionsMax = 1
        limits.connectEveryMs = 0
        return limits
    }

    @Test func goAwayWithAChosenLastStreamLosesNothingAndRepeatsNothing() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        var processed: [String: Int] = [:]
        var lastStreams: [UInt64: Int32] = [:]
        rig.scripted.handler = { request, connection, server in
            if let last = lastStreams[connection.number], request.streamID > last { return }
            processed[ScriptedServer.text(request[.apnsID]), default: 0] += 1
            server.answer(request, connection)
            if connection.number <= 3, request.streamID == 101 {
                lastStreams[connection.number] = 101
                connection.goAway(lastStreamID: 101, .noError)
            }
        }
        for tag in 0..<UInt64(1_000) { #expect(rig.submit(tag)) }
        #expect(rig.turn(untilOutcomes: 1_000))
        #expect(rig.outcomes.answers.count == 1_000)
        #expect(rig.outcomes.repeated == 0)
        #expect(processed.count == 1_000)
        #expect(processed.values.allSatisfy { $0 == 1 })
        #expect(rig.pool.snapshot.goAways == 3)
        #expect(rig.pool.snapshot.resends > 0)
    }

    @Test func aGracefulGoAwayLetsRequestsInFlightFinish() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(10) { rig.submit(tag) }
        #expect(rig.turn { rig.scripted.held.count == 10 })
        rig.server.connections.first?.goAway(lastStreamID: .max, .noError)
        #expect(rig.turn { rig.pool.snapshot.goAways == 1 })
        rig.submit(20)
        #expect(rig.turn { rig.scripted.held.count == 11 })
        #expect(rig.scripted.opened == 2)
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 11))
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.pool.snapshot.resends == 0)
    }

    @Test func aServerThatNeverProcessesIsGivenUpWithItsReason() throws {
        var limits = Self.quick()
        limits.failWaitingAfterConnects = 10
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        let reason = Array(#"{"reason":"ExpiredProviderToken"}"#.utf8)
        rig.scripted.handler = { _, connection, _ in
            connection.goAway(lastStreamID: 0, .enhanceYourCalm, debugData: reason)
        }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .unprocessed)
        #expect(rig.outcomes.failures[1]?.goAwayReason == reason)
        #expect(rig.outcomes.failures[1]?.isSafeToResend == true)
        #expect(rig.scripted.received == 4)
        // For the log: the code and what the server said.
        #expect(
            rig.pool.snapshot.lastGoAway == "ENHANCE_YOUR_CALM: \(String(decoding: reason, as: UTF8.self))")
    }

    @Test func aRefusedStreamIsResentAndAnyOtherResetIsAmbiguous() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        rig.scripted.handler = { request, connection, server in
            switch ScriptedServer.text(request[.path]) {
            case "/reset": connection.reset(request.streamID, .internalError)
            case "/refuse" where server.received < 3: connection.reset(request.streamID, .refusedStream)
            default: server.answer(request, connection)
            }
        }
        rig.submit(1, path: "/refuse")
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.answers[1]?.status == 200)
        #expect(rig.scripted.seen[Rig.id(1)] == 3)
        rig.submit(2, path: "/reset")
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.failures[2]?.code == .ambiguous)
        #expect(rig.outcomes.failures[2]?.message.contains("INTERNAL_ERROR") == true)
        #expect(rig.scripted.seen[Rig.id(2)] == 1)
    }

    @Test func aSwallowedRequestEndsAtItsDeadlineAndItsStreamIsReset() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        rig.submit(1, deadlineMs: 100)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .timedOutSent)
        #expect(rig.turn { rig.scripted.abandoned == [.cancel] })
        // The late answer is nobody's.
        rig.scripted.handler = ScriptedServer.accept
        rig.scripted.release()
        rig.submit(2)
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.answers[2]?.id == Rig.id(2))
        #expect(rig.pool.snapshot.streams == 0)
    }

    @Test func requestsThatNeverGotAStreamTimeOutAsUnsent() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 1
        let rig = try Rig(options: options, limits: Self.quick())
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        rig.submit(1, deadlineMs: 20_000)
        rig.submit(2, deadlineMs: 200)
        rig.submit(3, deadlineMs: 20_000)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[2]?.code == .timedOutUnsent)
        rig.scripted.handler = ScriptedServer.accept
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 3))
        #expect(rig.outcomes.answers[1] != nil && rig.outcomes.answers[3] != nil)
    }

    @Test func aConnectionThatBreaksInsideAnAnswerMakesItsRequestsAmbiguous() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        let large = [UInt8](repeating: 120, count: 4 << 20)
        rig.scripted.handler = { request, connection, server in
            if server.opened > 1 { return server.answer(request, connection) }
            server.headers.clear()
            _ = large.withUnsafeBytes {
                connection.respond(request.streamID, status: 200, headers: server.headers, body: $0)
            }
        }
        rig.submit(1)
        rig.submit(2)
        #expect(rig.turn { rig.pool.snapshot.bytesReceived > 100_000 })
        rig.server.connections.first?.kill()
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.failures.values.map(\.code) == [.ambiguous, .ambiguous])
        rig.submit(3)
        #expect(rig.turn(untilOutcomes: 3))
        #expect(rig.outcomes.answers[3]?.status == 200)
    }

    @Test func garbageFromTheServerEndsTheConnectionAndTheNextOneWorks() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        rig.scripted.handler = { request, connection, server in
            if server.opened > 1 { return server.answer(request, connection) }
            connection.sendRaw((0..<4_096).map { UInt8(truncatingIfNeeded: $0 &* 197 &+ 13) })
        }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .ambiguous)
        rig.submit(2)
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.answers[2]?.status == 200)
        #expect(!rig.pool.snapshot.lastFailure.isEmpty)
    }

    @Test func hugeAnswersAreBounded() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        let value = [UInt8](repeating: 97, count: 4_000)
        let body = [UInt8](repeating: 98, count: 1 << 20)
        rig.scripted.handler = { request, connection, server in
            server.headers.clear()
            if ScriptedServer.text(request[.path]) == "/headers" {
                for header in [ResponseHeader.server, .date, .contentType, .retryAfter, .apnsRequestID] {
                    value.withUnsafeBytes { server.headers.add(header, $0) }
                }
            }
            _ = body.withUnsafeBytes {
                connection.respond(request.streamID, status: 200, headers: server.headers, body: $0)
            }
        }
        rig.submit(1, path: "/headers")
        rig.submit(2, path: "/body")
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.failures[1]?.code == .ambiguous)
        #expect(rig.pool.snapshot.oversizedHeaders == 1)
        #expect(rig.outcomes.answers[2]?.body.count == 16 * 1024)
        #expect(rig.outcomes.answers[2]?.bodyWasCut == true)
    }

    @Test func malformedRequestsFailAlone() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        rig.submit(1, path: "/a\nb")
        rig.submit(2, path: "nowhere")
        rig.submit(3)
        #expect(rig.turn(untilOutcomes: 3))
        #expect(rig.outcomes.failures[1]?.code == .invalidRequest)
        #expect(rig.outcomes.failures[2]?.code == .invalidRequest)
        #expect(rig.outcomes.answers[3]?.status == 200)
        #expect(throws: TransportFailure.self) {
            try rig.pool.addTemplate(HeaderTemplate(authority: "x", fields: [.init("Apns-Topic", "t")]))
        }
        #expect(throws: TransportFailure.self) {
            try rig.pool.addTemplate(
                HeaderTemplate(authority: "x", fields: [.init("apns-topic", "a\r\nb: c")]))
        }
    }

    @Test func usedUpStreamIDsMoveThePoolToAnotherConnection() throws {
        let rig = try Rig(limits: Self.quick())
        defer { rig.end() }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        rig.pool.connections.first?.session.skip(toStreamID: Int32.max - 20)
        for tag in 2..<UInt64(60) { rig.submit(tag) }
        #expect(rig.turn(untilOutcomes: 59))
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.scripted.opened == 2)
        #expect(rig.scripted.seen.values.allSatisfy { $0 == 1 })
    }
}
