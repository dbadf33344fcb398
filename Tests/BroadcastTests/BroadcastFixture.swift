import BroadcastKit
import Core
import Decisions
import EventLoop
import Glibc
import Kafka
import Logging
import Redis
import Registry
import TestSupport
import Testing

/// A record of the bulk lane as it was read.
struct BulkRecord: Sendable {
    let key: String
    let value: String
    let headers: [String: String]
}

/// A real Redis and an embedded broker with every topic, and what the tests do with them.
final class BroadcastFixture {
    static let partitions = 4
    /// The embedded broker lets a rebalance last as long as a session, and the first one three seconds.
    static let session = [
        (name: "session.timeout.ms", value: "4000"), (name: "heartbeat.interval.ms", value: "300"),
    ]
    let broker: EmbeddedBroker
    let redis: RedisServer
    let session: RedisSession
    let names = TopicNames()
    private let producer: KafkaProducer
    private var services: [ExpandService] = []

    init(persistence: RedisServer.Persistence = .none) throws {
        let names = TopicNames()
        var topics = TopicNames.lanes.map { (name: names.jobs(lane: $0), partitions: Self.partitions) }
        topics += ["1s", "10s"].map { (name: names.retry(tier: $0), partitions: 2) }
        topics += [names.dead, names.outcomes, names.broadcasts, names.broadcastParts].map {
            (name: $0, partitions: Self.partitions)
        }
        broker = try EmbeddedBroker(topics: topics)
        redis = try RedisServer(persistence: persistence)
        session = try redis.session(
            scripts: RegistryScripts.all + ControlStore.scripts + BroadcastCommands.scripts)
        var configuration = KafkaConfiguration.producer(brokers: broker.bootstrapServers)
        configuration.tuneForEmbeddedBroker()
        producer = try KafkaProducer(
            configuration, topics: [names.broadcasts, names.broadcastParts, names.jobs(lane: "normal")])
        try producer.warmUp(timeoutMs: 30_000)
    }

    deinit { stop() }

    func stop() {
        for service in services { service.stop() }
        services = []
        producer.close(deadlineMs: 1_000)
        redis.stop()
        broker.stop()
    }

    var settings: ExpandSettings {
        var settings = ExpandSettings(
            brokers: broker.bootstrapServers, redis: RedisClientOptions(endpoint: redis.endpoint))
        settings.isEmbedded = true
        settings.commitIntervalMs = 100
        settings.controlIntervalMs = 50
        settings.lingerMs = 5
        settings.kafkaProperties = Self.session
        return settings
    }

    /// The configuration of a worker and of a process of the stage, without apps and providers.
    var configuration: String {
        """
        kafka:
          brokers: \(broker.bootstrapServers)
          session.timeout.ms: 6000
          heartbeat.interval.ms: 500
          fetch.wait.max.ms: 10
          max.in.flight.requests.per.connection: 1
        redis: {url: "unix://\(redis.socketPath)"}
        topics: {retry_tiers: [1s, 10s]}
        http: {worker: "127.0.0.1:0", expand: off, retry: off, gateway: off}
        worker: {lanes: [normal, bulk], shards: 1}
        expand: {recipients_max: 1024, parts_active: 1}

        """
    }

    /// Starts the stage; it ends with the fixture.
    @discardableResult
    func start(_ change: (inout ExpandSettings) -> Void = { _ in }) throws -> ExpandService {
        var settings = settings
        change(&settings)
        let service = try ExpandService.start(settings, log: .silent)
        services.append(service)
        return service
    }

    /// Lets recipients `user-0`, `user-1`, ... follow the topic, or those from `first` on.
    func follow(_ topic: String, app: String = "shop", from first: Int = 0, count: Int) throws {
        var commands: [[String]] = []
        for number in first..<first + count {
            let name = "user-\(number)"
            commands.append([
                "HSET",
                RegistryKeys.subscribers(app: app, topic: topic, shard: SubscriberIndex.shard(of: name)),
                name, "",
            ])
        }
        _ = try session.pipeline(commands)
    }

    /// Publishes a record to a topic as a worker would.
    func publish(
        _ topic: String, _ value: String, key: String = "shop/news", headers: [(StaticString, String)] = []
    ) throws {
        var all = KafkaHeaders()
        for (name, text) in headers { all.add(name, text: text) }
        let target = try #require(producer.topic(named: topic))
        let result = Array(key.utf8).withUnsafeBytes { key in
            Array(value.utf8).withUnsafeBytes {
                producer.produce(to: target, key: key, value: $0, headers: all, opaque: 1)
            }
        }
        try #require(result == .accepted)
        var reports: [DeliveryReport] = []
        let missing = producer.flush(deadlineMs: 30_000, into: &reports)
        try #require(missing == 0)
        let allDelivered = reports.allSatisfy(\.isDelivered)
        try #require(allDelivered)
    }

    func status(_ id: String, app: String = "shop") throws -> BroadcastStatus? {
        try BroadcastDirectory(session: session).status(app: app, id: id, nowMs: Clock.wallMs)
    }

    func wait(for state: BroadcastStatus.State, of id: String, app: String = "shop") throws -> Bool {
        try wait { try self.status(id, app: app)?.state == state }
    }

    /// Waits until the condition holds; false when it doesn't within a minute.
    func wait(_ condition: () throws -> Bool) rethrows -> Bool {
        let end = Clock.monotonicMs + 60_000
        while Clock.monotonicMs < end {
            if try condition() { return true }
            usleep(10_000)
        }
        return try condition()
    }

    /// All records of a topic, at least `count` of them; fewer when they don't come within a minute.
    func read(_ topic: String, atLeast count: Int) throws -> [BulkRecord] {
        let reader = RecordReader()
        var configuration = KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "reader")
        configuration.set("fetch.wait.max.ms", "10")
        let consumer = try KafkaConsumer(configuration, topics: [topic])
        defer { consumer.close(deadlineMs: 2_000) }
        try consumer.assign(
            (0..<Int32(Self.partitions)).map {
                TopicPartitionOffset(topic: 0, partition: $0, offset: TopicPartitionOffset.beginning)
            })
        let end = Clock.monotonicMs + 60_000
        // What comes beyond the count would show in the polls after it.
        var idle = 0
        while Clock.monotonicMs < end, reader.records.count < count || idle < 5 {
            let taken = consumer.poll(timeoutMs: 50, maxRecords: 10_000, into: reader)
            idle = taken == 0 ? idle + 1 : 0
        }
        return reader.records
    }

    /// Offsets that the stage's group has committed, over all partitions of the topic.
    func committed(_ topic: String) throws -> Int64 {
        let inspector = try KafkaInspector(
            KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "peal-expand"))
        defer { inspector.close() }
        return try inspector.committed(topic: topic, partitions: Self.partitions, timeoutMs: 30_000)
            .reduce(0) { $0 + ($1 ?? 0) }
    }
}

private final class RecordReader: KafkaRecordSink {
    var records: [BulkRecord] = []

    func take(_ record: borrowing KafkaRecord) {
        var headers: [String: String] = [:]
        record.forEachHeader { name, value in
            headers[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        records.append(
            BulkRecord(
                key: record.key.map { String(decoding: $0, as: UTF8.self) } ?? "",
                value: record.value.map { String(decoding: $0, as: UTF8.self) } ?? "", headers: headers))
    }
}
