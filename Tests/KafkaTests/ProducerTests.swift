import Core
import Glibc
import Kafka
import Testing

@Suite struct ProducerTests {
    @Test func everyRecordGetsItsReport() throws {
        let broker = try EmbeddedBroker(topics: [("t", 4)])
        let producer = try producer(broker)
        let reports = producer.fill(0..<1000)
        #expect(Set(reports.map(\.opaque)) == Set((0..<1000).map { UInt64($0) }))
        #expect(reports.allSatisfy { $0.isDelivered && $0.offset >= 0 && (0..<4).contains($0.partition) })
        #expect(Set(reports.map(\.partition)).count == 4)
        #expect(producer.inFlight == 0)
        #expect(producer.counters.delivered == 1000)
    }

    @Test func oneKeyAlwaysLandsOnThePartitionThatJavaProducersChoose() throws {
        let broker = try EmbeddedBroker(topics: [("t", 4)])
        let producer = try producer(broker)
        // murmur2("user-123") & 0x7fffffff, modulo 4, computed by hand below as the Java client does.
        for key in ["user-123", "shop/1", "a", "", "häuser"] where !key.isEmpty {
            let report = try producer.produceAndWait(
                to: producer.topic(0), key: bytes(key), value: bytes("x"))
            #expect(report.partition == Int32((murmur2(bytes(key)) & 0x7fff_ffff) % 4), "\(key)")
        }
    }

    @Test func theDescriptorBecomesReadableWhenReportsWait() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(broker)
        var reports: [DeliveryReport] = []
        producer.drain(into: &reports)
        let value = bytes("x")
        let result = value.withUnsafeBytes {
            producer.produce(to: producer.topic(0), key: nil, value: $0, opaque: 7)
        }
        #expect(result == .accepted)
        var wanted = pollfd(fd: producer.notificationDescriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&wanted, 1, 10_000) == 1)
        #expect(wait(until: { !reports.isEmpty }, doing: { producer.drain(into: &reports, timeoutMs: 10) }))
        #expect(reports.map(\.opaque) == [7])
    }

    @Test func aFullQueueIsAnAnswerNotAWait() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(broker, overrides: [("queue.buffering.max.messages", "10")])
        broker.setAll(isUp: false)
        let value = bytes("x")
        let results = (0..<11).map { number in
            value.withUnsafeBytes {
                producer.produce(to: producer.topic(0), key: nil, value: $0, opaque: UInt64(number))
            }
        }
        #expect(results.dropLast().allSatisfy { $0 == .accepted })
        #expect(results.last == .queueFull)
        #expect(producer.counters.queueFull == 1)
        broker.setAll(isUp: true)
        var reports: [DeliveryReport] = []
        #expect(producer.flush(deadlineMs: 20_000, into: &reports) == 0)
        #expect(reports.count == 10)
        #expect(reports.allSatisfy { $0.isDelivered })
    }

    @Test func aBrokerThatGoesAndComesBackLosesNothing() throws {
        let broker = try EmbeddedBroker(topics: [("t", 4)])
        let producer = try producer(broker)
        #expect(producer.fill(0..<100).filter(\.isDelivered).count == 100)
        broker.setAll(isUp: false)
        let value = bytes("x")
        for number in 0..<100 {
            let result = value.withUnsafeBytes {
                producer.produce(to: producer.topic(0), key: $0, value: $0, opaque: UInt64(number))
            }
            #expect(result == .accepted)
        }
        var reports: [DeliveryReport] = []
        producer.drain(into: &reports, timeoutMs: 200)
        #expect(reports.isEmpty)
        broker.setAll(isUp: true)
        #expect(producer.flush(deadlineMs: 20_000, into: &reports) == 0)
        #expect(reports.filter(\.isDelivered).count == 100)
    }

    /// With more requests in flight the acknowledgement of a later one would stand for one that failed, since
    /// the embedded broker takes them out of order.
    @Test func whatTheEmbeddedBrokerAcknowledgedInTroubleIsThere() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(
            broker,
            overrides: [
                ("batch.num.messages", "10"), ("linger.ms", "1"),
                ("max.in.flight.requests.per.connection", "1"),
            ])
        _ = producer.fill(0..<1)
        for round in 0..<20 {
            broker.failNext(.produce, with: [.transport])
            let from = 1 + round * 100
            #expect(producer.fill(from..<from + 100).filter(\.isDelivered).count == 100)
        }
        let consumer = try KafkaConsumer(
            KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "check"), topics: ["t"])
        try consumer.assign([TopicPartitionOffset(topic: 0, partition: 0, offset: 0)])
        let seen = Recorder()
        var idle = 0
        while idle < 10 {
            idle = consumer.poll(timeoutMs: 100, maxRecords: 1000, into: seen) == 0 ? idle + 1 : 0
        }
        consumer.close(deadlineMs: 2000)
        #expect(Set(seen.numbers) == Set(0..<2001))
    }

    private final class Recorder: KafkaRecordSink {
        var numbers: [Int] = []
        func take(_ record: borrowing KafkaRecord) {
            let text = record.value.map { String(decoding: $0, as: UTF8.self) } ?? ""
            if let number = Int(text) { numbers.append(number) }
        }
    }

    @Test func aRecordWhoseTimeRunsOutIsReportedAsFailed() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(broker, overrides: [("message.timeout.ms", "1000")])
        broker.setAll(isUp: false)
        let reports = producer.fill(0..<3)
        #expect(reports.map(\.code) == [.messageTimedOut, .messageTimedOut, .messageTimedOut])
        #expect(reports.allSatisfy { !$0.isPossiblyPersisted })
        #expect(producer.inFlight == 0)
    }

    @Test func aFatalErrorFailsWhatIsUnderWayAndTheProducerGoesOn() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(broker)
        _ = producer.fill(0..<1)
        broker.failNext(.produce, with: [.outOfOrderSequence])
        let reports = producer.fill(1..<2)
        #expect(reports.map(\.opaque) == [1])
        #expect(reports.first?.isDelivered == false)
        var more: [DeliveryReport] = []
        #expect(
            wait(
                until: { producer.counters.renewals > 0 },
                doing: { producer.drain(into: &more, timeoutMs: 20) }))
        #expect(producer.fill(2..<5).filter(\.isDelivered).count == 3)
    }

    @Test func whatFailedWithItsClientIsProducedAgainAsItWas() throws {
        let broker = try EmbeddedBroker(topics: [("a", 1), ("b", 1)])
        let producer = try producer(broker, topics: ["a", "b"])
        let failed = FailedRecords()
        producer.failureSink = failed
        broker.failNext(.produce, with: [.outOfOrderSequence])
        var headers = KafkaHeaders()
        headers.add("peal-attempt", decimal: 2)
        headers.add("peal-reason", text: "")
        let key = bytes("k")
        for number in 0..<UInt64(4) {
            let value = bytes("v\(number)")
            let result = key.withUnsafeBytes { key in
                value.withUnsafeBytes {
                    producer.produce(
                        to: producer.topic(1), key: number == 1 ? nil : key, value: number == 2 ? nil : $0,
                        headers: headers, timestampMs: 5000, opaque: number)
                }
            }
            #expect(result == .accepted)
        }
        var reports: [DeliveryReport] = []
        #expect(
            wait(
                until: { reports.filter(\.isDelivered).count == 4 },
                doing: {
                    producer.drain(into: &reports, timeoutMs: 20)
                    if !failed.isEmpty { _ = failed.resend(to: producer) }
                }))
        #expect(failed.isEmpty)
        #expect(failed.resentCount >= 1)
        #expect(reports.filter(\.isDelivered).map(\.opaque) == [0, 1, 2, 3])
        let collector = Collector()
        let reader = try consumer(broker, topics: ["a", "b"], collector)
        #expect(
            wait(
                until: { collector.records.count >= 4 },
                doing: { _ = reader.poll(timeoutMs: 50, maxRecords: 10, into: collector) }))
        #expect(collector.records.map(\.topic) == [1, 1, 1, 1])
        #expect(collector.records.map(\.key) == [key, nil, key, key])
        #expect(collector.records.map(\.value) == [bytes("v0"), bytes("v1"), nil, bytes("v3")])
        #expect(collector.records.allSatisfy { $0.headers == ["peal-attempt": "2", "peal-reason": ""] })
        reader.close(deadlineMs: 8000)
    }

    @Test func aRecordThatIsTooLargeIsRefusedAtOnce() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(broker)
        let value = [UInt8](repeating: 0x61, count: 2_000_000)
        let result = value.withUnsafeBytes {
            producer.produce(to: producer.topic(0), key: nil, value: $0, opaque: 1)
        }
        #expect(result == .failed(.messageTooLarge))
        #expect(producer.inFlight == 0)
    }

    @Test func closingWithTheBrokerAwayEnds() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(broker)
        broker.setAll(isUp: false)
        let value = bytes("x")
        _ = value.withUnsafeBytes {
            producer.produce(to: producer.topic(0), key: nil, value: $0, opaque: 1)
        }
        producer.close(deadlineMs: 100)
        let after = value.withUnsafeBytes {
            producer.produce(to: producer.topic(0), key: nil, value: $0, opaque: 1)
        }
        #expect(after != .accepted && after != .queueFull)
    }

    @Test func headersBeyondTheBoundAreLeftOutAndSaidSo() {
        var headers = KafkaHeaders()
        var added = 0
        for _ in 0..<KafkaHeaders.maxCount + 1 where headers.add("peal-attempt", decimal: 1) { added += 1 }
        let count = headers.count
        #expect(added == KafkaHeaders.maxCount)
        #expect(count == KafkaHeaders.maxCount)
        headers.clear()
        let tooLong = headers.add("peal-devices", text: String(repeating: "x", count: KafkaHeaders.maxBytes))
        let after = headers.count
        #expect(!tooLong)
        #expect(after == 0)
    }
}

/// The Java client's hash of keys.
func murmur2(_ data: [UInt8]) -> UInt32 {
    let m: UInt32 = 0x5bd1_e995
    var h: UInt32 = 0x9747_b28c ^ UInt32(data.count)
    var index = 0
    while index + 4 <= data.count {
        var k =
            UInt32(data[index]) | UInt32(data[index + 1]) << 8 | UInt32(data[index + 2]) << 16
            | UInt32(data[index + 3]) << 24
        k = k &* m
        k ^= k >> 24
        k = k &* m
        h = h &* m ^ k
        index += 4
    }
    let rest = data.count - index
    if rest == 3 { h ^= UInt32(data[index + 2]) << 16 }
    if rest >= 2 { h ^= UInt32(data[index + 1]) << 8 }
    if rest >= 1 {
        h ^= UInt32(data[index])
        h = h &* m
    }
    h ^= h >> 13
    h = h &* m
    h ^= h >> 15
    return h
}
