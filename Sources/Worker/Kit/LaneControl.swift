internal import Core
internal import EventLoop
internal import Registry
internal import Synchronization

/// A job's offset that is done with, on its way back from a shard to its lane.
struct Completion: Sendable {
    var partition: Int32
    /// The lane's assignment that the record belonged to.
    var epoch: UInt32
    var offset: Int64
    /// The record's timestamp: with the offset it tells one life of the topic from another.
    var timestampMs: Int64
}

/// What a lane shows of itself to metrics, health and the summary.
struct LaneStatus: Sendable {
    var assignedPartitions = 0
    /// Whether the group has answered with an assignment, were it an empty one.
    var hasJoined = false
    var inFlight = 0
    var records: UInt64 = 0
    var isPaused = false
    /// Sum over the partitions of what is in the topic and not finished; -1 until the first fetch.
    var lag: Int64 = -1
    var commits: UInt64 = 0
    var commitsFailed: UInt64 = 0
    var rebalances: UInt64 = 0
    var restarts: UInt64 = 0
    /// Records that a predecessor had finished.
    var skipped: UInt64 = 0
    /// Times that the process stood still for too long.
    var stalls: UInt64 = 0
    /// Partitions whose finished offsets Redis has not told yet; their records wait.
    var unreadPartitions = 0
    /// Writes of finished offsets that Redis did not take.
    var flushFailures: UInt64 = 0
    /// Steady milliseconds of the last poll.
    var polledMs: UInt64 = 0
    /// Steady milliseconds of the last record read or finished.
    var movedMs: UInt64 = 0
    /// When the oldest record was written that was read and is not finished, milliseconds since 1970; 0 when
    /// there is none.
    var oldestMs: Int64 = 0
    var backlog = LaneBacklog()
    var lastError = ""
    /// Steady milliseconds of the last sign that no broker can be reached; 0 when the brokers answered since.
    var unreachableMs: UInt64 = 0
}

/// What a lane's thread and the shards share.
final class LaneControl: Sendable {
    /// The lane's name, such as `urgent`.
    let name: String
    /// The job topic.
    let topic: String
    /// The topic's mark in positions.
    let topicHash: UInt16
    /// What the path of a job needs of the lane, prepared once.
    let topicBytes: [UInt8]
    let nameJSON: [UInt8]
    let letter: UInt8
    let isUrgent: Bool
    /// Finished jobs on their way back.
    let completions: Inbox<Completion>
    let status = Locked(LaneStatus())
    private let epochCounter = Atomic<UInt32>(0)

    init(name: String, topic: String, waker: Waker?) {
        self.name = name
        self.topic = topic
        topicBytes = Array(topic.utf8)
        var quoted = ByteBuffer(capacity: 32)
        quoted.append(jsonString: name)
        nameJSON = quoted.array
        letter = name.utf8.first ?? UInt8(ascii: "n")
        isUrgent = name == "urgent"
        topicHash = JobPosition.hash(topic: topic)
        completions = Inbox(waker: waker)
    }

    /// The current assignment. A job of another one belongs to somebody else by now: it is dropped unsent.
    /// Relaxed: a shard that sees it a moment late sends what it would have sent a moment earlier.
    var epoch: UInt32 { epochCounter.load(ordering: .relaxed) }

    func startEpoch() -> UInt32 { epochCounter.add(1, ordering: .relaxed).newValue }

    /// Makes every job of the current assignment somebody else's. The lane sees that the epoch isn't its own
    /// any more, and joins the group anew. Any thread.
    func invalidate() { epochCounter.add(1, ordering: .relaxed) }
}

/// When a lane stops taking records and when it goes on: a value without clock or I/O.
///
/// A short wait just leaves records unread, since pausing makes librdkafka throw its prefetched records away;
/// only when the wait gets long are the partitions paused, so that the consumer can go on polling for its
/// membership.
struct LaneFlow: Equatable {
    /// What the lane's thread does next.
    enum Step: Equatable {
        /// Poll for records.
        case take
        /// Wait for completions, at most this long, without polling.
        case wait(ms: Int)
        /// Pause all partitions and go on polling.
        case pause
        /// Resume what was paused, and poll.
        case resume
        /// Keep polling the paused partitions.
        case stayPaused
    }

    /// How long records may be left unread before the partitions are paused.
    static let patienceMs: UInt64 = 2000

    let limit: Int
    private(set) var isPaused = false
    private var fullSinceMs: UInt64?

    init(limit: Int) { self.limit = max(1, limit) }

    /// Decides by the number of open jobs.
    mutating func next(inFlight: Int, nowMs: UInt64) -> Step {
        if isPaused {
            guard inFlight <= limit / 2 else { return .stayPaused }
            isPaused = false
            fullSinceMs = nil
            return .resume
        }
        guard inFlight >= limit else {
            fullSinceMs = nil
            return .take
        }
        let since = fullSinceMs ?? nowMs
        fullSinceMs = since
        guard nowMs >= since + Self.patienceMs else { return .wait(ms: 100) }
        isPaused = true
        return .pause
    }

    /// Forgets a pause that a rebalance has undone.
    mutating func reset() {
        isPaused = false
        fullSinceMs = nil
    }
}
