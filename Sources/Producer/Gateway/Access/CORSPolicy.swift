package import HTTPServer

/// Which browsers' pages may call the gateway (the Fetch standard's CORS protocol). Off without origins.
package struct CORSPolicy: Sendable {
    private let origins: Set<String>
    private static let methods = "GET, HEAD, POST, PUT, PATCH, DELETE"
    private static let headers =
        "authorization, content-type, idempotency-key, x-api-key, x-request-id, x-dialect-client-key"
    private static let exposed =
        "x-request-id, retry-after, idempotent-replayed, location"

    /// Allows the origins.
    package init(origins: [String]) { self.origins = Set(origins) }

    /// The answer to a preflight of an allowed origin; nil for any other request.
    package func preflight(_ request: HTTPRequest) -> HTTPResponse? {
        guard request.method == "OPTIONS", request.header("access-control-request-method") != nil,
            isAllowed(request)
        else { return nil }
        return HTTPResponse(
            status: 204,
            headers: [
                ("access-control-allow-methods", Self.methods),
                ("access-control-allow-headers", Self.headers), ("access-control-max-age", "600"),
            ])
    }

    /// Adds what an allowed origin needs to read the answer.
    package func complete(_ response: inout HTTPResponse, of request: HTTPRequest) {
        guard !origins.isEmpty else { return }
        response.headers.append(("vary", "origin"))
        guard isAllowed(request), let origin = request.header("origin") else { return }
        response.headers.append(("access-control-allow-origin", origin))
        response.headers.append(("access-control-expose-headers", Self.exposed))
    }

    private func isAllowed(_ request: HTTPRequest) -> Bool {
        request.header("origin").map { origins.contains($0) } ?? false
    }
}
