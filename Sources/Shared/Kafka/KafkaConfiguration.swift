import CRdkafka

/// The properties of one Kafka client, in the order they are applied.
///
/// Starts from Peal's defaults; `apply` puts the user's own on top. A few properties belong to Peal because
/// its guarantees depend on them: setting one is refused with its name.
package struct KafkaConfiguration: Sendable {
    /// One property, by librdkafka's name.
    package struct Property: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    /// Which client the properties are for.
    package enum Role: Sendable { case consumer, producer, tool }

    /// The client the properties are for.
    package let role: Role
    /// The properties, each name once.
    package private(set) var properties: [Property] = []

    private static let ours: Set<String> = [
        "enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof", "log.queue",
        "auto.commit.enable", "go.events.channel.enable", "transactional.id",
    ]

    /// What bounds the requests of every client, but is meant for producers: a consumer with one request at a
    /// time would wait for its fetch before it commits.
    private static let producers: Set<String> = ["max.in.flight", "max.in.flight.requests.per.connection"]

    private init(role: Role, _ defaults: [(String, String)]) {
        self.role = role
        for (name, value) in defaults { set(name, value) }
    }

    /// An at-least-once consumer that commits explicitly.
    package static func consumer(brokers: String, group: String, clientID: String = "peal") -> Self {
        Self(
            role: .consumer,
            common(brokers: brokers, clientID: clientID) + [
                ("group.id", group), ("partition.assignment.strategy", "range"),
                ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
                ("enable.partition.eof", "false"), ("auto.offset.reset", "earliest"),
                ("session.timeout.ms", "30000"), ("heartbeat.interval.ms", "3000"),
                ("max.poll.interval.ms", "300000"),
                // What is fetched ahead, as small as a busy consumer can do with: ``ReadAhead`` sees to it
                // that it is filled up again in time. A waiting record takes about 400 bytes beside its own.
                ("queued.min.messages", "20000"), ("queued.max.messages.kbytes", "12288"),
                ("fetch.wait.max.ms", "100"),
                ("fetch.min.bytes", "1"), ("fetch.message.max.bytes", "1048576"),
                ("fetch.max.bytes", "4194304"), ("check.crcs", "true"),
            ])
    }

    /// An idempotent producer; `lingerMs` trades latency (5) for batches (50).
    package static func producer(brokers: String, clientID: String = "peal", lingerMs: Int = 5) -> Self {
        Self(
            role: .producer,
            common(brokers: brokers, clientID: clientID) + [
                ("enable.idempotence", "true"), ("linger.ms", String(lingerMs)),
                ("batch.size", "524288"), ("batch.num.messages", "10000"), ("compression.type", "lz4"),
                ("queue.buffering.max.messages", "200000"), ("queue.buffering.max.kbytes", "262144"),
                ("message.timeout.ms", "120000"), ("request.timeout.ms", "30000"),
                ("partitioner", "murmur2_random"),
            ])
    }

    /// A client that only asks: metadata, watermarks, committed offsets of `group`.
    package static func tool(brokers: String, group: String, clientID: String = "peal-tool") -> Self {
        var configuration = consumer(brokers: brokers, group: group, clientID: clientID)
        configuration = Self(role: .tool, configuration.properties.map { ($0.name, $0.value) })
        return configuration
    }

    private static func common(brokers: String, clientID: String) -> [(String, String)] {
        [
            ("bootstrap.servers", brokers), ("client.id", String(clientID.prefix(48))), ("log.queue", "true"),
            ("log_level", "5"), ("socket.timeout.ms", "60000"), ("socket.keepalive.enable", "true"),
            ("socket.nagle.disable", "true"), ("reconnect.backoff.max.ms", "5000"),
            ("topic.metadata.refresh.interval.ms", "60000"),
        ]
    }

    /// Sets one property, replacing an earlier value.
    package mutating func set(_ name: String, _ value: String) {
        let property = Property(name: name, value: value)
        if let index = properties.firstIndex(where: { $0.name == name }) {
            properties[index] = property
        } else {
            properties.append(property)
        }
    }

    /// The value of a property, when it was set.
    package func value(_ name: String) -> String? { properties.first { $0.name == name }?.value }

    /// Puts the user's properties on top.
    /// - Throws: for a property that belongs to Peal, by its name.
    package mutating func apply(_ overrides: [(name: String, value: String)]) throws(KafkaFailure) {
        for (name, value) in overrides {
            guard !Self.ours.contains(name) else {
                throw KafkaFailure(
                    .configuration,
                    "kafka property \(name) is managed by Peal and can't be set; remove it")
            }
            if role == .producer || !Self.producers.contains(name) { set(name, value) }
        }
    }

    /// Shortens the waits for the embedded broker, whose rebalances last as long as a session.
    ///
    /// A producer sends one request at a time. An idempotent one takes the acknowledgement of a later request
    /// for that of an earlier one that failed, since a broker would have refused the later one otherwise; the
    /// embedded broker doesn't look at the order, and records would be lost.
    package mutating func tuneForEmbeddedBroker() {
        if role == .producer { return set("max.in.flight.requests.per.connection", "1") }
        set("session.timeout.ms", "6000")
        set("heartbeat.interval.ms", "1000")
        set("fetch.wait.max.ms", "10")
    }

    /// Whether partitions are given and taken one by one.
    var isCooperative: Bool { value("partition.assignment.strategy")?.hasPrefix("cooperative") ?? false }

    /// Checks every name and value with librdkafka.
    /// - Throws: the first that it refuses, in its own words.
    package func validate() throws(KafkaFailure) { _ = try NativeConfiguration(self) }
}

/// Owner of a `rd_kafka_conf_t` until a client takes it over.
@safe
struct NativeConfiguration: ~Copyable {
    private var pointer: OpaquePointer?

    init(_ configuration: KafkaConfiguration) throws(KafkaFailure) {
        let conf = unsafe rd_kafka_conf_new()
        unsafe pointer = conf
        var reason = [CChar](repeating: 0, count: 512)
        for property in configuration.properties {
            let result = unsafe rd_kafka_conf_set(conf, property.name, property.value, &reason, reason.count)
            guard result == RD_KAFKA_CONF_OK else {
                // librdkafka's text may quote the value, which can be a password: it is left out for those.
                let secret = property.name.contains("password") || property.name.contains("key")
                let detail = secret ? "value refused" : text(reason)
                throw KafkaFailure(.configuration, "kafka property \(property.name): \(detail)")
            }
        }
    }

    deinit { if let pointer = unsafe pointer { unsafe rd_kafka_conf_destroy(pointer) } }

    /// Sets a property that older versions of librdkafka do not have; those do without.
    mutating func setIfKnown(_ name: String, _ value: String) {
        guard let pointer = unsafe pointer else { return }
        _ = unsafe rd_kafka_conf_set(pointer, name, value, nil, 0)
    }

    mutating func setEvents(_ events: Int32) {
        if let pointer = unsafe pointer { unsafe rd_kafka_conf_set_events(pointer, events) }
    }

    /// Turns the configuration into a client.
    consuming func create(_ type: rd_kafka_type_t) throws(KafkaFailure) -> OpaquePointer {
        var reason = [CChar](repeating: 0, count: 512)
        guard let client = unsafe rd_kafka_new(type, pointer, &reason, reason.count) else {
            throw KafkaFailure(.create, "the kafka client could not be made: \(text(reason))")
        }
        // rd_kafka_new owns the configuration from here on.
        unsafe pointer = nil
        return unsafe client
    }
}

/// The text up to the first NUL.
func text(_ characters: [CChar]) -> String {
    String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
