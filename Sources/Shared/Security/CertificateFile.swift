internal import COpenSSL
internal import Glibc

/// What a certificate file says of itself.
package enum CertificateFile {
    /// When the first certificate of the PEM text expires, in seconds since 1970.
    /// - Throws: `.badCertificate` when the text holds none.
    package static func expiryS(pem: String) throws(SecurityFailure) -> Int64 {
        try validityS(pem: pem).upperBound
    }

    /// From when until when the first certificate of the PEM text is valid, in seconds since 1970.
    /// - Throws: `.badCertificate` when the text holds none.
    package static func validityS(pem: String) throws(SecurityFailure) -> ClosedRange<Int64> {
        let certificate = try CertificateHandle(pem: pem)
        let first = unsafe seconds(X509_get0_notBefore(certificate.raw))
        let last = unsafe seconds(X509_get0_notAfter(certificate.raw))
        guard let first, let last, first <= last else {
            throw SecurityFailure.openSSL(.badCertificate, "the certificate has no time of expiry")
        }
        return first...last
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Int64(unsafe timegm(&parts))
    }
}
