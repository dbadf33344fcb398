internal import EventLoop
internal import Logging
internal import Redis
internal import Registry

/// Reads and writes a lane's finished offsets in Redis: what a successor skips after a crash.
///
/// Reading comes first: no record of a partition goes to a shard before it is known what a predecessor has
/// finished. Writing is a help and holds nothing up: a write that fails is made again as a whole a little
/// later.
///
/// - Threading: the lane's thread, which also runs the loop.
/// - Bounds: ``writesMax`` commands in flight; a partition has a few segments of 8 KiB.
final class FinishedStore: RedisReplyHandler {
    private enum Question: UInt8 {
        case readFirst
        case readSecond
        case write
    }

    /// Commands in flight above which the rest waits for the next flush.
    private static let writesMax = 2048
    /// The pause after a failure, in milliseconds.
    private static let restMs: UInt64 = 250
    /// How often everything is written again, which keeps the keys from expiring.
    private static let rewriteMs: UInt64 = 3_600_000

    private let loop: EventLoop
    private let logger: Logger
    private let flushIntervalMs: UInt64
    private var client: RedisClient?
    private var partitions: [UInt64: LanePartition] = [:]
    private var writesOpen = 0
    private var nextFlushMs: UInt64 = 0
    private var nextReadMs: UInt64 = 0
    private var nextRewriteMs: UInt64
    /// A server on the edge takes one write and refuses the next: one line is enough for all of that.
    private var nextComplaintMs: UInt64 = 0
    /// Partitions whose memory became known since the last ``takeKnown()``.
    private var newlyKnown: [LanePartition] = []
    /// Writes that Redis did not take, since the start.
    private(set) var failures: UInt64 = 0

    init(loop: EventLoop, flushIntervalMs: UInt64, logger: Logger) {
        self.loop = loop
        self.flushIntervalMs = flushIntervalMs
        self.logger = logger
        nextRewriteMs = loop.nowMs &+ Self.rewriteMs
    }

    /// Connects; what can't be reached yet is tried again.
    func start(_ options: RedisClientOptions) {
        var own = options
        own.scripts = []
        let client = RedisClient(loop: loop, options: own, handler: self)
        self.client = client
        client.start()
    }

    func close() {
        client?.close()
        client = nil
        partitions.removeAll()
    }

    // MARK: Partitions

    /// Begins to read what a predecessor left of the partition.
    func add(_ partition: LanePartition) { partitions[partition.serial] = partition }

    /// Lets go of all partitions; answers about them are ignored from now on.
    func removeAll() {
        partitions.removeAll(keepingCapacity: true)
        newlyKnown.removeAll(keepingCapacity: true)
    }

    /// The partitions whose memory became known since the last call.
    func takeKnown() -> [LanePartition] {
        guard !newlyKnown.isEmpty else { return [] }
        defer { newlyKnown.removeAll(keepingCapacity: true) }
        return newlyKnown
    }

    /// How many partitions wait for Redis before their records can go on.
    var unread: Int { partitions.values.reduce(0) { $0 + ($1.memory == .known ? 0 : 1) } }

    // MARK: Steps

    /// Asks for what is unread and writes what is due. Cheap when nothing is.
    func step() {
        guard let client, client.isReady else { return }
        let now = loop.nowMs
        if now >= nextReadMs { for partition in partitions.values { read(partition) } }
        guard now >= nextFlushMs else { return }
        nextFlushMs = now &+ flushIntervalMs
        if now >= nextRewriteMs {
            nextRewriteMs = now &+ Self.rewriteMs
            rewriteAll()
        }
        for partition in partitions.values where partition.memory == .known { write(partition) }
    }

    /// Writes everything that is known and waits for the answers, at most until `deadlineMs` of the steady
    /// clock.
    /// - Returns: whether Redis has it all.
    @discardableResult
    func settle(untilMs deadlineMs: UInt64) -> Bool {
        var isDone = false
        repeat {
            nextFlushMs = 0
            step()
            isDone =
                writesOpen == 0
                && !partitions.values.contains { $0.memory == .known && $0.finished.hasWrites }
            if isDone || client?.isReady != true { break }
            loop.runOnce(maxWaitMs: 5)
        } while Clock.monotonicMs < deadlineMs
        return isDone
    }

    private func read(_ partition: LanePartition) {
        guard partition.memory == .unread, let client else { return }
        var asked = 0
        for (position, segment) in partition.finished.segmentsToLoad.enumerated() {
            let question: Question = position == 0 ? .readFirst : .readSecond
            let refusal = client.issue(RedisTag(kind: question.rawValue, value: partition.serial)) {
                FinishedOffsets.encodeRead(segment: segment, of: partition.key, into: &$0)
            }
            if refusal != nil { break }
            asked += 1
        }
        guard asked == partition.finished.segmentsToLoad.count else {
            // An answer to the one that was taken finds the partition unread and is ignored.
            nextReadMs = loop.nowMs &+ Self.restMs
            return
        }
        partition.memory = .reading(asked)
    }

    private func write(_ partition: LanePartition) {
        guard let client else { return }
        while partition.finished.hasWrites, writesOpen < Self.writesMax {
            let refusal = client.issue(RedisTag(kind: Question.write.rawValue, value: partition.serial)) {
                partition.finished.encodeNextWrite(of: partition.key, into: &$0)
            }
            guard refusal == nil else { return failedToWrite(partition) }
            writesOpen += 1
        }
    }

    private func failedToWrite(_ partition: LanePartition?) {
        failures &+= 1
        partition?.finished.rewrite()
        nextFlushMs = loop.nowMs &+ Self.restMs
    }

    private func rewriteAll() { for partition in partitions.values { partition.finished.rewrite() } }

    // MARK: Replies

    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {
        guard let question = Question(rawValue: tag.kind) else { return }
        if question == .write {
            writesOpen -= 1
            return
        }
        guard let partition = partitions[tag.value], case .reading(let open) = partition.memory else {
            return
        }
        let position = question == .readFirst ? 0 : 1
        unsafe partition.finished.load(segment: partition.finished.segmentsToLoad[position], reply.bytes)
        noteRead(partition, open: open)
    }

    private func noteRead(_ partition: LanePartition, open: Int) {
        guard open <= 1 else {
            partition.memory = .reading(open - 1)
            return
        }
        partition.memory = .known
        newlyKnown.append(partition)
    }

    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) {
        guard let question = Question(rawValue: tag.kind) else { return }
        complain(failure)
        if question == .write {
            writesOpen -= 1
            failedToWrite(partitions[tag.value])
            return
        }
        guard let partition = partitions[tag.value], case .reading(let open) = partition.memory else {
            return
        }
        if failure.code.isOutage || failure.code == .closed {
            partition.memory = .unread
            nextReadMs = loop.nowMs &+ Self.restMs
        } else {
            // The key can't be read at all (its type, or a missing right): that must not hold jobs for ever.
            noteRead(partition, open: open)
        }
    }

    func redisConnected() {
        // The server may have lost its data, also what it had acknowledged.
        rewriteAll()
    }

    private func complain(_ failure: RedisFailure) {
        guard !failure.code.isOutcomeUnknown, failure.code != .unavailable, failure.code != .closed,
            loop.nowMs >= nextComplaintMs
        else { return }
        nextComplaintMs = loop.nowMs &+ 10_000
        logger.warning(
            "redis.finished_offsets",
            "Finished offsets can't be kept in Redis; a crash would repeat jobs. \(failure.message)")
    }
}
