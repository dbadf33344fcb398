import Core
import Glibc
import Kafka
import Testing

/// Stretches of the log, offsets and administration, on the embedded broker.
@Suite struct LogReaderTests {
    private final class Sink: KafkaRecordSink {
        var places: [Int32: [Int64]] = [:]
        var keys: [String: Int32] = [:]

        func take(_ record: borrowing KafkaRecord) {
            places[record.partition, default: []].append(record.offset)
            if let key = record.key { keys[String(decoding: key, as: UTF8.self)] = record.partition }
        }
    }

    private func fill(_ broker: EmbeddedBroker, _ topic: String, _ keys: Range<Int>) throws {
        var configuration = KafkaConfiguration.producer(brokers: broker.bootstrapServers)
        configuration.tuneForEmbeddedBroker()
        let producer = try KafkaProducer(configuration, topics: [topic])
        var reports: [DeliveryReport] = []
        for number in keys {
            let key = Array("shop/user-\(number)".utf8)
            let result = key.withUnsafeBytes {
                producer.produce(to: producer.topic(0), key: $0, value: $0, opaque: 0)
            }
            #expect(result == .accepted)
        }
        #expect(producer.flush(deadlineMs: 20_000, into: &reports) == 0)
        producer.close(deadlineMs: 1000)
    }

    private func readAll(_ reader: KafkaLogReader, _ sink: Sink) -> Bool {
        wait(
            until: { reader.isFinished },
            doing: { _ = reader.poll(timeoutMs: 50, maxRecords: 100, into: sink) })
    }

    @Test func aStretchIsReadOnceFromItsFirstToItsLastOffset() throws {
        let broker = try EmbeddedBroker(topics: [("t", 3)])
        try fill(broker, "t", 0..<600)
        let tool = KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "tool")
        let inspector = try KafkaInspector(tool)
        let all = (0..<Int32(3)).map { TopicPartition(topic: 0, partition: $0) }
        let first = try inspector.offsets(of: all, topics: ["t"], .first, timeoutMs: 10_000)
        let next = try inspector.offsets(of: all, topics: ["t"], .next, timeoutMs: 10_000)
        #expect(first == [0, 0, 0])
        #expect(next.compactMap { $0 }.reduce(0, +) == 600)
        let last = try #require(next[1])
        let reader = try KafkaLogReader(
            tool, topics: ["t"],
            stretches: [
                .init(topic: 0, partition: 0, from: 10, to: 25),
                .init(topic: 0, partition: 1, from: last - 3, to: last),
                .init(topic: 0, partition: 2, from: 7, to: 7),
            ])
        #expect(reader.total == 18)
        // What comes later is in no stretch.
        try fill(broker, "t", 600..<900)
        let sink = Sink()
        #expect(readAll(reader, sink))
        #expect(sink.places == [0: Array(10..<25), 1: Array(last - 3..<last)])
        #expect(reader.done == 18)
        reader.close()
        inspector.close()
    }

    @Test func aStretchBeyondTheLogEndsWithTheLog() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        try fill(broker, "t", 0..<5)
        let reader = try KafkaLogReader(
            .tool(brokers: broker.bootstrapServers, group: "tool"), topics: ["t"],
            stretches: [.init(topic: 0, partition: 0, from: 2, to: 1000)])
        let sink = Sink()
        #expect(readAll(reader, sink))
        #expect(sink.places == [0: [2, 3, 4]])
        reader.close()
    }

    @Test func theProducersPartitionIsToldByTheKey() throws {
        let broker = try EmbeddedBroker(topics: [("t", 7)])
        try fill(broker, "t", 0..<200)
        let reader = try KafkaLogReader(
            .tool(brokers: broker.bootstrapServers, group: "tool"), topics: ["t"],
            stretches: (0..<Int32(7)).map { .init(topic: 0, partition: $0, from: 0, to: 1000) })
        let sink = Sink()
        #expect(readAll(reader, sink))
        reader.close()
        #expect(sink.keys.count == 200)
        #expect(
            sink.keys.allSatisfy {
                KafkaPartitioner.partition(ofKey: Array($0.key.utf8), partitions: 7) == $0.value
            })
    }

    @Test func theEmbeddedBrokerSaysThatItCanNotAdminister() throws {
        let broker = try EmbeddedBroker(topics: [("t", 2)])
        let tool = KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "tool")
        let admin = try KafkaAdmin(tool)
        defer { admin.close() }
        let made = #expect(throws: KafkaFailure.self) {
            try admin.create(
                [.init(name: "new", partitions: 1, replication: 1, settings: [:])], timeoutMs: 5000)
        }
        #expect(made?.code == .unsupported)
        let read = #expect(throws: KafkaFailure.self) { try admin.settings(of: ["t"], timeoutMs: 5000) }
        #expect(read?.code == .unsupported)
        let deleted = #expect(throws: KafkaFailure.self) {
            try admin.deleteRecords(
                below: [.init(topic: 0, partition: 0, offset: 1)], topics: ["t"], timeoutMs: 5000)
        }
        #expect(deleted?.code == .unsupported)
        let inspector = try KafkaInspector(tool)
        let layout = try inspector.layouts(timeoutMs: 5000).first { $0.name == "t" }
        #expect(layout?.partitions == 2)
        #expect(layout?.replication == 1)
        inspector.close()
    }
}
