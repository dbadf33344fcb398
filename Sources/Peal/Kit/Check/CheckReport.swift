internal import Core
internal import Terminal

/// What `peal check` found, a line each.
struct CheckReport {
    enum State: String, CaseIterable {
        case good
        /// Not asked for, or nothing to check.
        case skipped
        case warn
        case bad
    }

    struct Line: Equatable {
        let part: String
        let state: State
        let text: String
        /// What to do about it; empty when nothing has to be done.
        let fix: String

        init(_ part: String, _ state: State, _ text: String, fix: String = "") {
            self.part = part
            self.state = state
            self.text = text
            self.fix = fix
        }
    }

    private(set) var lines: [Line] = []

    mutating func add(_ line: Line) { lines.append(line) }
    mutating func add(_ more: [Line]) { lines += more }

    func count(_ state: State) -> Int { lines.filter { $0.state == state }.count }

    /// 78 when the configuration itself can't be read, 1 when something else is bad, 0 otherwise.
    var exitCode: Int32 {
        if lines.contains(where: { $0.part == Self.configuration && $0.state == .bad }) { return 78 }
        return count(.bad) > 0 ? 1 : 0
    }

    /// The part of what the file says.
    static let configuration = "configuration"

    /// For people.
    func text(style: TextStyle, width: Int) -> String {
        let left = 7 + (lines.map { DisplayWidth.of($0.part) }.max() ?? 0)
        var out = ""
        var part = ""
        for line in lines {
            let (mark, kind): (String, TextStyle.Kind) =
                switch line.state {
                case .good: ("good", .green)
                case .skipped: ("-", .dim)
                case .warn: ("warn", .yellow)
                case .bad: ("bad", .red)
                }
            let name = DisplayWidth.fit(line.part == part ? "" : line.part, to: left - 7)
            part = line.part
            let room = max(30, width - left)
            for (row, piece) in DisplayWidth.wrap(OneLine.text(line.text), width: room).enumerated() {
                let head = row == 0 ? name + " " + style(kind, DisplayWidth.fit(mark, to: 4)) + "  " : ""
                out += (row == 0 ? head : String(repeating: " ", count: left)) + piece + "\n"
            }
            for (row, piece) in DisplayWidth.wrap(OneLine.text(line.fix), width: room - 2).enumerated() {
                out += String(repeating: " ", count: left) + (row == 0 ? "➜ " : "  ") + piece + "\n"
            }
        }
        return out + "\n" + verdict(style) + "\n"
    }

    private func verdict(_ style: TextStyle) -> String {
        let bad = count(.bad)
        let warn = count(.warn)
        if bad + warn == 0 { return style(.green, "All is well.") }
        var parts: [String] = []
        if bad > 0 { parts.append(style(.red, "\(bad) bad")) }
        if warn > 0 { parts.append(style(.yellow, "\(warn) to look at")) }
        return parts.joined(separator: ", ") + (bad == 0 ? "; nothing stands in the way." : ".")
    }

    /// For programs.
    var json: String {
        var out = JSONObject()
        out.set("good", count(.bad) == 0)
        out.set(
            "checks",
            .array(
                lines.map { line in
                    var object = JSONObject()
                    object.set("part", line.part)
                    object.set("state", line.state.rawValue)
                    object.set("text", line.text)
                    object.set("fix", line.fix)
                    return object.value
                }))
        return out.line
    }
}
