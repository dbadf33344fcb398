internal import Core
internal import EventLoop
package import HTTPServer
package import Metrics
package import Terminal

/// The text of `/statusz`: a heading, then blocks of names and values and tables, aligned.
package struct StatusPage {
    private var text: String

    /// Begins with what every process tells: what it is, for how long, and whether it is well.
    package init(_ role: MetricRole, live: Health, ready: Health) {
        let ageMs = max(0, Clock.wallMs - Clock.processStartMs)
        text = "peal \(role.rawValue) \(Version.current), up \(Human.duration(ms: Double(ageMs)))\n\n"
        var lines = [
            ("ready", Self.sentence(ready)),
            (
                "process",
                "\(Human.bytes(Clock.residentBytes)) resident, "
                    + "\(Human.duration(us: Double(Clock.processCPUNs) / 1000)) of CPU, "
                    + "\(Clock.openDescriptors) of \(Clock.maximumDescriptors) descriptors"
            ),
        ]
        if live != .ok { lines.insert(("live", Self.sentence(live)), at: 0) }
        add(lines)
    }

    /// Adds names and their values; those without a value are left out.
    package mutating func add(_ lines: [(name: String, value: String)]) {
        let shown = lines.filter { !$0.value.isEmpty }
        let width = max(12, shown.map(\.name.count).max() ?? 0)
        for line in shown {
            text += line.name + String(repeating: " ", count: width - line.name.count) + "  \(line.value)\n"
        }
    }

    /// Adds a table under a free line; one without rows is left out.
    package mutating func add(_ table: TextTable, rows: Int) {
        guard rows > 0 else { return }
        text += "\n" + table.render()
    }

    /// The whole page.
    package var rendered: String { text }

    private static func sentence(_ health: Health) -> String {
        switch health {
        case .ok: "yes"
        case .degraded(let sentence): "yes, but \(sentence)"
        case .failing(let sentence): "no: \(sentence)"
        }
    }
}
