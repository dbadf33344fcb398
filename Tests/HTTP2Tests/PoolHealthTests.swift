import Core
import EventLoop
import HTTP2
import Security
import Testing

@testable import HTTP2

/// Connections that serve badly, grow old or come too often.
@Suite(.bothSessions) struct PoolHealthTests {
    private static func retired(_ rig: Rig, _ reason: ConnectionMachine.Reason) -> UInt64 {
        let place = PoolMetrics.retirements.firstIndex(of: reason.label)
        return place.map { rig.pool.snapshot.retired[$0] } ?? 0
    }

    @Test func aConnectionWhoseStreamsWereTakenAwayIsReplacedAndEveryRequestFinishes() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 50
        var limits = PoolFaultTests.quick()
        limits.shrunkMs = 20
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        // The first connection is punished for a rejection and never forgiven; nothing on it is answered
        // until there is another.
        rig.scripted.handler = { request, connection, server in
            if connection.number == 1, server.opened == 1 {
                connection.setMaxConcurrentStreams(1)
                return ScriptedServer.hold(request, connection, server)
            }
            server.answer(request, connection)
        }
        for tag in 0..<UInt64(500) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.pool.isPunished })
        #expect(rig.turn { rig.scripted.opened == 2 })
        #expect(rig.turn(untilOutcomes: 450))
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 500))
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.scripted.seen.values.allSatisfy { $0 == 1 })
        #expect(Self.retired(rig, .shrunk) == 1)
        #expect(rig.turn { rig.scripted.closed == 1 })
        #expect(rig.pool.snapshot.open == 1)
    }

    @Test func withRequestsOnMostOfWhichItFailsAConnectionIsReplaced() throws {
        let rig = try Rig(limits: PoolFaultTests.quick())
        defer { rig.end() }
        rig.scripted.handler = { request, connection, server in
            server.answer(request, connection, status: connection.number == 1 ? 503 : 200)
        }
        for tag in 0..<UInt64(40) { #expect(rig.submit(tag)) }
        #expect(rig.turn(untilOutcomes: 40))
        #expect(rig.turn { Self.retired(rig, .faulty) == 1 && rig.pool.snapshot.open == 1 })
        rig.submit(99)
        #expect(rig.turn(untilOutcomes: 41))
        #expect(rig.outcomes.answers[99]?.status == 200)
        #expect(rig.scripted.opened == 2)
    }

    @Test func anOldConnectionMakesRoomForAFreshOneWithoutLosingARequest() throws {
        var limits = PoolFaultTests.quick()
        limits.ageMaxMs = 30
        limits.replaceEveryMs = 0
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        var tag: UInt64 = 0
        #expect(
            rig.turn {
                if rig.outcomes.count == Int(tag) {
                    rig.submit(tag)
                    tag += 1
                }
                return Self.retired(rig, .aged) >= 3
            })
        #expect(rig.turn(untilOutcomes: Int(tag)))
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.pool.snapshot.connectFailures == 0)
        #expect(rig.scripted.opened >= 4)
    }

    @Test func aGatedPoolSendsOneRequestAloneUntilTheCredentialIsAccepted() throws {
        var limits = PoolFaultTests.quick()
        limits.provesFirst = true
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(30) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.scripted.held.count == 1 })
        for _ in 0..<20 { rig.loop.runOnce(maxWaitMs: 1) }
        #expect(rig.scripted.held.count == 1)
        // A refused credential opens nothing.
        let first = try #require(rig.scripted.held.first)
        rig.scripted.held = []
        first.connection.respond(first.streamID, status: 403, headers: ResponseHeaders())
        #expect(rig.turn { rig.scripted.held.count == 1 })
        for _ in 0..<20 { rig.loop.runOnce(maxWaitMs: 1) }
        #expect(rig.scripted.held.count == 1)
        rig.scripted.release()
        #expect(rig.turn { rig.scripted.held.count == 28 })
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 30))
        #expect(rig.scripted.opened == 1)
    }

    @Test func theSinkMayGiveUpTheConnectionThatAnAnswerCameOn() throws {
        let rig = try Rig(limits: PoolFaultTests.quick())
        defer { rig.end() }
        rig.scripted.handler = { request, connection, server in
            server.answer(request, connection, status: connection.number == 1 ? 403 : 200)
        }
        rig.outcomes.onResponse = { response in
            if response.status == 403 { rig.pool.retireConnection(of: response) }
        }
        for tag in 0..<UInt64(10) { rig.submit(tag) }
        #expect(rig.turn(untilOutcomes: 10))
        rig.submit(20)
        #expect(rig.turn(untilOutcomes: 11))
        #expect(rig.outcomes.answers[20]?.status == 200)
        #expect(Self.retired(rig, .unwanted) == 1)
        #expect(rig.turn { rig.scripted.closed == 1 })
    }

    @Test func connectsAreBoundedHoweverOftenTheServerHangsUp() throws {
        var limits = PoolFaultTests.quick()
        limits.connectBurst = 4
        limits.connectEveryMs = 600_000
        limits.failWaitingAfterConnects = 1_000
        limits.resendsMax = 250
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        rig.scripted.handler = { _, connection, _ in connection.goAway(lastStreamID: 0, .noError) }
        rig.submit(1, deadlineMs: 1_500)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.isSafeToResend == true)
        #expect(rig.scripted.opened == 4)
    }

    @Test func afterASilenceThePingOfTheFirstRequestFindsADeadConnection() throws {
        var limits = PoolFaultTests.quick()
        limits.pingIdleMs = 60
        limits.pingQuietMs = 0
        limits.pingTimeoutMs = 150
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        let quietUntil = rig.loop.nowMs + 200
        #expect(rig.turn { rig.loop.nowMs >= quietUntil })
        #expect(rig.pool.snapshot.pings == 0)
        rig.server.connections.first?.hang()
        rig.submit(2)
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.failures[2]?.code == .ambiguous)
        #expect(rig.pool.snapshot.pingTimeouts == 1)
    }

    @Test func aPoolWithoutAMinimumConnectsForWorkAndClosesWhenIdle() throws {
        var limits = PoolFaultTests.quick()
        limits.connectionsMin = 0
        limits.idleCloseMs = 30
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        rig.pool.warmUp()
        for _ in 0..<20 { rig.loop.runOnce(maxWaitMs: 1) }
        #expect(rig.scripted.opened == 0)
        for round in 0..<UInt64(2) {
            rig.submit(round)
            #expect(rig.turn(untilOutcomes: Int(round) + 1))
            #expect(rig.turn { rig.pool.snapshot.open == 0 && rig.scripted.closed == Int(round) + 1 })
        }
        #expect(rig.outcomes.failures.isEmpty)
        #expect(rig.pool.snapshot.connectFailures == 0)
    }

    @Test func whatStillWaitsCanBeTakenBackAndItsRoomIsFree() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 2
        var limits = PoolFaultTests.quick()
        limits.requestsMax = 10
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(10) { #expect(rig.submit(tag)) }
        #expect(rig.turn { rig.scripted.held.count == 2 })
        #expect(rig.pool.recall { $0 % 2 == 1 } == [3, 5, 7, 9])
        #expect(rig.pool.room == 4)
        #expect(rig.pool.snapshot.waiting == 4)
        for tag in 20..<UInt64(24) { #expect(rig.submit(tag)) }
        rig.scripted.handler = ScriptedServer.accept
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 10))
        #expect(Set(rig.outcomes.answers.keys) == [0, 1, 2, 4, 6, 8, 20, 21, 22, 23])
        #expect(rig.outcomes.failures.isEmpty && rig.outcomes.repeated == 0)
        #expect(!rig.pool.isPunished)
    }
}
