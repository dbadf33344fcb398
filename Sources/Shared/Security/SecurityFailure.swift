internal import COpenSSL

/// Why a TLS or cryptographic operation failed.
package struct SecurityFailure: Error, Equatable, CustomStringConvertible {
    /// What kind of operation failed. Usable as a metric label.
    package enum Code: String, Sendable {
        case badKey = "bad_key"
        case badCertificate = "bad_certificate"
        case untrustedPeer = "untrusted_peer"
        case handshake
        case closed
        case record
        case configuration
        case internalError = "internal"
    }

    package let code: Code
    /// A sentence for an operator; never holds key material.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    /// Adds OpenSSL's newest error to the sentence and empties its error queue.
    static func openSSL(_ code: Code, _ message: String) -> SecurityFailure {
        let newest = ERR_peek_last_error()
        ERR_clear_error()
        guard newest != 0 else { return SecurityFailure(code, message) }
        var text = [CChar](repeating: 0, count: 256)
        unsafe text.withUnsafeMutableBufferPointer {
            unsafe ERR_error_string_n(newest, $0.baseAddress, $0.count)
        }
        let detail = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return SecurityFailure(code, "\(message) (\(detail))")
    }
}
