import Core
import EventLoop
import HTTP2
import Security
import Testing

@testable import HTTP2

/// Making connections, losing them and noticing that one is dead.
@Suite(.bothSessions) struct PoolConnectTests {
    @Test func aCertificateOfAnotherAuthorityIsRefusedWithAClearMessage() throws {
        let rig = try Rig(trusts: false)
        defer { rig.end() }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .connectFailed)
        #expect(rig.outcomes.failures[1]?.message.contains("not trusted") == true)
        #expect(rig.scripted.received == 0)
    }

    @Test func aCertificateForAnotherNameIsRefusedWithAClearMessage() throws {
        let rig = try Rig(hosts: ["push.example.com"])
        defer { rig.end() }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .connectFailed)
        #expect(rig.outcomes.failures[1]?.message.contains("mismatch") == true)
    }

    @Test func aServerWithoutHTTP2IsRefusedWithAClearMessage() throws {
        let rig = try Rig(protocols: ["http/1.1"])
        defer { rig.end() }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .connectFailed)
        #expect(rig.outcomes.failures[1]?.message.contains("application protocol") == true)
    }

    @Test func aRefusingPortFailsWaitingRequestsAfterThreeTriesAndThePoolComesBack() throws {
        let rig = try Rig(limits: PoolFaultTests.quick())
        let port = rig.server.port
        rig.server.close()
        defer { rig.end() }
        rig.submit(1)
        #expect(rig.turn(untilOutcomes: 1))
        #expect(rig.outcomes.failures[1]?.code == .connectFailed)
        #expect(rig.pool.snapshot.connectFailuresInARow >= 3)
        let context = try TLSContext.server(
            certificatePEM: rig.identity.certificatePEM, keyPEM: rig.identity.keyPEM)
        let second = try HTTP2Server(
            loop: rig.loop, host: "127.0.0.1", port: port, context: context, options: HTTP2ServerOptions(),
            delegate: rig.scripted)
        defer { second.close() }
        // The tries go on by themselves; a request submitted meanwhile may still meet a failed one.
        #expect(rig.turn { rig.pool.snapshot.open == 1 })
        rig.submit(2)
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.answers[2]?.status == 200)
        #expect(rig.pool.snapshot.connectFailuresInARow == 0)
    }

    @Test func aServerThatSaysNothingRunsIntoTheConnectDeadline() throws {
        let loop = try EventLoop()
        let silent = try Socket.listen(host: "127.0.0.1", port: 0)
        defer { Socket.close(silent) }
        var limits = PoolFaultTests.quick()
        limits.connectMs = 50
        limits.failWaitingAfterConnects = 1
        let outcomes = Outcomes()
        let pool = HTTP2Pool(
            loop: loop, endpoint: HTTP2Endpoint(host: "127.0.0.1", port: Socket.port(of: silent)),
            context: try TLSContext.client(TLSClientOptions()), limits: limits, sink: outcomes)
        defer { pool.close() }
        let template = try pool.addTemplate(HeaderTemplate(authority: "x", fields: []))
        let path = Array("/".utf8)
        path.withUnsafeBytes { bytes in
            let request = OutgoingRequest(
                template: template, tag: 1, deadlineMs: loop.nowMs + 20_000, path: bytes,
                body: UnsafeRawBufferPointer(start: nil, count: 0))
            #expect(pool.submit(request))
            let giveUp = Clock.monotonicMs + 60_000
            while outcomes.count == 0, Clock.monotonicMs < giveUp { loop.runOnce(maxWaitMs: 10) }
        }
        #expect(outcomes.failures[1]?.code == .connectFailed)
        #expect(outcomes.failures[1]?.message.contains("within the time for connecting") == true)
    }

    @Test func anUnknownHostNameFailsWithItsName() throws {
        let rig = try Rig()
        defer { rig.end() }
        var limits = PoolFaultTests.quick()
        limits.failWaitingAfterConnects = 1
        let outcomes = Outcomes()
        let pool = HTTP2Pool(
            loop: rig.loop, endpoint: HTTP2Endpoint(host: "no-such-host.invalid", port: 443),
            context: try TLSContext.client(TLSClientOptions()), limits: limits, sink: outcomes)
        defer { pool.close() }
        pool.warmUp()
        #expect(rig.turn { pool.snapshot.connectFailures > 0 })
        #expect(pool.snapshot.lastFailure.contains("no-such-host.invalid"))
    }

    @Test func aHostNameIsLookedUpOffTheLoop() throws {
        let rig = try Rig(hosts: ["localhost"])
        defer { rig.end() }
        let outcomes = Outcomes()
        let pool = HTTP2Pool(
            loop: rig.loop,
            endpoint: HTTP2Endpoint(host: "localhost", port: rig.server.port),
            context: try TLSContext.client(TLSClientOptions(caFile: rig.caFile)), limits: PoolLimits(),
            sink: outcomes)
        defer { pool.close() }
        pool.warmUp()
        // `localhost` may resolve to ::1 first, where nothing listens; the look-up itself is what is tested.
        #expect(rig.turn { pool.snapshot.open == 1 || pool.snapshot.connectFailures > 0 })
    }

    @Test func aPingKeepsAnIdleConnectionAndFindsAHungOne() throws {
        var limits = PoolFaultTests.quick()
        limits.pingIdleMs = 60
        limits.pingTimeoutMs = 150
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        rig.submit(1)
        #expect(rig.turn { rig.pool.snapshot.pings >= 3 })
        #expect(rig.pool.snapshot.open == 1)
        #expect(rig.pool.snapshot.pingTimeouts == 0)
        rig.scripted.handler = { _, connection, _ in connection.hang() }
        rig.submit(2)
        #expect(rig.turn(untilOutcomes: 2))
        #expect(rig.outcomes.failures[2]?.code == .ambiguous)
        #expect(rig.pool.snapshot.pingTimeouts == 1)
        rig.scripted.handler = ScriptedServer.accept
        rig.submit(3)
        #expect(rig.turn(untilOutcomes: 3))
        #expect(rig.outcomes.answers[3]?.status == 200)
    }

    @Test func severalSilentTimeoutsInARowReplaceTheConnection() throws {
        var limits = PoolFaultTests.quick()
        limits.pingIdleMs = 0
        let rig = try Rig(limits: limits)
        defer { rig.end() }
        rig.scripted.handler = { _, connection, _ in connection.hang() }
        for tag in 0..<UInt64(3) { rig.submit(tag, deadlineMs: 50) }
        #expect(rig.turn(untilOutcomes: 3))
        rig.scripted.handler = ScriptedServer.accept
        rig.submit(9)
        #expect(rig.turn(untilOutcomes: 4))
        #expect(rig.outcomes.answers[9]?.status == 200)
        #expect(rig.scripted.opened == 2)
    }

    @Test func idleConnectionsAboveTheMinimumAreClosed() throws {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = 5
        var limits = PoolLimits()
        limits.growAfterMs = 1
        limits.connectionsMax = 3
        limits.idleCloseMs = 50
        let rig = try Rig(options: options, limits: limits)
        defer { rig.end() }
        rig.scripted.handler = ScriptedServer.hold
        for tag in 0..<UInt64(15) { rig.submit(tag) }
        #expect(rig.turn { rig.pool.snapshot.open == 3 && rig.scripted.held.count == 15 })
        rig.scripted.release()
        #expect(rig.turn(untilOutcomes: 15))
        #expect(rig.turn { rig.pool.snapshot.open == 1 && rig.scripted.closed == 2 })
        #expect(rig.pool.snapshot.connectFailures == 0)
    }
}
