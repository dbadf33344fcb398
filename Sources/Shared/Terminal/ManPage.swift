/// A program's manual page, made from the description of its commands: roff with the `man` macros.
package struct ManPage: Sendable {
    private let root: Command
    private let version: String
    /// `YYYY-MM-DD`.
    private let date: String
    /// The other programs that a reader may look for.
    private let others: [String]

    /// A page of the program. `date` is `YYYY-MM-DD`, the day that the page speaks of.
    package init(_ root: Command, version: String, date: String, others: [String]) {
        self.root = root
        self.version = version
        self.date = date
        self.others = others.filter { $0 != root.name }.sorted()
    }

    /// The name of the page's file: `peal.1`.
    package var fileName: String { root.name + ".1" }

    /// The page.
    package var text: String {
        var out = [
            ".\\\" Made by 'peal man' from what the program says of itself.",
            ".TH \(Self.escaped(root.name.uppercased())) 1 \(date) \"Peal \(version)\" \"Peal\"",
            ".SH NAME", "\(Self.escaped(root.name)) \\- \(Self.escaped(Self.summary(root)))",
            ".SH SYNOPSIS",
        ]
        let nodes = CommandNode.all(of: root).filter { $0.command.subcommands.isEmpty }
        for (index, node) in nodes.enumerated() {
            if index > 0 { out.append(".br") }
            out += Self.usage(node)
        }
        out += [".SH DESCRIPTION", Self.escaped(root.summary)]
        out += Self.paragraphs(root.details)
        if !root.subcommands.isEmpty {
            out.append(".SH COMMANDS")
            for node in CommandNode.all(of: root).dropFirst() { out += Self.section(node) }
        }
        out.append(root.subcommands.isEmpty ? ".SH OPTIONS" : ".SH OPTIONS OF EVERY COMMAND")
        out += (root.options + Command.standard).flatMap(Self.item)
        out += environment
        if !others.isEmpty {
            out.append(".SH SEE ALSO")
            for (index, name) in others.enumerated() {
                out.append(".BR \(Self.escaped(name)) (1)\(index < others.count - 1 ? "," : "")")
            }
        }
        return out.joined(separator: "\n") + "\n"
    }

    // MARK: Parts

    private static func summary(_ command: Command) -> String {
        var text = Substring(command.summary)
        while text.last == "." { text = text.dropLast() }
        return text.first.map { $0.lowercased() + text.dropFirst() } ?? ""
    }

    private static func usage(_ node: CommandNode) -> [String] {
        var line = ".B \(escaped(node.key))"
        var rest = node.command.options.isEmpty ? "" : "[\\fIOPTION\\fR...]"
        if let operands = node.command.operands {
            rest += (rest.isEmpty ? "" : " ") + "\\fI\(escaped(operands))\\fR"
        }
        if rest.isEmpty { return [line] }
        line += "\n" + rest
        return [line]
    }

    /// A command below the program.
    private static func section(_ node: CommandNode) -> [String] {
        let name = node.path.dropFirst().joined(separator: " ")
        var out = [".SS \(escaped(name))"]
        var sentence = node.command.summary
        if sentence.last != "." { sentence += "." }
        out.append(escaped(sentence.prefix(1).uppercased() + sentence.dropFirst()))
        if node.command.subcommands.isEmpty { out += [".PP"] + usage(node) }
        out += node.command.options.flatMap(item)
        return out + paragraphs(node.command.details)
    }

    private static func item(_ option: Option) -> [String] {
        var names = "\\fB\\-\\-\(escaped(option.name))\\fR"
        if let short = option.short { names = "\\fB\\-\(short)\\fR, " + names }
        if let placeholder = option.placeholder { names += " \\fI\(escaped(placeholder))\\fR" }
        var help = option.help
        if help.last != "." { help += "." }
        if case .values = option.kind { help += " Can be repeated." }
        if let environment = option.environment { help += " [\(environment)]" }
        help = help.prefix(1).uppercased() + help.dropFirst()
        return [".TP", names, escaped(help)]
    }

    private var environment: [String] {
        var names: [String: [String]] = [:]
        for node in CommandNode.all(of: root) {
            for option in node.options {
                if let name = option.environment, names[name]?.contains(option.name) != true {
                    names[name, default: []].append(option.name)
                }
            }
        }
        guard !names.isEmpty else { return [] }
        var out = [".SH ENVIRONMENT"]
        for (name, options) in names.sorted(by: { $0.key < $1.key }) {
            let list = options.map { "--\($0)" }.joined(separator: ", ")
            out += [
                ".TP", ".B \(Self.escaped(name))",
                Self.escaped("Stands in for \(list) where it isn't given."),
            ]
        }
        return out
    }

    // MARK: Text

    /// Paragraphs of running text; lines that are indented stay as they are.
    private static func paragraphs(_ text: String) -> [String] {
        var out: [String] = []
        var isLiteral = false
        var isNew = true
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let isIndented = line.hasPrefix("  ")
            if line.allSatisfy({ $0 == " " }) {
                isNew = true
                continue
            }
            if isLiteral, !isIndented {
                out += [".fi", ".RE"]
                isLiteral = false
                isNew = true
            }
            if isNew, !isLiteral { out.append(".PP") }
            if isIndented, !isLiteral {
                if !isNew { out.append(".PP") }
                out += [".RS 4", ".nf"]
                isLiteral = true
            }
            if isIndented, isNew, out.last != ".nf" { out.append("") }
            out.append(escaped(isIndented ? line.dropFirst(2) : line))
            isNew = false
        }
        if isLiteral { out += [".fi", ".RE"] }
        return out
    }

    /// The text as roff shows it: nothing in it is a request or an escape.
    static func escaped(_ text: some StringProtocol) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": out += "\\e"
            case "-": out += "\\-"
            case "'": out += "\\(aq"
            case "`": out += "\\(ga"
            case "^": out += "\\(ha"
            case "~": out += "\\(ti"
            case "\"": out += "\\(dq"
            default:
                if scalar.isASCII {
                    out.unicodeScalars.append(scalar)
                } else {
                    let hex = String(scalar.value, radix: 16, uppercase: true)
                    out += "\\[u\(String(repeating: "0", count: max(0, 4 - hex.count)))\(hex)]"
                }
            }
        }
        return out.hasPrefix(".") ? "\\&" + out : out
    }
}
