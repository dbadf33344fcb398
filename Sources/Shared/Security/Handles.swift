internal import COpenSSL

/// Owns one `EVP_PKEY`.
/// - Threading: immutable after creation; OpenSSL 3 allows concurrent use of a key by several contexts.
@safe
final class KeyHandle: Sendable {
    nonisolated(unsafe) let raw: OpaquePointer
    init(takingOwnershipOf raw: OpaquePointer) { unsafe self.raw = raw }
    deinit { unsafe EVP_PKEY_free(raw) }

    /// Reads a private key in PEM.
    convenience init(privatePEM: String) throws(SecurityFailure) {
        let bio = try MemoryBIO(text: privatePEM)
        guard let key = unsafe PEM_read_bio_PrivateKey(bio.raw, nil, peal_no_passphrase, nil) else {
            throw SecurityFailure.openSSL(
                .badKey,
                "the text is not a private key in PEM; it must begin with -----BEGIN PRIVATE KEY-----")
        }
        unsafe self.init(takingOwnershipOf: key)
    }

    /// Reads a public key in PEM.
    convenience init(publicPEM: String) throws(SecurityFailure) {
        let bio = try MemoryBIO(text: publicPEM)
        guard let key = unsafe PEM_read_bio_PUBKEY(bio.raw, nil, peal_no_passphrase, nil) else {
            throw SecurityFailure.openSSL(.badKey, "the text is not a public key in PEM")
        }
        unsafe self.init(takingOwnershipOf: key)
    }

    /// Whether it is an EC key on P-256, and not on another curve of that size.
    var isP256: Bool {
        guard unsafe EVP_PKEY_get_base_id(raw) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard unsafe EVP_PKEY_get_group_name(raw, &name, name.count, &count) == 1 else { return false }
        let text = String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text == "prime256v1"
    }
    var isRSA: Bool { unsafe EVP_PKEY_get_base_id(raw) == EVP_PKEY_RSA }

    /// The private key in PKCS#8 PEM.
    func privatePEM() throws(SecurityFailure) -> String {
        let bio = try MemoryBIO()
        guard unsafe PEM_write_bio_PKCS8PrivateKey(bio.raw, raw, nil, nil, 0, nil, nil) == 1 else {
            throw SecurityFailure.openSSL(.internalError, "could not write the private key")
        }
        return bio.text
    }

    /// The public key in PEM.
    func publicPEM() throws(SecurityFailure) -> String {
        let bio = try MemoryBIO()
        guard unsafe PEM_write_bio_PUBKEY(bio.raw, raw) == 1 else {
            throw SecurityFailure.openSSL(.internalError, "could not write the public key")
        }
        return bio.text
    }

    /// Signs the message's SHA-256 digest.
    func sign(_ message: UnsafeRawBufferPointer) throws(SecurityFailure) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else {
            throw SecurityFailure(.internalError, "out of memory")
        }
        defer { unsafe EVP_MD_CTX_free(context) }
        var length = 0
        let base = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, raw) == 1,
            unsafe EVP_DigestSign(context, nil, &length, base, message.count) == 1
        else { throw SecurityFailure.openSSL(.badKey, "the key cannot sign") }
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSign(context, &signature, &length, base, message.count) == 1 else {
            throw SecurityFailure.openSSL(.badKey, "signing failed")
        }
        return Array(signature.prefix(length))
    }

    /// Checks a signature over the message's SHA-256 digest.
    func verify(_ signature: [UInt8], _ message: UnsafeRawBufferPointer) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        let base = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, raw) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, base, message.count) == 1
    }
}

/// Owns one in-memory `BIO`, for PEM in and out.
@safe
struct MemoryBIO: ~Copyable {
    let raw: OpaquePointer

    /// Makes a BIO that holds `text`.
    init(text: String = "") throws(SecurityFailure) {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else {
            throw SecurityFailure(.internalError, "out of memory")
        }
        let bytes = Array(text.utf8)
        if !bytes.isEmpty,
            unsafe BIO_write(bio, bytes, Int32(clamping: bytes.count)) != Int32(clamping: bytes.count)
        {
            unsafe BIO_free(bio)
            throw SecurityFailure(.internalError, "out of memory")
        }
        unsafe raw = bio
    }

    deinit { unsafe BIO_free(raw) }

    var text: String {
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe peal_bio_mem_data(raw, &start)
        guard let start = unsafe start, count > 0 else { return "" }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    }
}
