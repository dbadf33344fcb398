internal import Core
internal import Decisions
internal import EventLoop
internal import Kafka
internal import Logging
internal import Registry
internal import Services

/// Commits, rebalances and the end.
extension LaneConsumer {
    // MARK: Commits

    func dueCommits() -> [TopicPartitionOffset] {
        partitions.compactMap { number, place in
            place.dueCommit.map { TopicPartitionOffset(topic: 0, partition: number, offset: $0) }
        }
    }

    /// Asks for what the group had committed: it says which of a predecessor's offsets count. Records wait
    /// for it, so a broker that doesn't answer now is asked again.
    func readCommits(_ consumer: KafkaConsumer, now: UInt64) {
        guard startCommits == nil, hasJoined, now >= nextCommitsMs else { return }
        nextCommitsMs = now + 1000
        do throws(KafkaFailure) {
            let answers = try consumer.committed(consumer.assignment, timeoutMs: 2000)
            let commits = Dictionary(
                answers.map { ($0.partition, $0.offset) }, uniquingKeysWith: { _, last in last })
            startCommits = commits
            for place in partitions.values { remember(place, commits) }
        } catch {
            lastError = error.description
            logger.warning("kafka.committed", "The committed offsets can't be read yet: \(error.description)")
        }
        // Waiting for the broker is no standstill.
        lastStepMs = Clock.monotonicMs
    }

    func commitIfDue(_ consumer: KafkaConsumer, now: UInt64) {
        guard now >= lastCommitMs + options.commitIntervalMs else { return }
        lastCommitMs = now
        let due = dueCommits()
        guard !due.isEmpty else { return }
        do throws(KafkaFailure) {
            try consumer.commit(due)
            for position in due { partitions[position.partition]?.committed = position.offset }
        } catch {
            lastError = error.description
            logger.warning("kafka.commit", "A commit was not taken: \(error.description)")
        }
    }

    func kafkaCommitted(_ results: [CommitResult]) {
        for result in results {
            let place = partitions[result.position.partition]
            switch result.outcome {
            case .committed:
                unreachableMs = 0
                place?.finished.committed(result.position.offset)
            case .failed:
                // Committed again with the next interval.
                place?.committed = -1
                lastError = "commit: \(result.code.description)"
            case .stale: break
            }
        }
    }

    // MARK: Rebalances

    func kafkaAssigned(_ partitions: [TopicPartition]) {
        startEpoch()
        hasJoined = true
        startCommits = nil
        nextCommitsMs = 0
        lastStepMs = Clock.monotonicMs
        logger.info(
            "kafka.assigned", "Partitions were assigned.", ["kafka.partitions": .number(partitions.count)])
    }

    func kafkaRevoked(_ partitions: [TopicPartition], lost: Bool) {
        if !lost { drainAndCommit(withinMs: min(options.drainMs, options.revokeMs)) }
        startEpoch()
        lastStepMs = Clock.monotonicMs
        logger.info(
            "kafka.revoked", lost ? "Partitions were lost." : "Partitions were given up.",
            ["kafka.partitions": .number(partitions.count)])
    }

    func startEpoch() {
        epoch = control.startEpoch()
        partitions.removeAll(keepingCapacity: true)
        store.removeAll()
        for shard in batches.indices { batches[shard] = nil }
        inFlight = 0
        flow.reset()
    }

    /// Hands over what was read, waits for open jobs and commits what is finished.
    func drainAndCommit(withinMs limit: UInt64) {
        handOver()
        let deadline = Clock.monotonicMs + limit
        while true {
            collect()
            let now = Clock.monotonicMs
            guard partitions.values.contains(where: { $0.openJobs > 0 }), now < deadline else { break }
            store.step()
            loop.runOnce(maxWaitMs: Int(min(20, deadline - now)))
        }
        let open = partitions.values.reduce(0) { $0 + $1.openJobs }
        if open > 0 {
            logger.warning(
                "kafka.drain", "Open jobs did not finish in time; their next owner repeats them.",
                ["jobs": .number(open)])
        }
        guard let consumer else { return }
        var isMember = !isStale
        for result in consumer.commitAndWait(dueCommits(), timeoutMs: 3000) {
            switch result.outcome {
            case .committed:
                isMember = true
                partitions[result.position.partition]?.finished.committed(result.position.offset)
            case .failed:
                logger.warning("kafka.commit", "The last commit failed: \(result.code.description)")
            case .stale: break
            }
        }
        // What stays above the commit is skipped by the next owner, if Redis has it before the partition
        // goes. One that has the partition already writes there itself.
        if isMember { store.settle(untilMs: Clock.monotonicMs + Self.settleMs) }
    }

    /// How long the last finished offsets may take to get to Redis, in milliseconds.
    private static let settleMs: UInt64 = 500
    /// How long answers are waited for that came while the process stood still, in milliseconds.
    private static let staleDrainMs: UInt64 = 1000

    func close() {
        guard let consumer else { return }
        if isStopping { consumer.pause(consumer.assignment) }
        drainAndCommit(withinMs: isStale ? Self.staleDrainMs : options.drainMs)
        isStale = false
        // The commit is done, so the revocation that closing brings has nothing left to wait for.
        startEpoch()
        consumer.close(deadlineMs: 3000)
        self.consumer = nil
        hasJoined = false
    }

    func kafkaReported(_ event: KafkaEvent) {
        switch event.kind {
        case .fatal:
            needsRestart = true
            lastError = event.message
        case .error:
            lastError = event.message
            if event.code == .allBrokersDown || event.code == .transport { unreachableMs = Clock.monotonicMs }
        default: break
        }
        kafkaLog.tell(event)
    }
}
