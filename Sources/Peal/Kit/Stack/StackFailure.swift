/// Why the stack could not start or go on.
package struct StackFailure: Error, Equatable, CustomStringConvertible {
    /// What failed; usable as a metric label.
    package enum Code: String, Sendable {
        case files
        case broker
        case redis
        case simulator
        case program
        case configuration
        case timedOut = "timed_out"
    }

    package let code: Code
    /// What happened and what to do about it.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
