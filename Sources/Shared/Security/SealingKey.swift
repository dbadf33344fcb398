internal import COpenSSL
internal import Core

/// Seals short texts with AES-256-GCM (NIST SP 800-38D) so that only holders of the same private key read
/// them.
///
/// The key is derived from the private key by HKDF with SHA-256 (RFC 5869); the private key can't be computed
/// back from it.
/// - Threading: immutable; any.
package struct SealingKey: Sendable, Secretive {
    private static let nonceBytes = 12
    private static let tagBytes = 16
    private let key: [UInt8]

    /// Derives from an ES256 key; `purpose` keeps keys for different uses apart.
    package init(_ privateKey: ES256PrivateKey, purpose: String) throws(SecurityFailure) {
        key = Self.derive(Array(try privateKey.pem().utf8), purpose)
    }

    /// Derives from an RS256 key; `purpose` keeps keys for different uses apart.
    package init(_ privateKey: RS256PrivateKey, purpose: String) throws(SecurityFailure) {
        key = Self.derive(Array(try privateKey.pem().utf8), purpose)
    }

    /// Derives from 32 random bytes; `purpose` keeps keys for different uses apart.
    init(master: [UInt8], purpose: String) { key = Self.derive(master, purpose) }

    /// One block of HKDF: extract with a salt of zeros, then expand.
    static func derive(_ material: [UInt8], _ purpose: String) -> [UInt8] {
        let extracted = hmac([UInt8](repeating: 0, count: 32), material)
        return hmac(extracted, Array(purpose.utf8) + [1])
    }

    private static func hmac(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        _ = unsafe HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &out, &length)
        return out
    }

    /// The nonce, the ciphertext and the tag. `context` is not hidden, but ``open(_:context:)`` needs the
    /// same.
    /// - Throws: `.internalError` when OpenSSL has no memory or no randomness.
    package func seal(_ plain: [UInt8], context: [UInt8]) throws(SecurityFailure) -> [UInt8] {
        var nonce = [UInt8](repeating: 0, count: Self.nonceBytes)
        guard unsafe RAND_bytes(&nonce, Int32(nonce.count)) == 1, let cipher = CipherContext() else {
            throw SecurityFailure.openSSL(.internalError, "no randomness or memory for sealing")
        }
        var out = [UInt8](repeating: 0, count: plain.count + Self.tagBytes)
        var tag = [UInt8](repeating: 0, count: Self.tagBytes)
        var count: Int32 = 0
        guard unsafe EVP_EncryptInit_ex(cipher.raw, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            unsafe EVP_EncryptUpdate(cipher.raw, nil, &count, context, Int32(context.count)) == 1,
            unsafe EVP_EncryptUpdate(cipher.raw, &out, &count, plain, Int32(plain.count)) == 1,
            unsafe EVP_EncryptFinal_ex(cipher.raw, &out, &count) == 1,
            unsafe EVP_CIPHER_CTX_ctrl(cipher.raw, EVP_CTRL_GCM_GET_TAG, Int32(tag.count), &tag) == 1
        else { throw SecurityFailure.openSSL(.internalError, "sealing failed") }
        return nonce + out.prefix(plain.count) + tag
    }

    /// What was sealed; nil when it was sealed with another key or context, or changed since.
    package func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? {
        let size = sealed.count - Self.nonceBytes - Self.tagBytes
        guard size >= 0, size < 1 << 20, let cipher = CipherContext() else { return nil }
        defer { ERR_clear_error() }
        let nonce = Array(sealed.prefix(Self.nonceBytes))
        let body = Array(sealed[Self.nonceBytes..<Self.nonceBytes + size])
        var tag = Array(sealed.suffix(Self.tagBytes))
        var out = [UInt8](repeating: 0, count: size + Self.tagBytes)
        var last = [UInt8](repeating: 0, count: Self.tagBytes)
        var count: Int32 = 0
        guard unsafe EVP_DecryptInit_ex(cipher.raw, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            unsafe EVP_DecryptUpdate(cipher.raw, nil, &count, context, Int32(context.count)) == 1,
            unsafe EVP_DecryptUpdate(cipher.raw, &out, &count, body, Int32(body.count)) == 1,
            unsafe EVP_CIPHER_CTX_ctrl(cipher.raw, EVP_CTRL_GCM_SET_TAG, Int32(tag.count), &tag) == 1,
            unsafe EVP_DecryptFinal_ex(cipher.raw, &last, &count) == 1
        else { return nil }
        return Array(out.prefix(size))
    }
}

/// Owns one `EVP_CIPHER_CTX`.
@safe
private struct CipherContext: ~Copyable {
    let raw: OpaquePointer

    init?() {
        guard let made = unsafe EVP_CIPHER_CTX_new() else { return nil }
        unsafe raw = made
    }

    deinit { unsafe EVP_CIPHER_CTX_free(raw) }
}
