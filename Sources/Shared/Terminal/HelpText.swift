/// Renders a command's help.
enum HelpText {
    static let width = 100

    static func render(_ chain: [Command]) -> String {
        guard let command = chain.last else { return "" }
        let path = chain.map(\.name).joined(separator: " ")
        var lines = [command.summary, ""]
        var usage = "Usage: \(path)"
        if !command.subcommands.isEmpty { usage += " COMMAND" }
        usage += " [OPTION...]"
        if let operands = command.operands { usage += " \(operands)" }
        lines.append(usage)
        if !command.subcommands.isEmpty {
            lines += ["", "Commands:"]
            lines += columns(command.subcommands.map { ($0.name, $0.summary) })
        }
        let own = command.options.map(row) + [("-h, --help", "Show this help.")]
        lines += ["", "Options:"] + columns(own)
        let shared = chain.dropLast().reversed().flatMap(\.options).map(row)
        if !shared.isEmpty { lines += ["", "Options of every command:"] + columns(shared) }
        if !command.details.isEmpty { lines += ["", command.details] }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func row(_ option: Option) -> (String, String) {
        var left = option.short.map { "-\($0), " } ?? "    "
        left += "--\(option.name)"
        if let placeholder = option.placeholder { left += " \(placeholder)" }
        var right = option.help
        if case .values = option.kind { right += " Can be repeated." }
        if let environment = option.environment { right += " [\(environment)]" }
        return (left, right)
    }

    private static func columns(_ rows: [(String, String)]) -> [String] {
        let left = min(30, rows.map(\.0.count).max() ?? 0)
        var lines: [String] = []
        for (name, help) in rows {
            let wrapped = wrap(help, width: width - left - 4)
            let head = "  " + name
            let indent = String(repeating: " ", count: left + 4)
            if name.count > left {
                lines.append(head)
                lines += wrapped.map { indent + $0 }
            } else {
                let pad = String(repeating: " ", count: left - name.count + 2)
                lines.append(head + pad + (wrapped.first ?? ""))
                lines += wrapped.dropFirst().map { indent + $0 }
            }
        }
        return lines
    }

    static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }
}
