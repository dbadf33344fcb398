internal import HTTPServer

/// Who vouches for the keys and tokens of contracts whose app follows from a header or a token.
package protocol ContractAuthority: Sendable {
    /// Checks that an API key may do something for an app; nil is none at all, which a gateway that is open
    /// to everybody lets pass.
    /// - Returns: the key's name.
    /// - Throws: 401 for a key that nobody knows, 403 for one that may not.
    func key(_ key: String?, may scope: Scope, app: String) throws(Problem) -> String

    /// Checks a user's token for an app.
    /// - Returns: the user: a recipient of the app.
    /// - Throws: 401 when it can't be believed.
    func user(_ token: String, app: String, nowMs: Int64) throws(Problem) -> String
}

extension GatewayCall {
    /// What stands behind `Bearer` in the `authorization` header; nil without it.
    package var bearer: String? {
        guard let value = request.header("authorization") else { return nil }
        let parts = value.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return String(parts[1])
    }

    /// The same, when there must be one.
    func requiredBearer() throws(Problem) -> String {
        guard let bearer else {
            throw .unauthorized("The request needs the header Authorization: Bearer with the user's token.")
        }
        return bearer
    }
}
