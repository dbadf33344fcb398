import Core
import Glibc
import Kafka
import Testing

@Suite struct ConsumerTests {
    @Test func whatIsProducedIsConsumedOnceAndInOrder() throws {
        let broker = try EmbeddedBroker(topics: [("t", 3)])
        #expect(try producer(broker).fill(0..<2000).count == 2000)
        let collector = Collector()
        let consumer = try consumer(broker, collector)
        #expect(
            wait(
                until: { collector.records.count >= 2000 },
                doing: { _ = consumer.poll(timeoutMs: 50, maxRecords: 500, into: collector) }))
        #expect(collector.records.count == 2000)
        #expect(collector.duplicates == 0)
        #expect(Set(collector.assigned.joined()).count == 3)
        for partition in 0..<Int32(3) {
            let offsets = collector.records.filter { $0.partition == partition }.map(\.offset)
            #expect(offsets == Array(0..<Int64(offsets.count)))
        }
        let mark = try #require(consumer.watermarks(TopicPartition(topic: 0, partition: 0)))
        #expect(mark.high == Int64(collector.records.filter { $0.partition == 0 }.count))
        #expect(consumer.close(deadlineMs: 8000))
    }

    @Test func nullsAndHeadersArriveAsTheyWereSent() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let producer = try producer(broker)
        var reports: [DeliveryReport] = []
        var headers = KafkaHeaders()
        headers.add(PealHeader.attempt, decimal: 3)
        headers.add(PealHeader.dueMs, decimal: -1)
        headers.add(PealHeader.reason, text: "")
        headers.add(PealHeader.traceParent, text: "00-ab-cd-01")
        let nulls = producer.produce(to: producer.topic(0), key: nil, value: nil, headers: headers, opaque: 1)
        #expect(nulls == .accepted)
        let plain = producer.produce(to: producer.topic(0), key: nil, value: nil, opaque: 2)
        #expect(plain == .accepted)
        let key = bytes("k")
        let value: [UInt8] = [0, 1, 255]
        let result = key.withUnsafeBytes { key in
            value.withUnsafeBytes {
                producer.produce(
                    to: producer.topic(0), key: key, value: $0, headers: headers, timestampMs: 1_234_567,
                    opaque: 3)
            }
        }
        #expect(result == .accepted)
        #expect(producer.flush(deadlineMs: 10_000, into: &reports) == 0)

        let collector = Collector()
        let consumer = try consumer(broker, collector)
        #expect(
            wait(
                until: { collector.records.count >= 3 },
                doing: { _ = consumer.poll(timeoutMs: 50, maxRecords: 10, into: collector) }))
        let expected = [
            "peal-attempt": "3", "peal-due-ms": "-1", "peal-reason": "", "traceparent": "00-ab-cd-01",
        ]
        #expect(collector.records[0].key == nil && collector.records[0].value == nil)
        #expect(collector.records[0].headers == expected)
        #expect(collector.records[1].headers.isEmpty)
        #expect(collector.records[2].key == key && collector.records[2].value == value)
        #expect(collector.records[2].headers == expected)
        consumer.close(deadlineMs: 8000)
    }

    @Test func aCommitIsWhereTheNextMemberStarts() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        _ = try producer(broker).fill(0..<100)
        let first = Collector()
        let one = try consumer(broker, first)
        #expect(
            wait(
                until: { first.records.count >= 100 },
                doing: { _ = one.poll(timeoutMs: 50, maxRecords: 100, into: first) }))
        // One that waits, then one that doesn't.
        let waited = one.commitAndWait([.init(topic: 0, partition: 0, offset: 40)], timeoutMs: 5000)
        #expect(waited.map(\.outcome) == [.committed])
        try one.commit([.init(topic: 0, partition: 0, offset: 60)])
        #expect(
            wait(
                until: { !first.commits.isEmpty },
                doing: { _ = one.poll(timeoutMs: 50, maxRecords: 100, into: first) }))
        #expect(first.commits.map(\.outcome) == [.committed])
        #expect(first.commits.map(\.position.offset) == [60])
        let committed = try one.committed([.init(topic: 0, partition: 0)], timeoutMs: 5000)
        #expect(committed == [.init(topic: 0, partition: 0, offset: 60)])
        #expect(one.counters.commits == 2)
        #expect(one.close(deadlineMs: 8000))
        #expect(first.revoked.count == 1)

        let second = Collector()
        let two = try consumer(broker, second)
        #expect(
            wait(
                until: { second.records.count >= 40 },
                doing: { _ = two.poll(timeoutMs: 50, maxRecords: 100, into: second) }))
        #expect(second.records.map(\.offset) == Array(60..<100))
        two.close(deadlineMs: 8000)
    }

    @Test func pausingAndResumingNeitherLosesNorRepeats() throws {
        let broker = try EmbeddedBroker(topics: [("t", 2)])
        #expect(try producer(broker).fill(0..<15_000).count == 15_000)
        let collector = Collector()
        let consumer = try consumer(broker, collector)
        let both = [TopicPartition(topic: 0, partition: 0), TopicPartition(topic: 0, partition: 1)]
        var round = 0
        var leaked = 0
        #expect(
            wait(
                until: { collector.records.count >= 15_000 },
                doing: {
                    // Resumes of what isn't paused and pauses of what is must do nothing.
                    consumer.resume(both)
                    _ = consumer.poll(timeoutMs: 20, maxRecords: 200, into: collector)
                    round += 1
                    if round % 5 == 0 {
                        consumer.pause(both)
                        consumer.pause(both)
                        leaked += consumer.poll(timeoutMs: 0, maxRecords: 200, into: collector)
                    }
                }))
        _ = consumer.poll(timeoutMs: 300, maxRecords: 200, into: collector)
        #expect(collector.records.count == 15_000)
        #expect(leaked == 0)
        #expect(collector.duplicates == 0)
        consumer.close(deadlineMs: 8000)
    }

    @Test func aSecondMemberTakesItsShareAndAPausedPartitionFlowsAgainAfterwards() throws {
        let broker = try EmbeddedBroker(topics: [("t", 2)])
        let producer = try producer(broker)
        _ = producer.fill(0..<100)
        let first = Collector()
        let one = try consumer(broker, first, sessionMs: 4000)
        #expect(
            wait(
                until: { first.records.count >= 100 },
                doing: { _ = one.poll(timeoutMs: 50, maxRecords: 100, into: first) }))
        let seen = first.records
        _ = one.commitAndWait(
            (0..<Int32(2)).map { partition in
                .init(
                    topic: 0, partition: partition,
                    offset: Int64(seen.filter { $0.partition == partition }.count))
            }, timeoutMs: 5000)
        one.pause(one.assignment)
        #expect(one.paused.count == 2)

        let second = Collector()
        let two = try consumer(broker, second, sessionMs: 4000)
        #expect(
            wait(
                until: { one.assignment.count == 1 && two.assignment.count == 1 },
                doing: {
                    _ = one.poll(timeoutMs: 20, maxRecords: 100, into: first)
                    _ = two.poll(timeoutMs: 20, maxRecords: 100, into: second)
                }))
        #expect(first.revoked.first?.partitions.count == 2)
        #expect(one.paused.isEmpty)
        #expect(one.assignment.isDisjoint(with: two.assignment))
        _ = producer.fill(100..<200)
        #expect(
            wait(
                until: { first.records.count + second.records.count >= 200 },
                doing: {
                    _ = one.poll(timeoutMs: 20, maxRecords: 100, into: first)
                    _ = two.poll(timeoutMs: 20, maxRecords: 100, into: second)
                }))
        let all = first.records + second.records
        #expect(Set(all.compactMap(\.value)).count == 200)
        two.close(deadlineMs: 8000)
        one.close(deadlineMs: 8000)
    }

    @Test func aConsumerGoesOnWhenTheBrokerIsBack() throws {
        let broker = try EmbeddedBroker(topics: [("t", 2)])
        let producer = try producer(broker)
        _ = producer.fill(0..<100)
        let collector = Collector()
        let consumer = try consumer(broker, collector)
        let poll = { _ = consumer.poll(timeoutMs: 50, maxRecords: 100, into: collector) }
        #expect(wait(until: { collector.records.count >= 100 }, doing: poll))
        broker.setAll(isUp: false)
        #expect(
            wait(
                until: { collector.events.contains { $0.code == .allBrokersDown || $0.code == .transport } },
                doing: poll))
        // A commit without a broker ends by its own deadline.
        let answer = consumer.commitAndWait([.init(topic: 0, partition: 0, offset: 1)], timeoutMs: 200)
        #expect(answer.allSatisfy { $0.outcome != .committed })
        broker.setAll(isUp: true)
        #expect(producer.fill(100..<200).filter(\.isDelivered).count == 100)
        #expect(wait(until: { collector.records.count >= 200 }, doing: poll))
        #expect(Set(collector.records.compactMap(\.value)).count == 200)
        consumer.close(deadlineMs: 8000)
    }

    @Test func aWakeEndsAPollThatWaits() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let collector = Collector()
        let consumer = try consumer(broker, collector)
        #expect(
            wait(
                until: { !collector.assigned.isEmpty },
                doing: { _ = consumer.poll(timeoutMs: 50, maxRecords: 10, into: collector) }))
        let waker = consumer.waker
        waker.wake()
        // A few other events may end polls early; without the wake the last one lasts its whole minute.
        var started = timespec()
        clock_gettime(CLOCK_MONOTONIC, &started)
        _ = consumer.poll(timeoutMs: 60_000, maxRecords: 10, into: collector)
        var ended = timespec()
        clock_gettime(CLOCK_MONOTONIC, &ended)
        #expect(ended.tv_sec - started.tv_sec < 50)
        consumer.close(deadlineMs: 8000)
        // A wake after the close does nothing.
        waker.wake()
    }

    @Test func closingEndsInTimeWhateverTheBrokerDoes() throws {
        let broker = try EmbeddedBroker(topics: [("t", 1)])
        let collector = Collector()
        let early = try consumer(broker, group: "early", collector)
        early.close(deadlineMs: 8000)
        let late = try consumer(broker, group: "late", collector)
        #expect(
            wait(
                until: { !collector.assigned.isEmpty },
                doing: { _ = late.poll(timeoutMs: 50, maxRecords: 10, into: collector) }))
        broker.setAll(isUp: false)
        late.close(deadlineMs: 500)
        #expect(late.poll(timeoutMs: 0, maxRecords: 1, into: collector) == 0)
    }

    @Test func partitionsCanBeReadWithoutAGroup() throws {
        let broker = try EmbeddedBroker(topics: [("t", 2)])
        _ = try producer(broker).fill(0..<50)
        let inspector = try KafkaInspector(.tool(brokers: broker.bootstrapServers, group: "g"))
        #expect(try inspector.topics(timeoutMs: 5000).map(\.name) == ["t"])
        let marks = try inspector.watermarks(topic: "t", partition: 1, timeoutMs: 5000)
        #expect(marks.low == 0 && marks.high > 0 && marks.high < 50)
        #expect(try inspector.committed(topic: "t", partitions: 2, timeoutMs: 5000) == [nil, nil])
        inspector.close()
        let collector = Collector()
        var configuration = KafkaConfiguration.consumer(brokers: broker.bootstrapServers, group: "tool")
        configuration.tuneForEmbeddedBroker()
        let reader = try KafkaConsumer(configuration, topics: ["t"], delegate: collector)
        try reader.assign([.init(topic: 0, partition: 1, offset: 2)])
        #expect(
            wait(
                until: { collector.records.count >= Int(marks.high) - 2 },
                doing: { _ = reader.poll(timeoutMs: 50, maxRecords: 10, into: collector) }))
        #expect(collector.records.map(\.offset) == Array(2..<marks.high))
        reader.close(deadlineMs: 8000)
    }

    @Test func anUnknownPropertyAndOneOfOursAreRefusedByName() throws {
        var configuration = KafkaConfiguration.consumer(brokers: "127.0.0.1:1", group: "g")
        let failure = #expect(throws: KafkaFailure.self) {
            try configuration.apply([("enable.auto.commit", "true")])
        }
        #expect(failure?.message.contains("enable.auto.commit") == true)
        try configuration.apply([("no.such.thing", "1")])
        let unknown = #expect(throws: KafkaFailure.self) { try configuration.validate() }
        #expect(unknown?.message.contains("no.such.thing") == true)
        try KafkaConfiguration.producer(brokers: "127.0.0.1:1").validate()
        try KafkaConfiguration.tool(brokers: "127.0.0.1:1", group: "g").validate()
    }
}
