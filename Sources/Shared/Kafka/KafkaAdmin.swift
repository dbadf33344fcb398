import CRdkafka

/// Creates topics, reads their settings and deletes old records.
///
/// - Threading: one owner thread; every call blocks at most its timeout and a second.
/// - Errors: `.unsupported` when the broker doesn't know the request (the embedded one knows none of them).
@safe
package final class KafkaAdmin {
    /// A topic to create.
    package struct NewTopic: Equatable, Sendable {
        package var name: String
        package var partitions: Int
        package var replication: Int
        /// Settings by the broker's names.
        package var settings: [String: String]

        /// A topic.
        package init(name: String, partitions: Int, replication: Int, settings: [String: String]) {
            self.name = name
            self.partitions = partitions
            self.replication = replication
            self.settings = settings
        }
    }

    private let handle: KafkaHandle

    /// Makes the client; nothing is asked yet.
    package init(_ configuration: KafkaConfiguration) throws(KafkaFailure) {
        let native = try NativeConfiguration(configuration)
        handle = unsafe KafkaHandle(try native.create(RD_KAFKA_CONSUMER))
        unsafe rd_kafka_set_log_queue(handle.pointer, nil)
    }

    /// Frees the client.
    package func close() { handle.close(patienceMs: 3000) }

    /// How long a cluster may take to name its controller, in ms.
    package static let controllerMs = 3_000
    /// How long the brokers may take to say who they are, in ms.
    private static let brokersMs = 15_000

    /// Creates the topics.
    /// - Returns: what is wrong with each, by name; topics that aren't in it are there now.
    package func create(
        _ topics: [NewTopic], timeoutMs: Int
    ) throws(KafkaFailure) -> [String: String] {
        guard !topics.isEmpty else { return [:] }
        try findController("create topics")
        var reason = [CChar](repeating: 0, count: 512)
        var made: [OpaquePointer?] = unsafe []
        defer { for index in unsafe made.indices { unsafe rd_kafka_NewTopic_destroy(made[index]) } }
        for topic in topics {
            guard
                let native = unsafe rd_kafka_NewTopic_new(
                    topic.name, Int32(clamping: topic.partitions), Int32(clamping: topic.replication),
                    &reason, reason.count)
            else { throw KafkaFailure(.broker, "topic \(topic.name): \(text(reason))") }
            unsafe made.append(native)
            for (name, value) in topic.settings.sorted(by: { $0.key < $1.key }) {
                _ = unsafe rd_kafka_NewTopic_set_config(native, name, value)
            }
        }
        let event = try unsafe ask(
            RD_KAFKA_ADMIN_OP_CREATETOPICS, "create topics", timeoutMs: timeoutMs
        ) { options, queue in
            unsafe made.withUnsafeMutableBufferPointer {
                unsafe rd_kafka_CreateTopics(handle.pointer, $0.baseAddress, $0.count, options, queue)
            }
        }
        var faults: [String: String] = [:]
        var count = 0
        guard let results = unsafe rd_kafka_CreateTopics_result_topics(event.pointer, &count) else {
            return faults
        }
        for index in 0..<count {
            let result = unsafe results[index]
            let code = unsafe KafkaErrorCode(rd_kafka_topic_result_error(result))
            guard code != .none, let name = unsafe rd_kafka_topic_result_name(result) else { continue }
            let words = unsafe rd_kafka_topic_result_error_string(result).map { unsafe String(cString: $0) }
            unsafe faults[String(cString: name)] = words ?? code.description
        }
        return faults
    }

    /// The settings of the topics in force, by topic and the broker's names.
    package func settings(
        of topics: [String], timeoutMs: Int
    ) throws(KafkaFailure) -> [String: [String: String]] {
        guard !topics.isEmpty else { return [:] }
        try findController("say the topics' settings")
        var asked: [OpaquePointer?] = unsafe []
        defer { for index in unsafe asked.indices { unsafe rd_kafka_ConfigResource_destroy(asked[index]) } }
        for topic in topics {
            unsafe asked.append(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic))
        }
        let event = try unsafe ask(
            RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, "say the topics' settings", timeoutMs: timeoutMs
        ) { options, queue in
            unsafe asked.withUnsafeMutableBufferPointer {
                unsafe rd_kafka_DescribeConfigs(handle.pointer, $0.baseAddress, $0.count, options, queue)
            }
        }
        var found: [String: [String: String]] = [:]
        var count = 0
        guard let resources = unsafe rd_kafka_DescribeConfigs_result_resources(event.pointer, &count) else {
            return found
        }
        for index in 0..<count {
            guard let resource = unsafe resources[index],
                let name = unsafe rd_kafka_ConfigResource_name(resource)
            else { continue }
            let code = unsafe KafkaErrorCode(rd_kafka_ConfigResource_error(resource))
            if code == .unknownTopicOrPartition { continue }
            guard code == .none else {
                throw unsafe KafkaFailure(
                    .broker,
                    "the settings of \(String(cString: name)) could not be read: \(code.description)",
                    kafka: code)
            }
            unsafe found[String(cString: name)] = Self.entries(of: resource)
        }
        return found
    }

    private static func entries(of resource: OpaquePointer) -> [String: String] {
        var found: [String: String] = [:]
        var count = 0
        guard let entries = unsafe rd_kafka_ConfigResource_configs(resource, &count) else { return found }
        for index in 0..<count {
            guard let entry = unsafe entries[index], let name = unsafe rd_kafka_ConfigEntry_name(entry),
                let value = unsafe rd_kafka_ConfigEntry_value(entry)
            else { continue }
            unsafe found[String(cString: name)] = String(cString: value)
        }
        return found
    }

    /// Deletes every record of the partitions below the given offsets.
    /// - Returns: for each partition its first offset from now on, or what is wrong.
    package func deleteRecords(
        below offsets: [TopicPartitionOffset], topics: [String], timeoutMs: Int
    ) throws(KafkaFailure) -> [(position: TopicPartitionOffset, fault: String?)] {
        guard !offsets.isEmpty else { return [] }
        let list = PartitionList(offsets, topics: topics)
        guard let order = unsafe rd_kafka_DeleteRecords_new(list.pointer) else {
            throw .outOfMemory("the deletion")
        }
        defer { unsafe rd_kafka_DeleteRecords_destroy(order) }
        var orders: [OpaquePointer?] = unsafe [order]
        let event = try unsafe ask(
            RD_KAFKA_ADMIN_OP_DELETERECORDS, "delete records", timeoutMs: timeoutMs
        ) { options, queue in
            unsafe orders.withUnsafeMutableBufferPointer {
                unsafe rd_kafka_DeleteRecords(handle.pointer, $0.baseAddress, $0.count, options, queue)
            }
        }
        guard let answer = unsafe rd_kafka_DeleteRecords_result_offsets(event.pointer) else { return [] }
        let entries = unsafe PartitionList.entries(UnsafeMutablePointer(mutating: answer), topics: topics)
        if !entries.isEmpty, entries.allSatisfy({ $0.error == .unsupportedFeature }) {
            throw KafkaFailure(
                .unsupported, "the broker can't delete records: it has no such request",
                kafka: .unsupportedFeature)
        }
        return entries.map {
            (position: $0.position, fault: $0.error == .none ? nil : $0.error.description)
        }
    }

    /// The cluster's controller takes these requests. Without one librdkafka waits for it and says no more
    /// than that time is up. The embedded broker names one that there isn't.
    private func findController(_ what: String) throws(KafkaFailure) {
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe KafkaErrorCode(
            rd_kafka_metadata(handle.pointer, 1, nil, &answer, Int32(clamping: Self.brokersMs)))
        guard code == .none, let metadata = unsafe answer else {
            throw KafkaFailure(.timeout, "no broker answers: \(code.description)", kafka: code)
        }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        let controller = unsafe rd_kafka_controllerid(handle.pointer, Int32(clamping: Self.controllerMs))
        for index in 0..<(unsafe Int(metadata.pointee.broker_cnt)) {
            if unsafe metadata.pointee.brokers[index].id == controller { return }
        }
        throw KafkaFailure(
            .unsupported, "the brokers can't \(what): they name no controller, which would do it")
    }

    private func ask(
        _ operation: rd_kafka_admin_op_t, _ what: String, timeoutMs: Int,
        _ call: (_ options: OpaquePointer, _ queue: OpaquePointer) -> Void
    ) throws(KafkaFailure) -> EventOwner {
        guard let queue = unsafe rd_kafka_queue_new(handle.pointer),
            let options = unsafe rd_kafka_AdminOptions_new(handle.pointer, operation)
        else { throw .outOfMemory("the question") }
        defer {
            unsafe rd_kafka_AdminOptions_destroy(options)
            unsafe rd_kafka_queue_destroy(queue)
        }
        var reason = [CChar](repeating: 0, count: 512)
        let time = Int32(clamping: timeoutMs)
        _ = unsafe rd_kafka_AdminOptions_set_request_timeout(options, time, &reason, reason.count)
        if operation != RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS {
            _ = unsafe rd_kafka_AdminOptions_set_operation_timeout(options, time, &reason, reason.count)
        }
        unsafe call(options, queue)
        let deadline = Deadline(afterMs: timeoutMs + 1000)
        repeat {
            guard let event = unsafe EventOwner.next(of: queue, timeoutMs: deadline.remainingMs) else {
                continue
            }
            let code = event.error
            guard code != .none else { return event }
            let words = unsafe rd_kafka_event_error_string(event.pointer).map { unsafe String(cString: $0) }
            if code == .unsupportedFeature {
                throw KafkaFailure(
                    .unsupported, "the broker can't \(what): it has no such request", kafka: code)
            }
            throw KafkaFailure(
                code == .timedOut ? .timeout : .broker,
                "the broker did not \(what): \(words ?? code.description)", kafka: code)
        } while deadline.remainingMs > 0
        throw KafkaFailure(.timeout, "the broker did not \(what) within \(timeoutMs) ms", kafka: .timedOut)
    }
}
