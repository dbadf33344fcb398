package import Core

/// What the claims of a token must be, besides signed.
package struct TokenRules: Equatable, Sendable {
    /// The token must be meant for one of these.
    package var audiences: [String]
    /// Who must have made it; nil for anyone who has a key. Tokens of `did:key` clients make themselves.
    package var issuer: String?
    /// The claim that names the user.
    package var subjectClaim = "sub"
    /// How far apart the clocks may be, in ms.
    package var leewayMs: Int64 = 60_000

    /// Makes rules with the usual leeway.
    package init(audiences: [String], issuer: String? = nil, subjectClaim: String = "sub") {
        self.audiences = audiences
        self.issuer = issuer
        self.subjectClaim = subjectClaim
    }
}

/// What a token says, once it has been believed.
package struct VerifiedToken: Equatable, Sendable {
    /// Whom it is about.
    package let subject: String
    /// All its claims.
    package let claims: JSONValue
}

/// Checks the tokens that an app's users show: signed JSON Web Tokens in compact form (RFC 7519, RFC 7515),
/// by the advice of RFC 8725.
///
/// - Threading: immutable; any.
/// - Cost: some microseconds of parsing, and one signature check: RSA and Ed25519 some 50 to 150 us.
package struct TokenVerifier: Sendable {
    /// The longest token, in bytes.
    package static let bytesMax = 8192
    /// The longest subject, in bytes.
    package static let subjectBytesMax = 256
    private static let segmentsMax = 3

    private let keys: VerificationKeys
    private let rules: TokenRules
    private let acceptsDIDKeys: Bool

    /// With `acceptsDIDKeys`, a client may also name itself by its own key (see ``DIDKey``): such a token is
    /// about that key and nobody else, whatever its subject says.
    package init(keys: VerificationKeys, rules: TokenRules, acceptsDIDKeys: Bool = false) {
        self.keys = keys
        self.rules = rules
        self.acceptsDIDKeys = acceptsDIDKeys
    }

    /// Checks a token at `nowMs` (ms since 1970).
    /// - Throws: the first reason not to believe it.
    package func verify(_ token: String, nowMs: Int64) throws(TokenRefusal) -> VerifiedToken {
        let parts = try Self.parts(token)
        let algorithm = try Self.checkHeader(parts.header)
        let issuer = parts.claims["iss"]?.string
        if acceptsDIDKeys, let issuer, issuer.hasPrefix(DIDKey.prefix) {
            return try verifyDID(parts, algorithm, issuer, nowMs)
        }
        let keyID = parts.header["kid"]
        if let keyID, keyID.string == nil {
            throw TokenRefusal(.malformed, "The token's key id (kid) must be a text.")
        }
        guard let key = keys.key(id: keyID?.string, algorithm: algorithm) else {
            throw TokenRefusal(
                .unknownKey,
                "No key for the token's algorithm and key id (kid) is configured for this app.")
        }
        guard key.verify(signature: parts.signature, message: parts.signed) else { throw Self.badSignature }
        try checkTimes(parts.claims, nowMs)
        try checkAudience(parts.claims)
        if let wanted = rules.issuer, issuer != wanted {
            throw TokenRefusal(.issuer, "The token's issuer (iss) is not the one this app accepts.")
        }
        return VerifiedToken(subject: try subject(parts.claims), claims: parts.claims)
    }

    private func verifyDID(
        _ parts: Parts, _ algorithm: TokenAlgorithm, _ issuer: String, _ nowMs: Int64
    ) throws(TokenRefusal) -> VerifiedToken {
        guard algorithm == .edDSA else {
            throw TokenRefusal(.algorithm, "A token of a did:key client must be signed by EdDSA.")
        }
        guard let name = DIDKey(issuer), let key = try? VerificationKey(ed25519: name.publicKey) else {
            throw TokenRefusal(
                .issuer, "The token's issuer is no did:key of an Ed25519 key (did:key:z6Mk...).")
        }
        guard key.verify(signature: parts.signature, message: parts.signed) else { throw Self.badSignature }
        try checkTimes(parts.claims, nowMs)
        try checkAudience(parts.claims)
        // The key proves that the client is itself, and nothing else: believing `sub` here would let anybody
        // be anybody.
        return VerifiedToken(subject: name.identifier, claims: parts.claims)
    }

    private static let badSignature = TokenRefusal(.signature, "The token's signature is wrong.")

    // MARK: Form

    private struct Parts {
        let header: JSONValue
        let claims: JSONValue
        let signature: [UInt8]
        /// What the signature covers.
        let signed: [UInt8]
    }

    private static func parts(_ token: String) throws(TokenRefusal) -> Parts {
        guard token.utf8.count <= bytesMax else {
            throw TokenRefusal(.tooLong, "The token is longer than \(bytesMax) bytes.")
        }
        let bytes = Array(token.utf8)
        let pieces = bytes.split(
            separator: UInt8(ascii: "."), maxSplits: segmentsMax, omittingEmptySubsequences: false)
        guard pieces.count == segmentsMax else {
            throw TokenRefusal(.malformed, "The token is no signed JWT: that has three parts between dots.")
        }
        guard let header = Base64.decodeCanonicalURL(pieces[0]),
            let claims = Base64.decodeCanonicalURL(pieces[1]),
            let signature = Base64.decodeCanonicalURL(pieces[2])
        else {
            throw TokenRefusal(.malformed, "A part of the token is no base64url without padding.")
        }
        return Parts(
            header: try object(header), claims: try object(claims), signature: signature,
            signed: Array(bytes[..<pieces[1].endIndex]))
    }

    private static func object(_ bytes: [UInt8]) throws(TokenRefusal) -> JSONValue {
        guard let text = String(validating: bytes, as: UTF8.self),
            let value = try? JSONValue.parse(text: text), case .object = value
        else { throw TokenRefusal(.malformed, "A part of the token is no JSON object.") }
        guard !hasDuplicates(value) else {
            throw TokenRefusal(.malformed, "A name stands twice in one object of the token.")
        }
        return value
    }

    /// Two members of one name could be read one way here and another way elsewhere (RFC 7515 section 4).
    private static func hasDuplicates(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let members):
            Set(members.map(\.name)).count != members.count
                || members.contains { hasDuplicates($0.value) }
        case .array(let elements): elements.contains { hasDuplicates($0) }
        case .null, .bool, .number, .string: false
        }
    }

    /// Keys in the header (`jwk`, `jku`, `x5c`, `x5u`) are never looked at (RFC 8725 section 3.10).
    private static func checkHeader(_ header: JSONValue) throws(TokenRefusal) -> TokenAlgorithm {
        guard let name = header["alg"]?.string, let algorithm = TokenAlgorithm(rawValue: name) else {
            let names = TokenAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw TokenRefusal(.algorithm, "The token's algorithm (alg) must be one of \(names).")
        }
        guard header["crit"] == nil else {
            throw TokenRefusal(.critical, "The token asks for extensions (crit) that are not known here.")
        }
        if let type = header["typ"] {
            // Another kind of token of the same issuer must not pass for this one (RFC 8725 section 3.11).
            var word = (type.string ?? "?").lowercased()[...]
            if word.hasPrefix("application/") { word = word.dropFirst("application/".count) }
            guard word == "jwt" || word == "at+jwt" else {
                throw TokenRefusal(.type, "The token's type (typ) must be JWT or at+jwt, or left out.")
            }
        }
        return algorithm
    }

    // MARK: Claims

    private func checkTimes(_ claims: JSONValue, _ nowMs: Int64) throws(TokenRefusal) {
        guard let end = try Self.timeMs(claims, "exp") else {
            throw TokenRefusal(.expiryMissing, "The token has no time of expiry (exp).")
        }
        guard nowMs < end + rules.leewayMs else { throw TokenRefusal(.expired, "The token has expired.") }
        if let start = try Self.timeMs(claims, "nbf"), nowMs < start - rules.leewayMs {
            throw TokenRefusal(.notYetValid, "The token is not valid yet (nbf).")
        }
        if let made = try Self.timeMs(claims, "iat"), nowMs < made - rules.leewayMs {
            throw TokenRefusal(
                .issuedInFuture, "The token was issued in the future (iat); check the issuer's clock.")
        }
    }

    /// A NumericDate (RFC 7519 section 2) in ms; nil when it isn't there.
    private static func timeMs(_ claims: JSONValue, _ name: String) throws(TokenRefusal) -> Int64? {
        guard let value = claims[name] else { return nil }
        // Until the end of the year 9999: nothing overflows.
        guard case .number(let text) = value, let seconds = Double(text), seconds >= 0,
            seconds < 253_402_300_800
        else { throw TokenRefusal(.malformed, "The token's \(name) is no number of seconds since 1970.") }
        return Int64((seconds * 1000).rounded(.down))
    }

    private func checkAudience(_ claims: JSONValue) throws(TokenRefusal) {
        var named: [String] = []
        switch claims["aud"] {
        case .string(let one): named = [one]
        case .array(let several): named = several.compactMap(\.string)
        default: break
        }
        guard named.contains(where: { rules.audiences.contains($0) }) else {
            throw TokenRefusal(.audience, "The token is not meant for this service (aud).")
        }
    }

    private func subject(_ claims: JSONValue) throws(TokenRefusal) -> String {
        let text: String? =
            switch claims[rules.subjectClaim] {
            case .string(let text): text
            case .number(let text): Int64(text).map { String($0) }
            default: nil
            }
        guard let text, !text.isEmpty, text.utf8.count <= Self.subjectBytesMax,
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            throw TokenRefusal(
                .subject,
                "The token's \(rules.subjectClaim) must be a text of 1 to \(Self.subjectBytesMax) bytes.")
        }
        return text
    }
}
