import CRdkafka

/// A topic as the brokers describe it.
package struct KafkaTopicLayout: Equatable, Sendable {
    package var name: String
    package var partitions: Int
    /// The fewest replicas that a partition of it has.
    package var replication: Int
    /// Partitions that nobody leads: neither read nor written.
    package var leaderless: Int
    /// Partitions of which fewer replicas are in sync than there are.
    package var behind: Int

    /// A layout.
    package init(name: String, partitions: Int, replication: Int, leaderless: Int = 0, behind: Int = 0) {
        self.name = name
        self.partitions = partitions
        self.replication = replication
        self.leaderless = leaderless
        self.behind = behind
    }
}

// Layouts, and offsets of many partitions in one question.
extension KafkaInspector {
    /// The topics with their replicas, by name. Asks for all of them, for the reason that `topics` gives.
    package func layouts(timeoutMs: Int) throws(KafkaFailure) -> [KafkaTopicLayout] {
        var answer: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe KafkaErrorCode(
            rd_kafka_metadata(handle.pointer, 1, nil, &answer, Int32(clamping: timeoutMs)))
        guard code == .none, let metadata = unsafe answer else {
            throw KafkaFailure(.timeout, "the brokers did not list topics: \(code.description)", kafka: code)
        }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        var found: [KafkaTopicLayout] = []
        for index in 0..<(unsafe Int(metadata.pointee.topic_cnt)) {
            let topic = unsafe metadata.pointee.topics[index]
            guard let name = unsafe topic.topic else { continue }
            var layout = unsafe KafkaTopicLayout(
                name: String(cString: name), partitions: Int(topic.partition_cnt), replication: 0)
            var least = Int.max
            for number in 0..<layout.partitions {
                let partition = unsafe topic.partitions[number]
                least = unsafe min(least, Int(partition.replica_cnt))
                if unsafe partition.leader < 0 { layout.leaderless += 1 }
                if unsafe partition.isr_cnt < partition.replica_cnt { layout.behind += 1 }
            }
            layout.replication = least == Int.max ? 0 : least
            found.append(layout)
        }
        return found.sorted { $0.name < $1.name }
    }

    /// Which offset of each partition an offset question is about.
    package enum OffsetPoint: Equatable, Sendable {
        /// The first that is still there.
        case first
        /// The one that the next record gets.
        case next
        /// The first of a record that isn't older, in milliseconds since 1970; where there is none, the
        /// answer is nil.
        case at(ms: Int64)
    }

    /// An offset of each of the partitions, in their order, asked of all leaders at once.
    /// - Throws: when a partition isn't answered within `timeoutMs`.
    package func offsets(
        of partitions: [TopicPartition], topics: [String], _ point: OffsetPoint, timeoutMs: Int
    ) throws(KafkaFailure) -> [Int64?] {
        guard !partitions.isEmpty else { return [] }
        let time: Int64 =
            switch point {
            case .first: peal_rk_offset_beginning()
            case .next: peal_rk_offset_end()
            case .at(let ms): max(0, ms)
            }
        let list = PartitionList(
            partitions.map {
                TopicPartitionOffset(topic: $0.topic, partition: $0.partition, offset: time)
            }, topics: topics)
        let code = unsafe KafkaErrorCode(
            rd_kafka_offsets_for_times(handle.pointer, list.pointer, Int32(clamping: timeoutMs)))
        guard code == .none else {
            throw KafkaFailure(
                .timeout, "the offsets could not be read: \(code.description)", kafka: code)
        }
        var found: [TopicPartition: Int64] = [:]
        for entry in list.entries(topics: topics) {
            guard entry.error == .none else {
                let topic = topics[Int(entry.position.topic)]
                throw KafkaFailure(
                    .broker,
                    "the offsets of \(topic)/\(entry.position.partition) could not be read: "
                        + entry.error.description, kafka: entry.error)
            }
            found[entry.position.topicPartition] = entry.position.offset
        }
        return partitions.map { partition in found[partition].flatMap { $0 < 0 ? nil : $0 } }
    }
}

/// Which partition a record of a key goes to.
package enum KafkaPartitioner {
    /// The partition by Peal's producers, which is also Java's and every client's that is set to `murmur2`.
    package static func partition(ofKey key: [UInt8], partitions: Int) -> Int32 {
        guard partitions > 0, !key.isEmpty else { return 0 }
        return unsafe key.withUnsafeBytes {
            unsafe peal_rk_partition($0.baseAddress, $0.count, Int32(clamping: partitions))
        }
    }
}
