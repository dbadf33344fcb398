package import Configuration
package import Core
package import Decisions
internal import ProducerKit
package import Redis
internal import Services
package import Tracing

/// What the gateway works with.
package struct GatewaySettings: Sendable {
    /// Where it listens.
    package var listen = ListenAddress(host: "127.0.0.1", port: 0)
    /// Kafka's bootstrap servers.
    package var brokers: String
    /// librdkafka properties of the operator, put on top of Peal's.
    package var kafkaProperties: [(name: String, value: String)] = []
    package var names = TopicNames()
    package var tiers = RetryTier.standard
    package var redis: RedisClientOptions
    /// The apps that jobs may name.
    package var apps = AppNames([])
    /// The `gateway:` section.
    package var gateway = Settings.Gateway()
    /// How long jobs wait for others to share a request to the broker, in ms.
    package var lingerMs = 1
    /// Whether the brokers are an `EmbeddedBroker`.
    package var isEmbedded = false
    /// Where spans go; nil when nothing is traced.
    package var tracer: Tracer?

    /// The defaults for the brokers and Redis: loopback, any free port.
    package init(brokers: String, redis: RedisClientOptions) {
        self.brokers = brokers
        self.redis = redis
    }

    /// What the configuration says.
    /// - Throws: what is missing or can't be read.
    package init(_ settings: Settings) throws(ConfigurationFailure) {
        self.init(
            brokers: settings.kafka.brokers, redis: try settings.redisOptions(scripts: GatewayScripts.all))
        kafkaProperties = try settings.kafkaProperties()
        names = TopicNames(prefix: settings.topics.prefix)
        tiers = settings.topics.retryTiers
        apps = AppNames(settings.apps.map(\.name))
        gateway = settings.gateway
        guard let address = settings.http.gateway else {
            throw Self.failure("http.gateway", "it is off; write the address that the gateway listens on")
        }
        listen = address
        try checkAccess()
    }

    /// Refuses a gateway that anybody could use by accident.
    private func checkAccess() throws(ConfigurationFailure) {
        guard gateway.keysFile == nil else {
            guard gateway.isOpen else { return }
            throw Self.failure("gateway.open", "it contradicts gateway.keys_file; leave one of them out")
        }
        guard gateway.isOpen else {
            throw Self.failure(
                "gateway.keys_file",
                "it is missing; make a key by \"peal-producer key new\" and name the file with its line, or "
                    + "write gateway.open: true for a gateway on this machine that anybody may use")
        }
        guard Self.isLoopback(listen.host) else {
            throw Self.failure(
                "gateway.open",
                "without keys the gateway listens on a loopback address only; write http.gateway: "
                    + "127.0.0.1:\(listen.port), or name gateway.keys_file")
        }
    }

    private static func failure(_ place: String, _ message: String) -> ConfigurationFailure {
        ConfigurationFailure([.init(code: .conflict, place: place, message: message)])
    }

    static func isLoopback(_ host: String) -> Bool { host.hasPrefix("127.") || host == "::1" }
}
