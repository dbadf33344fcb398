/// One complete HTTP/1.1 request, as a handler sees it.
package struct HTTPRequest: Sendable {
    /// The method in capitals, as sent.
    package let method: String
    /// The path, percent-decoded, without the query.
    package let path: String
    /// The query's names and values in order, percent-decoded; a name without `=` has an empty value.
    package let query: [(name: String, value: String)]
    /// The headers in order; names are lower-case.
    package let headers: [(name: String, value: String)]
    /// The body, at most the server's `bodyBytesMax`.
    package let body: [UInt8]

    /// Makes a request, for tests of handlers.
    package init(
        method: String, path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// The first value of a query name.
    package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// The first value of a header; give the name in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
