internal import COpenSSL

/// A P-256 private key for ES256 (RFC 7518 section 3.4), as in Apple's .p8 files.
package struct ES256PrivateKey: Sendable {
    let handle: KeyHandle

    /// Reads PKCS#8 PEM.
    package init(pem: String) throws(SecurityFailure) {
        handle = try KeyHandle(privatePEM: pem)
        guard handle.isP256 else {
            throw SecurityFailure(.badKey, "the key is not an EC key on the curve P-256, which ES256 needs")
        }
    }

    private init(handle: KeyHandle) { self.handle = handle }

    /// Makes a new key.
    package static func generate() throws(SecurityFailure) -> ES256PrivateKey {
        guard let key = unsafe peal_generate_p256() else {
            throw SecurityFailure.openSSL(.internalError, "could not make a P-256 key")
        }
        return unsafe ES256PrivateKey(handle: KeyHandle(takingOwnershipOf: key))
    }

    /// The key in PKCS#8 PEM.
    package func pem() throws(SecurityFailure) -> String { try handle.privatePEM() }

    /// The public half.
    package func publicKey() throws(SecurityFailure) -> ES256PublicKey {
        try ES256PublicKey(pem: try handle.publicPEM())
    }

    /// The 64-byte signature R and S, as JOSE wants it.
    package func sign(_ message: [UInt8]) throws(SecurityFailure) -> [UInt8] {
        let result: Result<[UInt8], SecurityFailure> = unsafe message.withUnsafeBytes { bytes in
            do throws(SecurityFailure) { return .success(try unsafe handle.sign(bytes)) } catch {
                return .failure(error)
            }
        }
        guard let raw = ECDSAForm.raw(fromDER: try result.get()) else {
            throw SecurityFailure(.internalError, "OpenSSL made a signature of an unknown form")
        }
        return raw
    }
}

/// A P-256 public key for ES256.
package struct ES256PublicKey: Sendable {
    let handle: KeyHandle

    /// Reads PEM.
    package init(pem: String) throws(SecurityFailure) {
        handle = try KeyHandle(publicPEM: pem)
        guard handle.isP256 else {
            throw SecurityFailure(.badKey, "the key is not an EC key on the curve P-256")
        }
    }

    /// Whether the 64-byte signature is over this message.
    package func verify(signature: [UInt8], message: [UInt8]) -> Bool {
        guard let der = ECDSAForm.der(fromRaw: signature) else { return false }
        return unsafe message.withUnsafeBytes { unsafe handle.verify(der, $0) }
    }
}

/// An RSA private key for RS256 (RFC 7518 section 3.3), as in Google's service-account files.
package struct RS256PrivateKey: Sendable {
    let handle: KeyHandle

    /// Reads PKCS#8 PEM.
    package init(pem: String) throws(SecurityFailure) {
        handle = try KeyHandle(privatePEM: pem)
        guard handle.isRSA else {
            throw SecurityFailure(.badKey, "the key is not an RSA key, which RS256 needs")
        }
    }

    private init(handle: KeyHandle) { self.handle = handle }

    /// Its size.
    package var bits: Int { handle.bits }

    /// Makes a new key of 2,048 bits.
    package static func generate() throws(SecurityFailure) -> RS256PrivateKey {
        guard let key = unsafe peal_generate_rsa(2048) else {
            throw SecurityFailure.openSSL(.internalError, "could not make an RSA key")
        }
        return unsafe RS256PrivateKey(handle: KeyHandle(takingOwnershipOf: key))
    }

    /// The key in PKCS#8 PEM.
    package func pem() throws(SecurityFailure) -> String { try handle.privatePEM() }

    /// The public half.
    package func publicKey() throws(SecurityFailure) -> RS256PublicKey {
        try RS256PublicKey(pem: try handle.publicPEM())
    }

    /// The PKCS#1 v1.5 signature.
    package func sign(_ message: [UInt8]) throws(SecurityFailure) -> [UInt8] {
        let result: Result<[UInt8], SecurityFailure> = unsafe message.withUnsafeBytes { bytes in
            do throws(SecurityFailure) { return .success(try unsafe handle.sign(bytes)) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

/// An RSA public key for RS256.
package struct RS256PublicKey: Sendable {
    let handle: KeyHandle

    /// Reads PEM.
    package init(pem: String) throws(SecurityFailure) {
        handle = try KeyHandle(publicPEM: pem)
        guard handle.isRSA else { throw SecurityFailure(.badKey, "the key is not an RSA key") }
    }

    /// Whether the signature is over this message.
    package func verify(signature: [UInt8], message: [UInt8]) -> Bool {
        unsafe message.withUnsafeBytes { unsafe handle.verify(signature, $0) }
    }
}

/// The two forms of an ECDSA signature on P-256: DER (RFC 3279 section 2.2.3) and the raw 64 bytes of JOSE.
enum ECDSAForm {
    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        var at = 0
        func byte() -> UInt8? {
            guard at < der.count else { return nil }
            defer { at += 1 }
            return der[at]
        }
        guard byte() == 0x30, let whole = byte(), whole < 0x80, Int(whole) == der.count - 2 else {
            return nil
        }
        var out: [UInt8] = []
        for _ in 0..<2 {
            guard byte() == 0x02, let length = byte(), length >= 1, length <= 33,
                at + Int(length) <= der.count
            else {
                return nil
            }
            var number = Array(der[at..<at + Int(length)])
            at += Int(length)
            while number.count > 32, number.first == 0 { number.removeFirst() }
            guard number.count <= 32 else { return nil }
            out += [UInt8](repeating: 0, count: 32 - number.count) + number
        }
        return at == der.count ? out : nil
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64 else { return nil }
        func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var number = Array(bytes.drop { $0 == 0 })
            if number.first.map({ $0 >= 0x80 }) ?? true { number.insert(0, at: 0) }
            return [0x02, UInt8(number.count)] + number
        }
        let body = integer(raw[..<32]) + integer(raw[32...])
        return [0x30, UInt8(body.count)] + body
    }
}
