import Core

/// The answer to one HTTP/1.1 request.
package struct HTTPResponse: Sendable {
    /// The status code, 200...599.
    package var status: Int
    /// Extra headers; a value with a line break is left out.
    package var headers: [(name: String, value: String)]
    /// The body; `content-length` is set from it.
    package var body: [UInt8]
    /// What the body consists of instead, for an answer that goes on.
    package var stream: HTTPStream?

    /// Makes an answer.
    package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer of plain text; a line end is added.
    package static func text(_ status: Int, _ text: String) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("content-type", "text/plain; charset=utf-8")],
            body: Array("\(text)\n".utf8))
    }

    /// An answer of JSON that is already written.
    package static func json(_ status: Int, _ json: String) -> HTTPResponse {
        .json(status, bytes: Array(json.utf8))
    }

    /// An answer of JSON that is already written.
    package static func json(_ status: Int, bytes: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("content-type", "application/json")], body: bytes)
    }

    /// An answer `{"error": sentence}` for a refused request.
    package static func refusal(_ status: Int, _ sentence: String) -> HTTPResponse {
        var body = ByteBuffer()
        body.append("{\"error\":")
        body.append(jsonString: sentence)
        body.append("}\n")
        return .json(status, bytes: body.array)
    }

    /// The answer to a path that nothing serves.
    package static let notFound = HTTPResponse.refusal(404, "There is nothing at this path.")

    /// The answer to a method that a path does not take; `allowed` is the `allow` header, such as `GET,
    /// POST`.
    package static func methodNotAllowed(allowed: String) -> HTTPResponse {
        var response = HTTPResponse.refusal(405, "This path takes \(allowed) only.")
        response.headers.append(("allow", allowed))
        return response
    }
}
