internal import COpenSSL
internal import Glibc

/// What a certificate file says of itself.
package enum CertificateFile {
    /// When the first certificate of the PEM text expires, in seconds since 1970.
    /// - Throws: `.badCertificate` when the text holds none.
    package static func expiryS(pem: String) throws(SecurityFailure) -> Int64 {
        let certificate = try CertificateHandle(pem: pem)
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(X509_get0_notAfter(certificate.raw), &parts) == 1 else {
            throw SecurityFailure.openSSL(.badCertificate, "the certificate has no time of expiry")
        }
        return Int64(unsafe timegm(&parts))
    }
}
