import CRdkafka

// Group membership: rebalances, commits and leaving.
extension KafkaConsumer {
    func rebalance(_ event: borrowing EventOwner) {
        counters.rebalances &+= 1
        guard let list = unsafe rd_kafka_event_topic_partition_list(event.pointer) else {
            _ = unsafe rd_kafka_assign(handle.pointer, nil)
            return
        }
        let partitions = unsafe PartitionList.entries(list, topics: topics).map(\.position.topicPartition)
        switch event.error.native {
        case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
            unsafe take(partitions, list: unsafe list)
        case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
            unsafe giveUp(partitions, list: unsafe list)
        default:
            unsafe giveUp(Array(assignment), list: nil)
        }
    }

    private func take(
        _ partitions: [TopicPartition], list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) {
        if isCooperative {
            unsafe discard(rd_kafka_incremental_assign(handle.pointer, list))
            assignment.formUnion(partitions)
        } else {
            _ = unsafe rd_kafka_assign(handle.pointer, list)
            assignment = Set(partitions)
        }
        delegate?.kafkaAssigned(partitions)
    }

    private func giveUp(
        _ partitions: [TopicPartition], list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) {
        let lost = unsafe rd_kafka_assignment_lost(handle.pointer) != 0
        if lost { counters.partitionsLost &+= UInt64(partitions.count) }
        delegate?.kafkaRevoked(partitions, lost: lost)
        // A pause outlives the assignment in 2.0.2: the next owner in this process would get nothing.
        resume(partitions)
        if isCooperative, let list = unsafe list {
            unsafe discard(rd_kafka_incremental_unassign(handle.pointer, list))
            assignment.subtract(partitions)
        } else {
            _ = unsafe rd_kafka_assign(handle.pointer, nil)
            assignment.removeAll()
        }
        paused.formIntersection(assignment)
        forgetTopicHandles()
    }

    private func discard(_ error: OpaquePointer?) {
        guard let error = unsafe error else { return }
        counters.errors &+= 1
        unsafe rd_kafka_error_destroy(error)
    }

    /// Commits without waiting; each offset is the next one to read. The delegate hears the answer.
    package func commit(_ positions: [TopicPartitionOffset]) throws(KafkaFailure) {
        guard !positions.isEmpty, let queue = unsafe queue else { return }
        let list = PartitionList(positions, topics: topics)
        let code = unsafe KafkaErrorCode(
            rd_kafka_commit_queue(handle.pointer, list.pointer, queue, nil, nil))
        guard code == .none else {
            throw KafkaFailure(.commit, "the commit was not accepted: \(code.description)", kafka: code)
        }
    }

    /// Commits and waits at most `timeoutMs` for the answer.
    /// - Returns: one result for each partition that was answered; empty when nothing came in time.
    package func commitAndWait(_ positions: [TopicPartitionOffset], timeoutMs: Int) -> [CommitResult] {
        guard !positions.isEmpty, let replies = unsafe rd_kafka_queue_new(handle.pointer) else { return [] }
        defer { unsafe rd_kafka_queue_destroy(replies) }
        let list = PartitionList(positions, topics: topics)
        let code = unsafe KafkaErrorCode(
            rd_kafka_commit_queue(handle.pointer, list.pointer, replies, nil, nil))
        guard code == .none else { return results(positions.map { ($0, code) }) }
        let deadline = Deadline(afterMs: timeoutMs)
        repeat {
            let wait = deadline.remainingMs
            guard let event = unsafe EventOwner.next(of: replies, timeoutMs: wait) else { continue }
            if event.type == RD_KAFKA_EVENT_OFFSET_COMMIT { return commitResults(event) }
        } while deadline.remainingMs > 0
        counters.commitsFailed &+= UInt64(positions.count)
        return []
    }

    func commitResults(_ event: borrowing EventOwner) -> [CommitResult] {
        guard let list = unsafe rd_kafka_event_topic_partition_list(event.pointer) else { return [] }
        let whole = event.error
        if whole == .noOffset { return [] }
        let entries = unsafe PartitionList.entries(list, topics: topics)
        return results(entries.map { ($0.position, $0.error == .none ? whole : $0.error) })
    }

    private func results(_ answers: [(TopicPartitionOffset, KafkaErrorCode)]) -> [CommitResult] {
        answers.map { position, code in
            let outcome: CommitResult.Outcome
            if code == .none {
                outcome = .committed
                counters.commits &+= 1
            } else if code.meansStaleMember {
                outcome = .stale
                counters.commitsStale &+= 1
            } else {
                outcome = .failed
                counters.commitsFailed &+= 1
            }
            return CommitResult(position: position, outcome: outcome, code: code)
        }
    }

    /// The group's committed offsets of the partitions; `unknownOffset` where there is none.
    /// - Throws: when the group's coordinator doesn't answer within `timeoutMs`.
    package func committed(
        _ partitions: some Collection<TopicPartition>, timeoutMs: Int
    ) throws(KafkaFailure) -> [TopicPartitionOffset] {
        guard !partitions.isEmpty else { return [] }
        let list = PartitionList(partitions, topics: topics)
        let code = unsafe KafkaErrorCode(
            rd_kafka_committed(handle.pointer, list.pointer, Int32(clamping: timeoutMs)))
        guard code == .none else {
            throw KafkaFailure(
                .timeout, "the committed offsets could not be read: \(code.description)", kafka: code)
        }
        return list.entries(topics: topics).map(\.position)
    }

    /// Leaves the group and frees the client within about `deadlineMs` plus three seconds.
    ///
    /// Commit first. The delegate hears the revocation. Idempotent.
    /// - Returns: false when the group could not be left in time (the others wait for the session to end).
    @discardableResult
    package func close(deadlineMs: Int) -> Bool {
        guard let queue = unsafe queue else { return true }
        let deadline = Deadline(afterMs: deadlineMs)
        var left = false
        if let error = unsafe rd_kafka_consumer_close_queue(handle.pointer, queue) {
            unsafe rd_kafka_error_destroy(error)
        } else {
            repeat {
                if let event = unsafe EventOwner.next(of: queue, timeoutMs: min(50, deadline.remainingMs)),
                    event.type != RD_KAFKA_EVENT_FETCH
                {
                    _ = handleOther(event)
                }
                left = unsafe rd_kafka_consumer_closed(handle.pointer) != 0
            } while !left && deadline.remainingMs > 0
        }
        waker.retire()
        forgetTopicHandles()
        unsafe rd_kafka_queue_destroy(queue)
        unsafe self.queue = nil
        assignment.removeAll()
        paused.removeAll()
        handle.close(patienceMs: 3000)
        return left
    }
}
