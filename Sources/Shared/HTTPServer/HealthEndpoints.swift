internal import Core
package import Metrics

/// What a probe is told.
package enum Health: Sendable, Equatable {
    case ok
    /// Well, but something outside is not: one short sentence about it, under the same status.
    case degraded(String)
    /// Not well, with one short sentence that says why.
    case failing(String)

    /// Whether a probe is answered with 200.
    package var passes: Bool {
        if case .failing = self { return false }
        return true
    }

    /// What is wrong; empty when nothing is.
    package var sentence: String {
        switch self {
        case .ok: ""
        case .degraded(let sentence), .failing(let sentence): sentence
        }
    }
}

/// The operational paths every Peal process serves.
///
/// `/livez` (internal progress only), `/readyz`, `/healthz` (the same as `/livez`), `/metrics` (Prometheus
/// text or OpenMetrics, as `Accept` says) and `/statusz` (text for people; JSON with `?format=json` or
/// `Accept: application/json`). The closures run on the server's thread and must be quick.
package struct HealthEndpoints: Sendable {
    /// What kind of process it is.
    package let role: MetricRole
    /// Whether the process makes progress; a failure restarts it, so never depends on Kafka, Redis or a
    /// provider.
    package var live: @Sendable () -> Health
    /// Whether it is ready to take work.
    package var ready: @Sendable () -> Health
    /// Writes the role's own metrics; those of every process come on top.
    package var metrics: @Sendable (inout MetricWriter) -> Void
    /// One JSON object for tools.
    package var status: @Sendable () -> [UInt8]
    /// The same for people: lines of text, at most a screen; nil when there is only the JSON.
    package var page: (@Sendable () -> String)?

    /// Makes endpoints; those left out say that all is well and nothing more.
    package init(
        role: MetricRole, live: @escaping @Sendable () -> Health = { .ok },
        ready: @escaping @Sendable () -> Health = { .ok },
        metrics: @escaping @Sendable (inout MetricWriter) -> Void = { _ in },
        status: @escaping @Sendable () -> [UInt8] = { Array("{}\n".utf8) },
        page: (@Sendable () -> String)? = nil
    ) {
        self.role = role
        self.live = live
        self.ready = ready
        self.metrics = metrics
        self.status = status
        self.page = page
    }

    /// The answer when the path is one of these; nil otherwise.
    package func respond(_ request: HTTPRequest) -> HTTPResponse? {
        let answer: HTTPResponse
        switch request.path {
        case "/livez", "/healthz": answer = Self.probe(live())
        case "/readyz": answer = Self.probe(ready())
        case "/metrics": answer = exposition(MetricFormat(accept: request.header("accept")))
        case "/statusz":
            guard let found = statusAnswer(request) else {
                return .refusal(400, "format must be text or json.")
            }
            answer = found
        default: return nil
        }
        guard request.method == "GET" || request.method == "HEAD" else {
            return .methodNotAllowed(allowed: "GET")
        }
        return answer
    }

    /// Starts a server that serves these paths and 404 elsewhere.
    package func serve(_ options: HTTPServerOptions) throws(HTTPServerFailure) -> HTTPServer {
        let endpoints = self
        return try HTTPServer.start(options) { (request: HTTPRequest) in
            endpoints.respond(request) ?? .notFound
        }
    }

    private func exposition(_ format: MetricFormat) -> HTTPResponse {
        var writer = MetricWriter(format)
        ProcessFamilies.write(to: &writer, role: role, isReady: ready().passes, isLive: live().passes)
        metrics(&writer)
        return HTTPResponse(
            status: 200, headers: [("content-type", format.contentType), ("vary", "accept")],
            body: writer.finish())
    }

    /// nil when the query asks for a form that there is none of.
    private func statusAnswer(_ request: HTTPRequest) -> HTTPResponse? {
        let wantsJSON: Bool
        switch request.query("format") {
        case "json": wantsJSON = true
        case "text": wantsJSON = false
        case nil:
            let ranges = AcceptedType.list(request.header("accept") ?? "")
            func quality(_ type: String) -> Double {
                ranges.filter { $0.type == type }.map(\.quality).max() ?? 0
            }
            wantsJSON = quality("application/json") > max(quality("text/plain"), quality("text/html"))
        default: return nil
        }
        guard !wantsJSON, let page else { return .json(200, bytes: status()) }
        return HTTPResponse(
            status: 200, headers: [("content-type", "text/plain; charset=utf-8"), ("vary", "accept")],
            body: Array(page().utf8))
    }

    private static func probe(_ health: Health) -> HTTPResponse {
        switch health {
        case .ok: .text(200, "ok")
        case .degraded(let sentence): .text(200, "ok, but \(sentence)")
        case .failing(let sentence): .text(503, sentence)
        }
    }
}
