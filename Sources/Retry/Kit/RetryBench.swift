import Core
import Decisions
import EventLoop
import Glibc
package import Kafka
import Logging

/// Measures how fast the retry service gives due records back, against an embedded broker in the same
/// process.
package enum RetryBench {
    /// What one run measured.
    package struct Result: Sendable {
        /// Records that were handed over.
        package let records: UInt64
        /// Between the first and the last hand-over that was seen, in ms.
        package let elapsedMs: UInt64
        /// Acknowledged hand-overs a second.
        package let perSecond: Double
        /// CPU time of the process, the broker's included, for one record in microseconds.
        package let cpuMicroseconds: Double
        /// Resident memory at the end, the broker's included.
        package let residentBytes: UInt64
    }

    /// Fills the 1 s tier with due records, then lets the service work them off.
    /// - Returns: nil when the records could not be filled in or were not all handed over in time.
    /// - Throws: when Kafka can't be set up.
    package static func drain(
        records: Int, valueBytes: Int = 384, partitions: Int = 16, deadlineMs: UInt64 = 120_000
    ) throws(KafkaFailure) -> Result? {
        let names = TopicNames()
        let topics = TopicNames.lanes.map { names.jobs(lane: $0) } + [names.retry(tier: "1s"), names.dead]
        let broker = try EmbeddedBroker(topics: topics.map { ($0, partitions) })
        defer { broker.stop() }
        let filler = try Filler(broker, topic: names.retry(tier: "1s"), valueBytes: valueBytes)
        defer { filler.close() }
        for number in 0..<records { filler.add(number, dueMs: Clock.wallMs) }
        guard filler.flush() else { return nil }
        var settings = RetrySettings(brokers: broker.bootstrapServers)
        settings.isEmbedded = true
        settings.tiers = [RetryTier(name: "1s", delayMs: 1_000)]
        let service = try RetryService.start(settings, log: .silent)
        defer { service.stop() }
        let end = Clock.monotonicMs + deadlineMs
        var first: (done: UInt64, tickMs: UInt64, cpuNs: UInt64)?
        while Clock.monotonicMs < end {
            usleep(5_000)
            guard let tier = service.snapshot.tiers.first, tier.handedOver > 0 else { continue }
            guard let start = first else {
                first = (tier.handedOver, tier.tickMs, Clock.processCPUNs)
                continue
            }
            guard tier.handedOver >= UInt64(records), tier.tickMs > start.tickMs else { continue }
            let elapsed = tier.tickMs - start.tickMs
            let done = tier.handedOver - start.done
            return Result(
                records: done, elapsedMs: elapsed, perSecond: Double(done) * 1_000 / Double(elapsed),
                cpuMicroseconds: Double(Clock.processCPUNs - start.cpuNs) / 1_000 / Double(max(1, done)),
                residentBytes: Clock.residentBytes)
        }
        return nil
    }

    /// How late records are when nothing is behind.
    package struct DueError: Sendable {
        /// Records that were handed over.
        package let records: UInt64
        /// From the due time to the broker's acknowledgement, in ms.
        package let p50Ms: UInt64
        package let p99Ms: UInt64
        package let highestMs: UInt64
        /// From the due time of the last record to its hand-over as it was seen, in ms.
        package let lastMs: Int64
    }

    /// Sends `perSecond` records with short waits each second, and ten that wait an hour among them.
    /// - Returns: nil when they were not all handed over 30 s after the last was due.
    /// - Throws: when Kafka can't be set up.
    package static func dueError(
        perSecond: Int, seconds: Int, valueBytes: Int = 384, partitions: Int = 16
    ) throws(KafkaFailure) -> DueError? {
        try paced(valueBytes: valueBytes, partitions: partitions) { filler in
            let start = Clock.monotonicMs
            var sent = 0
            for step in 0..<seconds * 100 {
                while Clock.monotonicMs < start + UInt64(step) * 10 { usleep(500) }
                if step % 10 == 0 { filler.add(-1 - step, dueMs: Clock.wallMs + 3_600_000) }
                while sent < (step + 1) * perSecond / 100 {
                    filler.add(sent, dueMs: Clock.wallMs + 500 + Int64(sent &* 7_919 % 2_500))
                    sent += 1
                }
            }
            return (sent, Clock.wallMs + 3_000)
        }
    }

    /// Sends records that are all due at one moment.
    /// - Returns: nil when they were not all handed over 30 s after that.
    /// - Throws: when Kafka can't be set up.
    package static func burst(
        records: Int, valueBytes: Int = 384, partitions: Int = 16
    ) throws(KafkaFailure) -> DueError? {
        try paced(valueBytes: valueBytes, partitions: partitions) { filler in
            let due = Clock.wallMs + 2_000 + Int64(records / 50)
            for number in 0..<records { filler.add(number, dueMs: due) }
            return (records, due)
        }
    }

    private static func paced(
        valueBytes: Int, partitions: Int, _ send: (Filler) -> (sent: Int, lastDueMs: Int64)
    ) throws(KafkaFailure) -> DueError? {
        let names = TopicNames()
        let topics =
            TopicNames.lanes.map { names.jobs(lane: $0) }
            + RetryTier.standard.map { names.retry(tier: $0.name) }
            + [names.dead]
        let broker = try EmbeddedBroker(topics: topics.map { ($0, partitions) })
        defer { broker.stop() }
        var settings = RetrySettings(brokers: broker.bootstrapServers)
        settings.isEmbedded = true
        let service = try RetryService.start(settings, log: .silent)
        defer { service.stop() }
        let filler = try Filler(broker, topic: names.retry(tier: "1s"), valueBytes: valueBytes)
        defer { filler.close() }
        let end = Clock.monotonicMs + 30_000
        while !service.isReady, Clock.monotonicMs < end { usleep(10_000) }
        let (sent, lastDueMs) = send(filler)
        guard filler.flush() else { return nil }
        while service.snapshot.handedOver < UInt64(sent) {
            guard Clock.wallMs < lastDueMs + 30_000 else { return nil }
            usleep(2_000)
        }
        let errors = service.snapshot.dueErrorMs
        return DueError(
            records: errors.total, p50Ms: errors.quantile(0.5), p99Ms: errors.quantile(0.99),
            highestMs: errors.highest, lastMs: Clock.wallMs - lastDueMs)
    }
}

/// Produces records for a retry topic.
private final class Filler {
    private let producer: KafkaProducer
    private let valueBytes: Int
    private var headers = KafkaHeaders()
    private var key = ByteBuffer()
    private var value = ByteBuffer()
    private var reports: [DeliveryReport] = []
    private var failures = 0

    init(_ broker: EmbeddedBroker, topic: String, valueBytes: Int) throws(KafkaFailure) {
        self.valueBytes = valueBytes
        producer = try KafkaProducer(
            KafkaConfiguration.producer(brokers: broker.bootstrapServers, lingerMs: 5), topics: [topic])
        try producer.warmUp(timeoutMs: 10_000)
    }

    func add(_ number: Int, dueMs: Int64) {
        headers.clear()
        headers.add(PealHeader.attempt, text: "1")
        headers.add(PealHeader.dueMs, decimal: dueMs)
        headers.add(PealHeader.firstMs, decimal: dueMs)
        headers.add(PealHeader.origin, text: "peal.jobs.normal/3/\(number.magnitude)")
        headers.add(PealHeader.reason, text: "apns_service_unavailable")
        key.clear()
        key.append(text: "shop/user-\(number)")
        value.clear()
        value.append(
            text: "{\"id\":\"\(number)\",\"app\":\"shop\",\"to\":{\"recipient\":\"user-\(number)\"},")
        value.append("\"title\":\"Trade executed\",\"body\":\"")
        var word = UInt64(number.magnitude) &* 0x9E37_79B9_7F4A_7C15
        while value.count < valueBytes - 2 {
            value.append(unsigned: word >> 40)
            value.append(" ")
            word = word &* 6_364_136_223_846_793_005 &+ 1
        }
        value.append("\"}")
        while unsafe producer.produce(
            to: producer.topic(0), key: key.bytes, value: value.bytes, headers: headers, opaque: 0)
            == .queueFull
        {
            drain(timeoutMs: 10)
        }
        if number & 1_023 == 0 { drain(timeoutMs: 0) }
    }

    private func drain(timeoutMs: Int) {
        reports.removeAll(keepingCapacity: true)
        producer.drain(into: &reports, timeoutMs: timeoutMs)
        failures += reports.count { !$0.isDelivered }
    }

    /// Waits for everything to be acknowledged; false when something was not.
    func flush() -> Bool {
        reports.removeAll(keepingCapacity: true)
        let missing = producer.flush(deadlineMs: 60_000, into: &reports)
        failures += reports.count { !$0.isDelivered }
        return missing == 0 && failures == 0
    }

    func close() { producer.close(deadlineMs: 1_000) }
}
