/// Why a user's token is refused. It never repeats a part of the token.
package struct TokenRefusal: Error, Equatable, CustomStringConvertible {
    /// The reasons, usable as metric labels.
    package enum Code: String, Sendable, CaseIterable {
        case tooLong = "too_long"
        case malformed
        case algorithm
        case type
        case critical
        case unknownKey = "unknown_key"
        case signature
        case expiryMissing = "expiry_missing"
        case expired
        case notYetValid = "not_yet_valid"
        case issuedInFuture = "issued_in_future"
        case audience
        case issuer
        case subject
    }

    package let code: Code
    /// A sentence for the caller.
    package let description: String

    /// Makes a refusal.
    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
