internal import COpenSSL
internal import Core

/// A client's certificate chain and its private key, as PEM text.
package struct ClientIdentity: Sendable, Secretive {
    package let certificatePEM: String
    package let keyPEM: String

    /// Takes both texts.
    package init(certificatePEM: String, keyPEM: String) {
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
    }

    /// Checks that the key is that of the first certificate.
    /// - Returns: when that one begins and ends to be valid, in seconds since 1970.
    /// - Throws: `.badCertificate` or `.badKey`; never with a part of the key.
    package func check() throws(SecurityFailure) -> ClosedRange<Int64> {
        let certificate = try CertificateHandle(pem: certificatePEM)
        let key = try KeyHandle(privatePEM: keyPEM)
        guard unsafe X509_check_private_key(certificate.raw, key.raw) == 1 else {
            ERR_clear_error()
            throw SecurityFailure(.badKey, "the key is not that of the certificate")
        }
        return try CertificateFile.validityS(pem: certificatePEM)
    }
}

extension TLSContext {
    /// The most certificates of a chain that are read.
    private static let chainMax = 10

    /// Shows this identity to servers.
    func use(_ identity: ClientIdentity) throws(SecurityFailure) {
        _ = try identity.check()
        let key = try KeyHandle(privatePEM: identity.keyPEM)
        let bio = try MemoryBIO(text: identity.certificatePEM)
        defer { ERR_clear_error() }
        var count = 0
        while count < Self.chainMax,
            let next = unsafe PEM_read_bio_X509(bio.raw, nil, peal_no_passphrase, nil)
        {
            let certificate = unsafe CertificateHandle(takingOwnershipOf: next)
            let isTaken =
                count == 0
                ? unsafe SSL_CTX_use_certificate(raw, certificate.raw) == 1
                : unsafe peal_ssl_ctx_add_chain(raw, certificate.raw) == 1
            guard isTaken else {
                throw SecurityFailure.openSSL(.badCertificate, "the certificate chain can't be used")
            }
            count += 1
        }
        guard count > 0, unsafe SSL_CTX_use_PrivateKey(raw, key.raw) == 1 else {
            throw SecurityFailure.openSSL(.badKey, "the certificate and its key can't be used")
        }
    }
}
