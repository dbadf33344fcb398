internal import Kafka
internal import Terminal

/// What is there, compared with what is needed. No I/O.
struct TopicAudit: Equatable {
    enum Severity: String, Equatable {
        /// Jobs are lost, refused or never found.
        case fault
        /// It works, and something could be better.
        case warning
    }

    struct Finding: Equatable {
        var severity: Severity
        var topic: String
        /// A fixed word for programs.
        var code: String
        var sentence: String
        /// What to do; empty when the sentence says it.
        var lever: String = ""
    }

    /// The most that a batch of Peal's producers takes, with room: also Kafka's own default.
    static let batchBytes: Int64 = 1_048_588
    /// A job of 65,535 bytes, its key and 16 KiB of headers.
    static let jobBytes: Int64 = 100_000

    let plan: TopicPlan
    /// By name.
    var layouts: [String: KafkaTopicLayout]
    /// The settings in force, by topic; nil when the broker doesn't say.
    var settings: [String: [String: String]]?

    /// Those of the plan that are not there.
    var missing: [TopicPlan.Topic] { plan.topics.filter { layouts[$0.name] == nil } }

    /// Everything that is odd, faults first, in the plan's order.
    var findings: [Finding] {
        var found: [Finding] = []
        for topic in plan.topics {
            guard let layout = layouts[topic.name] else {
                found.append(
                    Finding(
                        severity: .fault, topic: topic.name, code: "missing",
                        sentence: "It is not there.", lever: "peal topics create"))
                continue
            }
            found += findings(topic, layout)
            if let values = settings?[topic.name] { found += findings(topic, layout, values) }
        }
        found += leftOver + unequalLanes
        return found.filter { $0.severity == .fault } + found.filter { $0.severity == .warning }
    }

    private func findings(_ topic: TopicPlan.Topic, _ layout: KafkaTopicLayout) -> [Finding] {
        var found: [Finding] = []
        func add(_ severity: Severity, _ code: String, _ sentence: String, _ lever: String) {
            found.append(
                Finding(
                    severity: severity, topic: topic.name, code: code, sentence: sentence, lever: lever))
        }
        if layout.leaderless > 0 {
            add(
                .fault, "leaderless",
                "\(layout.leaderless) of \(layout.partitions) partitions have no leader: their jobs wait.",
                "bring back the brokers that held them")
        }
        if layout.behind > 0 {
            add(
                .warning, "behind",
                "\(layout.behind) of \(layout.partitions) partitions have replicas that are not in sync.",
                "look at the brokers' logs and disks")
        }
        if layout.replication > 0, layout.replication < plan.replication {
            let risk = layout.replication == 1 ? "what it holds is lost with its broker" : "it wants more"
            add(
                .warning, "replication",
                "It has \(layout.replication) of \(plan.replication) replicas: \(risk).",
                "kafka-reassign-partitions.sh, or set topics.replication to what is meant")
        }
        if layout.partitions < topic.partitions, topic.role == .lane {
            add(
                .warning, "partitions",
                "It has \(layout.partitions) partitions, topics.partitions is \(topic.partitions): no more "
                    + "than \(layout.partitions) workers share this lane.",
                "set topics.partitions to \(layout.partitions), or make a new topic while no job is under "
                    + "way: adding partitions moves recipients, whose jobs then lose their order")
        }
        return found
    }

    private func findings(
        _ topic: TopicPlan.Topic, _ layout: KafkaTopicLayout, _ values: [String: String]
    ) -> [Finding] {
        var found: [Finding] = []
        func add(_ severity: Severity, _ code: String, _ sentence: String, set: String, to value: String) {
            found.append(
                Finding(
                    severity: severity, topic: topic.name, code: code, sentence: sentence,
                    lever: "kafka-configs.sh --alter --entity-type topics --entity-name \(topic.name) "
                        + "--add-config \(set)=\(value)"))
        }
        if let policy = values["cleanup.policy"], policy != "delete" {
            add(
                .fault, "cleanup_policy",
                "Its cleanup.policy is \(policy): of one recipient's records only the last would stay.",
                set: "cleanup.policy", to: "delete")
        }
        found += retention(topic, values)
        if let bytes = values["retention.bytes"].flatMap({ Int64($0) }), bytes >= 0, topic.role != .outcomes {
            add(
                .warning, "retention_bytes",
                "Its retention.bytes is \(Human.bytes(UInt64(bytes))) a partition: a backlog above that is "
                    + "deleted, however young it is.",
                set: "retention.bytes", to: "-1")
        }
        if let bytes = values["max.message.bytes"].flatMap({ Int64($0) }), bytes < Self.batchBytes {
            let isFault = bytes < Self.jobBytes
            add(
                isFault ? .fault : .warning, "max_message_bytes",
                isFault
                    ? "Its max.message.bytes is \(bytes): a job of 65,535 bytes with its headers is refused."
                    : "Its max.message.bytes is \(bytes): batches of several jobs may be refused.",
                set: "max.message.bytes", to: "\(Self.batchBytes)")
        }
        if let value = values["min.insync.replicas"].flatMap({ Int($0) }), layout.replication > 0 {
            if value > layout.replication || value == layout.replication && value > 1 {
                let isFault = value > layout.replication
                add(
                    isFault ? .fault : .warning, "min_insync_replicas",
                    "Its min.insync.replicas is \(value) of \(layout.replication) replicas: "
                        + (isFault ? "nothing can be written." : "one broker away stops all writing."),
                    set: "min.insync.replicas", to: "\(TopicPlan.inSync(layout.replication))")
            } else if value == 1, layout.replication > 2 {
                add(
                    .warning, "min_insync_replicas",
                    "Its min.insync.replicas is 1: what one broker acknowledged alone is lost with it.",
                    set: "min.insync.replicas", to: "\(TopicPlan.inSync(layout.replication))")
            }
        }
        if values["unclean.leader.election.enable"] == "true" {
            add(
                .warning, "unclean_election",
                "A broker that lags may become leader: acknowledged records would be lost.",
                set: "unclean.leader.election.enable", to: "false")
        }
        return found
    }

    private func retention(_ topic: TopicPlan.Topic, _ values: [String: String]) -> [Finding] {
        guard let ms = values["retention.ms"].flatMap({ Int64($0) }), ms >= 0,
            ms < topic.retentionWantedMs
        else { return [] }
        let isFault = ms < topic.retentionNeededMs
        let kept = "It keeps records for \(Self.span(ms))"
        let sentence =
            switch topic.role {
            case .retry(let delay):
                isFault
                    ? "\(kept), and they wait in it for \(Self.span(delay)): jobs are deleted before they "
                        + "are due."
                    : "\(kept), and they wait in it for \(Self.span(delay)): if peal-retry stands still for "
                        + "longer than the rest, jobs are lost."
            case .dead:
                "\(kept): a dead letter should be there for a week at least, to be looked at and replayed."
            case .outcomes:
                "\(kept): whoever reads it has to be back by then, and 'peal trace' sees no further."
            case .lane, .broadcasts, .parts:
                isFault
                    ? "\(kept), less than retry.max_age: jobs that are still good are deleted."
                    : "\(kept), hardly more than retry.max_age: if workers stand still for a day, jobs are "
                        + "lost."
            }
        return [
            Finding(
                severity: isFault ? .fault : .warning, topic: topic.name, code: "retention",
                sentence: sentence,
                lever: "kafka-configs.sh --alter --entity-type topics --entity-name \(topic.name) "
                    + "--add-config retention.ms=\(topic.retentionMs)")
        ]
    }

    /// Topics of the prefix that nobody reads any more.
    private var leftOver: [Finding] {
        let known = Set(plan.topics.map(\.name))
        return layouts.keys.sorted().filter {
            !known.contains($0)
                && ["retry.", "jobs."].contains(where: ($0.dropFirst(plan.prefix.count)).hasPrefix)
                && $0.hasPrefix(plan.prefix)
        }.map {
            Finding(
                severity: .warning, topic: $0, code: "left_over",
                sentence: "It is of the prefix, but not of this configuration: what waits in it is read by "
                    + "nobody.",
                lever: "add its delay to topics.retry_tiers again, or delete it when it is empty")
        }
    }

    private var unequalLanes: [Finding] {
        let lanes = plan.topics.filter { $0.role == .lane }.compactMap { layouts[$0.name] }
        guard let least = lanes.min(by: { $0.partitions < $1.partitions }),
            let most = lanes.max(by: { $0.partitions < $1.partitions }), least.partitions < most.partitions
        else { return [] }
        return [
            Finding(
                severity: .warning, topic: least.name, code: "unequal_lanes",
                sentence: "It has \(least.partitions) partitions and \(most.name) \(most.partitions): with "
                    + "more than \(least.partitions) workers, some never see this lane.",
                lever: "give the lanes equal numbers")
        ]
    }

    /// A span of time in the largest unit that it is a whole number of.
    static func span(_ ms: Int64) -> String {
        for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")]
            as [(Int64, String)]
        where ms >= unit && ms % unit == 0 {
            return "\(ms / unit) \(name)"
        }
        return Human.duration(ms: Double(ms))
    }
}
