/// One HTTP request to be made with `HTTPClient`.
package struct HTTPClientRequest: Sendable {
    /// The method in capitals.
    package var method: String
    /// An absolute `https://` or `http://` address.
    package var url: String
    /// Headers in order; a name or value with a line break makes the request invalid.
    package var headers: [(name: String, value: String)]
    /// The body; empty sends none, except that POST, PUT and PATCH send one of length 0.
    package var body: [UInt8]

    /// Makes a request.
    package init(
        method: String = "GET", url: String, headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// The answer to a request, whatever its status.
package struct HTTPClientResponse: Sendable {
    /// The status of the final answer; 1xx answers are skipped.
    package let status: Int
    /// Headers in order; names are lower-case.
    package let headers: [(name: String, value: String)]
    /// The body, at most the client's `responseBytesMax`.
    package let body: [UInt8]

    /// The first value of a header; give the name in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// How a client connects and what it allows.
package struct HTTPClientOptions: Sendable {
    /// A PEM file of authorities to trust; nil for the system's.
    package var caFile: String?
    /// Whether the peer's certificate and name are checked.
    package var verifiesPeer = true
    /// The deadline for a connection with its TLS handshake, in milliseconds.
    package var connectTimeoutMs = 5_000
    /// The deadline for the whole request, in milliseconds.
    package var totalTimeoutMs = 15_000
    /// The longest body that is accepted.
    package var responseBytesMax = 1 << 20
    /// The most bytes of response headers that are accepted.
    package var headerBytesMax = 64 << 10
    /// A proxy such as `http://proxy:3128`; empty for none, nil for what the environment says
    /// (`https_proxy`).
    package var proxy: String?
    /// `user:password` for the proxy's Basic authentication; empty for none. Never logged.
    package var proxyCredentials = ""

    /// The defaults.
    package init() {}
}

/// Why a request has no answer.
package struct HTTPClientFailure: Error, Sendable, CustomStringConvertible {
    /// A closed set, usable as a metric label.
    package enum Code: String, Sendable, CaseIterable {
        case invalidRequest = "invalid_request"
        case resolve = "resolve"
        case connect = "connect"
        case certificate = "certificate"
        case tls = "tls"
        case timedOut = "timed_out"
        case tooLarge = "too_large"
        case interrupted = "interrupted"
        case queueFull = "queue_full"
        case stopped = "stopped"
        case other = "other"
    }

    /// The kind of failure.
    package let code: Code
    /// What happened and what to check; holds no header, query or body.
    package let description: String
    /// Whether the request may have reached the peer; false means that resending it is safe.
    package let mayHaveArrived: Bool
}
