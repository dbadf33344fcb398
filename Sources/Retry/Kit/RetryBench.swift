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
        guard try fill(broker, names.retry(tier: "1s"), records: records, valueBytes: valueBytes) else {
            return nil
        }
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

    private static func fill(
        _ broker: EmbeddedBroker, _ topic: String, records: Int, valueBytes: Int
    ) throws(KafkaFailure) -> Bool {
        let producer = try KafkaProducer(
            KafkaConfiguration.producer(brokers: broker.bootstrapServers, lingerMs: 20), topics: [topic])
        defer { producer.close(deadlineMs: 1_000) }
        try producer.warmUp(timeoutMs: 10_000)
        var headers = KafkaHeaders()
        var key = ByteBuffer()
        var value = ByteBuffer()
        var reports: [DeliveryReport] = []
        let due = Clock.wallMs
        for number in 0..<records {
            headers.clear()
            headers.add(PealHeader.attempt, text: "1")
            headers.add(PealHeader.dueMs, decimal: due)
            headers.add(PealHeader.firstMs, decimal: due)
            headers.add(PealHeader.origin, text: "peal.jobs.normal/3/\(number)")
            headers.add(PealHeader.reason, text: "apns_service_unavailable")
            key.clear()
            key.append(text: "shop/user-\(number)")
            value.clear()
            value.append(
                text: "{\"id\":\"\(number)\",\"app\":\"shop\",\"to\":{\"recipient\":\"user-\(number)\"},")
            value.append("\"title\":\"Trade executed\",\"body\":\"")
            var word = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
            while value.count < valueBytes - 2 {
                value.append(unsigned: word >> 40)
                value.append(" ")
                word = word &* 6_364_136_223_846_793_005 &+ 1
            }
            value.append("\"}")
            while unsafe producer.produce(
                to: producer.topic(0), key: unsafe key.bytes, value: unsafe value.bytes, headers: headers,
                opaque: 0)
                == .queueFull
            {
                reports.removeAll(keepingCapacity: true)
                producer.drain(into: &reports, timeoutMs: 10)
            }
        }
        reports.removeAll(keepingCapacity: true)
        return producer.flush(deadlineMs: 60_000, into: &reports) == 0
    }
}
