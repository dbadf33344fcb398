internal import COpenSSL
internal import Core

/// The signature algorithms of user tokens (RFC 7518 section 3.1, RFC 8037 section 3.1). `none` is not among
/// them and can't be.
package enum TokenAlgorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
}

/// A key that checks signatures by the one algorithm that its type allows (RFC 8725 sections 3.1 and 3.2).
///
/// A token never chooses the algorithm: a public key can't be taken for the secret of an HMAC.
/// - Threading: immutable; any.
package struct VerificationKey: Sendable, Secretive {
    /// The name by which tokens choose it; nil when it has none.
    package let id: String?
    /// The only algorithm that it is used with.
    package let algorithm: TokenAlgorithm
    private let material: Material

    private enum Material: Sendable {
        case secret([UInt8])
        case publicKey(KeyHandle)
    }

    /// The shortest secret of HS256, in bytes (RFC 7518 section 3.2).
    package static let secretBytesMin = 32
    /// The sizes of RSA keys that are taken, in bits; a longer one would cost too much a token.
    package static let rsaBits = 2048...8192

    private init(id: String?, algorithm: TokenAlgorithm, material: Material) {
        self.id = id
        self.algorithm = algorithm
        self.material = material
    }

    /// Takes a secret for HS256.
    /// - Throws: `.badKey` when it is too short.
    package init(secret: [UInt8], id: String? = nil) throws(SecurityFailure) {
        guard secret.count >= Self.secretBytesMin else {
            throw SecurityFailure(
                .badKey,
                "the secret has \(secret.count) bytes; HS256 needs at least \(Self.secretBytesMin)")
        }
        self.init(id: id, algorithm: .hs256, material: .secret(secret))
    }

    /// Reads a public key in PEM: RSA, EC on P-256, or Ed25519.
    /// - Throws: `.badKey` for another or a weak key, and for a private one.
    package init(publicPEM: String, id: String? = nil) throws(SecurityFailure) {
        guard !publicPEM.contains("PRIVATE KEY-----") else {
            throw SecurityFailure(
                .badKey, "the file holds a private key; put only the public one (BEGIN PUBLIC KEY) there")
        }
        try self.init(handle: try KeyHandle(publicPEM: publicPEM), id: id)
    }

    /// Takes a SubjectPublicKeyInfo in DER (RFC 5280 section 4.1).
    init(spki: [UInt8], id: String?) throws(SecurityFailure) {
        try self.init(handle: try KeyHandle(spki: spki), id: id)
    }

    /// Takes the 32 bytes of an Ed25519 public key (RFC 8032 section 5.1.5).
    package init(ed25519: [UInt8], id: String? = nil) throws(SecurityFailure) {
        try self.init(handle: try KeyHandle(ed25519Public: ed25519), id: id)
    }

    private init(handle: KeyHandle, id: String?) throws(SecurityFailure) {
        if handle.isRSA {
            guard Self.rsaBits.contains(handle.bits) else {
                throw SecurityFailure(
                    .badKey,
                    "the RSA key has \(handle.bits) bits; take one of \(Self.rsaBits.lowerBound) to "
                        + "\(Self.rsaBits.upperBound)")
            }
            self.init(id: id, algorithm: .rs256, material: .publicKey(handle))
        } else if handle.isP256 {
            self.init(id: id, algorithm: .es256, material: .publicKey(handle))
        } else if handle.isEd25519 {
            self.init(id: id, algorithm: .edDSA, material: .publicKey(handle))
        } else {
            throw SecurityFailure(.badKey, "the key is neither RSA nor EC on P-256 nor Ed25519")
        }
    }

    /// Whether the signature is over this message. An HMAC is compared in constant time.
    package func verify(signature: [UInt8], message: [UInt8]) -> Bool {
        switch material {
        case .secret(let secret):
            let expected = HMACSHA256.authenticate(message, key: secret)
            return ConstantTime.areEqual(expected, signature)
        case .publicKey(let handle):
            var signature = signature
            if algorithm == .es256 {
                guard let der = ECDSAForm.der(fromRaw: signature) else { return false }
                signature = der
            }
            let sent = signature
            return unsafe message.withUnsafeBytes {
                algorithm == .edDSA
                    ? unsafe handle.verifyPure(sent, $0) : unsafe handle.verify(sent, $0)
            }
        }
    }
}

/// HMAC with SHA-256 (RFC 2104, FIPS 180-4).
package enum HMACSHA256 {
    /// The 32-byte code.
    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        _ = unsafe HMAC(
            EVP_sha256(), key, Int32(clamping: key.count), message, message.count, &out, &length)
        return out
    }
}

/// Comparison of secrets.
package enum ConstantTime {
    /// Whether both hold the same bytes; the time depends on the length alone.
    package static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        guard first.count == second.count else { return false }
        return unsafe CRYPTO_memcmp(first, second, first.count) == 0
    }
}

extension KeyHandle {
    /// Reads a SubjectPublicKeyInfo in DER that holds nothing else. A point that isn't on its curve is
    /// refused.
    convenience init(spki: [UInt8]) throws(SecurityFailure) {
        let parsed: OpaquePointer? = unsafe spki.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            let key = unsafe d2i_PUBKEY(nil, &cursor, bytes.count)
            guard let key = unsafe key else { return nil }
            let end = unsafe bytes.baseAddress.map { unsafe $0 + bytes.count }
            if unsafe cursor == end { return unsafe key }
            unsafe EVP_PKEY_free(key)
            return nil
        }
        guard let parsed = unsafe parsed else {
            throw SecurityFailure.openSSL(.badKey, "the key's numbers make no public key")
        }
        unsafe self.init(takingOwnershipOf: parsed)
    }

    /// Takes the bytes of an Ed25519 public key.
    convenience init(ed25519Public bytes: [UInt8]) throws(SecurityFailure) {
        guard bytes.count == 32,
            let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
        else { throw SecurityFailure.openSSL(.badKey, "an Ed25519 public key has 32 bytes") }
        unsafe self.init(takingOwnershipOf: key)
    }

    var bits: Int { Int(unsafe EVP_PKEY_get_bits(raw)) }
    var isEd25519: Bool { unsafe EVP_PKEY_get_base_id(raw) == EVP_PKEY_ED25519 }

    /// Checks a signature over the message itself, as Ed25519 does.
    func verifyPure(_ signature: [UInt8], _ message: UnsafeRawBufferPointer) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        let base = unsafe message.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard unsafe EVP_DigestVerifyInit(context, nil, nil, nil, raw) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, base, message.count) == 1
    }
}
