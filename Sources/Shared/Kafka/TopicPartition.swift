import CRdkafka

/// A partition of one of a client's topics.
package struct TopicPartition: Hashable, Sendable {
    /// The index in the client's list of topics.
    package let topic: Int32
    package let partition: Int32

    @inlinable
    package init(topic: Int32, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }
}

/// A partition and an offset in it.
package struct TopicPartitionOffset: Hashable, Sendable {
    package let topic: Int32
    package let partition: Int32
    /// The offset to read next; `unknownOffset` when there is none.
    package let offset: Int64

    /// No offset is known or committed.
    package static let unknownOffset: Int64 = -1001
    /// The start of the partition, for `KafkaConsumer.assign`.
    package static let beginning: Int64 = -2
    /// The end of the partition, for `KafkaConsumer.assign`.
    package static let end: Int64 = -1

    @inlinable
    package init(topic: Int32, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    /// The partition alone.
    package var topicPartition: TopicPartition { TopicPartition(topic: topic, partition: partition) }
}

/// What became of one partition's commit.
package struct CommitResult: Sendable {
    /// The kind of answer.
    package enum Outcome: String, Sendable {
        case committed
        /// The partition has a new owner, or is about to: dropped, the new owner reads on from the commit
        /// before.
        case stale
        case failed
    }

    package let position: TopicPartitionOffset
    package let outcome: Outcome
    package let code: KafkaErrorCode
}

/// Owner of a `rd_kafka_topic_partition_list_t`: one that leaks makes the client's destruction hang.
@safe
struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(capacity: Int) {
        unsafe pointer = rd_kafka_topic_partition_list_new(Int32(clamping: capacity))
    }

    init(_ partitions: some Collection<TopicPartition>, topics: [String]) {
        self.init(capacity: partitions.count)
        for partition in partitions {
            guard topics.indices.contains(Int(partition.topic)) else { continue }
            _ = unsafe rd_kafka_topic_partition_list_add(
                pointer, topics[Int(partition.topic)], partition.partition)
        }
    }

    init(_ offsets: [TopicPartitionOffset], topics: [String]) {
        self.init(capacity: offsets.count)
        for position in offsets {
            guard topics.indices.contains(Int(position.topic)) else { continue }
            let entry = unsafe rd_kafka_topic_partition_list_add(
                pointer, topics[Int(position.topic)], position.partition)
            if let entry = unsafe entry { unsafe entry.pointee.offset = position.offset }
        }
    }

    deinit { unsafe rd_kafka_topic_partition_list_destroy(pointer) }

    /// The entries whose topic is known, each with its error.
    func entries(topics: [String]) -> [(position: TopicPartitionOffset, error: KafkaErrorCode)] {
        unsafe Self.entries(pointer, topics: topics)
    }

    static func entries(
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>, topics: [String]
    ) -> [(position: TopicPartitionOffset, error: KafkaErrorCode)] {
        var found: [(position: TopicPartitionOffset, error: KafkaErrorCode)] = []
        let count = unsafe Int(list.pointee.cnt)
        found.reserveCapacity(count)
        for index in 0..<count {
            let entry = unsafe list.pointee.elems[index]
            guard let name = unsafe entry.topic else { continue }
            guard let topic = topics.firstIndex(of: unsafe String(cString: name)) else { continue }
            let position = unsafe TopicPartitionOffset(
                topic: Int32(clamping: topic), partition: entry.partition, offset: entry.offset)
            unsafe found.append((position, KafkaErrorCode(entry.err)))
        }
        return found
    }
}
