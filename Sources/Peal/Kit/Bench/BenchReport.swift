internal import Terminal

/// What a run of the bench came to.
struct BenchReport: Sendable {
    /// One part with what it measured.
    struct Part: Sendable {
        let name: String
        let findings: BenchFindings
    }

    /// A part that could not be measured, and why.
    struct Failure: Sendable {
        let name: String
        let message: String
    }

    let conditions: BenchConditions
    var parts: [Part] = []
    var failures: [Failure] = []

    init(conditions: BenchConditions) { self.conditions = conditions }

    /// Every target, in the order of the parts.
    var targets: [BenchTarget] { parts.flatMap(\.findings.targets) }

    /// Every plot, in the order of the parts.
    var plots: [BenchPlot] { parts.flatMap(\.findings.plots) }

    // MARK: - Text

    /// The report for people.
    /// - Parameters:
    ///   - style: colours or none.
    ///   - comparison: the figures beside those of an earlier run; nil for none.
    /// - Returns: the lines, the targets last.
    func text(style: TextStyle, comparison: BenchComparison? = nil) -> String {
        var text = conditions.text(style: style)
        for section in parts.flatMap(\.findings.sections) {
            text += "\n\(style(.bold, section.title))\n\n"
            text += section.table.render(style: style, indent: 2)
        }
        if let comparison { text += comparison.text(style: style) }
        if !targets.isEmpty { text += targetText(style) }
        for failure in failures {
            text += "\n" + style(.red, "\(failure.name) was not measured: \(failure.message)") + "\n"
        }
        return text
    }

    private func targetText(_ style: TextStyle) -> String {
        var table = TextTable([
            .init("target"), .init("bound", .right), .init("measured", .right), .init(""),
        ])
        for target in targets {
            let mark = target.isMet ? style(.green, "met") : style(.red, "missed")
            table.add([target.title, target.bound, target.measured, mark])
        }
        let met = targets.count(where: \.isMet)
        let sum = style(met == targets.count ? .green : .red, "\(met) of \(targets.count)")
        return "\n\(style(.bold, "Targets")): \(sum) met\n\n" + table.render(style: style, indent: 2)
    }

    // MARK: - JSON

    /// The report as one JSON object on one line.
    var json: String { object.finished + "\n" }

    /// The same for a file: a line for each member.
    var record: String { object.lines }

    private var object: BenchJSON {
        var out = BenchJSON()
        conditions.add(to: &out)
        out.add("parts", objects: parts.map { BenchJSON.quoted($0.name) })
        for part in parts {
            for member in part.findings.members { out.add(member.key, json: member.json) }
            for target in part.findings.targets {
                out.add("\(target.key)_met", json: target.isMet ? "true" : "false")
            }
        }
        out.add("targets", objects: targets.map { Self.object($0) })
        if !failures.isEmpty {
            var list = BenchJSON()
            for failure in failures { list.add(failure.name, text: failure.message) }
            out.add("failed", json: list.finished)
        }
        return out
    }

    private static func object(_ target: BenchTarget) -> String {
        var out = BenchJSON()
        out.add("key", text: target.key)
        out.add("title", text: target.title)
        out.add("bound", text: target.bound)
        out.add("measured", text: target.measured)
        out.add("met", json: target.isMet ? "true" : "false")
        return out.finished
    }
}
