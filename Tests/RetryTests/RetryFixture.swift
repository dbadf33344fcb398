import Core
import Decisions
import EventLoop
import Kafka
import Logging
import RetryKit
import Testing

/// A record as it was read.
struct SeenRecord: Sendable {
    let topic: String
    let partition: Int32
    let offset: Int64
    let key: [UInt8]?
    let value: [UInt8]?
    let headers: [String]
    let atMs: Int64

    var text: String { String(decoding: value ?? [], as: UTF8.self) }
}

/// Reads topics from their beginning, without a group.
final class TopicReader: KafkaRecordSink {
    private let consumer: KafkaConsumer
    private(set) var seen: [SeenRecord] = []
    private(set) var count = 0
    private let keeps: Bool

    init(_ brokers: String, _ topics: [String], partitions: Int, keeps: Bool = true) throws {
        var configuration = KafkaConfiguration.consumer(brokers: brokers, group: "reader")
        configuration.tuneForEmbeddedBroker()
        self.keeps = keeps
        consumer = try KafkaConsumer(configuration, topics: topics)
        var places: [TopicPartitionOffset] = []
        for topic in topics.indices {
            for partition in 0..<partitions {
                places.append(
                    TopicPartitionOffset(
                        topic: Int32(topic), partition: Int32(partition),
                        offset: TopicPartitionOffset.beginning))
            }
        }
        try consumer.assign(places)
    }

    func take(_ record: borrowing KafkaRecord) {
        count += 1
        guard keeps else { return }
        var headers: [String] = []
        record.forEachHeader { name, value in
            headers.append(
                "\(String(decoding: name, as: UTF8.self))=\(String(decoding: value, as: UTF8.self))")
        }
        seen.append(
            SeenRecord(
                topic: consumer.topics[Int(record.topic)], partition: record.partition, offset: record.offset,
                key: record.key.map { Array($0) }, value: record.value.map { Array($0) }, headers: headers,
                atMs: Clock.wallMs))
    }

    /// Reads until the condition holds; false when it doesn't within the deadline.
    func read(deadlineMs: UInt64 = 60_000, until condition: () -> Bool) -> Bool {
        let end = Clock.monotonicMs + deadlineMs
        while !condition() {
            if Clock.monotonicMs > end { return false }
            _ = consumer.poll(timeoutMs: 10, maxRecords: 5_000, into: self)
        }
        return true
    }

    func close() { consumer.close(deadlineMs: 1_000) }
}

/// An embedded broker with every topic of the retry service.
struct RetryFixture {
    let broker: EmbeddedBroker
    let partitions: Int
    let names = TopicNames()

    init(partitions: Int = 2) throws {
        self.partitions = partitions
        let names = TopicNames()
        let topics =
            TopicNames.lanes.map { names.jobs(lane: $0) }
            + RetryTier.standard.map { names.retry(tier: $0.name) } + [names.dead]
        broker = try EmbeddedBroker(topics: topics.map { ($0, partitions) })
    }

    var settings: RetrySettings {
        var settings = RetrySettings(brokers: broker.bootstrapServers)
        settings.isEmbedded = true
        settings.commitIntervalMs = 100
        settings.drainDeadlineMs = 5_000
        return settings
    }

    func producer() throws -> KafkaProducer {
        let topics = RetryTier.standard.map { names.retry(tier: $0.name) }
        let producer = try KafkaProducer(
            KafkaConfiguration.producer(brokers: broker.bootstrapServers), topics: topics)
        try producer.warmUp(timeoutMs: 60_000)
        return producer
    }

    func reader(_ topics: [String], keeps: Bool = true) throws -> TopicReader {
        try TopicReader(broker.bootstrapServers, topics, partitions: partitions, keeps: keeps)
    }
}

extension KafkaProducer {
    /// Produces one retry record without waiting for its report.
    func retry(
        tier: String, key: String?, value: String?, dueMs: Int64?, attempt: String? = "1",
        origin: String? = "peal.jobs.normal/0/1", more: [(StaticString, String)] = []
    ) throws {
        var headers = KafkaHeaders()
        if let dueMs { headers.add(PealHeader.dueMs, decimal: dueMs) }
        if let attempt { headers.add(PealHeader.attempt, text: attempt) }
        if let origin { headers.add(PealHeader.origin, text: origin) }
        for (name, value) in more { headers.add(name, text: value) }
        let target = self.topic(named: "peal.retry.\(tier)")
        let topic = try #require(target)
        func lend<R>(_ text: String?, _ body: (UnsafeRawBufferPointer?) -> R) -> R {
            guard let text else { return body(nil) }
            return Array(text.utf8).withUnsafeBytes { body($0) }
        }
        var reports: [DeliveryReport] = []
        while true {
            let result = lend(key) { key in
                lend(value) { produce(to: topic, key: key, value: $0, headers: headers, opaque: 1) }
            }
            if result == .accepted { return }
            try #require(result == .queueFull)
            drain(into: &reports, timeoutMs: 10)
        }
    }

    /// Waits until everything is acknowledged.
    func settle() throws {
        var reports: [DeliveryReport] = []
        let missing = flush(deadlineMs: 30_000, into: &reports)
        try #require(missing == 0)
        let allDelivered = reports.allSatisfy(\.isDelivered)
        try #require(allDelivered)
    }
}
