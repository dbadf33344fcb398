internal import Core
internal import EventLoop
package import HTTPServer

/// Decides who asks and whether that may be done.
///
/// - Threading: any.
package final class Gatekeeper: Sendable {
    /// What a request shows of itself.
    enum Credential: Equatable {
        case none
        /// An `Authorization` header of another scheme, or a malformed one.
        case unusable
        case key(String)
        /// A JSON Web Token, by its form.
        case token(String)
    }

    /// The name under which requests go when nobody has to show anything.
    package static let openName = "open"

    private let ring: KeyRing?
    private let verifier: (any UserTokenVerifier)?
    private let keyLimiter: Locked<RateLimiter>
    private let addressLimiter: Locked<RateLimiter>

    /// Without a ring everything is open. The limiters count requests of a key, and of an address that shows
    /// none.
    package init(
        ring: KeyRing?, verifier: (any UserTokenVerifier)? = nil,
        keyLimiter: RateLimiter = RateLimiter(perThousandSeconds: 0),
        addressLimiter: RateLimiter = RateLimiter(perThousandSeconds: 0)
    ) {
        self.ring = ring
        self.verifier = verifier
        self.keyLimiter = Locked(keyLimiter)
        self.addressLimiter = Locked(addressLimiter)
    }

    /// Whether anybody may do anything.
    package var isOpen: Bool { ring == nil }

    /// Whether the key of this name may be used for the app and the scope.
    package func allows(key name: String, app: String, scope: Scope) -> Bool {
        guard let ring else { return true }
        guard let key = ring.table.key(named: name) else { return false }
        return key.allows(scope) && key.allows(app: app)
    }

    /// Says who asks, if that may be done; handlers of routes with `Access.handler` call it themselves, once
    /// they know the app, with what they allow.
    ///
    /// `recipient` is whom the path names, nil when it names nobody; `isCounted` says whether the request was
    /// counted against the limits already.
    /// - Throws: a 401, 403 or 429.
    package func principal(
        _ access: Access, of request: HTTPRequest, app: String, recipient: String?, nowMs: Int64,
        isCounted: Bool = true
    ) throws(Problem) -> Principal {
        let credential = Self.credential(of: request)
        let key = try countedKey(Self.counted(credential, access, request), request, isCounted: isCounted)
        switch access {
        case .open, .handler: return .anyone
        case .key(let scope): return try self.key(credential, key, scope, app, Self.wantedKey)
        case .keyOrUser(let scope):
            guard case .token(let token) = credential else {
                return try self.key(credential, key, scope, app, Self.wantedKeyOrToken)
            }
            let subject = try user(token, app, nowMs)
            guard let recipient, subject.hasSameBytes(as: recipient) else { throw Self.notAllowed }
            return .user(recipient: subject)
        case .user:
            switch credential {
            case .token(let token): return .user(recipient: try user(token, app, nowMs))
            case .none: throw .unauthorized("Send the user's token as Authorization: Bearer.")
            case .key, .unusable:
                throw .unauthorized("This needs the user's own token as Authorization: Bearer.")
            }
        }
    }

    /// What tells by whose limit a request counts. The senders of a contract show their keys in a header of
    /// its own, which opens nothing here.
    private static func counted(
        _ credential: Credential, _ access: Access, _ request: HTTPRequest
    ) -> Credential {
        guard credential == .none, access == .handler, let text = request.header(senderKeyHeader) else {
            return credential
        }
        return .key(text)
    }

    /// Where senders of wallet alerts show their keys.
    static let senderKeyHeader = "x-dialect-api-key"

    /// Counts the request, by its key or by its address.
    private func countedKey(
        _ credential: Credential, _ request: HTTPRequest, isCounted: Bool
    ) throws(Problem) -> APIKey? {
        var key: APIKey?
        if case .key(let text) = credential { key = ring?.table.key(text: text) }
        guard !isCounted else { return key }
        let nowMs = Int64(clamping: Clock.monotonicMs)
        let waitMs =
            if let key {
                keyLimiter.withLock { $0.take(key.name, nowMs: nowMs) }
            } else {
                addressLimiter.withLock { $0.take(Self.limited(request.remote), nowMs: nowMs) }
            }
        guard let waitMs else { return key }
        throw Problem(
            429, "too_many_requests", "There are too many requests",
            detail: "Send fewer requests, or put several jobs into one.",
            retryAfterSeconds: Int(clamping: (waitMs + 999) / 1000))
    }

    private func key(
        _ credential: Credential, _ key: APIKey?, _ scope: Scope, _ app: String, _ wanted: String
    ) throws(Problem) -> Principal {
        guard ring != nil else { return .key(Self.openName) }
        guard let key else {
            switch credential {
            case .none: throw .unauthorized("Send \(wanted).")
            case .unusable:
                throw .unauthorized(
                    "The headers can't be used; send \(wanted), in one header and once.")
            case .key, .token: throw .unauthorized("The API key is not known here; send \(wanted).")
            }
        }
        guard key.allows(scope), key.allows(app: app) else { throw Self.notAllowed }
        return .key(key.name)
    }

    private func user(_ token: String, _ app: String, _ nowMs: Int64) throws(Problem) -> String {
        guard let verifier else {
            throw .unauthorized("This gateway takes no users' tokens; send an API key.")
        }
        return try verifier.verify(token, app: app, nowMs: nowMs)
    }

    private static let wantedKey = "an API key as X-Api-Key or Authorization: Bearer"
    private static let wantedKeyOrToken =
        wantedKey + ", or the user's own token as Authorization: Bearer"

    /// The same words whether the app, the recipient or neither exists.
    static let notAllowed = Problem.forbidden("These credentials don't allow this for this app or recipient.")

    /// What the headers show: `Authorization: Bearer`, or `X-API-Key`.
    static func credential(of request: HTTPRequest) -> Credential {
        let shown = request.headers.count { $0.name == "authorization" || $0.name == "x-api-key" }
        // Of two one could be checked here and the other believed elsewhere.
        guard shown < 2 else { return .unusable }
        if let text = request.header("authorization") {
            let parts = text.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return .unusable }
            let value = String(parts[1])
            guard !value.isEmpty, !value.contains(" ") else { return .unusable }
            return value.utf8.count { $0 == UInt8(ascii: ".") } == 2 ? .token(value) : .key(value)
        }
        if let text = request.header("x-api-key"), !text.isEmpty { return .key(text) }
        return .none
    }

    /// The address that is counted: of IPv6 the first 64 bits, which one client has as a rule.
    package static func limited(_ address: String) -> String {
        guard address.contains(":") else { return address }
        let halves = address.split(separator: ":", omittingEmptySubsequences: false)
        let skip = address.range(of: "::")
        var groups: [Substring] = []
        if let skip {
            groups = address[..<skip.lowerBound].split(separator: ":")
            while groups.count < 4 { groups.append("0") }
        } else {
            groups = Array(halves)
        }
        return groups.prefix(4).joined(separator: ":")
    }
}

extension String {
    /// The first place of another text; nil when it is nowhere.
    fileprivate func range(of other: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(other) { return start..<index(start, offsetBy: other.count) }
            start = index(after: start)
        }
        return nil
    }
}
