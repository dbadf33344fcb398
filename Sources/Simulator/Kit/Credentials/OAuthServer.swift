package import Security

import Core
import EventLoop

/// A service account that the simulator's token endpoint knows.
package struct ServiceAccount: Sendable {
    package let email: String
    package let keyID: String
    package let projectID: String
    let publicKey: RS256PublicKey

    package init(email: String, keyID: String, projectID: String, publicKey: RS256PublicKey) {
        self.email = email
        self.keyID = keyID
        self.projectID = projectID
        self.publicKey = publicKey
    }
}

/// Google's token endpoint (RFC 7523) and the access tokens it has handed out.
///
/// - Threading: the simulator's loop only.
final class OAuthServer {
    private static let tokensMax = 65_536
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    private static let scopes = [
        "https://www.googleapis.com/auth/firebase.messaging",
        "https://www.googleapis.com/auth/cloud-platform",
    ]

    private struct Granted {
        let text: [UInt8]
        let project: [UInt8]
        let expiresAtMs: Int64
    }

    /// What is remembered about one connection: the last access token that was accepted.
    struct Memory {
        fileprivate var token: [UInt8] = []
        fileprivate var project: [UInt8] = []
        fileprivate var expiresAtMs: Int64 = 0
        fileprivate var generation: UInt64 = 0
    }

    var accounts: [ServiceAccount]
    /// How long an access token lives.
    var lifetimeS: Int64
    /// Assertions' `aud` must be one of these.
    var audiences: [String] = []
    private(set) var granted: UInt64 = 0
    private(set) var refused: UInt64 = 0
    private var tokens: [UInt64: Granted] = [:]
    private var generation: UInt64 = 1

    init(accounts: [ServiceAccount], lifetimeS: Int64 = 3600) {
        self.accounts = accounts
        self.lifetimeS = lifetimeS
    }

    /// Voids every access token handed out so far.
    func revokeAll() {
        tokens.removeAll()
        generation += 1
    }

    /// Whether one of the accounts belongs to the project.
    func knows(project: Bytes) -> Bool { accounts.contains { project.equals(Array($0.projectID.utf8)) } }

    /// Checks the bearer of an FCM request for a project.
    func check(_ authorization: Bytes, project: Bytes, memory: inout Memory, nowMs: Int64) -> FCMError {
        guard authorization.count > 7,
            authorization.hasPrefix("Bearer ") || authorization.hasPrefix("bearer ")
        else {
            return .unauthenticated
        }
        let token = authorization.slice(7, authorization.count)
        if memory.generation == generation, token.equals(memory.token) {
            guard nowMs < memory.expiresAtMs else { return .unauthenticated }
            if project.equals(memory.project) { return .none }
            return knows(project: project) ? .permissionDenied : .notFound
        }
        guard let found = tokens[token.hash], token.equals(found.text), nowMs < found.expiresAtMs else {
            return .unauthenticated
        }
        memory = Memory(
            token: found.text, project: found.project, expiresAtMs: found.expiresAtMs, generation: generation)
        if project.equals(found.project) { return .none }
        return knows(project: project) ? .permissionDenied : .notFound
    }

    // MARK: - POST /token

    /// The answer to a token request: status and JSON.
    func exchange(body: Bytes, nowMs: Int64) -> (status: UInt16, body: [UInt8]) {
        let form = Self.form(body)
        guard form["grant_type"] == Self.grantType else {
            return refuse("unsupported_grant_type", "Invalid grant_type: use \(Self.grantType)")
        }
        guard let assertion = form["assertion"], let parts = JWT.decode(Array(assertion.utf8)) else {
            return refuse("invalid_request", "The assertion is missing or not a JWT.")
        }
        guard parts.header["alg"]?.string == "RS256" else {
            return refuse("invalid_grant", "Invalid JWT: alg must be RS256.")
        }
        let email = parts.claims["iss"]?.string ?? ""
        guard let account = accounts.first(where: { $0.email == email }) else {
            return refuse("invalid_grant", "Invalid grant: account not found")
        }
        if let keyID = parts.header["kid"]?.string, keyID != account.keyID {
            return refuse("invalid_grant", "Invalid JWT Signature: the key is unknown.")
        }
        guard account.publicKey.verify(signature: parts.signature, message: parts.signingInput) else {
            return refuse("invalid_grant", "Invalid JWT Signature.")
        }
        if let problem = claimsProblem(parts.claims, nowS: nowMs / 1000) { return problem }
        return grant(account, nowMs: nowMs)
    }

    private func claimsProblem(_ claims: JSONValue, nowS: Int64) -> (status: UInt16, body: [UInt8])? {
        guard let audience = claims["aud"]?.string, audiences.isEmpty || audiences.contains(audience) else {
            return refuse("invalid_grant", "Invalid JWT: Failed audience check.")
        }
        guard let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
            (0..<1 << 40).contains(issued), (0..<1 << 40).contains(expires),
            expires > nowS - 300, issued < nowS + 300, expires - issued <= 3600, expires > issued
        else {
            return refuse(
                "invalid_grant",
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim.")
        }
        let scopes = (claims["scope"]?.string ?? "").split(separator: " ").map(String.init)
        guard scopes.contains(where: { Self.scopes.contains($0) }) else {
            return refuse("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        return nil
    }

    private func grant(_ account: ServiceAccount, nowMs: Int64) -> (status: UInt16, body: [UInt8]) {
        if tokens.count >= Self.tokensMax { tokens = tokens.filter { $0.value.expiresAtMs > nowMs } }
        if tokens.count >= Self.tokensMax { tokens.removeAll() }
        let token = "ya29.simulated-" + Base64.encodeURL(RandomSource.bytes(48))
        let text = Array(token.utf8)
        let hash = unsafe text.withUnsafeBytes { unsafe Hash64.of($0) }
        tokens[hash] = Granted(
            text: text, project: Array(account.projectID.utf8), expiresAtMs: nowMs + lifetimeS * 1000)
        granted += 1
        let json = "{\"access_token\":\"\(token)\",\"expires_in\":\(lifetimeS),\"token_type\":\"Bearer\"}"
        return (200, Array(json.utf8))
    }

    private func refuse(_ error: String, _ description: String) -> (status: UInt16, body: [UInt8]) {
        refused += 1
        let json = "{\"error\":\"\(error)\",\"error_description\":\"\(description)\"}"
        return (400, Array(json.utf8))
    }

    /// The fields of an `application/x-www-form-urlencoded` body.
    static func form(_ body: Bytes) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in body.text.split(separator: "&").prefix(32) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            fields[percentDecoded(parts[0])] = parts.count > 1 ? percentDecoded(parts[1]) : ""
        }
        return fields
    }

    private static func percentDecoded(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = Hex.value(bytes[index + 1]), let low = Hex.value(bytes[index + 2])
            {
                out.append(high << 4 | low)
                index += 3
            } else {
                out.append(bytes[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : bytes[index])
                index += 1
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
