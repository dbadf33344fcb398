import CRdkafka

/// Asks a cluster about topics, watermarks and committed offsets, without joining a group; for tools and
/// checks.
///
/// - Threading: one owner thread; every question blocks at most its timeout (2.0.2 can exceed it for
///   watermarks, so keep it off threads that must not wait).
@safe
package final class KafkaInspector {
    let handle: KafkaHandle

    /// Makes the client; nothing is asked yet.
    package init(_ configuration: KafkaConfiguration) throws(KafkaFailure) {
        let native = try NativeConfiguration(configuration)
        handle = unsafe KafkaHandle(try native.create(RD_KAFKA_CONSUMER))
        unsafe rd_kafka_set_log_queue(handle.pointer, nil)
    }

    /// Frees the client.
    package func close() { handle.close(patienceMs: 3000) }

    /// The topics with their partition counts. On the embedded broker naming a topic creates it, so this asks
    /// for all of them.
    package func topics(timeoutMs: Int) throws(KafkaFailure) -> [(name: String, partitions: Int)] {
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe KafkaErrorCode(
            rd_kafka_metadata(handle.pointer, 1, nil, &answer, Int32(clamping: timeoutMs)))
        guard code == .none, let metadata = unsafe answer else {
            throw KafkaFailure(.timeout, "the brokers did not list topics: \(code.description)", kafka: code)
        }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        var found: [(name: String, partitions: Int)] = []
        for index in 0..<(unsafe Int(metadata.pointee.topic_cnt)) {
            let topic = unsafe metadata.pointee.topics[index]
            guard let name = unsafe topic.topic else { continue }
            unsafe found.append((String(cString: name), Int(topic.partition_cnt)))
        }
        return found.sorted { $0.name < $1.name }
    }

    /// The first and the next offset of a partition, asked of its leader.
    package func watermarks(
        topic: String, partition: Int32, timeoutMs: Int
    ) throws(KafkaFailure) -> (low: Int64, high: Int64) {
        var low: Int64 = 0
        var high: Int64 = 0
        let code = unsafe KafkaErrorCode(
            rd_kafka_query_watermark_offsets(
                handle.pointer, topic, partition, &low, &high, Int32(clamping: timeoutMs)))
        guard code == .none else {
            throw KafkaFailure(
                .timeout, "the offsets of \(topic)/\(partition) could not be read: \(code.description)",
                kafka: code)
        }
        return (low, high)
    }

    /// The configured group's committed offset of each partition of the topic; nil where there is none.
    package func committed(
        topic: String, partitions: Int, timeoutMs: Int
    ) throws(KafkaFailure) -> [Int64?] {
        let all = (0..<partitions).map { TopicPartition(topic: 0, partition: Int32(clamping: $0)) }
        let list = PartitionList(all, topics: [topic])
        let code = unsafe KafkaErrorCode(
            rd_kafka_committed(handle.pointer, list.pointer, Int32(clamping: timeoutMs)))
        guard code == .none else {
            throw KafkaFailure(
                .timeout, "the committed offsets of \(topic) could not be read: \(code.description)",
                kafka: code)
        }
        return list.entries(topics: [topic]).map { $0.position.offset < 0 ? nil : $0.position.offset }
    }
}
