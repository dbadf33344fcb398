/// A token bucket whose time comes from outside; it also holds leases of a shared quota.
package struct TokenBucket: Equatable, Sendable {
    /// Tokens a second; 0 for a bucket that is only filled by `add`.
    package var rate: Double
    /// The most it holds.
    package var capacity: Double
    package private(set) var tokens: Double
    private var updatedMs: Int64

    /// Starts full.
    package init(rate: Double, capacity: Double, nowMs: Int64) {
        self.rate = rate.isFinite ? max(0, rate) : 0
        self.capacity = capacity.isFinite ? max(0, capacity) : 0
        tokens = self.capacity
        updatedMs = nowMs
    }

    /// Takes as many as there are, at most `wanted`; returns how many.
    package mutating func take(_ wanted: Int, nowMs: Int64) -> Int {
        refill(nowMs: nowMs)
        let granted = min(max(0, wanted), Int(min(tokens, 1e15)))
        tokens -= Double(granted)
        return granted
    }

    /// Puts tokens in, up to the capacity.
    package mutating func add(_ count: Int) { tokens = min(capacity, tokens + Double(max(0, count))) }

    /// Throws everything away, for a lease that ran out.
    package mutating func drain(nowMs: Int64) {
        tokens = 0
        updatedMs = nowMs
    }

    /// How long until `wanted` tokens are there, in ms; nil when that never happens.
    package func waitMs(for wanted: Int, nowMs: Int64) -> Int64? {
        var copy = self
        copy.refill(nowMs: nowMs)
        let missing = Double(wanted) - copy.tokens
        if missing <= 0 { return 0 }
        guard rate > 0, Double(wanted) <= capacity else { return nil }
        return Int64(min((missing * 1000 / rate).rounded(.up), 1e15))
    }

    private mutating func refill(nowMs: Int64) {
        // A clock that steps back gives nothing and starts again from there.
        let elapsed = max(0, nowMs - updatedMs)
        updatedMs = nowMs
        tokens = min(capacity, tokens + Double(elapsed) * rate / 1000)
    }
}

/// How much more a worker may retry than it sends for the first time, so that an outage is not made worse by
/// retries.
package struct RetryBudget: Equatable, Sendable {
    private var bucket: TokenBucket
    private let share: Double

    /// Allows `share` retries per first attempt (such as 0.1) and `floorPerSecond` retries in any case.
    package init(share: Double = 0.1, floorPerSecond: Double = 10, nowMs: Int64) {
        self.share = min(max(0, share), 1)
        bucket = TokenBucket(rate: floorPerSecond, capacity: max(100, floorPerSecond * 60), nowMs: nowMs)
        fraction = 0
    }

    private var fraction: Double

    /// Notes first attempts, which earn retries.
    package mutating func firstAttempts(_ count: Int) {
        fraction += Double(max(0, count)) * share
        let whole = fraction.rounded(.down)
        fraction -= whole
        bucket.add(Int(min(whole, 1e9)))
    }

    /// Whether one retry may go at once; when not, it takes a longer tier.
    package mutating func takeRetry(nowMs: Int64) -> Bool { bucket.take(1, nowMs: nowMs) == 1 }
}
