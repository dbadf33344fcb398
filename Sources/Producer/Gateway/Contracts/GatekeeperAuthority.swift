internal import HTTPServer

/// The gatekeeper as contracts ask it: with a key or a token that stood somewhere else than usual.
package struct GatekeeperAuthority: ContractAuthority {
    private let gatekeeper: Gatekeeper

    /// Asks this one.
    package init(_ gatekeeper: Gatekeeper) { self.gatekeeper = gatekeeper }

    package func key(_ key: String?, may scope: Scope, app: String) throws(Problem) -> String {
        let request = Self.request(key.map { ("x-api-key", $0) })
        let principal = try gatekeeper.principal(
            .key(scope), of: request, app: app, recipient: nil, nowMs: 0)
        guard case .key(let name) = principal else { return Gatekeeper.openName }
        return name
    }

    package func user(_ token: String, app: String, nowMs: Int64) throws(Problem) -> String {
        let request = Self.request(("authorization", "Bearer \(token)"))
        let principal = try gatekeeper.principal(
            .user, of: request, app: app, recipient: nil, nowMs: nowMs)
        guard case .user(let recipient) = principal else {
            throw .unauthorized("This needs the user's own token as Authorization: Bearer.")
        }
        return recipient
    }

    /// A request that shows this and nothing else. It has been counted against the limits already.
    private static func request(_ header: (name: String, value: String)?) -> HTTPRequest {
        HTTPRequest(method: "POST", path: "/", headers: header.map { [$0] } ?? [])
    }
}
