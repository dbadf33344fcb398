/// Finds the route of a method and path.
package struct RouteTable: Sendable {
    /// What a path leads to.
    package enum Match: Sendable {
        case route(GatewayRoute, [String: String])
        /// The path exists under other methods, in the order of the routes: for `allow`.
        case otherMethods([String])
        case nothing
    }

    private let routes: [(segments: [Substring], route: GatewayRoute)]

    /// Takes routes; the first one that fits is taken, so a literal segment goes before a `{name}`.
    package init(_ routes: [GatewayRoute]) {
        self.routes = routes.map { (Self.segments($0.pattern[...]), $0) }
    }

    /// Every route, in order.
    package var all: [GatewayRoute] { routes.map(\.route) }

    /// Finds the route for a path that is already percent-decoded segment by segment; see `split`.
    package func match(method: String, segments path: [String]) -> Match {
        var others: [String] = []
        for (segments, route) in routes {
            guard let parameters = Self.parameters(segments, path) else { continue }
            if route.method == method { return .route(route, parameters) }
            if !others.contains(route.method) { others.append(route.method) }
        }
        return others.isEmpty ? .nothing : .otherMethods(others)
    }

    private static func parameters(_ pattern: [Substring], _ path: [String]) -> [String: String]? {
        guard pattern.count == path.count else { return nil }
        var parameters: [String: String] = [:]
        for (want, have) in zip(pattern, path) {
            if want.first == "{" {
                guard !have.isEmpty else { return nil }
                parameters[String(want.dropFirst().dropLast())] = have
            } else if want != have {
                return nil
            }
        }
        return parameters
    }

    private static func segments(_ path: Substring) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }
}
