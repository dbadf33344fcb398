import CRdkafka

/// Reads stretches of partitions once, from an offset to an offset, without joining a group; for tools.
///
/// - Threading: one owner thread.
/// - Guarantees: a record outside its stretch is never given. A stretch ends at its last offset, or where
///   the log ends, whichever comes first.
@safe
package final class KafkaLogReader {
    /// A stretch of one partition.
    package struct Stretch: Equatable, Sendable {
        /// The index of the topic.
        package var topic: Int32
        package var partition: Int32
        /// The first offset.
        package var from: Int64
        /// The offset after the last.
        package var to: Int64

        /// A stretch.
        package init(topic: Int32, partition: Int32, from: Int64, to: Int64) {
            self.topic = topic
            self.partition = partition
            self.from = from
            self.to = to
        }

        /// Offsets in it; some may hold no record.
        package var count: Int64 { max(0, to - from) }
    }

    private struct Place {
        var stretch: Stretch
        var next: Int64
        var latestMs: Int64 = -1
        var isOpen = true
    }

    /// The topics that stretches name by their index.
    package let topics: [String]
    /// Stretches that are not at their end.
    package private(set) var openCount = 0
    /// Offsets that are behind, of ``total``.
    package private(set) var done: Int64 = 0
    /// Offsets in all stretches.
    package let total: Int64
    /// What the client complained of last; empty for nothing.
    package private(set) var complaint = ""

    private let handle: KafkaHandle
    private var queue: OpaquePointer?
    private var places: [TopicPartition: Place] = [:]
    private var known: [(handle: OpaquePointer, topic: Int32)] = unsafe []

    /// Starts to fetch the stretches that aren't empty.
    package init(
        _ configuration: KafkaConfiguration, topics: [String], stretches: [Stretch]
    ) throws(KafkaFailure) {
        self.topics = topics
        total = stretches.reduce(0) { $0 + $1.count }
        var own = configuration
        own.set("enable.partition.eof", "true")
        // Nobody waits for this reader, and what it does with a record may take long.
        own.set("max.poll.interval.ms", "86400000")
        var native = try NativeConfiguration(own)
        native.setEvents(RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
        let client = unsafe try native.create(RD_KAFKA_CONSUMER)
        handle = unsafe KafkaHandle(client)
        unsafe rd_kafka_poll_set_consumer(client)
        unsafe rd_kafka_set_log_queue(client, nil)
        unsafe queue = rd_kafka_queue_get_consumer(client)
        var starts: [TopicPartitionOffset] = []
        for stretch in stretches where stretch.count > 0 {
            places[TopicPartition(topic: stretch.topic, partition: stretch.partition)] = Place(
                stretch: stretch, next: stretch.from)
            starts.append(
                TopicPartitionOffset(
                    topic: stretch.topic, partition: stretch.partition, offset: stretch.from))
        }
        openCount = places.count
        guard !starts.isEmpty else { return }
        let list = PartitionList(starts, topics: topics)
        let code = unsafe KafkaErrorCode(rd_kafka_assign(client, list.pointer))
        guard code == .none else {
            throw KafkaFailure(.assign, "the partitions can't be read: \(code.description)", kafka: code)
        }
    }

    deinit { close() }

    /// Whether every stretch is at its end.
    package var isFinished: Bool { openCount == 0 }

    /// Gives up to `maxRecords` records to the sink; waits at most `timeoutMs` for the first.
    /// - Returns: how many records were given.
    package func poll<Sink: KafkaRecordSink>(timeoutMs: Int, maxRecords: Int, into sink: Sink) -> Int {
        guard let queue = unsafe queue, openCount > 0 else { return 0 }
        var given = 0
        var wait = Int32(clamping: timeoutMs)
        var budget = maxRecords + 256
        while given < maxRecords, budget > 0, openCount > 0 {
            budget -= 1
            guard let event = unsafe EventOwner.next(of: queue, timeoutMs: wait) else { break }
            wait = 0
            if event.type == RD_KAFKA_EVENT_FETCH {
                if take(event, sink) { given += 1 }
            } else if event.type == RD_KAFKA_EVENT_ERROR, event.error.meansPartitionEnd {
                endOfLog(event)
            } else if let report = event.report() {
                switch report.kind {
                case .error, .fatal: complaint = report.message
                default: break
                }
            }
        }
        return given
    }

    // A partition has no more.
    private func endOfLog(_ event: borrowing EventOwner) {
        guard let entry = unsafe rd_kafka_event_topic_partition(event.pointer) else { return }
        defer { unsafe rd_kafka_topic_partition_destroy(entry) }
        guard let name = unsafe entry.pointee.topic,
            let topic = topics.firstIndex(of: unsafe String(cString: name))
        else { return }
        let partition = unsafe TopicPartition(
            topic: Int32(clamping: topic), partition: entry.pointee.partition)
        if let place = places[partition], place.isOpen { end(partition, place) }
    }

    // Takes the event's record; true when it was given on.
    private func take<Sink: KafkaRecordSink>(_ event: borrowing EventOwner, _ sink: Sink) -> Bool {
        guard let constant = unsafe rd_kafka_event_message_next(event.pointer) else { return false }
        let message = unsafe UnsafeMutablePointer(mutating: constant)
        guard let topic = unsafe topicIndex(message.pointee.rkt) else { return false }
        let partition = unsafe TopicPartition(topic: topic, partition: message.pointee.partition)
        let offset = unsafe message.pointee.offset
        let code = unsafe KafkaErrorCode(message.pointee.err)
        guard var place = places[partition], place.isOpen else { return false }
        guard code == .none else {
            complaint = "\(topics[Int(topic)])/\(partition.partition): \(code.description)"
            return false
        }
        guard offset < place.stretch.to else {
            end(partition, place)
            return false
        }
        // After a reset to what is still there, an offset may lie before the stretch.
        guard offset >= place.stretch.from else { return false }
        done += max(0, offset + 1 - place.next)
        place.next = offset + 1
        let record = unsafe KafkaRecord(message, topic: topic)
        place.latestMs = max(place.latestMs, record.timestampMs)
        places[partition] = place
        sink.take(record)
        if place.next >= place.stretch.to { end(partition, place) }
        return true
    }

    private func end(_ partition: TopicPartition, _ place: Place) {
        var place = place
        place.isOpen = false
        done += max(0, place.stretch.to - place.next)
        place.next = place.stretch.to
        places[partition] = place
        openCount -= 1
        // What is beyond the stretch isn't fetched for nothing.
        let list = PartitionList([partition], topics: topics)
        _ = unsafe rd_kafka_pause_partitions(handle.pointer, list.pointer)
    }

    /// The time up to which every stretch that isn't at its end has been read, in milliseconds since 1970;
    /// nil when all are at their end, -1 when one has given nothing yet.
    package var readUntilMs: Int64? { places.values.filter(\.isOpen).map(\.latestMs).min() }

    private func topicIndex(_ native: OpaquePointer?) -> Int32? {
        guard let native = unsafe native else { return nil }
        for index in unsafe known.indices where unsafe known[index].handle == native {
            return unsafe known[index].topic
        }
        guard let name = unsafe rd_kafka_topic_name(native) else { return nil }
        guard let index = topics.firstIndex(of: unsafe String(cString: name)) else { return nil }
        unsafe known.append((native, Int32(clamping: index)))
        return Int32(clamping: index)
    }

    /// Frees the client. Idempotent.
    package func close() {
        guard let queue = unsafe queue else { return }
        unsafe self.queue = nil
        _ = unsafe rd_kafka_assign(handle.pointer, nil)
        unsafe known.removeAll()
        unsafe rd_kafka_queue_destroy(queue)
        handle.close(patienceMs: 3000)
    }
}
