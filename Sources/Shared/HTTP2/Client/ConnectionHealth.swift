/// Whether a connection still serves well enough to be kept: a pure value without a clock.
///
/// A provider makes a connection slow after errors on it: APNs lowers its stream limit, down to one. Such a
/// connection looks alive for ever, so it is replaced, as is one on which most requests fail.
struct ConnectionHealth {
    /// Of the last 64 requests so many without a good answer are too many.
    static let faultsMax = 32
    /// A limit that fell to this fraction of its best is a punishment, not a fluctuation.
    static let shrunkShare = 4

    /// The largest stream limit that the server gave.
    private(set) var bestLimit = 0
    private var shrunkSinceMs: UInt64?
    // One bit a request, the newest lowest: 1 for a reset, a passed deadline or a server error.
    private var faults: UInt64 = 0

    /// Notes an answer. Only server errors speak against the connection; refused tokens don't.
    mutating func answered(status: UInt16) { faults = faults << 1 | (status >= 500 ? 1 : 0) }

    /// Notes a request that was reset or ran into its deadline.
    mutating func failed() { faults = faults << 1 | 1 }

    /// Notes the stream limit that is in force from now on.
    mutating func limited(to limit: Int, nowMs: UInt64) {
        bestLimit = max(bestLimit, limit)
        guard limit * Self.shrunkShare <= bestLimit else {
            shrunkSinceMs = nil
            return
        }
        if shrunkSinceMs == nil { shrunkSinceMs = nowMs }
    }

    /// Whether the limit has been low for `forMs` at least.
    func isShrunk(nowMs: UInt64, forMs: UInt64) -> Bool {
        shrunkSinceMs.map { nowMs >= $0 &+ forMs } ?? false
    }

    /// What speaks for a replacement; nil when nothing does. A small limit does only while requests wait.
    func complaint(nowMs: UInt64, shrunkMs: UInt64, requestsWait: Bool) -> ConnectionMachine.Reason? {
        if faults.nonzeroBitCount >= Self.faultsMax { return .faulty }
        if requestsWait, let since = shrunkSinceMs, nowMs >= since &+ shrunkMs { return .shrunk }
        return nil
    }
}

/// Whether a pool opens another connection now: a pure value.
struct PoolPlan {
    enum Decision: Equatable {
        case none
        /// One more, for want of connections or of streams.
        case grow
        /// One in the place of another that is retired once the new one works.
        case replace
    }

    /// Connections that take requests.
    var usable = 0
    /// Those of them that wait for the first good answer, without which the server allows little.
    var unproven = 0
    var isConnecting = false
    var connectionsMin = 1
    var connectionsMax = 8
    /// Whether requests have waited long enough for a stream.
    var isStarved = false
    /// Whether there is work, or connections are wanted without it.
    var isWanted = true
    /// Whether some connection should be replaced.
    var hasComplaint = false

    var decision: Decision {
        guard !isConnecting, isWanted else { return .none }
        if usable < connectionsMax {
            if usable < connectionsMin || (usable == 0 && isStarved) { return .grow }
            // While the server waits for a valid token on every connection, more of them would not help.
            if isStarved, usable == 0 || unproven < usable { return .grow }
        }
        return hasComplaint ? .replace : .none
    }
}
