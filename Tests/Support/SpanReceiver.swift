internal import Foundation
package import HTTPServer

/// A receiver of OTLP over HTTP in its JSON form, on loopback: keeps what it is sent and answers as it is
/// told.
package final class SpanReceiver: @unchecked Sendable {
    /// One span as it was sent.
    package struct Received: Sendable {
        package var service: String
        package var traceID: String
        package var id: String
        package var parent: String?
        package var name: String
        package var kind: Int
        package var startNs: Int64
        package var endNs: Int64
        /// Numbers are texts in this form.
        package var attributes: [String: String]
        package var error: String?
    }

    private let lock = NSLock()
    private var spansSoFar: [Received] = []
    private var sizesSoFar: [Int] = []
    private var headersSoFar: [[String: String]] = []
    private var faultsSoFar: [String] = []
    private var answersToCome: [HTTPResponse] = []
    private var isHanging = false
    private var server: HTTPServer?

    /// Starts listening on a port that the system gives out, or on one of its own choosing.
    package init(port: UInt16 = 0) throws {
        server = try HTTPServer.start(HTTPServerOptions(host: "127.0.0.1", port: port)) {
            [weak self] (request: HTTPRequest) in self?.take(request) ?? .notFound
        }
    }

    package func stop() {
        lock.withLock { isHanging = false }
        server?.stop()
    }

    package var port: UInt16 { server?.port ?? 0 }
    /// The address for `otlp.endpoint`.
    package var endpoint: String { "http://127.0.0.1:\(port)" }
    package var spans: [Received] { lock.withLock { spansSoFar } }
    /// Spans of each request that was answered with success.
    package var sizes: [Int] { lock.withLock { sizesSoFar } }
    package var headers: [[String: String]] { lock.withLock { headersSoFar } }
    /// What was not as the specification has it.
    package var faults: [String] { lock.withLock { faultsSoFar } }
    /// The answers to the next requests; then all is well again.
    package func answer(_ answers: [HTTPResponse]) { lock.withLock { answersToCome += answers } }
    /// Whether requests get no answer.
    package func hang(_ hangs: Bool) { lock.withLock { isHanging = hangs } }

    private func take(_ request: HTTPRequest) -> HTTPResponse {
        lock.withLock {
            headersSoFar.append(
                Dictionary(request.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }))
        }
        while lock.withLock({ isHanging }) { usleep(10_000) }
        return lock.withLock {
            if !answersToCome.isEmpty {
                let answer = answersToCome.removeFirst()
                guard (200..<300).contains(answer.status) else { return answer }
                read(request)
                return answer
            }
            read(request)
            return HTTPResponse(status: 200, body: Array("{}".utf8))
        }
    }

    private func read(_ request: HTTPRequest) {
        guard request.method == "POST", request.path == "/v1/traces" else {
            return faultsSoFar.append("\(request.method) \(request.path)")
        }
        guard let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any],
            let resources = body["resourceSpans"] as? [[String: Any]]
        else { return faultsSoFar.append("no JSON object with resourceSpans") }
        var count = 0
        for resource in resources {
            let about = resource["resource"] as? [String: Any]
            let service = attributes(about?["attributes"])["service.name"] ?? ""
            for scope in resource["scopeSpans"] as? [[String: Any]] ?? [] {
                for span in scope["spans"] as? [[String: Any]] ?? [] {
                    count += 1
                    if let read = received(span, service) { spansSoFar.append(read) }
                }
            }
        }
        sizesSoFar.append(count)
    }

    private func received(_ span: [String: Any], _ service: String) -> Received? {
        func isHex(_ text: String, _ count: Int) -> Bool {
            text.count == count && text.allSatisfy { $0.isHexDigit && !$0.isUppercase }
                && text.contains { $0 != "0" }
        }
        guard let trace = span["traceId"] as? String, isHex(trace, 32),
            let id = span["spanId"] as? String, isHex(id, 16), let name = span["name"] as? String,
            let kind = span["kind"] as? Int, (1...5).contains(kind),
            let start = (span["startTimeUnixNano"] as? String).flatMap({ Int64($0) }),
            let end = (span["endTimeUnixNano"] as? String).flatMap({ Int64($0) }), start > 0, end >= start
        else {
            faultsSoFar.append("a span that is none: \(span)")
            return nil
        }
        let parent = span["parentSpanId"] as? String
        if let parent, !isHex(parent, 16) { faultsSoFar.append("parentSpanId \(parent)") }
        var error: String?
        if let status = span["status"] as? [String: Any] {
            if status["code"] as? Int != 2 { faultsSoFar.append("status \(status)") }
            error = status["message"] as? String ?? ""
        }
        return Received(
            service: service, traceID: trace, id: id, parent: parent, name: name, kind: kind, startNs: start,
            endNs: end, attributes: attributes(span["attributes"]), error: error)
    }

    private func attributes(_ list: Any?) -> [String: String] {
        var out: [String: String] = [:]
        for item in list as? [[String: Any]] ?? [] {
            guard let key = item["key"] as? String, let value = item["value"] as? [String: Any],
                value.count == 1
            else {
                faultsSoFar.append("an attribute that is none: \(item)")
                continue
            }
            switch value.first {
            case ("stringValue", let text as String)?: out[key] = text
            case ("intValue", let text as String)? where Int64(text) != nil: out[key] = text
            case ("boolValue", let flag as Bool)?: out[key] = "\(flag)"
            default: faultsSoFar.append("a value that is none: \(item)")
            }
        }
        return out
    }
}
