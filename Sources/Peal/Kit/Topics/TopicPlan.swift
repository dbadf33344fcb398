internal import Configuration
internal import Decisions
internal import Kafka

/// The topics that a configuration needs, and how each should be.
struct TopicPlan: Equatable {
    /// What a topic is for.
    enum Role: Equatable {
        case lane
        /// The delay in ms.
        case retry(delayMs: Int64)
        case broadcasts
        case parts
        case dead
        case outcomes

        var words: String {
            switch self {
            case .lane: "jobs"
            case .retry: "retry"
            case .broadcasts: "broadcasts"
            case .parts: "parts of broadcasts"
            case .dead: "dead letters"
            case .outcomes: "outcomes"
            }
        }
    }

    struct Topic: Equatable {
        var name: String
        var role: Role
        /// How many partitions a new one gets.
        var partitions: Int
        /// How long a new one keeps its records, in ms.
        var retentionMs: Int64
        /// Below this, records that are still needed are deleted, in ms.
        var retentionNeededMs: Int64
        /// Below this, an outage of a night costs records, in ms.
        var retentionWantedMs: Int64
    }

    /// In the order in which they are shown.
    var topics: [Topic]
    /// What every name begins with, and a dot.
    var prefix: String
    var replication: Int

    static let dayMs: Int64 = 86_400_000
    /// The most partitions of the topics that carry little.
    private static let fewPartitions = 12
    /// A broadcast has that many parts, so more partitions have nothing to do.
    private static let partsMax = 64

    /// Plans for the configuration's topics.
    init(_ settings: Settings, partitions: Int? = nil, replication: Int? = nil) {
        let topics = settings.topics
        let count = partitions ?? topics.partitions
        let few = min(count, Self.fewPartitions)
        let age = settings.retry.maxAgeMs
        prefix = topics.prefix + "."
        self.replication = replication ?? topics.replication
        let week = 7 * Self.dayMs
        func topic(
            _ name: String, _ role: Role, _ partitions: Int, days: Int64 = 7, needed: Int64, wanted: Int64
        ) -> Topic {
            Topic(
                name: name, role: role, partitions: partitions,
                retentionMs: max(days * Self.dayMs, wanted), retentionNeededMs: needed,
                retentionWantedMs: wanted)
        }
        self.topics = Settings.Topics.allLanes.map {
            topic(topics.jobs(lane: $0), .lane, count, needed: age, wanted: age + Self.dayMs)
        }
        self.topics += topics.retryTiers.map {
            topic(
                topics.retry($0), .retry(delayMs: $0.delayMs), count, needed: 2 * $0.delayMs,
                wanted: $0.delayMs + Self.dayMs)
        }
        self.topics += [
            topic(topics.broadcasts, .broadcasts, few, needed: age, wanted: age + Self.dayMs),
            topic(
                topics.broadcastParts, .parts, min(count, Self.partsMax), needed: age,
                wanted: age + Self.dayMs),
            topic(topics.dead, .dead, few, days: 30, needed: Self.dayMs, wanted: week),
            topic(topics.outcomes, .outcomes, count, needed: 3_600_000, wanted: Self.dayMs),
        ]
    }

    /// How a missing one is made.
    func newTopic(_ topic: Topic) -> KafkaAdmin.NewTopic {
        KafkaAdmin.NewTopic(
            name: topic.name, partitions: topic.partitions, replication: replication,
            settings: [
                "cleanup.policy": "delete",
                "retention.ms": "\(topic.retentionMs)",
                "min.insync.replicas": "\(Self.inSync(replication))",
                "max.message.bytes": "\(TopicAudit.batchBytes)",
            ])
    }

    /// The replicas that have to have a record before it is acknowledged: one broker may be away.
    static func inSync(_ replication: Int) -> Int { max(1, replication - 1) }
}
