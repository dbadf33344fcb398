import CRdkafka

/// Hears what happens to a consumer's partitions, on the thread that polls, between records.
package protocol KafkaConsumerDelegate: KafkaObserver {
    /// The partitions are this consumer's from now on. No record of them has been given out yet; it may pause
    /// them.
    func kafkaAssigned(_ partitions: [TopicPartition])
    /// The partitions are about to be given up. Drain what is in flight within a third of the session timeout
    /// and commit; after the return the partitions belong to others. When `lost` they do already: don't
    /// commit.
    func kafkaRevoked(_ partitions: [TopicPartition], lost: Bool)
    /// A commit that didn't wait was answered.
    func kafkaCommitted(_ results: [CommitResult])
}

extension KafkaConsumerDelegate {
    package func kafkaCommitted(_ results: [CommitResult]) {}
}

/// A member of a consumer group.
///
/// - Threading: one owner thread makes all calls; only `waker` may be used from others.
/// - Guarantees: commits only what it is told to, resumes only what it paused, gives a partition up only
///   after the delegate returned.
/// - Why the event API: the batch-consume calls of librdkafka 2.0.2 lose and repeat records around a pause.
@safe
package final class KafkaConsumer {
    /// Counts since the start; read on the owner thread.
    package struct Counters: Sendable {
        package var records: UInt64 = 0
        package var bytes: UInt64 = 0
        package var rebalances: UInt64 = 0
        package var partitionsLost: UInt64 = 0
        package var commits: UInt64 = 0
        package var commitsStale: UInt64 = 0
        package var commitsFailed: UInt64 = 0
        package var errors: UInt64 = 0
        /// How often the brokers' threads were told that the queue has room again.
        package var wakes: UInt64 = 0
    }

    /// The topics, in the order that topic indices count.
    package let topics: [String]
    /// Interrupts a blocking `poll` from any thread.
    package let waker: KafkaWaker
    /// What the consumer did so far.
    package internal(set) var counters = Counters()
    /// The partitions it owns.
    package internal(set) var assignment: Set<TopicPartition> = []
    /// The partitions it paused.
    package internal(set) var paused: Set<TopicPartition> = []
    /// Whether the instance can't go on (a fatal error): close it and make another.
    package internal(set) var hasFailed = false

    /// Hears of partitions and commits; held weakly. Set it before `subscribe`.
    package weak var delegate: (any KafkaConsumerDelegate)?
    let isCooperative: Bool
    let handle: KafkaHandle
    var queue: OpaquePointer?
    private var readAhead: ReadAhead
    private let login: (user: String, password: String)
    // Topic handles seen in records. The pointers are good while their partitions are assigned.
    private var known: [(handle: OpaquePointer, topic: Int32)] = unsafe []

    /// Makes the consumer; it reads nothing before `subscribe` or `assign`.
    /// - Throws: when librdkafka refuses a property.
    package init(
        _ configuration: KafkaConfiguration, topics: [String], delegate: (any KafkaConsumerDelegate)? = nil
    ) throws(KafkaFailure) {
        var native = try NativeConfiguration(configuration)
        // From 2.2 on, how long a broker's thread leaves a full queue alone; a second by default.
        if configuration.value("fetch.queue.backoff.ms") == nil {
            native.setIfKnown("fetch.queue.backoff.ms", "20")
        }
        readAhead = ReadAhead(configuration)
        login = (
            configuration.value("sasl.username") ?? "", configuration.value("sasl.password") ?? ""
        )
        native.setEvents(
            RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT
                | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_STATS)
        let client = unsafe try native.create(RD_KAFKA_CONSUMER)
        handle = unsafe KafkaHandle(client)
        unsafe rd_kafka_poll_set_consumer(client)
        unsafe rd_kafka_set_log_queue(client, nil)
        guard let queue = unsafe rd_kafka_queue_get_consumer(client) else {
            throw KafkaFailure(.create, "the kafka client has no consumer queue; is group.id set?")
        }
        unsafe self.queue = unsafe queue
        waker = unsafe KafkaWaker(queue)
        self.topics = topics
        self.delegate = delegate
        isCooperative = configuration.isCooperative
    }

    deinit { close(deadlineMs: 1000) }

    /// Joins the group for the topics.
    package func subscribe() throws(KafkaFailure) {
        let list = PartitionList(capacity: topics.count)
        for topic in topics { _ = unsafe rd_kafka_topic_partition_list_add(list.pointer, topic, -1) }
        let code = unsafe KafkaErrorCode(rd_kafka_subscribe(handle.pointer, list.pointer))
        guard code == .none else {
            throw KafkaFailure(.subscribe, "subscribing failed: \(code.description)", kafka: code)
        }
    }

    /// Reads the given partitions from the given offsets, without a group; for tools.
    package func assign(_ positions: [TopicPartitionOffset]) throws(KafkaFailure) {
        let list = PartitionList(positions, topics: topics)
        let code = unsafe KafkaErrorCode(rd_kafka_assign(handle.pointer, list.pointer))
        guard code == .none else {
            throw KafkaFailure(.assign, "assigning partitions failed: \(code.description)", kafka: code)
        }
        assignment = Set(positions.map(\.topicPartition))
    }

    /// Gives up to `maxRecords` records to the sink; waits at most `timeoutMs` for the first.
    ///
    /// Call it at least once a second, also when everything is paused: that keeps the membership. A rebalance
    /// ends the call early. To hold back for less than a second, just don't call: a pause throws away all
    /// that was fetched ahead.
    /// - Returns: how many records were given.
    package func poll<Sink: KafkaRecordSink>(timeoutMs: Int, maxRecords: Int, into sink: Sink) -> Int {
        guard let queue = unsafe queue else { return 0 }
        var taken = 0
        var bytes = 0
        var wait = Int32(clamping: timeoutMs)
        // Other events count too, so that a storm of them can't hold the thread.
        var budget = maxRecords + 64
        while taken < maxRecords, budget > 0 {
            budget -= 1
            guard let event = unsafe EventOwner.next(of: queue, timeoutMs: wait) else { break }
            wait = 0
            if event.type == RD_KAFKA_EVENT_FETCH {
                let size = give(event, to: sink)
                if size >= 0 {
                    taken += 1
                    bytes += size
                }
            } else if handleOther(event) {
                break
            }
        }
        counters.records &+= UInt64(taken)
        counters.bytes &+= UInt64(bytes)
        if taken > 0 {
            let length = unsafe rd_kafka_queue_length(queue)
            if readAhead.polled(records: taken, bytes: bytes, length: length) { wakeBrokers() }
        }
        return taken
    }

    /// Makes every broker's thread go round once, and so look whether it may fetch again.
    ///
    /// No call of librdkafka 2.0.2 does only that. This one sets the login for later connections, here to
    /// what it is, and wakes the threads without waiting for them.
    private func wakeBrokers() {
        counters.wakes &+= 1
        let error = unsafe rd_kafka_sasl_set_credentials(handle.pointer, login.user, login.password)
        if let error = unsafe error { unsafe rd_kafka_error_destroy(error) }
    }

    // Gives the event's record to the sink; the size of its value, or -1 when it carried an error.
    private func give<Sink: KafkaRecordSink>(_ event: borrowing EventOwner, to sink: Sink) -> Int {
        guard let constant = unsafe rd_kafka_event_message_next(event.pointer) else { return -1 }
        let message = unsafe UnsafeMutablePointer(mutating: constant)
        guard unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            counters.errors &+= 1
            let code = unsafe KafkaErrorCode(message.pointee.err)
            let text = unsafe rd_kafka_message_errstr(message).map { unsafe String(cString: $0) } ?? ""
            delegate?.kafkaReported(KafkaEvent(kind: .error, code: code, message: text))
            return -1
        }
        guard let topic = unsafe topicIndex(message.pointee.rkt) else { return -1 }
        unsafe sink.take(KafkaRecord(message, topic: topic))
        return unsafe message.pointee.len
    }

    private func topicIndex(_ handle: OpaquePointer?) -> Int32? {
        guard let handle = unsafe handle else { return nil }
        for index in unsafe known.indices where unsafe known[index].handle == handle {
            return unsafe known[index].topic
        }
        guard let name = unsafe rd_kafka_topic_name(handle) else { return nil }
        guard let index = topics.firstIndex(of: unsafe String(cString: name)) else { return nil }
        unsafe known.append((handle, Int32(clamping: index)))
        return Int32(clamping: index)
    }

    func forgetTopicHandles() { unsafe known.removeAll(keepingCapacity: true) }

    // Handles what isn't a record; true when it was a rebalance.
    func handleOther(_ event: borrowing EventOwner) -> Bool {
        switch event.type {
        case RD_KAFKA_EVENT_REBALANCE:
            rebalance(event)
            return true
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
            let results = commitResults(event)
            if !results.isEmpty { delegate?.kafkaCommitted(results) }
        default:
            guard let report = event.report() else { return false }
            switch report.kind {
            case .fatal:
                hasFailed = true
                counters.errors &+= 1
            case .error: counters.errors &+= 1
            default: break
            }
            delegate?.kafkaReported(report)
        }
        return false
    }

    /// Stops fetching the partitions. What librdkafka had fetched of them is dropped and fetched again later.
    package func pause(_ partitions: some Collection<TopicPartition>) {
        let fresh = partitions.filter { assignment.contains($0) && !paused.contains($0) }
        guard !fresh.isEmpty else { return }
        let list = PartitionList(fresh, topics: topics)
        _ = unsafe rd_kafka_pause_partitions(handle.pointer, list.pointer)
        paused.formUnion(fresh)
    }

    /// Fetches the partitions again. One that isn't paused is left alone: librdkafka 2.0.2 would re-deliver
    /// it.
    package func resume(_ partitions: some Collection<TopicPartition>) {
        let held = partitions.filter { paused.contains($0) }
        guard !held.isEmpty else { return }
        let list = PartitionList(held, topics: topics)
        _ = unsafe rd_kafka_resume_partitions(handle.pointer, list.pointer)
        paused.subtract(held)
    }

    /// The first and the next offset of a partition as of the last fetch, without asking the broker; nil when
    /// nothing was fetched yet.
    package func watermarks(_ partition: TopicPartition) -> (low: Int64, high: Int64)? {
        guard topics.indices.contains(Int(partition.topic)) else { return nil }
        var low: Int64 = -1
        var high: Int64 = -1
        let code = unsafe rd_kafka_get_watermark_offsets(
            handle.pointer, topics[Int(partition.topic)], partition.partition, &low, &high)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0 else { return nil }
        return (max(0, low), high)
    }
}
