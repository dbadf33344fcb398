import Core
import EventLoop
import HTTP2
import Security
import TestSupport
import Testing

@testable import HTTP2

/// A pool behind a real CONNECT proxy.
@Suite(.bothSessions) struct ProxyTests {
    /// A server that is only known by a name that nothing resolves: what reaches it went by the proxy.
    private func makePool(
        _ rig: Rig, _ proxy: HTTP2Proxy, name: String = "127.0.0.1", _ outcomes: Outcomes,
        connectMs: UInt64 = 10_000
    ) throws -> HTTP2Pool {
        var limits = PoolFaultTests.quick()
        limits.connectMs = connectMs
        limits.failWaitingAfterConnects = 2
        return HTTP2Pool(
            loop: rig.loop,
            endpoint: HTTP2Endpoint(
                host: "push.invalid", port: rig.server.port, serverName: name, proxy: proxy),
            context: try TLSContext.client(TLSClientOptions(caFile: rig.caFile)), limits: limits,
            sink: outcomes)
    }

    private func submit(_ rig: Rig, to pool: HTTP2Pool, tag: UInt64) throws {
        let template = try pool.addTemplate(HeaderTemplate(authority: "push.invalid", fields: []))
        let request = OutgoingRequest(
            template: template, tag: tag, deadlineMs: rig.loop.nowMs + 30_000,
            path: rig.bytes(Array("/3/device/\(tag)".utf8)), body: rig.bytes(Rig.body(tag, 5_000)))
        #expect(pool.submit(request))
    }

    private func failure(
        _ conduct: ConnectProxy.Conduct, credentials: String = "", name: String = "127.0.0.1",
        connectMs: UInt64 = 10_000
    ) throws -> TransportFailure? {
        let rig = try Rig()
        defer { rig.end() }
        let proxy = try ConnectProxy(conduct)
        defer { proxy.stop() }
        let outcomes = Outcomes()
        let pool = try makePool(
            rig, HTTP2Proxy(host: "127.0.0.1", port: proxy.port, credentials: credentials), name: name,
            outcomes, connectMs: connectMs)
        defer { pool.close() }
        try submit(rig, to: pool, tag: 1)
        #expect(rig.turn { outcomes.count == 1 })
        #expect(rig.scripted.received == 0)
        #expect(outcomes.failures[1]?.code == .connectFailed)
        #expect(outcomes.failures[1]?.message.contains("secret") == false)
        return outcomes.failures[1]
    }

    @Test func requestsGoThroughTheTunnelWithTheCredentials() throws {
        let rig = try Rig()
        defer { rig.end() }
        let proxy = try ConnectProxy(.tunnel(credentials: "peal:secret"))
        defer { proxy.stop() }
        let outcomes = Outcomes()
        let pool = try makePool(
            rig, HTTP2Proxy(host: "127.0.0.1", port: proxy.port, credentials: "peal:secret"), outcomes)
        defer { pool.close() }
        for tag in 0..<UInt64(50) { try submit(rig, to: pool, tag: tag) }
        #expect(rig.turn { outcomes.count == 50 })
        #expect(outcomes.failures.isEmpty)
        #expect(outcomes.answers.allSatisfy { $0.value.body == Rig.body($0.key, 5_000) })
        #expect(proxy.requests.count == 1)
        #expect(
            proxy.requests.first?.hasPrefix("CONNECT push.invalid:\(rig.server.port) HTTP/1.1\r\n") == true)
    }

    @Test func wrongCredentialsFailAtOnceAndSayWhereToLook() throws {
        let failure = try failure(.tunnel(credentials: "peal:right"), credentials: "peal:secret")
        #expect(failure?.message.contains("407") == true)
        #expect(failure?.message.contains("credentials_file") == true)
    }

    @Test func aRefusalNamesTheStatusAndTheTarget() throws {
        let failure = try failure(.answer("HTTP/1.1 403 Forbidden"))
        #expect(failure?.message.contains("403") == true)
        #expect(failure?.message.contains("push.invalid") == true)
    }

    @Test func aProxyThatHangsRunsIntoTheConnectDeadlineAndOneThatClosesIsNamed() throws {
        let hung = try failure(.hang, connectMs: 100)
        #expect(hung?.message.contains("within the time for connecting") == true)
        let closed = try failure(.close)
        #expect(closed?.message.contains("the proxy 127.0.0.1") == true)
    }

    @Test func throughTheTunnelTheCertificateMustBeTheProvidersOwn() throws {
        let failure = try failure(.tunnel(credentials: nil), name: "api.push.apple.com")
        #expect(failure?.message.contains("mismatch") == true)
    }

    @Test func aProxyThatComesBackIsFoundByItself() throws {
        let rig = try Rig()
        defer { rig.end() }
        let proxy = try ConnectProxy(.answer("HTTP/1.1 503 Busy"))
        defer { proxy.stop() }
        let outcomes = Outcomes()
        let pool = try makePool(rig, HTTP2Proxy(host: "127.0.0.1", port: proxy.port), outcomes)
        defer { pool.close() }
        try submit(rig, to: pool, tag: 1)
        #expect(rig.turn { outcomes.count == 1 })
        #expect(outcomes.failures[1]?.message.contains("503") == true)
        proxy.set(.tunnel(credentials: nil))
        #expect(rig.turn { pool.snapshot.open == 1 })
        try submit(rig, to: pool, tag: 2)
        #expect(rig.turn { outcomes.count == 2 })
        #expect(outcomes.answers[2]?.status == 200)
    }
}
