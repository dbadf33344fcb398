package import Core
package import Decisions
package import Jobs
package import Kafka

/// Publishes parsed jobs: makes the key, adds a missing id, chooses the topic.
///
/// - Threading: one owner thread, the producer's.
/// - Cost: nothing is allocated for a job.
package final class JobPublisher {
    /// The answer to `publish`.
    package enum Answer: Equatable, Sendable {
        /// A delivery report follows. `isScheduled` when it waits in a retry topic for its time.
        case accepted(isScheduled: Bool)
        /// Drain the producer's reports and call again.
        case queueFull
        /// The job will not be published.
        case failed(KafkaErrorCode)
    }

    /// The producer that carries the jobs.
    package let producer: KafkaProducer

    private let names: TopicNames
    private let schedule: RetrySchedule
    private var ids: ULIDGenerator
    private var key = ByteBuffer(capacity: 256)
    private var value = ByteBuffer(capacity: 4096)
    private var id = ByteBuffer(capacity: 32)
    private var headers = KafkaHeaders()
    private var scheduledCount: Int64
    private let laneTopics: [String]

    /// Publishes through a producer that was made for `topics(names:tiers:)`; `seed` comes from the random
    /// source.
    package init(
        producer: KafkaProducer, names: TopicNames = TopicNames(), tiers: [RetryTier] = RetryTier.standard,
        seed: UInt64
    ) {
        self.producer = producer
        self.names = names
        schedule = RetrySchedule(tiers: tiers)
        ids = ULIDGenerator(seed: seed)
        // The place of its own that a scheduled job's origin names: different in every process.
        scheduledCount = Int64(truncatingIfNeeded: (seed &* 0x9E37_79B9_7F4A_7C15) >> 2)
        laneTopics = TopicNames.lanes.map { names.jobs(lane: $0) }
    }

    /// The topics that the publisher's producer has to be made for: the lanes, then the retry tiers.
    package static func topics(
        names: TopicNames = TopicNames(), tiers: [RetryTier] = RetryTier.standard
    ) -> [String] {
        TopicNames.lanes.map { names.jobs(lane: $0) }
            + RetrySchedule(tiers: tiers).tiers.map { names.retry(tier: $0.name) }
    }

    /// The topic of the last published job that was asked for more headers.
    package private(set) var lastTopic = ""

    /// The id that the last published job went out with.
    package var lastID: UnsafeRawBufferPointer { unsafe id.bytes }

    /// Publishes one job to a lane (an index of `TopicNames.lanes`), or, when its time is still to come, to
    /// the retry topic that fits. `opaque` comes back in the delivery report. `more` is asked, when it is
    /// there, for headers to put on the record; it is given the job's id.
    package func publish(
        _ job: borrowing Job, lane: Int, opaque: UInt64, nowMs: Int64,
        more: ((String) -> [(name: StaticString, value: [UInt8])])? = nil
    ) -> Answer {
        JobKey.write(job, to: &key)
        let bytes: UnsafeRawBufferPointer
        id.clear()
        if let given = job.id {
            given.append(to: &id)
            unsafe bytes = job.bytes
        } else {
            ids.next(nowMs: UInt64(max(0, nowMs))).append(to: &id)
            value.clear()
            unsafe JobLine.append(job, withID: id.bytes, to: &value)
            unsafe bytes = value.bytes
        }
        if job.flags.contains(.hasSendAt), job.sendAtMs > nowMs {
            return unsafe wait(
                until: job.sendAtMs, bytes, lane: lane, opaque: opaque, nowMs: nowMs, more: more)
        }
        guard let more else {
            let result = unsafe producer.produce(
                to: producer.topic(lane), key: key.bytes, value: bytes, opaque: opaque)
            return answer(result, isScheduled: false)
        }
        lastTopic = laneTopics.indices.contains(lane) ? laneTopics[lane] : ""
        headers.clear()
        add(more(id.text))
        let result = unsafe producer.produce(
            to: producer.topic(lane), key: key.bytes, value: bytes, headers: headers, opaque: opaque)
        return answer(result, isScheduled: false)
    }

    private func wait(
        until dueMs: Int64, _ bytes: UnsafeRawBufferPointer, lane: Int, opaque: UInt64, nowMs: Int64,
        more: ((String) -> [(name: StaticString, value: [UInt8])])?
    ) -> Answer {
        let tier = schedule.tier(forWaitMs: dueMs - nowMs)
        scheduledCount &+= 1
        headers.clear()
        headers.add(PealHeader.attempt, decimal: 0)
        headers.add(PealHeader.dueMs, decimal: dueMs)
        headers.add(PealHeader.firstMs, decimal: nowMs)
        let topic = laneTopics.indices.contains(lane) ? laneTopics[lane] : names.jobs(lane: "normal")
        headers.add(PealHeader.origin, text: "\(topic)/-1/\(scheduledCount & Int64.max)")
        headers.add(PealHeader.reason, text: "send_at")
        if let more {
            lastTopic = names.retry(tier: schedule.tiers[tier].name)
            add(more(id.text))
        }
        let result = unsafe producer.produce(
            to: producer.topic(TopicNames.lanes.count + tier), key: key.bytes, value: bytes, headers: headers,
            opaque: opaque)
        return answer(result, isScheduled: true)
    }

    private func add(_ more: [(name: StaticString, value: [UInt8])]) {
        for (name, value) in more { unsafe value.withUnsafeBytes { _ = unsafe headers.add(name, $0) } }
    }

    private func answer(_ result: ProduceResult, isScheduled: Bool) -> Answer {
        switch result {
        case .accepted: .accepted(isScheduled: isScheduled)
        case .queueFull: .queueFull
        case .failed(let code): .failed(code)
        }
    }
}

/// The Kafka key of a job.
package enum JobKey {
    /// Writes `app/recipient`, or `app/token` for a job that names a token. A broadcast, which the pipeline
    /// itself expands, gets `app/topic` or `app/*`.
    package static func write(_ job: borrowing Job, to key: inout ByteBuffer) {
        key.clear()
        job.app.append(to: &key)
        key.append(byte: UInt8(ascii: "/"))
        switch job.target {
        case .recipient, .devices, .others: job.recipient?.append(to: &key)
        case .token: job.token?.append(to: &key)
        case .topic: job.audience?.append(to: &key)
        case .all: key.append(byte: UInt8(ascii: "*"))
        }
    }
}
