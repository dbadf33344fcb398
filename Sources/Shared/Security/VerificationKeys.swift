internal import Core

/// Public keys and secrets that check tokens, out of a JWK set (RFC 7517) or given one by one.
package struct VerificationKeys: Sendable {
    /// The most keys of a set.
    package static let countMax = 100
    /// In the order of the file.
    package let all: [VerificationKey]

    /// Takes keys; with none, every token is refused.
    package init(_ keys: [VerificationKey]) { all = keys }

    /// Reads a JWK set. Keys that no token is checked with (another type, curve, use or algorithm) are passed
    /// over, as section 5 says; one that is meant for tokens and can't be used is an error.
    /// - Throws: `.badKey` with what to fix; never with a part of a key.
    package init(jwks text: String) throws(SecurityFailure) {
        let document: JSONValue
        do throws(JSONValue.Failure) {
            document = try JSONValue.parse(text: text)
        } catch {
            throw SecurityFailure(.badKey, "the JWK set is no JSON: \(error)")
        }
        guard let list = document["keys"]?.array else {
            throw SecurityFailure(.badKey, "the JWK set has no list \"keys\"")
        }
        guard list.count <= Self.countMax else {
            throw SecurityFailure(
                .badKey, "the JWK set has \(list.count) keys; at most \(Self.countMax) are taken")
        }
        var keys: [VerificationKey] = []
        for (index, entry) in list.enumerated() {
            do throws(SecurityFailure) {
                guard let key = try JWK.read(entry) else { continue }
                let isKnown = keys.contains { $0.id == key.id && $0.algorithm == key.algorithm }
                if key.id != nil, isKnown { throw SecurityFailure(.badKey, "its kid is there twice") }
                keys.append(key)
            } catch {
                throw SecurityFailure(.badKey, "key \(index) of the JWK set: \(error.message)")
            }
        }
        guard !keys.isEmpty else {
            throw SecurityFailure(.badKey, "the JWK set has no key for HS256, RS256, ES256 or EdDSA")
        }
        all = keys
    }

    /// The key that a token means; nil when none is meant or more than one could be.
    ///
    /// A token that names a key gets that one; a key without a name may be meant by any token if it is the
    /// only one of its algorithm.
    package func key(id: String?, algorithm: TokenAlgorithm) -> VerificationKey? {
        if let id, let named = all.first(where: { $0.id == id }) {
            return named.algorithm == algorithm ? named : nil
        }
        let candidates = all.filter { $0.algorithm == algorithm && (id == nil || $0.id == nil) }
        return candidates.count == 1 ? candidates.first : nil
    }
}

/// One JSON Web Key (RFC 7517 section 4, RFC 7518 section 6, RFC 8037 section 2).
private enum JWK {
    /// The key; nil when it isn't meant for the tokens that are known here.
    static func read(_ entry: JSONValue) throws(SecurityFailure) -> VerificationKey? {
        guard let members = entry.members else { throw SecurityFailure(.badKey, "it is no object") }
        guard Set(members.map(\.name)).count == members.count else {
            throw SecurityFailure(.badKey, "a member is there twice")
        }
        if let use = entry["use"], use.string != "sig" { return nil }
        if let operations = entry["key_ops"]?.array,
            !operations.contains(where: { $0.string == "verify" })
        {
            return nil
        }
        guard let expected = algorithm(entry) else { return nil }
        if let stated = entry["alg"], stated.string != expected.rawValue { return nil }
        let id = entry["kid"]?.string
        if expected != .hs256, entry["d"] != nil {
            throw SecurityFailure(.badKey, "it is a private key; put only the public one there")
        }
        switch expected {
        case .hs256:
            return try VerificationKey(secret: try field("k", entry), id: id)
        case .rs256:
            let numbers = (try field("n", entry), try field("e", entry))
            // Longer exponents only make verification slow; OpenSSL refuses some of them as well.
            guard numbers.1.count <= 8 else { throw SecurityFailure(.badKey, "its exponent is too long") }
            return try VerificationKey(spki: SPKI.rsa(modulus: numbers.0, exponent: numbers.1), id: id)
        case .es256:
            let point = (try field("x", entry), try field("y", entry))
            guard point.0.count == 32, point.1.count == 32 else {
                throw SecurityFailure(.badKey, "its \"x\" and \"y\" must have 32 bytes each")
            }
            return try VerificationKey(spki: SPKI.p256(x: point.0, y: point.1), id: id)
        case .edDSA:
            return try VerificationKey(ed25519: try field("x", entry), id: id)
        }
    }

    /// The one algorithm that a key of this type is for; nil for other types and curves.
    private static func algorithm(_ entry: JSONValue) -> TokenAlgorithm? {
        switch (entry["kty"]?.string, entry["crv"]?.string) {
        case ("oct", _): .hs256
        case ("RSA", _): .rs256
        case ("EC", "P-256"): .es256
        case ("OKP", "Ed25519"): .edDSA
        default: nil
        }
    }

    private static func field(_ name: String, _ entry: JSONValue) throws(SecurityFailure) -> [UInt8] {
        guard let text = entry[name]?.string, text.utf8.count <= 4096,
            let bytes = Base64.decodeCanonicalURL(Array(text.utf8)), !bytes.isEmpty
        else {
            throw SecurityFailure(.badKey, "its \"\(name)\" is missing or is no base64url without padding")
        }
        return bytes
    }
}

/// Public keys as SubjectPublicKeyInfo in DER (RFC 5280 section 4.1.2.7, RFC 3279 section 2.3, RFC 5480).
private enum SPKI {
    private static let rsaAlgorithm: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]
    private static let p256Algorithm: [UInt8] = [
        0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07,
    ]

    static func rsa(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let numbers = element(0x30, integer(modulus) + integer(exponent))
        return element(0x30, rsaAlgorithm + element(0x03, [0] + numbers))
    }

    static func p256(x: [UInt8], y: [UInt8]) -> [UInt8] {
        // 4: an uncompressed point (SEC 1 section 2.3.3).
        element(0x30, p256Algorithm + element(0x03, [0, 4] + x + y))
    }

    private static func integer(_ bytes: [UInt8]) -> [UInt8] {
        var number = Array(bytes.drop { $0 == 0 })
        if number.first.map({ $0 >= 0x80 }) ?? true { number.insert(0, at: 0) }
        return element(0x02, number)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)]
            : count < 0x100
                ? [0x81, UInt8(count)]
                : [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        return [tag] + length + content
    }
}
