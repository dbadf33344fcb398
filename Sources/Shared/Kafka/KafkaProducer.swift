import CRdkafka
import Glibc

/// What became of one record, once it is known.
package struct DeliveryReport: Sendable {
    /// The number the record was produced with.
    package let opaque: UInt64
    package let partition: Int32
    /// Where it is, when it was written.
    package let offset: Int64
    /// `none` when the broker acknowledged it.
    package let code: KafkaErrorCode
    /// When it failed: whether it may be in the log all the same. Produce it again either way; the second
    /// copy is recognised by its job id.
    package let isPossiblyPersisted: Bool

    /// Whether the broker acknowledged the record.
    @inlinable package var isDelivered: Bool { code.rawValue == 0 }
}

/// The answer to `produce`.
package enum ProduceResult: Equatable, Sendable {
    /// The record is copied; a delivery report follows.
    case accepted
    /// The bound of what may wait is reached: drain reports and call again.
    case queueFull
    /// The record will not be sent; no report follows.
    case failed(KafkaErrorCode)
}

/// An idempotent producer.
///
/// - Threading: one owner thread. `notificationDescriptor` tells an event loop when reports wait.
/// - Fatal errors: an ordinary broker restart can be one for an idempotent producer of librdkafka 2.0.2. The
///   producer then fails what is under way (with reports), replaces its client by a new one and goes on;
///   until that is done `produce` answers `queueFull`.
@safe
package final class KafkaProducer {
    /// Counts since the start.
    package struct Counters: Sendable {
        package var accepted: UInt64 = 0
        package var delivered: UInt64 = 0
        package var failed: UInt64 = 0
        package var queueFull: UInt64 = 0
        package var renewals: UInt64 = 0
        package var errors: UInt64 = 0
    }

    /// One of the producer's topics.
    package struct Topic: Hashable, Sendable {
        @usableFromInline let index: Int
    }

    /// The topics, in the order of `topic(_:)`.
    package let topics: [String]
    /// What the producer did so far.
    package internal(set) var counters = Counters()
    /// Readable when reports wait; drain it by `drain`. -1 when the system gave none.
    package let notificationDescriptor: Int32
    /// Hears errors and log lines, on the owner thread, within `drain` and `flush`.
    package weak var observer: (any KafkaObserver)?

    /// Is lent every record that failed, within `drain` and `flush`, beside its report; see `FailedRecords`.
    package weak var failureSink: (any KafkaFailureSink)?

    private let configuration: KafkaConfiguration
    private var handle: KafkaHandle
    private var queue: OpaquePointer?
    private var handles: [OpaquePointer] = unsafe []
    private var isDying = false

    /// Makes the producer for the topics.
    /// - Throws: when librdkafka refuses a property.
    package init(_ configuration: KafkaConfiguration, topics: [String]) throws(KafkaFailure) {
        self.configuration = configuration
        self.topics = topics
        let client = unsafe try Self.makeClient(configuration)
        handle = unsafe KafkaHandle(client)
        notificationDescriptor = peal_rk_eventfd()
        try open()
    }

    deinit {
        close(deadlineMs: 0)
        if notificationDescriptor >= 0 { Glibc.close(notificationDescriptor) }
    }

    /// The topic at an index of `topics`.
    package func topic(_ index: Int) -> Topic { Topic(index: index) }

    /// The topic of that name; nil when the producer wasn't made for it.
    package func topic(named name: String) -> Topic? { topics.firstIndex(of: name).map { Topic(index: $0) } }

    /// How many records wait for their report.
    package var inFlight: Int { Int(clamping: counters.accepted &- counters.delivered &- counters.failed) }

    private static func makeClient(_ configuration: KafkaConfiguration) throws(KafkaFailure) -> OpaquePointer
    {
        var native = try NativeConfiguration(configuration)
        native.setEvents(
            RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_STATS)
        return unsafe try native.create(RD_KAFKA_PRODUCER)
    }

    private func open() throws(KafkaFailure) {
        let client = unsafe handle.pointer
        unsafe rd_kafka_set_log_queue(client, nil)
        unsafe queue = rd_kafka_queue_get_main(client)
        if notificationDescriptor >= 0 {
            var one: UInt64 = 1
            unsafe rd_kafka_queue_io_event_enable(queue, notificationDescriptor, &one, 8)
        }
        for name in topics {
            guard let topic = unsafe rd_kafka_topic_new(client, name, nil) else {
                throw KafkaFailure(.unknownTopic, "the topic name \(name) is not valid")
            }
            unsafe handles.append(topic)
        }
    }

    /// Learns where the topics' partitions are, so that the first records don't wait a second for it.
    /// - Throws: when a topic can't be asked about within `timeoutMs`.
    package func warmUp(timeoutMs: Int) throws(KafkaFailure) {
        let deadline = Deadline(afterMs: timeoutMs)
        for index in unsafe handles.indices {
            var metadata: UnsafePointer<rd_kafka_metadata>?
            let code = unsafe KafkaErrorCode(
                rd_kafka_metadata(
                    handle.pointer, 0, handles[index], &metadata, max(1, deadline.remainingMs)))
            if let metadata = unsafe metadata { unsafe rd_kafka_metadata_destroy(metadata) }
            guard code == .none else {
                throw KafkaFailure(
                    .timeout,
                    "no broker says which partitions the topic \(topics[index]) has: \(code.description)",
                    kafka: code)
            }
        }
    }

    /// Copies the record into the queue of what is to be sent. The partition follows from the key; `opaque`
    /// is given back in the delivery report.
    package func produce(
        to topic: Topic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, opaque: UInt64
    ) -> ProduceResult {
        guard !isDying, unsafe handles.indices.contains(topic.index) else { return refusal() }
        let code = unsafe peal_rk_produce(
            handles[topic.index], key?.baseAddress, key?.count ?? 0, value?.baseAddress, value?.count ?? 0,
            opaque)
        return finish(code)
    }

    /// The same with headers and a timestamp in milliseconds since 1970 (0 = now).
    package func produce(
        to topic: Topic, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
        headers: borrowing KafkaHeaders, timestampMs: Int64 = 0, opaque: UInt64
    ) -> ProduceResult {
        guard !isDying, unsafe handles.indices.contains(topic.index) else { return refusal() }
        let target = unsafe handles[topic.index]
        let client = unsafe handle.pointer
        let code = unsafe headers.withEntries { text, entries, count in
            unsafe peal_rk_produce_full(
                client, target, key?.baseAddress, key?.count ?? 0, value?.baseAddress, value?.count ?? 0,
                opaque, timestampMs, text, entries, count)
        }
        return finish(code)
    }

    private func finish(_ code: Int32) -> ProduceResult {
        if code == 0 {
            counters.accepted &+= 1
            return .accepted
        }
        let error = KafkaErrorCode(rawValue: code)
        if error == .fatal {
            isDying = true
            return refusal()
        }
        if error == .queueFull { return refusal() }
        return .failed(error)
    }

    private func refusal() -> ProduceResult {
        guard unsafe queue != nil else { return .failed(.init(RD_KAFKA_RESP_ERR__DESTROY)) }
        counters.queueFull &+= 1
        return .queueFull
    }

    /// Appends the reports that wait, at most about `limit`, after waiting at most `timeoutMs` for the first.
    /// - Returns: how many were appended.
    @discardableResult
    package func drain(
        into reports: inout [DeliveryReport], timeoutMs: Int = 0, limit: Int = 100_000
    ) -> Int {
        guard let queue = unsafe queue else { return 0 }
        clearNotification()
        var wait = Int32(clamping: timeoutMs)
        let before = reports.count
        while reports.count - before < limit {
            guard let event = unsafe EventOwner.next(of: queue, timeoutMs: wait) else { break }
            wait = 0
            if event.type == RD_KAFKA_EVENT_DR {
                append(event, to: &reports)
            } else if let report = event.report() {
                note(report)
            }
        }
        if isDying { renew(&reports) }
        // What is left would not signal again.
        if reports.count - before >= limit { raiseNotification() }
        return reports.count - before
    }

    private func append(_ event: borrowing EventOwner, to reports: inout [DeliveryReport]) {
        while let message = unsafe rd_kafka_event_message_next(event.pointer) {
            let code = unsafe KafkaErrorCode(message.pointee.err)
            let isPossible =
                unsafe code != .none
                && rd_kafka_message_status(message) != RD_KAFKA_MSG_STATUS_NOT_PERSISTED
            let report = unsafe DeliveryReport(
                opaque: UInt64(UInt(bitPattern: message.pointee._private)),
                partition: message.pointee.partition, offset: message.pointee.offset, code: code,
                isPossiblyPersisted: isPossible)
            reports.append(report)
            if code == .none {
                counters.delivered &+= 1
                continue
            }
            counters.failed &+= 1
            guard let failureSink, let topic = unsafe topicIndex(message.pointee.rkt) else { continue }
            unsafe failureSink.kafkaFailed(
                KafkaRecord(UnsafeMutablePointer(mutating: message), topic: topic), report)
        }
    }

    private func topicIndex(_ native: OpaquePointer?) -> Int32? {
        guard let native = unsafe native, let name = unsafe rd_kafka_topic_name(native) else { return nil }
        return topics.firstIndex(of: unsafe String(cString: name)).map { Int32(clamping: $0) }
    }

    private func note(_ report: KafkaEvent) {
        switch report.kind {
        case .fatal:
            isDying = true
            counters.errors &+= 1
        case .error: counters.errors &+= 1
        default: break
        }
        observer?.kafkaReported(report)
    }

    // Fails what is under way and replaces the client; finishes in a later drain when reports are still
    // missing.
    private func renew(_ reports: inout [DeliveryReport]) {
        guard let queue = unsafe queue else { return }
        _ = unsafe rd_kafka_purge(handle.pointer, peal_rk_purge_all())
        let deadline = Deadline(afterMs: 1000)
        while inFlight > 0, deadline.remainingMs > 0 {
            guard let event = unsafe EventOwner.next(of: queue, timeoutMs: min(50, deadline.remainingMs))
            else { continue }
            if event.type == RD_KAFKA_EVENT_DR { append(event, to: &reports) }
        }
        guard inFlight == 0 else { return }
        guard let client = try? unsafe Self.makeClient(configuration) else { return }
        // The owner may be a loop: it doesn't wait for the old client's threads.
        release(patienceMs: nil)
        handle = unsafe KafkaHandle(client)
        guard (try? open()) != nil else { return }
        counters.renewals &+= 1
        isDying = false
    }

    private func clearNotification() {
        var count: UInt64 = 0
        if notificationDescriptor >= 0 { _ = unsafe read(notificationDescriptor, &count, 8) }
    }

    private func raiseNotification() {
        var one: UInt64 = 1
        if notificationDescriptor >= 0 { _ = unsafe write(notificationDescriptor, &one, 8) }
    }

    /// Waits until every accepted record has its report, at most `deadlineMs`; appends the reports.
    /// - Returns: how many records are still without one.
    package func flush(deadlineMs: Int, into reports: inout [DeliveryReport]) -> Int {
        let deadline = Deadline(afterMs: deadlineMs)
        while inFlight > 0, deadline.remainingMs > 0 {
            drain(into: &reports, timeoutMs: Int(min(100, deadline.remainingMs)))
        }
        return inFlight
    }

    /// Produces one record and waits for its report; for tools and tests, with nothing else under way.
    /// - Throws: when the record was not acknowledged within `timeoutMs`.
    package func produceAndWait(
        to topic: Topic, key: [UInt8]?, value: [UInt8]?, timeoutMs: Int = 10_000
    ) throws(KafkaFailure) -> DeliveryReport {
        let result = unsafe withBytes(key) { key in
            unsafe withBytes(value) { unsafe produce(to: topic, key: key, value: $0, opaque: UInt64.max) }
        }
        guard result == .accepted else {
            throw KafkaFailure(.broker, "the record was not taken: \(result)")
        }
        var reports: [DeliveryReport] = []
        let missing = flush(deadlineMs: timeoutMs, into: &reports)
        guard missing == 0, let report = reports.last(where: { $0.opaque == UInt64.max }) else {
            throw KafkaFailure(.timeout, "the record was not acknowledged within \(timeoutMs) ms")
        }
        guard report.isDelivered else {
            throw KafkaFailure(
                .broker, "the record was refused: \(report.code.description)", kafka: report.code)
        }
        return report
    }

    /// Frees the client. What has no report after `deadlineMs` is dropped: `flush` first.
    package func close(deadlineMs: Int) {
        guard unsafe queue != nil else { return }
        var reports: [DeliveryReport] = []
        if flush(deadlineMs: deadlineMs, into: &reports) > 0, let queue = unsafe queue {
            _ = unsafe rd_kafka_purge(handle.pointer, peal_rk_purge_all())
            let deadline = Deadline(afterMs: 500)
            while inFlight > 0, deadline.remainingMs > 0 {
                guard let event = unsafe EventOwner.next(of: queue, timeoutMs: 20) else { continue }
                if event.type == RD_KAFKA_EVENT_DR { append(event, to: &reports) }
            }
        }
        release(patienceMs: 3000)
    }

    private func release(patienceMs: Int?) {
        for index in unsafe handles.indices { unsafe rd_kafka_topic_destroy(handles[index]) }
        unsafe handles.removeAll()
        if let queue = unsafe queue {
            unsafe rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
            unsafe rd_kafka_queue_destroy(queue)
        }
        unsafe queue = nil
        handle.close(patienceMs: patienceMs)
    }
}

/// Lends the array's bytes, or nil for none.
func withBytes<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> R) -> R {
    guard let bytes else { return body(nil) }
    return unsafe bytes.withUnsafeBytes { unsafe body($0) }
}
