internal import Core
internal import Terminal

/// The headline figures of a run beside those of an earlier one.
struct BenchComparison: Sendable {
    /// A figure that both have.
    struct Row: Equatable, Sendable {
        let key: String
        let before: Double
        let now: Double

        /// The new value divided by the old one; nil when the old one is 0.
        var ratio: Double? { before == 0 ? nil : now / before }
    }

    let rows: [Row]
    /// What speaks against comparing the two, and which the earlier one was.
    let notes: [String]

    /// Compares every member that is a number in both, and the numbers within those that are objects.
    init(_ record: BenchRecord, _ report: BenchReport) {
        var rows: [Row] = []
        for member in report.parts.flatMap(\.findings.members) {
            guard let before = record.value[member.key],
                let now = try? JSONValue.parse(text: member.json)
            else { continue }
            rows += Self.rows(member.key, before, now)
        }
        self.rows = rows
        var notes: [String] = []
        if let commit = record.value["commit"]?.string { notes.append("that one was of \(commit)") }
        let machine = record.value["machine"]?.string ?? ""
        if machine != report.conditions.machine { notes.append("on another machine: \(machine)") }
        let wasQuick = record.value["quick"]?.bool ?? false
        if wasQuick != report.conditions.isQuick {
            notes.append(wasQuick ? "that one was a quick run" : "that one was not a quick run")
        }
        if let load = record.value["load_average"].flatMap({ BenchRecord.number($0) }), load > 0.5 {
            notes.append("with a load of \(Human.decimal(load, places: 2)) before it")
        }
        self.notes = notes
    }

    /// The row of two numbers, or one for each number that two objects have under the same name.
    private static func rows(_ key: String, _ before: JSONValue, _ now: JSONValue) -> [Row] {
        if let before = BenchRecord.number(before), let now = BenchRecord.number(now) {
            return [Row(key: key, before: before, now: now)]
        }
        return (now.members ?? []).compactMap { member in
            guard let old = before[member.name].flatMap({ BenchRecord.number($0) }),
                let new = BenchRecord.number(member.value)
            else { return nil }
            return Row(key: "\(key).\(member.name)", before: old, now: new)
        }
    }

    /// The comparison as a section of the report.
    func text(style: TextStyle) -> String {
        var text = "\nCompared with the recorded run"
        if !notes.isEmpty { text += style(.dim, " (\(notes.joined(separator: "; ")))") }
        guard !rows.isEmpty else { return text + "\n\n  it has none of these figures\n" }
        var table = TextTable([
            .init("figure"), .init("recorded", .right), .init("now", .right), .init("ratio", .right),
        ])
        for row in rows {
            table.add([
                row.key, Self.text(row.before), Self.text(row.now),
                row.ratio.map { Human.decimal($0, places: 2) } ?? "-",
            ])
        }
        return text + "\n\n" + table.render(style: style, indent: 2)
    }

    private static func text(_ value: Double) -> String {
        BenchBound.text(value, places: value.magnitude >= 1_000 ? 0 : value == value.rounded() ? 0 : 3)
    }
}
