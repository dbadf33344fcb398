internal import HTTPServer

/// Since when a lane has something to do, and when its broker last told of more: a value without a clock.
struct LaneBacklog: Equatable, Sendable {
    /// Steady milliseconds since when there has been a lag; 0 while there is none.
    private(set) var sinceMs: UInt64 = 0
    /// Steady milliseconds of the last time that the lag rose: then the broker answers.
    private(set) var roseMs: UInt64 = 0
    private var lag: Int64 = -1

    init() {}

    /// Notes the lag, -1 when it isn't known.
    mutating func note(lag: Int64, nowMs: UInt64) {
        if lag > 0, self.lag >= 0, lag > self.lag { roseMs = nowMs }
        if lag <= 0 {
            sinceMs = 0
        } else if sinceMs == 0 {
            sinceMs = nowMs
        }
        self.lag = lag
    }
}

/// Whether a worker makes progress: a decision about copies of its threads' state, without clock or I/O.
///
/// It fails for what a restart mends and nothing else: a thread that stands still, and work that nobody does
/// although nothing outside is in its way.
struct WorkerLiveness {
    /// What is to be known of a lane. Times are steady milliseconds; 0 for never.
    struct Lane: Equatable {
        var name: String
        /// When its thread last went round.
        var polledMs: UInt64 = 0
        var partitions = 0
        /// What is in its topic and not finished; -1 when unknown.
        var lag: Int64 = 0
        /// Jobs read and not finished.
        var inFlight = 0
        /// When a record was last read or finished.
        var movedMs: UInt64 = 0
        var backlog = LaneBacklog()
        /// Partitions whose finished offsets Redis or the broker has not told yet.
        var unreadPartitions = 0
        /// When there was last a sign that no broker can be reached.
        var unreachableMs: UInt64 = 0
    }

    /// What is to be known of a shard.
    struct Shard: Equatable {
        /// When it last went round.
        var tickMs: UInt64 = 0
        /// When Redis, Kafka, a provider or an operator last held up jobs.
        var heldUpMs: UInt64 = 0
    }

    /// How long a thread may stand still.
    static let standstillMs: UInt64 = 30_000
    /// How long work may lie without anything being read or finished: twice the longest time that a provider
    /// may be given for an answer.
    static let patienceMs: UInt64 = 600_000
    /// How fresh the sign that the broker answers must be.
    private static let freshMs: UInt64 = 60_000

    var lanes: [Lane]
    var shards: [Shard]
    var isStopping = false

    /// The verdict at a steady time.
    func verdict(nowMs: UInt64) -> Health {
        // A drain has its own deadline.
        if isStopping { return .ok }
        for lane in lanes where lane.polledMs > 0 && nowMs > lane.polledMs + Self.standstillMs {
            return .failing("lane \(lane.name) has not polled for \((nowMs - lane.polledMs) / 1000) s")
        }
        for (index, shard) in shards.enumerated()
        where shard.tickMs > 0 && nowMs > shard.tickMs + Self.standstillMs {
            return .failing("shard \(index) has not moved for \((nowMs - shard.tickMs) / 1000) s")
        }
        for lane in lanes {
            guard let since = stuckSinceMs(lane, nowMs: nowMs), nowMs > since + Self.patienceMs else {
                continue
            }
            return .failing(
                "lane \(lane.name) has \(lane.lag) unfinished jobs, nothing outside holds them up, and for "
                    + "\((nowMs - since) / 1000) s none was read or finished")
        }
        return .ok
    }

    /// Since when the lane has had work that nobody does without an excuse; nil when it has none.
    private func stuckSinceMs(_ lane: Lane, nowMs: UInt64) -> UInt64? {
        guard lane.partitions > 0, lane.lag > 0, lane.unreadPartitions == 0 else { return nil }
        // What was not read may be the broker's fault, unless it evidently answers.
        guard lane.inFlight > 0 || nowMs < lane.backlog.roseMs + Self.freshMs else { return nil }
        let excuse = max(lane.unreachableMs, shards.map(\.heldUpMs).max() ?? 0)
        let since = max(lane.movedMs, lane.backlog.sinceMs, excuse)
        return since > 0 ? since : nil
    }
}
