/// What a shell can offer in one place of a command line, read from the place's name in the help: `FILE`,
/// `[DIR]`, `bash|zsh|fish`.
enum CompletionHint: Equatable {
    /// Nothing that could be known.
    case nothing
    case file
    case directory
    /// One of these words.
    case words([String])

    init(_ placeholder: String) {
        let parts = placeholder.split { " |[],".contains($0) }.map { part in
            part.hasSuffix("...") ? part.dropLast(3) : part
        }
        let words = placeholder.split(separator: "|").map { $0.filter { !"[] ".contains($0) } }
        if parts.contains("FILE") {
            self = .file
        } else if parts.contains("DIR") {
            self = .directory
        } else if words.count > 1, words.allSatisfy(Self.isWord) {
            self = .words(words.map { String($0) })
        } else {
            self = .nothing
        }
    }

    private static func isWord(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text != "-"
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}

/// A command with its place in the tree, for what is made of the whole tree: completions and manual pages.
struct CommandNode {
    /// The names from the program's on.
    let path: [String]
    let command: Command
    /// The options that may be given here, those of the commands above included.
    let options: [Option]

    var key: String { path.joined(separator: " ") }

    /// What its operands can be.
    var operands: CompletionHint { command.operands.map(CompletionHint.init) ?? .nothing }

    /// The command and everything below it, each before what is below it.
    static func all(of root: Command) -> [CommandNode] { all(root, above: [], inherited: []) }

    private static func all(_ command: Command, above: [String], inherited: [Option]) -> [CommandNode] {
        let node = CommandNode(
            path: above + [command.name], command: command, options: command.options + inherited)
        return [node]
            + command.subcommands.flatMap { all($0, above: node.path, inherited: node.options) }
    }
}

extension Option {
    /// What its value can be; nil for a flag.
    var hint: CompletionHint? { placeholder.map(CompletionHint.init) }
}

extension Command {
    /// The options that the parser knows without being told.
    static let standard = [
        Option("help", short: "h", help: "Show this help."),
        Option("version", help: "Show the version."),
    ]
}
