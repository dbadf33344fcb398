internal import Core
internal import Decisions
internal import EventLoop
internal import Kafka
internal import Logging

/// How a lane reads.
struct LaneOptions: Sendable {
    var consumer: KafkaConfiguration
    /// Jobs of this lane that may be open at once, over all shards.
    var inFlightMax: Int
    var commitIntervalMs: UInt64
    /// How long open jobs get when the worker stops.
    var drainMs: UInt64
    /// How long they get when partitions are taken away: a third of the session timeout.
    var revokeMs: UInt64
}

/// Reads one lane's topic on a thread of its own, hands records to the shards and commits what is finished.
///
/// - Threading: everything runs on the lane's thread, except ``requestStop()``.
/// - Why one consumer a lane: bulk can then never hold up urgent inside librdkafka.
final class LaneConsumer: KafkaRecordSink, KafkaConsumerDelegate {
    private let control: LaneControl
    private let lane: Int
    private let options: LaneOptions
    private let shards: [ShardMailbox]
    private let logger: Logger
    private let loop: EventLoop
    private let stopping: Locked<Bool>
    private var consumer: KafkaConsumer?
    private var trackers: [Int32: OffsetTracker] = [:]
    private var committed: [Int32: Int64] = [:]
    private var epoch: UInt32 = 0
    private var inFlight = 0
    private var flow: LaneFlow
    private var batches: [RecordBatch?]
    private var batchBytes: [Int]
    private var finished: [Completion] = []
    private var needsRestart = false
    private var hasJoined = false
    private var lastCommitMs: UInt64 = 0
    private var lastStatusMs: UInt64 = 0
    private var lastFinishedMs: UInt64
    private var restarts: UInt64 = 0
    private var lastError = ""
    private var unreachableMs: UInt64 = 0

    init(
        control: LaneControl, lane: Int, options: LaneOptions, shards: [ShardMailbox], loop: EventLoop,
        stopping: Locked<Bool>, logger: Logger
    ) {
        self.control = control
        self.lane = lane
        self.options = options
        self.shards = shards
        self.logger = logger
        self.loop = loop
        self.stopping = stopping
        flow = LaneFlow(limit: options.inFlightMax)
        batches = Array(repeating: nil, count: shards.count)
        batchBytes = Array(repeating: 1 << 12, count: shards.count)
        lastFinishedMs = Clock.monotonicMs
    }

    // MARK: The thread

    /// Runs until told to stop, then drains, commits and leaves the group.
    func run() {
        var backoff = Backoff(baseMs: 500, capMs: 10_000)
        while !isStopping {
            do throws(KafkaFailure) {
                let fresh = try KafkaConsumer(options.consumer, topics: [control.topic], delegate: self)
                consumer = fresh
                try fresh.subscribe()
                needsRestart = false
                backoff.succeeded()
                while !isStopping, !needsRestart, !fresh.hasFailed { step(fresh) }
            } catch {
                lastError = error.description
                logger.error("kafka.consumer", "The consumer could not start: \(error.description)")
            }
            close()
            if !isStopping {
                restarts &+= 1
                loop.runOnce(maxWaitMs: Int(backoff.failed(random: RandomSource.seed())))
            }
        }
        publishStatus()
    }

    private var isStopping: Bool { stopping.withLock { $0 } }

    private func step(_ consumer: KafkaConsumer) {
        let now = Clock.monotonicMs
        switch flow.next(inFlight: inFlight, nowMs: now) {
        case .take: take(consumer, timeoutMs: 50)
        case .wait(let ms): loop.runOnce(maxWaitMs: ms)
        case .pause:
            consumer.pause(consumer.assignment)
            logger.notice("kafka.paused", "The lane is full; its partitions are paused.")
            take(consumer, timeoutMs: 50)
        case .resume:
            consumer.resume(consumer.paused)
            logger.notice("kafka.resumed", "The lane has room again.")
            take(consumer, timeoutMs: 50)
        case .stayPaused:
            take(consumer, timeoutMs: 0)
            loop.runOnce(maxWaitMs: 50)
        }
        collect()
        holdWideSpans(consumer)
        commitIfDue(consumer, now: now)
        if now >= lastStatusMs + 500 { publishStatus() }
    }

    private func take(_ consumer: KafkaConsumer, timeoutMs: Int) {
        let room = max(1, min(512, options.inFlightMax - inFlight))
        _ = consumer.poll(timeoutMs: timeoutMs, maxRecords: room, into: self)
        handOver()
    }

    // MARK: Records

    func take(_ record: borrowing KafkaRecord) {
        let partition = record.partition
        if trackers[partition] == nil {
            trackers[partition] = OffsetTracker(firstOffset: record.offset, epoch: epoch)
        }
        guard trackers[partition]?.begin(record.offset) == true else {
            // Either it was given before, or the window is full. Dropping it in the second case would lose
            // it: a new consumer starts again at what is committed.
            if trackers[partition]?.isFinished(record.offset) == false,
                trackers[partition].map({ record.offset >= $0.next }) == true
            {
                needsRestart = true
            }
            return
        }
        inFlight += 1
        unreachableMs = 0
        var entry = RecordEntry()
        entry.partition = partition
        entry.offset = record.offset
        entry.timestampMs = min(record.timestampMs, RecordEntry.latestMs)
        let key = unsafe record.key ?? UnsafeRawBufferPointer(start: nil, count: 0)
        entry.keyHash = unsafe Hash64.of(key)
        let shard = Int(truncatingIfNeeded: entry.keyHash >> 40) % shards.count
        let batch = batches[shard] ?? makeBatch(shard)
        unsafe batch.add(entry, key: key, value: record.value) { memory in
            guard record.hasHeaders else { return }
            unsafe record.forEachHeader { name, value in unsafe RecordHeaders.pack(name, value, into: &memory)
            }
        }
        if batch.byteCount > 1 << 20 { handOver(shard) }
    }

    private func makeBatch(_ shard: Int) -> RecordBatch {
        // As large as the last one: a batch lives as long as its slowest job, and at a low rate, or with
        // Redis away, thousands of batches of one record each wait.
        let batch = RecordBatch(lane: lane, epoch: epoch, capacity: batchBytes[shard])
        batches[shard] = batch
        return batch
    }

    private func handOver() {
        for shard in batches.indices { handOver(shard) }
    }

    private func handOver(_ shard: Int) {
        guard let batch = batches[shard] else { return }
        batches[shard] = nil
        batch.seal()
        batchBytes[shard] = min(max(1 << 10, batch.byteCount), 1 << 16)
        shards[shard].records.push(batch)
    }

    private func collect() {
        control.completions.drain(into: &finished)
        guard !finished.isEmpty else { return }
        lastFinishedMs = Clock.monotonicMs
        for completion in finished {
            if trackers[completion.partition]?.finish(completion.offset, epoch: completion.epoch) == true {
                inFlight -= 1
            }
        }
    }

    /// Pauses a partition whose window is nearly full because one job at its lower end is still open.
    private func holdWideSpans(_ consumer: KafkaConsumer) {
        guard !flow.isPaused else { return }
        for (partition, tracker) in trackers where tracker.span > OffsetTracker.capacity / 4 {
            let place = TopicPartition(topic: 0, partition: partition)
            if tracker.span > OffsetTracker.capacity * 3 / 4 {
                consumer.pause([place])
            } else if tracker.span < OffsetTracker.capacity / 2, consumer.paused.contains(place) {
                consumer.resume([place])
            }
        }
        if !consumer.paused.isEmpty {
            let free = consumer.paused.filter {
                (trackers[$0.partition]?.span ?? 0) <= OffsetTracker.capacity / 4
            }
            consumer.resume(free)
        }
    }

    // MARK: Commits

    private func dueCommits() -> [TopicPartitionOffset] {
        trackers.compactMap { partition, tracker in
            guard tracker.committable > (committed[partition] ?? -1), tracker.committable > 0 else {
                return nil
            }
            return TopicPartitionOffset(topic: 0, partition: partition, offset: tracker.committable)
        }
    }

    private func commitIfDue(_ consumer: KafkaConsumer, now: UInt64) {
        guard now >= lastCommitMs + options.commitIntervalMs else { return }
        lastCommitMs = now
        let due = dueCommits()
        guard !due.isEmpty else { return }
        do throws(KafkaFailure) {
            try consumer.commit(due)
            for position in due { committed[position.partition] = position.offset }
        } catch {
            lastError = error.description
            logger.warning("kafka.commit", "A commit was not taken: \(error.description)")
        }
    }

    func kafkaCommitted(_ results: [CommitResult]) {
        if results.contains(where: { $0.outcome == .committed }) { unreachableMs = 0 }
        for result in results where result.outcome == .failed {
            // Committed again with the next interval.
            committed[result.position.partition] = nil
            lastError = "commit: \(result.code.description)"
        }
    }

    // MARK: Rebalances

    func kafkaAssigned(_ partitions: [TopicPartition]) {
        startEpoch()
        hasJoined = true
        logger.info(
            "kafka.assigned", "Partitions were assigned.", ["kafka.partitions": .number(partitions.count)])
    }

    func kafkaRevoked(_ partitions: [TopicPartition], lost: Bool) {
        if !lost { drainAndCommit(withinMs: min(options.drainMs, options.revokeMs)) }
        startEpoch()
        logger.info(
            "kafka.revoked", lost ? "Partitions were lost." : "Partitions were given up.",
            ["kafka.partitions": .number(partitions.count)])
    }

    private func startEpoch() {
        epoch = control.startEpoch()
        trackers.removeAll(keepingCapacity: true)
        committed.removeAll(keepingCapacity: true)
        for shard in batches.indices { batches[shard] = nil }
        inFlight = 0
        flow.reset()
    }

    /// Hands over what was read, waits for open jobs and commits what is finished.
    private func drainAndCommit(withinMs limit: UInt64) {
        handOver()
        let deadline = Clock.monotonicMs + limit
        while true {
            collect()
            let now = Clock.monotonicMs
            guard trackers.values.contains(where: { !$0.isIdle }), now < deadline else { break }
            loop.runOnce(maxWaitMs: Int(min(20, deadline - now)))
        }
        let open = trackers.values.reduce(0) { $0 + $1.inFlight }
        if open > 0 {
            logger.warning(
                "kafka.drain", "Open jobs did not finish in time; their next owner repeats them.",
                ["jobs": .number(open)])
        }
        guard let consumer else { return }
        for result in consumer.commitAndWait(dueCommits(), timeoutMs: 3000) where result.outcome == .failed {
            logger.warning("kafka.commit", "The last commit failed: \(result.code.description)")
        }
    }

    private func close() {
        guard let consumer else { return }
        if isStopping { consumer.pause(consumer.assignment) }
        drainAndCommit(withinMs: options.drainMs)
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
            logger.error("kafka.fatal", event.message)
        case .error:
            lastError = event.message
            if event.code == .allBrokersDown || event.code == .transport { unreachableMs = Clock.monotonicMs }
            logger.warning("kafka.error", event.message)
        default: logger.debug("kafka.log", event.message)
        }
    }

    // MARK: Status

    private func publishStatus() {
        lastStatusMs = Clock.monotonicMs
        var status = LaneStatus()
        status.inFlight = inFlight
        status.hasJoined = hasJoined
        status.isPaused = flow.isPaused
        status.polledMs = lastStatusMs
        status.finishedMs = lastFinishedMs
        status.restarts = restarts
        status.lastError = lastError
        status.unreachableMs = unreachableMs
        if let consumer {
            status.assignedPartitions = consumer.assignment.count
            status.records = consumer.counters.records
            status.commits = consumer.counters.commits
            status.commitsFailed = consumer.counters.commitsFailed
            status.rebalances = consumer.counters.rebalances
            status.lag = lag(consumer)
        }
        control.status.withLock { $0 = status }
    }

    private func lag(_ consumer: KafkaConsumer) -> Int64 {
        var sum: Int64 = -1
        for place in consumer.assignment {
            guard let marks = consumer.watermarks(place) else { continue }
            let done = trackers[place.partition]?.committable
            sum = max(0, sum) + max(0, marks.high - (done ?? marks.high))
        }
        return sum
    }
}
