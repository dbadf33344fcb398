internal import COpenSSL
internal import Core

/// An Ed25519 private key (RFC 8032), for clients that name themselves by `did:key` and for tests.
package struct Ed25519PrivateKey: Sendable {
    private let handle: KeyHandle

    /// Takes the 32 bytes of the seed.
    package init(seed: [UInt8]) throws(SecurityFailure) {
        guard seed.count == 32,
            let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
        else { throw SecurityFailure.openSSL(.badKey, "the seed of an Ed25519 key has 32 bytes") }
        handle = unsafe KeyHandle(takingOwnershipOf: key)
    }

    /// Makes a new key.
    package static func generate() throws(SecurityFailure) -> Ed25519PrivateKey {
        try Ed25519PrivateKey(seed: try SecureRandom.bytes(32))
    }

    /// The 32 bytes of the public key.
    package var publicBytes: [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        var count = out.count
        _ = unsafe EVP_PKEY_get_raw_public_key(handle.raw, &out, &count)
        return out
    }

    /// The public key in PEM.
    package func publicPEM() throws(SecurityFailure) -> String { try handle.publicPEM() }

    /// The 64-byte signature.
    package func sign(_ message: [UInt8]) throws(SecurityFailure) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else {
            throw SecurityFailure(.internalError, "out of memory")
        }
        defer { unsafe EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 64)
        var count = signature.count
        guard unsafe EVP_DigestSignInit(context, nil, nil, nil, handle.raw) == 1,
            unsafe EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { throw SecurityFailure.openSSL(.badKey, "signing failed") }
        return signature
    }
}

extension JWT {
    /// Signs with EdDSA.
    package static func sign(header: String, claims: String, key: Ed25519PrivateKey) throws(SecurityFailure)
        -> String
    {
        let input = signingInput(header: header, claims: claims)
        return input + "." + Base64.encodeURL(try key.sign(Array(input.utf8)))
    }

    /// Signs with HS256.
    package static func sign(header: String, claims: String, secret: [UInt8]) -> String {
        let input = signingInput(header: header, claims: claims)
        return input + "." + Base64.encodeURL(HMACSHA256.authenticate(Array(input.utf8), key: secret))
    }
}

/// Randomness for keys.
package enum SecureRandom {
    /// So many random bytes.
    /// - Throws: `.internalError` when OpenSSL has none.
    package static func bytes(_ count: Int) throws(SecurityFailure) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: count)
        guard unsafe RAND_bytes(&out, Int32(clamping: count)) == 1 else {
            throw SecurityFailure.openSSL(.internalError, "no randomness")
        }
        return out
    }

    /// Overwrites what was secret. The compiler can't leave it out.
    package static func wipe(_ bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
    }
}
