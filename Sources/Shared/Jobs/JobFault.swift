/// Why a job was refused: a closed code, the field it is about and one sentence that says what to fix.
///
/// - Never holds a value from the job except field names, so it can be logged and used as a dead-letter
///   reason.
package struct JobFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// The closed set of reasons; the raw value is a metric label.
    package enum Code: String, Sendable, CaseIterable {
        /// No bytes, or white space only.
        case empty
        /// More bytes than a job may have.
        case tooLarge = "too_large"
        /// Bytes that aren't UTF-8.
        case invalidUTF8 = "invalid_utf8"
        /// Not JSON (RFC 8259).
        case malformed
        /// Objects or arrays nested too deep.
        case tooDeep = "too_deep"
        /// JSON, but not an object at the top.
        case notAnObject = "not_an_object"
        /// A field that jobs don't have.
        case unknownField = "unknown_field"
        /// A field that is there twice.
        case duplicateField = "duplicate_field"
        /// A required field that isn't there.
        case missingField = "missing_field"
        /// A field of the wrong JSON type.
        case wrongType = "wrong_type"
        /// A field that is null.
        case nullValue = "null_value"
        /// A field that must not be empty.
        case emptyValue = "empty_value"
        /// A number outside its range, or a text that is too long.
        case outOfRange = "out_of_range"
        /// A word that isn't one of those allowed.
        case invalidValue = "invalid_value"
        /// A device token that can't be one.
        case invalidToken = "invalid_token"
        /// A time that isn't RFC 3339.
        case invalidTime = "invalid_time"
        /// A control character or half a surrogate pair.
        case invalidText = "invalid_text"
        /// A data key that a provider keeps for itself.
        case reservedKey = "reserved_key"
        /// Two fields that can't be true together.
        case contradiction
    }

    /// The reason.
    package let code: Code
    /// The field that it is about, dotted (`to.token`); empty when it is about the whole job.
    package let field: String
    /// What is wrong and what to do about it, as one sentence.
    package let sentence: String

    package init(_ code: Code, _ field: String, _ sentence: String) {
        self.code = code
        self.field = field
        self.sentence = sentence
    }

    package var description: String { field.isEmpty ? sentence : "\(field): \(sentence)" }
}
