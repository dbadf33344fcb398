package import Configuration
package import Decisions
package import Redis
package import Tracing

/// What the retry service works with.
package struct RetrySettings: Sendable {
    /// Kafka's bootstrap servers.
    package var brokers: String
    /// Where spans go; nil when nothing is traced.
    package var tracer: Tracer?
    /// librdkafka properties of the operator, put on top of Peal's.
    package var kafkaProperties: [(name: String, value: String)] = []
    /// What topic names begin with.
    package var topicPrefix = "peal"
    /// The lanes that records may come from and go back to.
    package var lanes = ["urgent", "normal", "bulk"]
    /// The retry topics.
    package var tiers = RetryTier.standard
    /// The tiers that this process serves, by name; empty for all of them.
    package var servedTiers: Set<String> = []
    /// What consumer group names begin with; each tier has a group of its own, such as `peal-retry-10s`.
    package var groupPrefix = "peal-retry"
    /// What librdkafka calls this process at the brokers.
    package var clientID = "peal-retry"
    /// Records that one tier holds in memory; above it, reading pauses.
    package var heldRecordsMax = 100_000
    /// Records that one partition may have in memory.
    package var heldPartitionMax = 20_000
    /// Bytes of records that one tier holds in memory.
    package var heldBytesMax = 48 << 20
    /// How often finished offsets are committed, in ms.
    package var commitIntervalMs: Int64 = 500
    /// How long records wait for others to share a batch, in ms.
    package var lingerMs = 5
    /// How long a stop may take before what is left is given up to the next owner, in ms.
    package var drainDeadlineMs: UInt64 = 10_000
    /// Where the service tells that it lives; nil for nowhere. It needs Redis for nothing else.
    package var redis: RedisClientOptions?
    /// Whether the brokers are an `EmbeddedBroker`, whose waits are shortened.
    package var isEmbedded = false

    /// The defaults for the brokers.
    package init(brokers: String) { self.brokers = brokers }

    /// What the configuration says.
    /// - Throws: when the file with Kafka's password can't be read.
    package init(_ settings: Settings) throws(ConfigurationFailure) {
        self.init(brokers: settings.kafka.brokers)
        kafkaProperties = settings.kafka.properties.map { ($0.name, $0.value) }
        if let file = settings.kafka.passwordFile {
            kafkaProperties.append(("sasl.password", try SecretFile.readLine(file)))
        }
        topicPrefix = settings.topics.prefix
        lanes = Settings.Topics.allLanes
        tiers = settings.topics.retryTiers
        groupPrefix = settings.retry.group
        heldPartitionMax = settings.retry.heldMax
        heldRecordsMax = max(heldRecordsMax, settings.retry.heldMax)
        drainDeadlineMs = UInt64(max(0, settings.retry.drainDeadlineMs))
    }
}
