import Testing

@testable import Kafka

@Suite struct ReadAheadTests {
    private func plan() -> ReadAhead { ReadAhead(recordsMax: 1000, bytesMax: 1_000_000) }

    /// Whether a poll asks for a wake; a macro's argument can't change a value.
    private func poll(_ plan: inout ReadAhead, records: Int, bytes: Int, length: Int) -> Bool {
        plan.polled(records: records, bytes: bytes, length: length)
    }

    @Test func aQueueThatWasNeverFullNeedsNoWake() {
        var plan = plan()
        for length in [0, 10, 499, 500, 501, 874, 500, 0] {
            #expect(!poll(&plan, records: 10, bytes: 1000, length: length))
        }
        #expect(!plan.wasFull)
    }

    @Test func oneWakeForEachTimeThatItWasFull() {
        var plan = plan()
        #expect(!poll(&plan, records: 10, bytes: 1000, length: 1200))
        #expect(plan.wasFull)
        #expect(!poll(&plan, records: 300, bytes: 30_000, length: 501))
        #expect(poll(&plan, records: 1, bytes: 100, length: 500))
        #expect(!poll(&plan, records: 100, bytes: 10_000, length: 400))
        #expect(!poll(&plan, records: 400, bytes: 40_000, length: 0))
        #expect(!poll(&plan, records: 400, bytes: 40_000, length: 875))
        #expect(poll(&plan, records: 400, bytes: 40_000, length: 475))
    }

    @Test func bytesFillItAsWell() {
        var plan = plan()
        // Records of 5,000 bytes: 150 of them are three quarters of what is allowed.
        #expect(!poll(&plan, records: 10, bytes: 50_000, length: 149))
        #expect(!plan.wasFull)
        #expect(!poll(&plan, records: 10, bytes: 50_000, length: 150))
        #expect(plan.wasFull)
        #expect(!poll(&plan, records: 10, bytes: 50_000, length: 101))
        #expect(poll(&plan, records: 10, bytes: 50_000, length: 100))
    }

    @Test func nothingTakenSaysNothing() {
        var plan = plan()
        _ = plan.polled(records: 10, bytes: 1000, length: 1000)
        #expect(!poll(&plan, records: 0, bytes: 0, length: 0))
        #expect(plan.wasFull)
        #expect(poll(&plan, records: 1, bytes: 0, length: 0))
    }

    @Test func oddNumbersDoNoHarm() {
        var plan = ReadAhead(recordsMax: 0, bytesMax: -1)
        #expect(!poll(&plan, records: 1, bytes: .max, length: .max))
        #expect(plan.wasFull)
        var empty = ReadAhead(recordsMax: 10, bytesMax: 10)
        #expect(!poll(&empty, records: 3, bytes: 0, length: 2))
    }

    @Test func theBoundsAreTheConfigurations() throws {
        var configuration = KafkaConfiguration.consumer(brokers: "b", group: "g")
        try configuration.apply([
            (name: "queued.min.messages", value: "100"), (name: "queued.max.messages.kbytes", value: "8"),
        ])
        var plan = ReadAhead(configuration)
        #expect(!poll(&plan, records: 1, bytes: 1, length: 87))
        #expect(!plan.wasFull)
        #expect(!poll(&plan, records: 1, bytes: 1, length: 88))
        #expect(plan.wasFull)
        var bytes = ReadAhead(configuration)
        #expect(!poll(&bytes, records: 1, bytes: 1024, length: 6))
        #expect(bytes.wasFull)
    }

    @Test func aFullQueueIsFilledAgain() throws {
        let broker = try EmbeddedBroker(topics: [("t", 2)])
        #expect(try producer(broker).fill(0..<20_000).count == 20_000)
        let collector = Collector()
        let consumer = try consumer(
            broker, collector,
            overrides: [
                (name: "queued.min.messages", value: "500"),
                (name: "fetch.message.max.bytes", value: "20000"),
            ])
        #expect(
            wait(
                until: { collector.records.count >= 20_000 },
                doing: { _ = consumer.poll(timeoutMs: 2000, maxRecords: 64, into: collector) }))
        #expect(collector.duplicates == 0)
        #expect(consumer.counters.wakes > 0)
        consumer.close(deadlineMs: 8000)
    }
}
