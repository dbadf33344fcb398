/// One complete HTTP/1.1 request, as a handler sees it.
package struct HTTPRequest: Sendable {
    /// The method in capitals, as sent.
    package let method: String
    /// The path, percent-decoded, without the query; as it was sent when it can't be decoded.
    package let path: String
    /// The path as it was sent; see ``PercentText/segments(ofPath:)``.
    package let rawPath: String
    /// Whether path or query hold an escape that isn't one, a control character or what isn't UTF-8.
    package let isMalformed: Bool
    /// The query's names and values in order, percent-decoded; a name without `=` has an empty value.
    package let query: [(name: String, value: String)]
    /// The headers in order; names are lower-case.
    package let headers: [(name: String, value: String)]
    /// The body, at most the server's `bodyBytesMax`.
    package let body: [UInt8]
    /// The client's numeric address; empty when it is unknown.
    package let remote: String

    /// Makes a request, for tests of handlers.
    package init(
        method: String, path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [], body: [UInt8] = [], remote: String = ""
    ) {
        self.method = method
        rawPath = path
        let decoded = PercentText.decode(path.utf8)
        self.path = decoded ?? path
        isMalformed = decoded == nil
        self.query = query
        self.headers = headers
        self.body = body
        self.remote = remote
    }

    /// Makes the request of a connection; the query is still encoded. `isUTF8` says whether path and query
    /// were, as they came.
    init(
        method: String, rawPath: String, rawQuery: [(name: String, value: String)], isUTF8: Bool,
        headers: [(name: String, value: String)], body: [UInt8], remote: String
    ) {
        self.method = method
        self.rawPath = rawPath
        let decoded = PercentText.decode(rawPath.utf8)
        path = decoded ?? rawPath
        var isMalformed = decoded == nil || !isUTF8
        query = rawQuery.map { pair in
            guard let name = PercentText.decode(pair.name.utf8),
                let value = PercentText.decode(pair.value.utf8)
            else {
                isMalformed = true
                return pair
            }
            return (name, value)
        }
        self.isMalformed = isMalformed
        self.headers = headers
        self.body = body
        self.remote = remote
    }

    /// The first value of a query name.
    package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// The first value of a header; give the name in lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
