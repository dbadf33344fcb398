/// Why a configuration can't be used: everything that is wrong with it, so that it is fixed in one go.
package struct ConfigurationFailure: Error, Equatable, CustomStringConvertible {
    /// The kind of the first problem.
    package enum Code: UInt8, CaseIterable, Sendable {
        /// The file can't be read.
        case unreadable
        /// The file isn't YAML, or uses a part of it that isn't supported.
        case syntax
        /// A key that doesn't exist.
        case unknownKey
        /// A value of the wrong kind, form or range.
        case badValue
        /// A value that is needed beside another one.
        case missing
        /// Values that contradict each other.
        case conflict
    }

    /// One thing that is wrong.
    package struct Problem: Equatable, Sendable, CustomStringConvertible {
        package let code: Code
        /// The file and line (`peal.yaml:12`), or the environment variable.
        package let place: String
        /// What is wrong and what to do.
        package let message: String

        package init(code: Code, place: String, message: String) {
            self.code = code
            self.place = place
            self.message = message
        }

        package var description: String { "\(place): \(message)" }
    }

    /// At least one.
    package let problems: [Problem]

    package init(_ problems: [Problem]) { self.problems = problems }

    package var code: Code { problems.first?.code ?? .badValue }
    /// One line for each problem.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
