import Core
import EventLoop
import Foundation
import HTTPClient

/// Sends jobs through a gateway, a few every quarter of a second, until it is stopped.
final class Traffic: Sendable {
    /// Jobs of one kind: every job goes to a token of its own.
    struct Stream: Sendable {
        var app: String
        /// What each token begins with; it is filled up with a number.
        var token: String
        var isAndroid = false
        var isSandbox = false
        var perTurn = 4
        var ttl = 8
    }

    private struct State {
        var streams: [Stream] = []
        var isStopped = false
        var sent = 0
        var hasEnded = false
    }

    private let url: String
    private let key: String
    private let state = Locked(State())

    init(port: UInt16, key: String) {
        url = "http://127.0.0.1:\(port)/v1/jobs"
        self.key = key
        Thread.detachNewThread { [self] in run() }
    }

    /// What is sent from now on.
    func send(_ streams: [Stream]) { state.withLock { $0.streams = streams } }

    /// Ends the thread.
    /// - Returns: the jobs that the gateway has acknowledged.
    @discardableResult
    func stop() -> Int {
        state.withLock { $0.isStopped = true }
        while !state.withLock({ $0.hasEnded }) { usleep(5_000) }
        return state.withLock { $0.sent }
    }

    /// The jobs that the gateway has acknowledged so far.
    var sent: Int { state.withLock { $0.sent } }

    private func run() {
        let client = Self.client()
        var number = 0
        while !state.withLock({ $0.isStopped }) {
            let streams = state.withLock { $0.streams }
            var body: [UInt8] = []
            var count = 0
            for stream in streams {
                for _ in 0..<stream.perTurn {
                    number += 1
                    count += 1
                    body += Array(Self.job(stream, number: number).utf8)
                }
            }
            if count > 0, Self.post(client, url, key, body) { state.withLock { $0.sent += count } }
            usleep(250_000)
        }
        state.withLock { $0.hasEnded = true }
    }

    /// Publishes many jobs at once into the bulk lane.
    /// - Returns: whether the gateway has acknowledged them all.
    func flood(_ stream: Stream, count: Int) -> Bool {
        let client = Self.client()
        for start in stride(from: 0, to: count, by: 1000) {
            let jobs = (start..<min(count, start + 1000)).map { Self.job(stream, number: $0) }
            guard Self.post(client, url + "?lane=bulk", key, Array(jobs.joined().utf8)) else { return false }
            state.withLock { $0.sent += jobs.count }
        }
        return true
    }

    private static func job(_ stream: Stream, number: Int) -> String {
        let digits = String(number, radix: 16)
        let width = stream.isAndroid ? 24 : 64
        let fill = String(repeating: "0", count: max(0, width - stream.token.count - digits.count))
        let platform = stream.isAndroid ? "android" : "ios"
        let environment = stream.isSandbox ? ",\"environment\":\"sandbox\"" : ""
        return "{\"app\":\"\(stream.app)\",\"to\":{\"token\":\"\(stream.token)\(fill)\(digits)\","
            + "\"platform\":\"\(platform)\"\(environment)},\"title\":\"Hello\",\"ttl\":\(stream.ttl)}\n"
    }

    private static func client() -> HTTPClient {
        var options = HTTPClientOptions()
        options.totalTimeoutMs = 30_000
        options.proxy = ""
        return HTTPClient(options)
    }

    private static func post(_ client: HTTPClient, _ url: String, _ key: String, _ body: [UInt8]) -> Bool {
        let headers = [
            (name: "Authorization", value: "Bearer \(key)"),
            (name: "Content-Type", value: "application/x-ndjson"),
        ]
        let answer = try? client.send(
            HTTPClientRequest(method: "POST", url: url, headers: headers, body: body))
        return (200...299).contains(answer?.status ?? 0)
    }
}
