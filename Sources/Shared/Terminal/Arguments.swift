/// One option of a command.
package struct Option: Sendable {
    /// Whether the option takes a value.
    package enum Kind: Sendable, Equatable {
        case flag
        /// One value; the last one given counts. The text names it in the help: `FILE`.
        case value(String)
        /// Any number of values.
        case values(String)
    }

    package let name: String
    package let short: Character?
    package let kind: Kind
    package let help: String
    /// The environment variable that stands in when the option isn't given.
    package let environment: String?

    /// An option `--name`, or `-short`.
    package init(
        _ name: String, short: Character? = nil, _ kind: Kind = .flag, environment: String? = nil,
        help: String
    ) {
        self.name = name
        self.short = short
        self.kind = kind
        self.help = help
        self.environment = environment
    }

    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .value(let text), .values(let text): text
        }
    }
}

/// A command with its options, and possibly commands below it.
package struct Command: Sendable {
    package let name: String
    /// One line for the list of commands.
    package let summary: String
    /// What it takes besides options, for the usage line: `[FILE...|-]`; nil for nothing.
    package let operands: String?
    package let options: [Option]
    package let subcommands: [Command]
    /// Paragraphs at the end of the help.
    package let details: String

    /// Describes a command.
    package init(
        _ name: String, summary: String, operands: String? = nil, options: [Option] = [],
        subcommands: [Command] = [], details: String = ""
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.options = options
        self.subcommands = subcommands
        self.details = details
    }
}

/// A command line that can't be understood.
package struct UsageFailure: Error, Sendable, CustomStringConvertible {
    /// What a process that was called wrongly exits with (sysexits.h, EX_USAGE).
    package static let exitCode: Int32 = 64

    /// One sentence that says what is wrong and, where it can be guessed, what was meant.
    package let message: String

    /// Says what is wrong.
    package init(_ message: String) { self.message = message }

    package var description: String { message }
}

/// What a command line asks for.
package enum CommandLineRequest: Sendable {
    case run(Arguments)
    /// Print the text and exit 0.
    case help(String)
    /// Print the version and exit 0.
    case version
}

/// The options and operands of one command line.
package struct Arguments: Sendable {
    /// The names of the commands below the first: `["send"]`.
    package internal(set) var path: [String] = []
    /// What is not an option.
    package internal(set) var operands: [String] = []
    var values: [String: [String]] = [:]
    var flags: Set<String> = []
    /// Options with one value that were given more than once, in order.
    package internal(set) var repeated: [String] = []

    /// Whether the flag was given.
    package func flag(_ name: String) -> Bool { flags.contains(name) }

    /// The option's last value.
    package func string(_ name: String) -> String? { values[name]?.last }

    /// All values of the option.
    package func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The option's value as a whole number within `range`; `1_000` and `1000` are the same.
    /// - Throws: when it isn't one.
    package func integer(
        _ name: String, in range: ClosedRange<Int> = 0...Int.max
    ) throws(UsageFailure) -> Int? {
        guard let text = string(name) else { return nil }
        guard let value = Int(text.filter { $0 != "_" }), range.contains(value) else {
            let bound = range.upperBound == Int.max ? "" : " and at most \(range.upperBound)"
            throw UsageFailure(
                "--\(name) takes a whole number of at least \(range.lowerBound)\(bound), not \"\(text)\"")
        }
        return value
    }

    /// The option's value as a number that isn't negative.
    /// - Throws: when it isn't one.
    package func number(_ name: String) throws(UsageFailure) -> Double? {
        guard let text = string(name) else { return nil }
        guard let value = Double(text.filter { $0 != "_" }), value.isFinite, value >= 0 else {
            throw UsageFailure("--\(name) takes a number that isn't negative, not \"\(text)\"")
        }
        return value
    }

    /// The option's value as a span of time in milliseconds: `250ms`, `10s`, `5m`, `1h`, `2d`.
    /// - Throws: when it isn't one.
    package func durationMs(_ name: String) throws(UsageFailure) -> Int? {
        guard let text = string(name) else { return nil }
        guard let value = Human.parseDurationMs(text) else {
            throw UsageFailure("--\(name) takes a time such as 250ms, 10s, 5m or 1h, not \"\(text)\"")
        }
        return value
    }

    /// The option's value, when it is one of the choices.
    /// - Throws: when it isn't, with the choices.
    package func choice(_ name: String, of choices: [String]) throws(UsageFailure) -> String? {
        guard let text = string(name) else { return nil }
        guard choices.contains(text) else {
            throw UsageFailure("--\(name) takes \(choices.joined(separator: ", ")), not \"\(text)\"")
        }
        return text
    }

    /// The option's values as `name=value` pairs.
    /// - Throws: for one without a `=`.
    package func pairs(_ name: String) throws(UsageFailure) -> [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        for text in all(name) {
            guard let at = text.firstIndex(of: "="), at != text.startIndex else {
                throw UsageFailure("--\(name) takes name=value, not \"\(text)\"")
            }
            found.append((String(text[..<at]), String(text[text.index(after: at)...])))
        }
        return found
    }
}
