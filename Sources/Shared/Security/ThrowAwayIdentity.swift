internal import COpenSSL

/// A certificate authority and one server certificate made on the spot, for the simulator and for tests.
package struct ThrowAwayIdentity: Sendable {
    /// The authority's certificate, which clients trust.
    package let caPEM: String
    /// The server's certificate.
    package let certificatePEM: String
    /// The server's private key.
    package let keyPEM: String

    /// Makes an identity for host names and addresses, valid for ten days unless told otherwise.
    package static func make(
        hosts: [String], lifeS: Int = 10 * 86400
    ) throws(SecurityFailure) -> ThrowAwayIdentity {
        let caKey = try ES256PrivateKey.generate()
        let ca = try certificate(
            name: "Peal throw-away authority", key: caKey, issuer: nil, issuerKey: caKey, lifeS: 10 * 86400,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
            ])
        let key = try ES256PrivateKey.generate()
        let names = hosts.map { host in
            host.allSatisfy { $0.isHexDigit || $0 == "." || $0 == ":" }
                && !host.contains { $0.isLetter && !$0.isHexDigit }
                && (host.contains(":") || host.split(separator: ".").allSatisfy { UInt8($0) != nil })
                ? "IP:\(host)" : "DNS:\(host)"
        }
        let leaf = try certificate(
            name: hosts.first ?? "localhost", key: key, issuer: ca, issuerKey: caKey, lifeS: lifeS,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_subject_alt_name, names.joined(separator: ",")),
                (NID_ext_key_usage, "serverAuth,clientAuth"),
            ])
        return ThrowAwayIdentity(caPEM: try ca.pem(), certificatePEM: try leaf.pem(), keyPEM: try key.pem())
    }

    private static func certificate(
        name: String, key: ES256PrivateKey, issuer: CertificateHandle?, issuerKey: ES256PrivateKey,
        lifeS: Int, extensions: [(Int32, String)]
    ) throws(SecurityFailure) -> CertificateHandle {
        guard let made = unsafe X509_new() else { throw SecurityFailure(.internalError, "out of memory") }
        let certificate = unsafe CertificateHandle(takingOwnershipOf: made)
        let x509 = unsafe certificate.raw
        unsafe X509_set_version(x509, 2)
        var serial: UInt64 = 0
        _ = unsafe withUnsafeMutableBytes(of: &serial) {
            unsafe RAND_bytes($0.baseAddress?.assumingMemoryBound(to: UInt8.self), 8)
        }
        unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial >> 1)
        unsafe X509_gmtime_adj(X509_getm_notBefore(x509), -3600)
        unsafe X509_gmtime_adj(X509_getm_notAfter(x509), lifeS)
        unsafe X509_set_pubkey(x509, key.handle.raw)
        let subject = unsafe X509_get_subject_name(x509)
        let text = Array(name.utf8)
        unsafe X509_NAME_add_entry_by_txt(
            subject, "CN", MBSTRING_UTF8, text, Int32(clamping: text.count), -1, 0)
        unsafe X509_set_issuer_name(x509, X509_get_subject_name(issuer?.raw ?? x509))
        for (nid, value) in extensions {
            guard let made = unsafe peal_x509_extension(issuer?.raw ?? x509, x509, nid, value) else {
                throw SecurityFailure.openSSL(.badCertificate, "could not add the extension \(value)")
            }
            unsafe X509_add_ext(x509, made, -1)
            unsafe X509_EXTENSION_free(made)
        }
        guard unsafe X509_sign(x509, issuerKey.handle.raw, EVP_sha256()) > 0 else {
            throw SecurityFailure.openSSL(.badCertificate, "could not sign the certificate")
        }
        return certificate
    }
}

/// Owns one `X509`.
@safe
final class CertificateHandle {
    let raw: OpaquePointer
    init(takingOwnershipOf raw: OpaquePointer) { unsafe self.raw = raw }
    deinit { unsafe X509_free(raw) }

    /// Reads one certificate in PEM.
    convenience init(pem: String) throws(SecurityFailure) {
        let bio = try MemoryBIO(text: pem)
        guard let x509 = unsafe PEM_read_bio_X509(bio.raw, nil, peal_no_passphrase, nil) else {
            throw SecurityFailure.openSSL(.badCertificate, "the text is not a certificate in PEM")
        }
        unsafe self.init(takingOwnershipOf: x509)
    }

    func pem() throws(SecurityFailure) -> String {
        let bio = try MemoryBIO()
        guard unsafe PEM_write_bio_X509(bio.raw, raw) == 1 else {
            throw SecurityFailure.openSSL(.internalError, "could not write the certificate")
        }
        return bio.text
    }
}
