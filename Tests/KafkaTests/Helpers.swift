import Glibc
import Kafka
import Testing

/// Copies what it is given.
final class Collector: KafkaRecordSink, KafkaConsumerDelegate {
    struct Copy: Equatable {
        var topic: Int32
        var partition: Int32
        var offset: Int64
        var key: [UInt8]?
        var value: [UInt8]?
        var headers: [String: String]
    }

    var records: [Copy] = []
    var assigned: [[TopicPartition]] = []
    var revoked: [(partitions: [TopicPartition], lost: Bool)] = []
    var commits: [CommitResult] = []
    var events: [KafkaEvent] = []
    var onAssigned: (([TopicPartition]) -> Void)?
    var onRevoked: (([TopicPartition]) -> Void)?

    func take(_ record: borrowing KafkaRecord) {
        var headers: [String: String] = [:]
        record.forEachHeader { headers[text($0)] = text($1) }
        records.append(
            Copy(
                topic: record.topic, partition: record.partition, offset: record.offset,
                key: record.key.map { Array($0) }, value: record.value.map { Array($0) }, headers: headers))
    }

    func kafkaAssigned(_ partitions: [TopicPartition]) {
        assigned.append(partitions)
        onAssigned?(partitions)
    }

    func kafkaRevoked(_ partitions: [TopicPartition], lost: Bool) {
        revoked.append((partitions, lost))
        onRevoked?(partitions)
    }

    func kafkaCommitted(_ results: [CommitResult]) { commits += results }
    func kafkaReported(_ event: KafkaEvent) { events.append(event) }

    /// How often each (partition, offset) was given beyond once.
    var duplicates: Int { records.count - Set(records.map { [Int64($0.partition), $0.offset] }).count }
}

func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Calls `step` until `isDone`, at most `seconds`; whether it came true.
func wait(seconds: Int = 30, until isDone: () -> Bool, doing step: () -> Void) -> Bool {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let end = now.tv_sec + seconds
    while !isDone() {
        clock_gettime(CLOCK_MONOTONIC, &now)
        if now.tv_sec > end { return false }
        step()
    }
    return true
}

func consumer(
    _ broker: EmbeddedBroker, group: String = "g", topics: [String] = ["t"], _ collector: Collector,
    sessionMs: Int = 6000, overrides: [(name: String, value: String)] = []
) throws -> KafkaConsumer {
    var configuration = KafkaConfiguration.consumer(brokers: broker.bootstrapServers, group: group)
    configuration.tuneForEmbeddedBroker()
    configuration.set("session.timeout.ms", String(sessionMs))
    try configuration.apply(overrides)
    let consumer = try KafkaConsumer(configuration, topics: topics, delegate: collector)
    try consumer.subscribe()
    return consumer
}

func producer(
    _ broker: EmbeddedBroker, topics: [String] = ["t"], overrides: [(name: String, value: String)] = []
) throws -> KafkaProducer {
    var configuration = KafkaConfiguration.producer(brokers: broker.bootstrapServers)
    try configuration.apply(overrides)
    let producer = try KafkaProducer(configuration, topics: topics)
    try producer.warmUp(timeoutMs: 60_000)
    return producer
}

extension KafkaProducer {
    /// Produces `range` as key and value text, and waits for all reports.
    func fill(_ range: Range<Int>, topic: Int = 0) -> [DeliveryReport] {
        var reports: [DeliveryReport] = []
        for number in range {
            let value = bytes(String(number))
            var result = ProduceResult.queueFull
            while result == .queueFull {
                result = value.withUnsafeBytes {
                    produce(to: self.topic(topic), key: $0, value: $0, opaque: UInt64(number))
                }
                if result == .queueFull { drain(into: &reports, timeoutMs: 10) }
            }
        }
        _ = flush(deadlineMs: 20_000, into: &reports)
        return reports
    }
}
