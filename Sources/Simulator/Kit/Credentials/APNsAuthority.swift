package import Security

import Core

/// A key that the simulator's APNs accepts.
package struct APNsKey: Sendable {
    package let keyID: String
    package let teamID: String
    let publicKey: ES256PublicKey
    /// The environments that the key works in.
    package let environments: [PushEnvironment]
    /// The bundle ids that the key may send to; empty for all.
    package let bundleIDs: [String]
    let bundleIDBytes: [[UInt8]]

    /// - Parameters:
    ///   - keyID: the ten characters of `kid`.
    ///   - teamID: the ten characters of `iss`.
    ///   - publicKey: verifies the signatures.
    ///   - environments: where the key works.
    ///   - bundleIDs: what it may send to; empty for all.
    package init(
        keyID: String, teamID: String, publicKey: ES256PublicKey,
        environments: [PushEnvironment] = PushEnvironment.allCases, bundleIDs: [String] = []
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.publicKey = publicKey
        self.environments = environments
        self.bundleIDs = bundleIDs
        bundleIDBytes = bundleIDs.map { Array($0.utf8) }
    }
}

/// Over what APNs counts the updates of provider tokens.
package enum TokenUpdateScope: String, Sendable {
    /// On each connection, as documented.
    case connection
    /// For each key on all connections, which finds a fleet whose pods mint their own tokens.
    case key
}

/// Checks provider tokens (JWT) as APNs does.
///
/// The signature of each distinct token is verified once; a connection remembers its last token, so a request
/// costs one comparison of bytes.
/// - Threading: the simulator's loop only.
final class APNsAuthority {
    /// The oldest `iat` that is accepted.
    static let ageMaxS: Int64 = 3600
    /// How far `iat` may lie in the future before the token counts as wrong.
    static let futureMaxS: Int64 = 600
    private static let cacheMax = 4096

    /// A token whose signature was checked.
    final class Verified {
        let text: [UInt8]
        let reason: APNsReason
        let key: Int
        let issuedAtS: Int64
        /// The generation of keys that it was checked against.
        let generation: UInt64

        init(text: [UInt8], reason: APNsReason, generation: UInt64, key: Int = -1, issuedAtS: Int64 = 0) {
            self.text = text
            self.reason = reason
            self.generation = generation
            self.key = key
            self.issuedAtS = issuedAtS
        }
    }

    /// What APNs remembers about one connection.
    struct Memory {
        var last: Verified?
        /// The key of the first accepted request, to which the connection is bound.
        var key = -1
    }

    private(set) var keys: [APNsKey]
    /// The least time between the minting of two tokens.
    var refreshMinS: Int64
    var scope: TokenUpdateScope
    /// Signatures checked so far.
    private(set) var verifications: UInt64 = 0
    private var cache: [UInt64: Verified] = [:]
    private var latest: [Int: Verified] = [:]
    private var generation: UInt64 = 1

    init(keys: [APNsKey], refreshMinS: Int64 = 1200, scope: TokenUpdateScope = .connection) {
        self.keys = keys
        self.refreshMinS = refreshMinS
        self.scope = scope
    }

    /// Replaces the accepted keys; tokens of keys that are gone are refused from now on.
    func replaceKeys(_ keys: [APNsKey]) {
        self.keys = keys
        generation += 1
        cache.removeAll()
        latest.removeAll()
    }

    /// Checks the credentials of one request.
    func check(
        _ authorization: Bytes, memory: inout Memory, environment: PushEnvironment, nowS: Int64
    ) -> APNsReason {
        guard authorization.hasPrefix("bearer "), authorization.count > 7 else {
            return .missingProviderToken
        }
        let token = authorization.slice(7, authorization.count)
        let previous = memory.last
        let isRepeated = previous.map { $0.generation == generation && token.equals($0.text) } ?? false
        let verified: Verified
        if isRepeated, let previous { verified = previous } else { verified = verify(token) }
        if verified.reason != .none { return verified.reason }
        guard verified.key < keys.count, keys[verified.key].environments.contains(environment) else {
            return .badEnvironmentKeyIDInToken
        }
        if nowS - verified.issuedAtS > Self.ageMaxS { return .expiredProviderToken }
        if verified.issuedAtS - nowS > Self.futureMaxS { return .invalidProviderToken }
        if memory.key >= 0, memory.key != verified.key { return .unrelatedKeyIDInToken }
        if isRepeated { return .none }
        let rival = scope == .connection ? previous : latest[verified.key]
        // After a change of keys the same token is another object.
        if let rival, rival !== verified, rival.text != verified.text, rival.key == verified.key,
            abs(verified.issuedAtS - rival.issuedAtS) < refreshMinS
        {
            return .tooManyProviderTokenUpdates
        }
        memory.last = verified
        memory.key = verified.key
        if scope == .key { latest[verified.key] = verified }
        return .none
    }

    /// Whether the connection's key may send to this bundle id.
    func allows(bundleID: Bytes, memory: borrowing Memory) -> Bool {
        guard memory.key >= 0, memory.key < keys.count else { return true }
        let allowed = keys[memory.key].bundleIDBytes
        if allowed.isEmpty { return true }
        for candidate in allowed where bundleID.equals(candidate) { return true }
        return false
    }

    private func verify(_ token: Bytes) -> Verified {
        let hash = token.hash
        if let known = cache[hash], token.equals(known.text) { return known }
        let verified = examine(token.array)
        if cache.count >= Self.cacheMax { cache.removeAll() }
        cache[hash] = verified
        return verified
    }

    private func examine(_ text: [UInt8]) -> Verified {
        verifications += 1
        let wrong = Verified(text: text, reason: .invalidProviderToken, generation: generation)
        guard let parts = JWT.decode(text), parts.header["alg"]?.string == "ES256",
            let keyID = parts.header["kid"]?.string, let teamID = parts.claims["iss"]?.string,
            let issuedAt = parts.claims["iat"]?.integer
        else { return wrong }
        guard let index = keys.firstIndex(where: { $0.keyID == keyID && $0.teamID == teamID }),
            keys[index].publicKey.verify(signature: parts.signature, message: parts.signingInput)
        else { return wrong }
        // Bounded so that the arithmetic on ages can't overflow.
        guard issuedAt >= 0, issuedAt < 1 << 40 else { return wrong }
        return Verified(
            text: text, reason: .none, generation: generation, key: index, issuedAtS: issuedAt)
    }
}
