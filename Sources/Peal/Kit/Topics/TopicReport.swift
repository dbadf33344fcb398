internal import Core
internal import Kafka
internal import Terminal

/// What `peal topics` has to say.
struct TopicReport {
    var verb: TopicsCommand.Verb
    var audit: TopicAudit
    /// Records by topic, for a list.
    var records: [String: Int64] = [:]
    /// What was made, or would be.
    var created: [KafkaAdmin.NewTopic] = []
    /// What the broker refused, with its words.
    var refused: [String: String] = [:]
    var isDry = false
    /// What could not be looked at, as a sentence; nil for nothing.
    var note: String?

    init(verb: TopicsCommand.Verb, audit: TopicAudit) {
        self.verb = verb
        self.audit = audit
    }

    /// 0 good, 1 a fault.
    var exitCode: Int32 {
        switch verb {
        case .list: 0
        case .check: audit.findings.contains { $0.severity == .fault } ? 1 : 0
        case .create: refused.isEmpty ? 0 : 1
        }
    }

    // MARK: For people

    func text(style: TextStyle) -> String {
        let body =
            switch verb {
            case .list: listText(style)
            case .check: checkText(style)
            case .create: createText(style)
            }
        return body + (note.map { style(.yellow, $0) + "\n" } ?? "")
    }

    private func listText(_ style: TextStyle) -> String {
        var table = TextTable([
            .init("topic"), .init("for"), .init("partitions", .right), .init("replicas", .right),
            .init("records", .right), .init("kept", .right), .init("min in sync", .right),
        ])
        for topic in audit.plan.topics {
            guard let layout = audit.layouts[topic.name] else {
                table.add([topic.name, topic.role.words, "missing"])
                continue
            }
            let values = audit.settings?[topic.name] ?? [:]
            let kept = values["retention.ms"].flatMap { Int64($0) }.map {
                $0 < 0 ? "for ever" : TopicAudit.span($0)
            }
            table.add([
                topic.name, topic.role.words, "\(layout.partitions)", "\(layout.replication)",
                Human.grouped(Int(clamping: records[topic.name] ?? 0)), kept ?? "-",
                values["min.insync.replicas"] ?? "-",
            ])
        }
        return table.render(style: style)
    }

    private func checkText(_ style: TextStyle) -> String {
        let findings = audit.findings
        var out = ""
        for finding in findings {
            let mark = finding.severity == .fault ? style(.red, "fault  ") : style(.yellow, "warning")
            out += "\(mark)  \(style(.bold, finding.topic))  \(finding.sentence)\n"
            if !finding.lever.isEmpty { out += "         \(style(.dim, finding.lever))\n" }
        }
        let faults = findings.count { $0.severity == .fault }
        let warnings = findings.count - faults
        let count = audit.plan.topics.count
        out +=
            findings.isEmpty
            ? "All \(count) topics are as they should be.\n"
            : "\(count) topics: \(faults) faults, \(warnings) warnings.\n"
        return out
    }

    private func createText(_ style: TextStyle) -> String {
        let count = audit.plan.topics.count
        guard !created.isEmpty else { return "All \(count) topics are there; nothing to do.\n" }
        var table = TextTable([
            .init("topic"), .init("partitions", .right), .init("replicas", .right), .init("kept", .right),
            .init(isDry ? "would be" : "was"),
        ])
        for topic in created {
            let kept = topic.settings["retention.ms"].flatMap { Int64($0) }.map(TopicAudit.span) ?? ""
            let state = refused[topic.name].map { "refused: \($0)" } ?? "made"
            table.add([topic.name, "\(topic.partitions)", "\(topic.replication)", kept, state])
        }
        let rest = count - created.count
        return table.render(style: style) + (rest > 0 ? "\(rest) are there already.\n" : "")
    }

    // MARK: For programs

    var json: String {
        var out = ByteBuffer(capacity: 4096)
        out.append("{\"topics\":[")
        for (position, topic) in audit.plan.topics.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            append(topic, to: &out)
        }
        out.append("],\"findings\":[")
        for (position, finding) in audit.findings.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append(
                text: "{\"severity\":\"\(finding.severity.rawValue)\",\"code\":\"\(finding.code)\",\"topic\":"
            )
            out.append(jsonString: finding.topic)
            out.append(",\"sentence\":")
            out.append(jsonString: finding.sentence)
            out.append(",\"lever\":")
            out.append(jsonString: finding.lever)
            out.append("}")
        }
        out.append("]")
        if verb == .create {
            out.append(text: ",\"dry_run\":\(isDry),\"created\":[")
            for (position, topic) in created.filter({ refused[$0.name] == nil }).enumerated() {
                if position > 0 { out.append(byte: UInt8(ascii: ",")) }
                out.append(jsonString: topic.name)
            }
            out.append("],\"refused\":{")
            for (position, pair) in refused.sorted(by: { $0.key < $1.key }).enumerated() {
                if position > 0 { out.append(byte: UInt8(ascii: ",")) }
                out.append(jsonString: pair.key)
                out.append(":")
                out.append(jsonString: pair.value)
            }
            out.append("}")
        }
        if let note {
            out.append(",\"note\":")
            out.append(jsonString: note)
        }
        out.append("}\n")
        return out.text
    }

    private func append(_ topic: TopicPlan.Topic, to out: inout ByteBuffer) {
        out.append("{\"topic\":")
        out.append(jsonString: topic.name)
        out.append(text: ",\"for\":\"\(topic.role.words)\"")
        if let layout = audit.layouts[topic.name] {
            out.append(
                text: ",\"partitions\":\(layout.partitions),\"replication\":\(layout.replication)")
            if let count = records[topic.name] { out.append(text: ",\"records\":\(count)") }
            for (name, value) in (audit.settings?[topic.name] ?? [:]).sorted(by: { $0.key < $1.key })
            where ["retention.ms", "cleanup.policy", "min.insync.replicas", "max.message.bytes"].contains(
                name)
            {
                out.append(",")
                out.append(jsonString: name)
                out.append(":")
                out.append(jsonString: value)
            }
        } else {
            out.append(",\"missing\":true")
        }
        out.append("}")
    }
}
