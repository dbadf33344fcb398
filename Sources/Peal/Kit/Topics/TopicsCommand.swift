internal import Configuration
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Terminal

/// `peal topics`: the topics of the configuration, what is wrong with them, and the making of missing ones.
enum TopicsCommand {
    static let command = Command(
        "topics", summary: "list, check and create the topics of the configuration",
        operands: "list|check|create",
        options: ToolAccess.options + [
            Option(
                "partitions", .value("N"), help: "partitions of a lane and its like (topics.partitions)"),
            Option("replication", .value("N"), help: "replicas (topics.replication)"),
            Option("dry-run", help: "create: say what would be made"),
            Option("json", help: "print one JSON object"),
        ],
        details: """
            'list' shows what is there. 'check' compares it with what Peal needs: partitions, replicas, how
            long records are kept, cleanup policy, sizes; it gives a sentence and a command for each fault.
            'create' makes the topics that are missing. Nothing is ever changed or deleted.

              peal topics check --config peal.yaml
              peal topics create --config peal.yaml --partitions 96 --dry-run

            Exit codes: 0 good, 1 a fault was found or a topic could not be made, 2 Kafka can't be reached or
            can't do it, 64 wrong usage, 78 wrong configuration.
            """)

    /// What a command line asks for.
    enum Verb: String, CaseIterable { case list, check, create }

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let word = arguments.operands.first ?? "list"
        guard let verb = Verb(rawValue: word), arguments.operands.count <= 1 else {
            throw UsageFailure("topics takes one of list, check and create")
        }
        if verb != .create, arguments.flag("dry-run") {
            throw UsageFailure("topics \(verb.rawValue) changes nothing; leave --dry-run out")
        }
        let partitions = try arguments.integer("partitions", in: 1...10_000)
        let replication = try arguments.integer("replication", in: 1...15)
        do throws(ToolFailure) {
            let access = try ToolAccess(try ToolAccess.settings(arguments))
            let plan = TopicPlan(access.settings, partitions: partitions, replication: replication)
            let report =
                verb == .create
                ? try create(plan, access, isDry: arguments.flag("dry-run")) : try look(verb, plan, access)
            Console.write(arguments.flag("json") ? report.json : report.text(style: Console.style))
            return report.exitCode
        } catch {
            Console.complain("peal topics: \(error)")
            return error.exitCode
        }
    }

    /// Reads what is there.
    static func look(_ verb: Verb, _ plan: TopicPlan, _ access: ToolAccess) throws(ToolFailure) -> TopicReport
    {
        let inspector = try access.inspector()
        defer { inspector.close() }
        var report = TopicReport(verb: verb, audit: try audit(plan, inspector))
        try readSettings(&report, access)
        guard verb == .list else { return report }
        let present = plan.topics.map(\.name).filter { report.audit.layouts[$0] != nil }
        var places: [TopicPartition] = []
        for (index, name) in present.enumerated() {
            for partition in 0..<(report.audit.layouts[name]?.partitions ?? 0) {
                places.append(
                    TopicPartition(topic: Int32(clamping: index), partition: Int32(clamping: partition)))
            }
        }
        let asked = places
        func offsets(_ point: KafkaInspector.OffsetPoint) throws(ToolFailure) -> [Int64?] {
            try KafkaFailure.told { () throws(KafkaFailure) in
                try inspector.offsets(
                    of: asked, topics: present, point, timeoutMs: ToolAccess.questionMs)
            }
        }
        let (first, next) = (try offsets(.first), try offsets(.next))
        for (number, place) in places.enumerated() {
            let held = (next[number] ?? 0) - (first[number] ?? 0)
            report.records[present[Int(place.topic)], default: 0] += max(0, held)
        }
        return report
    }

    private static func audit(
        _ plan: TopicPlan, _ inspector: KafkaInspector
    ) throws(ToolFailure) -> TopicAudit {
        let layouts = try KafkaFailure.told { () throws(KafkaFailure) in
            try inspector.layouts(timeoutMs: ToolAccess.questionMs)
        }
        var audit = TopicAudit(plan: plan, layouts: [:], settings: nil)
        for layout in layouts where layout.name.hasPrefix(plan.prefix) { audit.layouts[layout.name] = layout }
        return audit
    }

    private static func readSettings(_ report: inout TopicReport, _ access: ToolAccess) throws(ToolFailure) {
        let names = report.audit.plan.topics.map(\.name).filter { report.audit.layouts[$0] != nil }
        let configuration = try access.tool()
        do throws(KafkaFailure) {
            let admin = try KafkaAdmin(configuration)
            defer { admin.close() }
            report.audit.settings = try admin.settings(of: names, timeoutMs: ToolAccess.questionMs)
        } catch {
            // The rest of the audit holds without them.
            report.note =
                "The topics' settings (retention, cleanup policy, sizes, min.insync.replicas) were not "
                + "checked: \(error.message)."
        }
    }

    /// Makes the missing topics; `isDry` only says which. The broker isn't asked to check them then: not
    /// every one leaves it at that.
    static func create(
        _ plan: TopicPlan, _ access: ToolAccess, isDry: Bool
    ) throws(ToolFailure) -> TopicReport {
        let inspector = try access.inspector()
        defer { inspector.close() }
        var report = TopicReport(verb: .create, audit: try audit(plan, inspector))
        report.isDry = isDry
        report.created = report.audit.missing.map(plan.newTopic)
        guard !report.created.isEmpty, !isDry else { return report }
        let configuration = try access.tool()
        do throws(KafkaFailure) {
            let admin = try KafkaAdmin(configuration)
            defer { admin.close() }
            report.refused = try admin.create(report.created, timeoutMs: ToolAccess.questionMs)
        } catch {
            let cause =
                error.code == .unsupported
                ? "\(error.message). Peal's embedded broker makes a topic when it is first named; a real "
                    + "cluster may be choosing a controller, try again."
                : "\(error.message)."
            throw ToolFailure(away: "no topic was made: \(cause)")
        }
        waitUntilSeen(&report, inspector)
        return report
    }

    /// A new topic is known to all brokers a moment after it was made.
    private static func waitUntilSeen(_ report: inout TopicReport, _ inspector: KafkaInspector) {
        let wanted = report.created.map(\.name).filter { report.refused[$0] == nil }
        let end = Clock.monotonicMs + 10_000
        repeat {
            guard let audit = try? audit(report.audit.plan, inspector) else { return }
            report.audit = audit
            if wanted.allSatisfy({ audit.layouts[$0] != nil }) { return }
            usleep(100_000)
        } while Clock.monotonicMs < end
        report.note = "Not all of them are known to the brokers yet; see 'peal topics list'."
    }
}
