/// What a probe is told.
package enum Health: Sendable, Equatable {
    case ok
    /// Well, but something outside is not: one short sentence about it, under the same status.
    case degraded(String)
    /// Not well, with one short sentence that says why.
    case failing(String)
}

/// The operational paths every Peal process serves.
///
/// `/livez` (internal progress only), `/readyz`, `/healthz` (the same as `/livez`), `/metrics` (Prometheus
/// text) and `/statusz` (JSON). The closures run on the server's thread and must be quick.
package struct HealthEndpoints: Sendable {
    /// Whether the process makes progress; a failure restarts it, so never depends on Kafka, Redis or a
    /// provider.
    package var live: @Sendable () -> Health
    /// Whether it is ready to take work.
    package var ready: @Sendable () -> Health
    /// Prometheus text, version 0.0.4.
    package var metrics: @Sendable () -> [UInt8]
    /// One JSON object for people.
    package var status: @Sendable () -> [UInt8]

    /// Makes endpoints; those left out say that all is well and nothing more.
    package init(
        live: @escaping @Sendable () -> Health = { .ok }, ready: @escaping @Sendable () -> Health = { .ok },
        metrics: @escaping @Sendable () -> [UInt8] = { [] },
        status: @escaping @Sendable () -> [UInt8] = { Array("{}\n".utf8) }
    ) {
        self.live = live
        self.ready = ready
        self.metrics = metrics
        self.status = status
    }

    /// The answer when the path is one of these; nil otherwise.
    package func respond(_ request: HTTPRequest) -> HTTPResponse? {
        let answer: HTTPResponse
        switch request.path {
        case "/livez", "/healthz": answer = Self.probe(live())
        case "/readyz": answer = Self.probe(ready())
        case "/metrics":
            answer = HTTPResponse(
                status: 200, headers: [("content-type", "text/plain; version=0.0.4; charset=utf-8")],
                body: metrics())
        case "/statusz": answer = .json(200, bytes: status())
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

    private static func probe(_ health: Health) -> HTTPResponse {
        switch health {
        case .ok: .text(200, "ok")
        case .degraded(let sentence): .text(200, "ok, but \(sentence)")
        case .failing(let sentence): .text(503, sentence)
        }
    }
}
