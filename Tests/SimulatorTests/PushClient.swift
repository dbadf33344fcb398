import Core
import EventLoop
import HTTP2
import Security

@testable import SimulatorKit

/// What came back for one request.
struct PushOutcome {
    var status = 0
    var apnsID = ""
    var apnsUniqueID = ""
    var retryAfter = ""
    var body = ""
    var failure: TransportFailure?

    var json: JSONValue? { try? JSONValue.parse(text: body) }
}

/// A push client over a real socket: Peal's own HTTP/2 pool on a loop that the test drives.
final class PushClient: ResponseSink {
    let loop: EventLoop
    let pool: HTTP2Pool
    private let template: TemplateID
    private let authority: String
    private var outcomes: [UInt64: PushOutcome] = [:]
    private var texts: [UnsafeMutableRawBufferPointer] = []
    private var nextTag: UInt64 = 0

    // The pool needs its sink when it is made, and this object needs the pool.
    private final class Relay: ResponseSink {
        weak var target: PushClient?
        func responded(tag: UInt64, response: ResponseView) {
            target?.responded(tag: tag, response: response)
        }
        func failed(tag: UInt64, failure: TransportFailure) { target?.failed(tag: tag, failure: failure) }
    }

    private let relay = Relay()

    init(
        port: UInt16, caFile: String, fields: [HeaderTemplate.Field], limits: PoolLimits = PushClient.limits
    ) throws {
        loop = try EventLoop()
        authority = "127.0.0.1:\(port)"
        pool = HTTP2Pool(
            loop: loop, endpoint: HTTP2Endpoint(host: "127.0.0.1", port: port),
            context: try TLSContext.client(TLSClientOptions(caFile: caFile)), limits: limits, sink: relay)
        template = try pool.addTemplate(HeaderTemplate(authority: authority, fields: fields))
        relay.target = self
    }

    deinit {
        pool.close()
        for text in texts { text.deallocate() }
    }

    /// One connection that is never added to, quick to come back.
    static var limits: PoolLimits {
        var limits = PoolLimits()
        limits.connectionsMax = 1
        limits.backoffFirstMs = 10
        limits.backoffMaxMs = 50
        return limits
    }

    /// Queues a request; the number under which its outcome appears.
    func submit(
        path: String, body: String, headers: [(VariableHeader, String)] = [], deadlineMs: UInt64 = 20_000
    ) -> UInt64 {
        let tag = nextTag
        nextTag += 1
        var request = OutgoingRequest(
            template: template, tag: tag, deadlineMs: loop.nowMs + deadlineMs, path: keep(path),
            body: keep(body))
        for (header, value) in headers { request.add(header, keep(value)) }
        guard pool.submit(request) else {
            outcomes[tag] = PushOutcome(failure: TransportFailure(.closed, "the pool is full"))
            return tag
        }
        return tag
    }

    private func keep(_ text: String) -> UnsafeRawBufferPointer {
        let bytes = Array(text.utf8)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        copy.copyBytes(from: bytes)
        texts.append(copy)
        return UnsafeRawBufferPointer(rebasing: copy[..<bytes.count])
    }

    func responded(tag: UInt64, response: ResponseView) {
        func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
        outcomes[tag] = PushOutcome(
            status: Int(response.status), apnsID: text(response.apnsID),
            apnsUniqueID: text(response.apnsUniqueID),
            retryAfter: text(response.retryAfter), body: text(response.body))
    }

    func failed(tag: UInt64, failure: TransportFailure) { outcomes[tag] = PushOutcome(failure: failure) }

    /// Runs the loop until the condition holds or a minute has passed.
    @discardableResult
    func run(until condition: () -> Bool) -> Bool {
        let end = Clock.monotonicMs + 60_000
        while !condition() {
            if Clock.monotonicMs > end { return false }
            loop.runOnce(maxWaitMs: 20)
        }
        return true
    }

    /// The outcomes of these requests, once all are there.
    func wait(_ tags: [UInt64]) -> [PushOutcome] {
        run { tags.allSatisfy { outcomes[$0] != nil } }
        return tags.map { outcomes[$0] ?? PushOutcome() }
    }

    /// Whether the request has an outcome yet.
    func isDone(_ tag: UInt64) -> Bool { outcomes[tag] != nil }

    /// Sends one request and waits for its outcome.
    func send(
        path: String, body: String, headers: [(VariableHeader, String)] = [], deadlineMs: UInt64 = 20_000
    ) -> PushOutcome {
        wait([submit(path: path, body: body, headers: headers, deadlineMs: deadlineMs)])[0]
    }
}
