internal import Core
internal import Decisions
internal import EventLoop
internal import Kafka
internal import Logging
internal import Redis
internal import Registry
internal import Services

/// How a lane reads.
struct LaneOptions: Sendable {
    var consumer: KafkaConfiguration
    /// The consumer group's name, which is part of the keys of finished offsets.
    var group: String
    var redis: RedisClientOptions
    /// How long finished offsets stay out of Redis, in milliseconds.
    var flushIntervalMs: UInt64
    /// Jobs of this lane that may be open at once, over all shards.
    var inFlightMax: Int
    var commitIntervalMs: UInt64
    /// How long open jobs get when the worker stops.
    var drainMs: UInt64
    /// How long they get when partitions are taken away: a third of the session timeout.
    var revokeMs: UInt64
    /// A thread that stood still for longer may have lost its partitions without having heard of it.
    var stallMs: UInt64
}

/// Reads one lane's topic on a thread of its own, hands records to the shards and commits what is finished.
///
/// - Threading: everything runs on the lane's thread, except ``requestStop()``.
/// - Why one consumer a lane: bulk can then never hold up urgent inside librdkafka.
final class LaneConsumer: KafkaRecordSink, KafkaConsumerDelegate {
    let control: LaneControl
    let lane: Int
    let options: LaneOptions
    let shards: [ShardMailbox]
    let logger: Logger
    var kafkaLog: KafkaLog
    let loop: EventLoop
    let stopping: Locked<Bool>
    var consumer: KafkaConsumer?
    let store: FinishedStore
    var partitions: [Int32: LanePartition] = [:]
    /// The group's commits as of the assignment, by partition; nil while they are not known.
    var startCommits: [Int32: Int64]?
    var nextCommitsMs: UInt64 = 0
    var serial: UInt64 = 0
    var epoch: UInt32 = 0
    var inFlight = 0
    var flow: LaneFlow
    var batches: [RecordBatch?]
    var batchBytes: [Int]
    var finished: [Completion] = []
    var needsRestart = false
    /// Whether the partitions may have another owner, so that waiting for open jobs makes no sense.
    var isStale = false
    var hasJoined = false
    var lastCommitMs: UInt64 = 0
    var lastStatusMs: UInt64 = 0
    var lastFinishedMs: UInt64
    var lastStepMs: UInt64
    var lastReadMs: UInt64 = 0
    var backlog = LaneBacklog()
    var skipped: UInt64 = 0
    var stalls: UInt64 = 0
    var restarts: UInt64 = 0
    var lastError = ""
    var unreachableMs: UInt64 = 0

    init(
        control: LaneControl, lane: Int, options: LaneOptions, shards: [ShardMailbox], loop: EventLoop,
        stopping: Locked<Bool>, logger: Logger
    ) {
        self.control = control
        self.lane = lane
        self.options = options
        self.shards = shards
        self.logger = logger
        kafkaLog = KafkaLog(logger)
        self.loop = loop
        self.stopping = stopping
        flow = LaneFlow(limit: options.inFlightMax)
        batches = Array(repeating: nil, count: shards.count)
        batchBytes = Array(repeating: 1 << 12, count: shards.count)
        lastFinishedMs = Clock.monotonicMs
        lastStepMs = lastFinishedMs
        store = FinishedStore(loop: loop, flushIntervalMs: options.flushIntervalMs, logger: logger)
    }

    // MARK: The thread

    /// Runs until told to stop, then drains, commits and leaves the group.
    func run() {
        var backoff = Backoff(baseMs: 500, capMs: 10_000)
        store.start(options.redis)
        while !isStopping {
            do throws(KafkaFailure) {
                let fresh = try KafkaConsumer(options.consumer, topics: [control.topic], delegate: self)
                consumer = fresh
                try fresh.subscribe()
                needsRestart = false
                lastStepMs = Clock.monotonicMs
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
        store.close()
        publishStatus()
    }

    var isStopping: Bool { stopping.withLock { $0 } }

    func step(_ consumer: KafkaConsumer) {
        let now = Clock.monotonicMs
        guard !hasStalled(now) else { return }
        switch flow.next(inFlight: inFlight, nowMs: now) {
        case .take: take(consumer, timeoutMs: inFlight > 0 ? Self.busyPollMs : 50)
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
        loop.runOnce(maxWaitMs: 0)
        collect()
        readCommits(consumer, now: now)
        for partition in store.takeKnown() { release(partition) }
        store.step()
        holdWideSpans(consumer)
        commitIfDue(consumer, now: now)
        if now >= lastStatusMs + 500 { publishStatus() }
    }

    /// With jobs in flight their ends have to get to Redis soon.
    static let busyPollMs = 5

    /// Whether this process was stopped for so long that its partitions may belong to others by now. Then
    /// nothing that waits is sent any more, and the group is joined anew.
    func hasStalled(_ now: UInt64) -> Bool {
        let gap = now - lastStepMs
        lastStepMs = now
        guard gap > options.stallMs || control.epoch != epoch else { return false }
        stalls &+= 1
        isStale = true
        needsRestart = true
        logger.warning(
            "kafka.stalled",
            "The process stood still for too long; what it had queued is left to the partitions' owners.",
            ["milliseconds": .number(Int(clamping: gap))])
        control.invalidate()
        return true
    }

    func take(_ consumer: KafkaConsumer, timeoutMs: Int) {
        let room = max(1, min(512, options.inFlightMax - inFlight))
        if consumer.poll(timeoutMs: timeoutMs, maxRecords: room, into: self) > 0 { lastReadMs = lastStepMs }
        handOver()
    }

    // MARK: Records

    func take(_ record: borrowing KafkaRecord) {
        let place = partition(of: record)
        guard place.tracker.begin(record.offset) else {
            // Either it was given before, or the window is full. Dropping it in the second case would lose
            // it: a new consumer starts again at what is committed.
            if !place.tracker.isFinished(record.offset), record.offset >= place.tracker.next {
                needsRestart = true
            }
            return
        }
        inFlight += 1
        unreachableMs = 0
        var entry = RecordEntry()
        entry.partition = record.partition
        entry.offset = record.offset
        entry.timestampMs = min(record.timestampMs, RecordEntry.latestMs)
        place.times.note(offset: record.offset, timestampMs: entry.timestampMs)
        if place.memory == .known, skips(entry, of: place) { return }
        let key = unsafe record.key ?? UnsafeRawBufferPointer(start: nil, count: 0)
        entry.keyHash = unsafe Hash64.of(key)
        let shard = shard(of: entry)
        let batch = place.memory == .known ? batches[shard] ?? makeBatch(shard) : pendingBatch(of: place)
        unsafe batch.add(entry, key: key, value: record.value) { memory in
            guard record.hasHeaders else { return }
            unsafe record.forEachHeader { name, value in unsafe RecordHeaders.pack(name, value, into: &memory)
            }
        }
        if place.memory == .known, batch.isFull { handOver(shard) }
    }

    func shard(of entry: RecordEntry) -> Int {
        Int(truncatingIfNeeded: entry.keyHash >> 40) % shards.count
    }

    func partition(of record: borrowing KafkaRecord) -> LanePartition {
        if let known = partitions[record.partition] { return known }
        serial += 1
        let fresh = LanePartition(
            number: record.partition,
            key: FinishedOffsetsKey(
                group: options.group, topic: control.topic, partition: record.partition),
            serial: serial, firstOffset: record.offset, epoch: epoch)
        partitions[record.partition] = fresh
        if let startCommits { remember(fresh, startCommits) }
        return fresh
    }

    /// Begins to read what a predecessor left of the partition.
    func remember(_ place: LanePartition, _ commits: [Int32: Int64]) {
        place.start(committed: commits[place.number])
        store.add(place)
    }

    /// Whether a predecessor has finished the record; then it is finished here as well.
    func skips(_ entry: RecordEntry, of place: LanePartition) -> Bool {
        guard place.finished.wasFinished(offset: entry.offset, timestampMs: entry.timestampMs) else {
            return false
        }
        place.tracker.finish(entry.offset, epoch: epoch)
        inFlight -= 1
        skipped &+= 1
        return true
    }

    func pendingBatch(of place: LanePartition) -> RecordBatch {
        if let pending = place.pending { return pending }
        let batch = RecordBatch(lane: lane, epoch: epoch, capacity: 1 << 12)
        place.pending = batch
        return batch
    }

    /// Lets the records go on that had to wait until it was known what a predecessor has finished.
    func release(_ place: LanePartition) {
        guard let pending = place.pending else { return }
        place.pending = nil
        for entry in pending.entries where !skips(entry, of: place) {
            let shard = shard(of: entry)
            let batch = batches[shard] ?? makeBatch(shard)
            unsafe batch.add(entry, key: pending.key(entry), value: pending.value(entry)) { memory in
                unsafe memory.append(pending.headers(entry).bytes)
            }
            if batch.isFull { handOver(shard) }
        }
        handOver()
    }

    func makeBatch(_ shard: Int) -> RecordBatch {
        // As large as the last one: a batch lives as long as its slowest job, and at a low rate, or with
        // Redis away, thousands of batches of one record each wait.
        let batch = RecordBatch(lane: lane, epoch: epoch, capacity: batchBytes[shard])
        batches[shard] = batch
        return batch
    }

    func handOver() {
        for shard in batches.indices { handOver(shard) }
    }

    func handOver(_ shard: Int) {
        guard let batch = batches[shard] else { return }
        batches[shard] = nil
        batch.seal()
        batchBytes[shard] = RecordBatch.capacity(for: batch.byteCount)
        shards[shard].records.push(batch)
    }

    func collect() {
        control.completions.drain(into: &finished)
        guard !finished.isEmpty else { return }
        lastFinishedMs = Clock.monotonicMs
        for completion in finished {
            guard let place = partitions[completion.partition],
                place.tracker.finish(completion.offset, epoch: completion.epoch)
            else { continue }
            place.finished.finish(offset: completion.offset, timestampMs: completion.timestampMs)
            inFlight -= 1
        }
    }

    /// Pauses a partition whose window is nearly full because one job at its lower end is still open.
    func holdWideSpans(_ consumer: KafkaConsumer) {
        guard !flow.isPaused else { return }
        for (number, partition) in partitions where partition.tracker.span > OffsetTracker.capacity / 4 {
            let place = TopicPartition(topic: 0, partition: number)
            if partition.tracker.span > OffsetTracker.capacity * 3 / 4 {
                consumer.pause([place])
            } else if partition.tracker.span < OffsetTracker.capacity / 2, consumer.paused.contains(place) {
                consumer.resume([place])
            }
        }
        if !consumer.paused.isEmpty {
            let free = consumer.paused.filter {
                (partitions[$0.partition]?.tracker.span ?? 0) <= OffsetTracker.capacity / 4
            }
            consumer.resume(free)
        }
    }

    // MARK: Status

    func publishStatus() {
        lastStatusMs = Clock.monotonicMs
        var status = LaneStatus()
        status.inFlight = inFlight
        status.hasJoined = hasJoined
        status.isPaused = flow.isPaused
        status.polledMs = lastStatusMs
        status.movedMs = max(lastFinishedMs, lastReadMs)
        status.oldestMs = partitions.values.compactMap { $0.oldestMs() }.min() ?? 0
        status.restarts = restarts
        status.skipped = skipped
        status.stalls = stalls
        status.unreadPartitions = partitions.values.reduce(0) { $0 + ($1.memory == .known ? 0 : 1) }
        status.flushFailures = store.failures
        status.lastError = lastError
        status.unreachableMs = unreachableMs
        if let consumer {
            status.assignedPartitions = consumer.assignment.count
            status.records = consumer.counters.records
            status.commits = consumer.counters.commits
            status.commitsFailed = consumer.counters.commitsFailed
            status.rebalances = consumer.counters.rebalances
            status.lag = lag(consumer)
            backlog.note(lag: status.lag, nowMs: lastStatusMs)
            status.backlog = backlog
        }
        control.status.withLock { $0 = status }
    }

    func lag(_ consumer: KafkaConsumer) -> Int64 {
        var sum: Int64 = -1
        for place in consumer.assignment {
            guard let marks = consumer.watermarks(place) else { continue }
            let done = partitions[place.partition]?.tracker.committable
            sum = max(0, sum) + max(0, marks.high - (done ?? marks.high))
        }
        return sum
    }
}
