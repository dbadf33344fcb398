internal import Configuration
internal import Core
internal import EventLoop
internal import Kafka
internal import Redis
internal import Registry
internal import Services
internal import Terminal

/// The way of the operator's commands to the Kafka and the Redis of a configuration.
struct ToolAccess {
    /// How long one question to Kafka may take, in ms.
    static let questionMs = 15_000

    let settings: Settings
    private let properties: [(name: String, value: String)]

    /// Takes the configuration; nothing is contacted.
    init(_ settings: Settings) throws(ToolFailure) {
        self.settings = settings
        do throws(ConfigurationFailure) {
            properties = try settings.kafkaProperties()
        } catch {
            throw ToolFailure(error)
        }
    }

    /// The options that say where the configuration is.
    static let options = [
        Option("config", short: "c", .value("FILE"), environment: "PEAL_CONFIG", help: "the configuration"),
        Option(
            "brokers", .value("HOSTS"), help: "Kafka's host:port,... in place of the configuration's"),
    ]

    /// Reads the configuration that the command line names.
    static func settings(_ arguments: Arguments) throws(ToolFailure) -> Settings {
        do throws(ConfigurationFailure) {
            var settings = try Configuration.load(
                path: arguments.string("config"), environment: Console.environment)
            if let brokers = arguments.string("brokers") { settings.kafka.brokers = brokers }
            return settings
        } catch {
            throw ToolFailure(error)
        }
    }

    /// A client that joins no group; `group` is whose committed offsets it may ask for.
    func tool(group: String = "peal-tool") throws(ToolFailure) -> KafkaConfiguration {
        var configuration = KafkaConfiguration.tool(
            brokers: settings.kafka.brokers, group: group, clientID: "peal")
        configuration.set("socket.timeout.ms", "\(Self.questionMs)")
        try apply(to: &configuration)
        return configuration
    }

    /// A client that publishes.
    func producer() throws(ToolFailure) -> KafkaConfiguration {
        var configuration = KafkaConfiguration.producer(
            brokers: settings.kafka.brokers, clientID: "peal")
        try apply(to: &configuration)
        return configuration
    }

    private func apply(to configuration: inout KafkaConfiguration) throws(ToolFailure) {
        var copy = configuration
        do throws(KafkaFailure) {
            try copy.apply(properties)
        } catch {
            throw ToolFailure(error)
        }
        configuration = copy
    }

    /// The names of the topics.
    var names: TopicNames { TopicNames(prefix: settings.topics.prefix) }

    /// A client for questions about topics and offsets.
    func inspector(group: String = "peal-tool") throws(ToolFailure) -> KafkaInspector {
        let configuration = try tool(group: group)
        return try KafkaFailure.told { () throws(KafkaFailure) in try KafkaInspector(configuration) }
    }

    /// A session with Redis; it connects with its first command.
    func redis() throws(ToolFailure) -> RedisSession {
        let options: RedisClientOptions
        do throws(ConfigurationFailure) {
            options = try settings.redisOptions(scripts: ControlStore.scripts)
        } catch {
            throw ToolFailure(error)
        }
        return try RedisFailure.told { () throws(RedisFailure) in try RedisSession(options: options) }
    }
}

/// A point in time on a command line.
enum TimePoint {
    /// What an option's help says about it.
    static let form = "a span before now (2h, 3d) or RFC 3339 (2026-12-01T08:00:00Z)"

    /// Milliseconds since 1970 of the option's value; nil when it isn't given.
    /// - Throws: when it is neither form.
    static func read(_ name: String, _ arguments: Arguments, nowMs: Int64) throws(UsageFailure) -> Int64? {
        guard let text = arguments.string(name) else { return nil }
        var copy = text
        let stamp = copy.withUTF8 { unsafe Timestamp.parseRFC3339(UnsafeRawBufferPointer($0)) }
        if let stamp { return stamp }
        guard text.last?.isLetter == true, let span = Human.parseDurationMs(text) else {
            throw UsageFailure("--\(name) takes \(form), not \"\(text)\"")
        }
        return nowMs - Int64(clamping: span)
    }
}
