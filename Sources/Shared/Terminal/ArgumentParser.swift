/// Reads command lines.
///
/// Understands `--name value`, `--name=value`, `-n value`, `-nvalue`, combined short flags, `--` and `-`.
/// Options of a command are also taken after the name of a command below it. `--help` and `-h` work
/// everywhere.
package struct ArgumentParser {
    private let root: Command
    private let environment: [String: String]

    // The chain of commands so far, and what was found.
    private var chain: [Command]
    private var result = Arguments()
    private var wantsHelp = false
    private var wantsVersion = false

    private init(_ root: Command, environment: [String: String]) {
        self.root = root
        self.environment = environment
        chain = [root]
    }

    /// Reads the words after the program's name.
    /// - Throws: what is wrong, in one sentence with a suggestion.
    package static func parse(
        _ words: [String], for command: Command, environment: [String: String] = [:]
    ) throws(UsageFailure) -> CommandLineRequest {
        var parser = ArgumentParser(command, environment: environment)
        return try parser.run(words)
    }

    private mutating func run(_ words: [String]) throws(UsageFailure) -> CommandLineRequest {
        var rest = words[...]
        var onlyOperands = false
        while let word = rest.popFirst() {
            if onlyOperands || word == "-" || !word.hasPrefix("-") {
                try takeOperand(word, isForced: onlyOperands)
            } else if word == "--" {
                onlyOperands = true
            } else if word.hasPrefix("--") {
                try takeLong(word.dropFirst(2), &rest)
            } else {
                try takeShort(word.dropFirst(1), &rest)
            }
        }
        if wantsHelp { return .help(HelpText.render(chain)) }
        if wantsVersion { return .version }
        if let last = chain.last, !last.subcommands.isEmpty {
            let names = last.subcommands.map(\.name).joined(separator: ", ")
            throw UsageFailure("\(commandPath) needs a command: \(names)")
        }
        fillFromEnvironment()
        return .run(result)
    }

    private var commandPath: String { chain.map(\.name).joined(separator: " ") }

    private var visible: [Option] { chain.reversed().flatMap(\.options) }

    private mutating func takeOperand(_ word: String, isForced: Bool) throws(UsageFailure) {
        guard let current = chain.last else { return }
        if !isForced, !current.subcommands.isEmpty {
            if word == "help" {
                wantsHelp = true
                return
            }
            guard let next = current.subcommands.first(where: { $0.name == word }) else {
                if wantsHelp { return }
                let hint = Suggestion.sentence(for: word, among: current.subcommands.map(\.name))
                throw UsageFailure("\(commandPath) has no command \"\(word)\"\(hint)")
            }
            chain.append(next)
            result.path.append(word)
            return
        }
        guard current.operands != nil || wantsHelp else {
            throw UsageFailure("\(commandPath) takes no argument, but got \"\(word)\"")
        }
        result.operands.append(word)
    }

    private mutating func takeLong(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageFailure) {
        let at = word.firstIndex(of: "=")
        let name = String(word[..<(at ?? word.endIndex)])
        let attached = at.map { String(word[word.index(after: $0)...]) }
        guard let option = visible.first(where: { $0.name == name }) else {
            if name == "help" {
                wantsHelp = true
                return
            }
            if name == "version" {
                wantsVersion = true
                return
            }
            let names = visible.map(\.name) + ["help", "version"]
            let hint = Suggestion.sentence(for: name, among: names, prefix: "--")
            throw UsageFailure("\(commandPath) has no option --\(name)\(hint)")
        }
        try take(option, attached: attached, &rest)
    }

    private mutating func takeShort(_ word: Substring, _ rest: inout ArraySlice<String>) throws(UsageFailure)
    {
        var letters = word
        while let letter = letters.popFirst() {
            guard let option = visible.first(where: { $0.short == letter }) else {
                if letter == "h" {
                    wantsHelp = true
                    continue
                }
                throw UsageFailure("\(commandPath) has no option -\(letter); see --help")
            }
            guard option.kind != .flag else {
                result.flags.insert(option.name)
                continue
            }
            if letters.first == "=" { letters.removeFirst() }
            try take(option, attached: letters.isEmpty ? nil : String(letters), &rest)
            return
        }
    }

    private mutating func take(
        _ option: Option, attached: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageFailure) {
        guard let placeholder = option.placeholder else {
            guard attached == nil else {
                throw UsageFailure("--\(option.name) takes no value")
            }
            result.flags.insert(option.name)
            return
        }
        guard let value = attached ?? rest.popFirst() else {
            if wantsHelp { return }
            throw UsageFailure("--\(option.name) needs a value: --\(option.name) \(placeholder)")
        }
        if case .values = option.kind {
            result.values[option.name, default: []].append(value)
        } else {
            if result.values[option.name] != nil { result.repeated.append(option.name) }
            result.values[option.name] = [value]
        }
    }

    private mutating func fillFromEnvironment() {
        for option in visible {
            guard let name = option.environment, let text = environment[name], !text.isEmpty else { continue }
            if option.kind == .flag {
                if ["1", "true", "yes", "on"].contains(text.lowercased()) {
                    result.flags.insert(option.name)
                }
            } else if result.values[option.name] == nil {
                result.values[option.name] = [text]
            }
        }
    }
}

/// Guesses what was meant.
enum Suggestion {
    static func sentence(for word: String, among names: [String], prefix: String = "") -> String {
        let limit = word.count <= 3 ? 1 : 2
        let close = names.map { (name: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= limit || (word.count >= 3 && $0.name.hasPrefix(word)) }
            .min { $0.distance < $1.distance }
        guard let close else { return "; see --help" }
        return "; did you mean \(prefix)\(close.name)?"
    }

    /// Insertions, deletions, replacements and swaps of neighbours between the two words.
    static func distance(_ first: String, _ second: String) -> Int {
        let a = Array(first.utf8)
        let b = Array(second.utf8)
        if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
        var rows = [[Int]](repeating: [Int](repeating: 0, count: b.count + 1), count: a.count + 1)
        for i in 0...a.count { rows[i][0] = i }
        for j in 0...b.count { rows[0][j] = j }
        for i in 1...a.count {
            for j in 1...b.count {
                let cost = a[i - 1] == b[j - 1] ? 0 : 1
                var best = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + cost)
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    best = min(best, rows[i - 2][j - 2] + 1)
                }
                rows[i][j] = best
            }
        }
        return rows[a.count][b.count]
    }
}
