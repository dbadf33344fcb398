/// Why a YAML document could not be read.
package struct YAMLFailure: Error, Equatable, CustomStringConvertible {
    /// The kind of fault.
    package enum Code: UInt8, CaseIterable, Sendable {
        /// Not YAML.
        case syntax
        /// YAML, but a part of it that is not supported here.
        case unsupported
        /// A key stands twice in one mapping.
        case duplicateKey
        /// Larger or deeper than the limits.
        case tooLarge
        /// The library ran out of memory.
        case outOfMemory
    }

    package let code: Code
    /// From 1; 0 when the place is unknown.
    package let line: Int
    /// What is wrong and what to do.
    package let message: String

    package var description: String { line > 0 ? "line \(line): \(message)" : message }
}
