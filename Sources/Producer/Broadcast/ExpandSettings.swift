package import Configuration
package import Core
package import Redis
internal import Services

/// What the broadcast stage works with.
package struct ExpandSettings: Sendable {
    /// Kafka's bootstrap servers.
    package var brokers: String
    /// librdkafka properties of the operator, put on top of Peal's.
    package var kafkaProperties: [(name: String, value: String)] = []
    /// The topics.
    package var names = TopicNames()
    /// How Redis is reached; the scripts are added by the service.
    package var redis: RedisClientOptions
    /// The consumer group, the same for every process of the stage.
    package var group = "peal-expand"
    /// What librdkafka calls this process at the brokers.
    package var clientID = "peal-expand"
    /// The parts that a new broadcast is divided into.
    package var parts = 64
    /// Parts that are expanded at a time.
    package var partsActive = 4
    /// Recipients in memory; what was read but not acknowledged counts.
    package var recipientsMax = 65_536
    /// Recipients that are read and acknowledged together, about.
    package var pageRecipients: Int { min(4096, max(64, recipientsMax / 16)) }
    /// Part records in memory, those of paused broadcasts included; above it, reading pauses.
    package var partsHeldMax = 256
    /// How often finished offsets are committed, in ms.
    package var commitIntervalMs: UInt64 = 500
    /// How often `peal:control` is read, in ms.
    package var controlIntervalMs: UInt64 = 1000
    /// How long records wait for others to share a batch, in ms.
    package var lingerMs = 20
    /// How long a stop may take before what is left is given up to the next owner, in ms.
    package var drainDeadlineMs: UInt64 = 10_000
    /// Whether the brokers are an `EmbeddedBroker`, whose waits are shortened.
    package var isEmbedded = false

    /// The defaults for the brokers and the store.
    package init(brokers: String, redis: RedisClientOptions) {
        self.brokers = brokers
        self.redis = redis
    }

    /// What the configuration says.
    /// - Throws: when a file with a password can't be read, or what Redis needs contradicts itself.
    package init(_ settings: Settings) throws(ConfigurationFailure) {
        self.init(brokers: settings.kafka.brokers, redis: try settings.redisOptions(scripts: []))
        kafkaProperties = try settings.kafkaProperties()
        names = TopicNames(prefix: settings.topics.prefix)
        group = settings.expand.group
        parts = settings.expand.parts
        partsActive = settings.expand.partsActive
        recipientsMax = settings.expand.recipientsMax
        drainDeadlineMs = UInt64(max(0, settings.expand.drainDeadlineMs))
    }
}
