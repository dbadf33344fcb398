import Core
package import Terminal

/// What a run of `send` came to.
package struct SendSummary: Sendable, Equatable {
    /// Jobs that were found in the input, bad ones included.
    package var found = 0
    /// Jobs that were given to Kafka (in a dry run: that would have been).
    package var published = 0
    /// Of those, how many wait in a retry topic for their `send_at`.
    package var scheduled = 0
    /// Jobs that the brokers acknowledged.
    package var confirmed = 0
    /// Jobs that can't be read, by the reason's label.
    package var faults: [String: Int] = [:]
    /// Jobs that could not be delivered to Kafka, by error name.
    package var failures: [String: Int] = [:]
    /// Bytes read.
    package var bytes = 0
    package var elapsedMs = 0
    package var isDryRun = false
    package var isInterrupted = false
    /// Where a bad job or an unreadable file ended the run: `FILE:LINE`.
    package var stoppedAt: String?

    /// Nothing yet.
    package init() {}

    /// Jobs that can't be read.
    package var bad: Int { faults.values.reduce(0, +) }
    /// Jobs that could not be delivered to Kafka.
    package var failed: Int { failures.values.reduce(0, +) }
    /// Published jobs about which nothing is known.
    package var unconfirmed: Int { isDryRun ? 0 : max(0, published - confirmed - failed) }
    /// Jobs a second over the whole run.
    package var perSecond: Double {
        elapsedMs > 0 ? Double(isDryRun ? published : confirmed) * 1000 / Double(elapsedMs) : 0
    }

    /// The process's exit code: 0 when everything that was published is confirmed, 130 after an interrupt,
    /// else 1.
    package var exitCode: Int32 {
        if failed > 0 || unconfirmed > 0 || stoppedAt != nil { return 1 }
        return isInterrupted ? 130 : 0
    }

    /// The summary as a person reads it.
    package func text(style: TextStyle = TextStyle(isEnabled: false)) -> String {
        var table = TextTable([.init(""), .init("", .right), .init("")])
        func row(_ name: String, _ count: Int, _ note: String = "", _ kind: TextStyle.Kind? = nil) {
            let shown = Human.grouped(count)
            table.add([name, kind.map { style($0, shown) } ?? shown, note])
        }
        row("read", found, Human.bytes(UInt64(max(0, bytes))))
        if bad > 0 { row("bad", bad, Self.list(faults), .red) }
        if isDryRun {
            row("good", published, "dry run: nothing was sent")
        } else {
            row("confirmed", confirmed, Human.rate(perSecond), .green)
            if failed > 0 { row("failed", failed, Self.list(failures), .red) }
            if unconfirmed > 0 { row("unconfirmed", unconfirmed, "may or may not be in Kafka", .yellow) }
        }
        if scheduled > 0 { row("scheduled", scheduled, "of these, waiting for their send_at") }
        var text = table.render(style: style)
        text += "in \(Human.duration(ms: Double(elapsedMs)))"
        if isInterrupted { text += ", interrupted" }
        if let stoppedAt { text += ", stopped at \(stoppedAt)" }
        return text + "\n"
    }

    /// The summary as one JSON object.
    package var json: String {
        var out = ByteBuffer(capacity: 512)
        out.append("{")
        let numbers: [(String, Int)] = [
            ("found", found), ("published", published), ("confirmed", confirmed), ("scheduled", scheduled),
            ("bad", bad), ("failed", failed), ("unconfirmed", unconfirmed), ("bytes", bytes),
            ("elapsed_ms", elapsedMs), ("per_second", Int(perSecond)),
        ]
        for (name, value) in numbers {
            out.append(jsonString: name)
            out.append(":")
            out.append(decimal: Int64(value))
            out.append(",")
        }
        Self.append("faults", faults, to: &out)
        Self.append("failures", failures, to: &out)
        out.append(isDryRun ? "\"dry_run\":true," : "\"dry_run\":false,")
        out.append(isInterrupted ? "\"interrupted\":true," : "\"interrupted\":false,")
        out.append("\"stopped_at\":")
        if let stoppedAt { out.append(jsonString: stoppedAt) } else { out.append("null") }
        out.append("}")
        return out.text
    }

    private static func append(_ name: StaticString, _ counts: [String: Int], to out: inout ByteBuffer) {
        out.append("\"")
        out.append(name)
        out.append("\":{")
        for (index, entry) in counts.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { out.append(",") }
            out.append(jsonString: entry.key)
            out.append(":")
            out.append(decimal: Int64(entry.value))
        }
        out.append("},")
    }

    private static func list(_ counts: [String: Int]) -> String {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\(Human.grouped($0.value)) \($0.key)" }.joined(separator: ", ")
    }
}
