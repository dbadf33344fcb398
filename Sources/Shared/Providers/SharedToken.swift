internal import Core
internal import Security

/// A provider token as all pods share it, and its form in Redis.
///
/// The form is `1 <minted> <sealed>`: the minting time in ms of Redis's clock, by which scripts tell the
/// newer of two tokens, and the token sealed under a key that only pods with the credential's private key
/// have.
struct SharedToken: Equatable, Sendable {
    /// The value without its scheme.
    let text: String
    /// Ms of Redis's clock.
    let mintedMs: Int64
    let expiresMs: Int64
    /// Who minted it.
    let pod: String

    init(text: String, mintedMs: Int64, expiresMs: Int64, pod: String) {
        self.text = text
        self.mintedMs = mintedMs
        self.expiresMs = expiresMs
        self.pod = pod
    }

    /// Reads the form that ``sealed(by:for:)`` writes; nil when it is another's or was changed.
    init?(stored: [UInt8], key: SealingKey, place: String) {
        let parts = stored.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual([UInt8(ascii: "1")]),
            let minted = Int64(String(decoding: parts[1], as: UTF8.self)),
            let sealed = Base64.decode(parts[2]),
            let plain = key.open(sealed, context: Self.context(place, minted))
        else { return nil }
        let fields = String(decoding: plain, as: UTF8.self).split(separator: "\n")
        guard fields.count == 3, let expires = Int64(fields[0]) else { return nil }
        self.init(text: String(fields[2]), mintedMs: minted, expiresMs: expires, pod: String(fields[1]))
    }

    /// The form in Redis.
    /// - Throws: when OpenSSL can't seal.
    func sealed(by key: SealingKey, for place: String) throws(SecurityFailure) -> String {
        let plain = "\(expiresMs)\n\(pod)\n\(text)"
        let sealed = try key.seal(Array(plain.utf8), context: Self.context(place, mintedMs))
        return "1 \(mintedMs) \(Base64.encodeURL(sealed))"
    }

    private static func context(_ place: String, _ mintedMs: Int64) -> [UInt8] {
        Array("\(place) \(mintedMs)".utf8)
    }
}

/// Where a credential's token is in Redis, and the key that seals it.
struct SharedPlace: Sendable {
    /// `peal:cred:<kind>:{<id>}`; the braces keep it and its companions on one slot of a cluster.
    let key: String
    let sealing: SealingKey
    /// How long the lock of a renewal lives; longer than a renewal takes.
    let lockMs: Int64

    var lock: String { key + ":lock" }
    var hold: String { key + ":hold" }

    /// - Throws: when the key can't be derived.
    init(_ key: APNsKey) throws(SecurityFailure) {
        self.key = "peal:cred:apns:{\(key.teamID)/\(key.keyID)}"
        sealing = try SealingKey(key.key, purpose: "peal shared credential")
        lockMs = 5_000
    }

    /// - Throws: when the key can't be derived.
    init(_ account: ServiceAccount, exchangeMs: Int64) throws(SecurityFailure) {
        key = "peal:cred:fcm:{\(account.email)/\(account.keyID)}"
        sealing = try SealingKey(account.key, purpose: "peal shared credential")
        lockMs = exchangeMs + 2_000
    }
}
