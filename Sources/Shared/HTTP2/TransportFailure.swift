/// Why a request or a connection failed below HTTP.
package struct TransportFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The class of failure, usable as a metric label.
    package enum Code: String, Sendable, CaseIterable {
        /// The server never processed the request, and every resend was used up. Safe to send again.
        case unprocessed
        /// The request was written and its answer never came: it may or may not have been carried out.
        case ambiguous
        /// No connection could be made; nothing was sent.
        case connectFailed
        /// The deadline passed before the request was written; nothing was sent.
        case timedOutUnsent
        /// The deadline passed after the request was written: it may or may not have been carried out.
        case timedOutSent
        /// The pool was closed before the request was written; nothing was sent.
        case closed
        /// The request itself can't be sent, for example because a header is malformed.
        case invalidRequest
        /// The library had no memory.
        case outOfMemory
    }

    /// The class of failure.
    package let code: Code
    /// What happened, and what to do about it when that is known. Never holds a secret or a token.
    package let message: String
    /// The debug data of the server's GOAWAY (APNs: JSON with a `reason`), at most 1 KiB; empty when there
    /// was none.
    package let goAwayReason: [UInt8]

    package init(_ code: Code, _ message: String, goAwayReason: [UInt8] = []) {
        self.code = code
        self.message = message
        self.goAwayReason = goAwayReason
    }

    /// Whether the server certainly did not act on the request.
    package var isSafeToResend: Bool {
        switch code {
        case .unprocessed, .connectFailed, .timedOutUnsent, .closed, .outOfMemory: true
        case .ambiguous, .timedOutSent, .invalidRequest: false
        }
    }

    package var description: String { "\(code.rawValue): \(message)" }
}
