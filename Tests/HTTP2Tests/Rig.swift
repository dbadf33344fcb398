import Core
import EventLoop
import HTTP2
import Security
import Testing

/// A server whose answers a test scripts, with a record of what it saw.
final class ScriptedServer: HTTP2ServerDelegate {
    typealias Handler = (HTTP2ServerRequest, HTTP2ServerConnection, ScriptedServer) -> Void

    /// How often each `apns-id` was received.
    var seen: [String: Int] = [:]
    var received = 0
    var abandoned: [HTTP2Code] = []
    var held: [(connection: HTTP2ServerConnection, streamID: Int32, id: String)] = []
    var opened = 0
    var closed = 0
    var headers = ResponseHeaders()
    var handler: Handler = ScriptedServer.accept

    static func accept(
        _ request: HTTP2ServerRequest, _ connection: HTTP2ServerConnection, _ server: ScriptedServer
    ) {
        server.answer(request, connection)
    }

    static func hold(
        _ request: HTTP2ServerRequest, _ connection: HTTP2ServerConnection, _ server: ScriptedServer
    ) {
        server.held.append((connection, request.streamID, text(request[.apnsID])))
    }

    static func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

    func answer(_ request: HTTP2ServerRequest, _ connection: HTTP2ServerConnection, status: UInt16 = 200) {
        headers.clear()
        headers.add(.apnsID, request[.apnsID])
        connection.respond(request.streamID, status: status, headers: headers, body: request.body)
    }

    /// Answers what was held, oldest first.
    func release(_ count: Int = .max) {
        for item in held.prefix(count) {
            headers.clear()
            Array(item.id.utf8).withUnsafeBytes { headers.add(.apnsID, $0) }
            item.connection.respond(item.streamID, status: 200, headers: headers)
        }
        held.removeFirst(min(count, held.count))
    }

    func opened(_ connection: HTTP2ServerConnection) { opened += 1 }
    func received(_ request: HTTP2ServerRequest, on connection: HTTP2ServerConnection) {
        received += 1
        seen[Self.text(request[.apnsID]), default: 0] += 1
        handler(request, connection, self)
    }
    func abandoned(streamID: Int32, code: HTTP2Code, on connection: HTTP2ServerConnection) {
        abandoned.append(code)
    }
    func closed(_ connection: HTTP2ServerConnection) { closed += 1 }
}

/// Keeps outcomes by tag, and counts outcomes beyond the first of a tag.
final class Outcomes: ResponseSink {
    struct Answer {
        var status: UInt16
        var id: String
        var body: [UInt8]
        var bodyWasCut: Bool
        var retryAfter: String
    }

    var answers: [UInt64: Answer] = [:]
    var failures: [UInt64: TransportFailure] = [:]
    var repeated = 0
    var onOutcome: (UInt64) -> Void = { _ in }
    var onResponse: (ResponseView) -> Void = { _ in }

    var count: Int { answers.count + failures.count }

    func responded(tag: UInt64, response: ResponseView) {
        if answers[tag] != nil || failures[tag] != nil { repeated += 1 }
        answers[tag] = Answer(
            status: response.status, id: ScriptedServer.text(response.apnsID), body: Array(response.body),
            bodyWasCut: response.bodyWasCut, retryAfter: ScriptedServer.text(response.retryAfter))
        onResponse(response)
        onOutcome(tag)
    }

    func failed(tag: UInt64, failure: TransportFailure) {
        if answers[tag] != nil || failures[tag] != nil { repeated += 1 }
        failures[tag] = failure
        onOutcome(tag)
    }
}

/// A real client pool and a real server over loopback TLS on one loop, driven by the test.
final class Rig {
    let loop: EventLoop
    let identity: ThrowAwayIdentity
    let scripted = ScriptedServer()
    let outcomes = Outcomes()
    let server: HTTP2Server
    let pool: HTTP2Pool
    let template: TemplateID
    let caFile: String
    private let directory: String
    private var memory: [UnsafeMutableRawBufferPointer] = []

    init(
        options: HTTP2ServerOptions = HTTP2ServerOptions(), limits: PoolLimits = PoolLimits(),
        hosts: [String] = ["127.0.0.1"], trusts: Bool = true, protocols: [String] = ["h2"]
    ) throws {
        var limits = limits
        limits.session = SessionUnderTest.kind
        loop = try EventLoop()
        identity = try ThrowAwayIdentity.make(hosts: hosts)
        let other = try ThrowAwayIdentity.make(hosts: hosts)
        directory = try Files.makeTemporaryDirectory(prefix: "peal-http2-")
        caFile = directory + "/ca.pem"
        try Files.write(path: caFile, text: trusts ? identity.caPEM : other.caPEM)
        let context = try TLSContext.server(
            certificatePEM: identity.certificatePEM, keyPEM: identity.keyPEM, applicationProtocols: protocols)
        server = try HTTP2Server(
            loop: loop, host: "127.0.0.1", port: 0, context: context, options: options, delegate: scripted)
        pool = HTTP2Pool(
            loop: loop, endpoint: HTTP2Endpoint(host: "127.0.0.1", port: server.port),
            context: try TLSContext.client(TLSClientOptions(caFile: caFile)), limits: limits, sink: outcomes)
        template = try pool.addTemplate(
            HeaderTemplate(
                authority: "127.0.0.1",
                fields: [.init("authorization", "bearer one"), .init("apns-topic", "t")]))
    }

    deinit {
        for piece in memory { piece.deallocate() }
        Files.removeTree(directory)
    }

    func end() {
        pool.close()
        server.close()
        // The scripts often hold the rig.
        outcomes.onOutcome = { _ in }
        outcomes.onResponse = { _ in }
        scripted.handler = ScriptedServer.accept
        scripted.held = []
    }

    func bytes(_ text: [UInt8]) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, text.count), alignment: 1)
        copy.copyBytes(from: text)
        memory.append(copy)
        return UnsafeRawBufferPointer(rebasing: copy[..<text.count])
    }

    static func id(_ tag: UInt64) -> String { "id-\(tag)" }
    static func body(_ tag: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: UInt64($0) &* 31 &+ tag) }
    }

    @discardableResult
    func submit(_ tag: UInt64, bodyBytes: Int = 40, deadlineMs: UInt64 = 30_000, path: String? = nil) -> Bool
    {
        var request = OutgoingRequest(
            template: template, tag: tag, deadlineMs: loop.nowMs + deadlineMs,
            path: bytes(Array((path ?? "/3/device/\(tag)").utf8)), body: bytes(Self.body(tag, bodyBytes)))
        request.add(.apnsID, bytes(Array(Self.id(tag).utf8)))
        return pool.submit(request)
    }

    /// Turns the loop until the condition holds or a minute has passed.
    func turn(until condition: () -> Bool) -> Bool {
        let giveUp = Clock.monotonicMs + 60_000
        while !condition() {
            if Clock.monotonicMs > giveUp { return false }
            loop.runOnce(maxWaitMs: 5)
        }
        return true
    }

    /// Turns the loop until the number of outcomes is reached.
    func turn(untilOutcomes count: Int) -> Bool { turn { outcomes.count >= count } }
}
