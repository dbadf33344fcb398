/// One retry topic: how long a record waits in it.
package struct RetryTier: Equatable, Sendable {
    /// The topic's suffix, such as `1m`.
    package let name: String
    /// The wait in ms; above 0.
    package let delayMs: Int64

    package init(name: String, delayMs: Int64) {
        self.name = name
        self.delayMs = max(1, delayMs)
    }

    /// 1 s, 10 s, 1 min, 5 min, 15 min, 1 h.
    package static let standard = [
        RetryTier(name: "1s", delayMs: 1000), RetryTier(name: "10s", delayMs: 10_000),
        RetryTier(name: "1m", delayMs: 60_000), RetryTier(name: "5m", delayMs: 300_000),
        RetryTier(name: "15m", delayMs: 900_000), RetryTier(name: "1h", delayMs: 3_600_000),
    ]
}

/// When a failed delivery is tried again, and in which retry topic it waits until then.
///
/// Due times travel with the record, so a wait that fits no topic hops through several.
package struct RetrySchedule: Sendable {
    /// The bounds of retrying.
    package struct Limits: Equatable, Sendable {
        /// Attempts in all, the first included; above it the delivery is dead.
        package var attemptsMax: Int
        /// Immediate resends after connection faults before they wait like a server fault.
        package var connectionAttemptsMax: Int
        /// How long quota and server faults are retried, in ms since the first failure.
        package var totalMaxMs: Int64

        package init(attemptsMax: Int = 30, connectionAttemptsMax: Int = 3, totalMaxMs: Int64 = 3_600_000) {
            self.attemptsMax = attemptsMax
            self.connectionAttemptsMax = connectionAttemptsMax
            self.totalMaxMs = totalMaxMs
        }
    }

    /// A delivery that failed. Times are ms since 1970.
    package struct Failure: Equatable, Sendable {
        package var backoff: BackoffClass
        /// The number of the attempt that failed; the first is 1.
        package var attempt: Int
        /// When the first attempt failed.
        package var firstFailureMs: Int64
        package var nowMs: Int64
        /// The wait that the provider asked for, in ms; 0 for none.
        package var afterMs: Int64
        /// The notification's own deadline; `Int64.max` for none.
        package var deadlineMs: Int64
        /// Whether APNs' 15 minutes may be preceded by one early attempt, for pushes that are worthless
        /// later.
        package var isUrgent: Bool

        package init(
            backoff: BackoffClass, attempt: Int, firstFailureMs: Int64, nowMs: Int64, afterMs: Int64 = 0,
            deadlineMs: Int64 = .max, isUrgent: Bool = false
        ) {
            self.backoff = backoff
            self.attempt = attempt
            self.firstFailureMs = firstFailureMs
            self.nowMs = nowMs
            self.afterMs = afterMs
            self.deadlineMs = deadlineMs
            self.isUrgent = isUrgent
        }
    }

    /// What happens next.
    package enum Decision: Equatable, Sendable {
        /// Send again at once, on another connection where there is one.
        case now
        /// Wait in this tier (an index into `tiers`) until the due time.
        case wait(tier: Int, dueMs: Int64)
        /// The deadline comes before the next attempt.
        case expired
        /// Every allowed attempt was made.
        case exhausted
    }

    /// The tiers by growing delay; never empty.
    package let tiers: [RetryTier]
    package let limits: Limits

    /// Takes the tiers in any order; the standard ones when the list is empty.
    package init(tiers: [RetryTier] = RetryTier.standard, limits: Limits = Limits()) {
        self.tiers = (tiers.isEmpty ? RetryTier.standard : tiers).sorted { $0.delayMs < $1.delayMs }
        self.limits = limits
    }

    /// Decides about one failure; `random` is any 64 random bits and spreads the due time.
    package func next(after failure: Failure, random: UInt64) -> Decision {
        let attempt = max(1, failure.attempt)
        if failure.nowMs >= failure.deadlineMs { return .expired }
        if attempt >= limits.attemptsMax { return .exhausted }
        let isLimited = failure.backoff == .quota || failure.backoff == .server
        if isLimited, failure.nowMs - failure.firstFailureMs >= limits.totalMaxMs { return .exhausted }
        let asked = min(max(failure.afterMs, 0), RetryAfter.longestMs)
        let delay = max(asked, delayMs(failure.backoff, attempt, isUrgent: failure.isUrgent, asked, random))
        guard delay > 0 else { return .now }
        let (due, overflow) = failure.nowMs.addingReportingOverflow(delay)
        if overflow || due >= failure.deadlineMs { return .expired }
        return .wait(tier: tier(forWaitMs: delay), dueMs: due)
    }

    /// The tier for a wait: the longest that is not longer than it, or the shortest of all.
    package func tier(forWaitMs wait: Int64) -> Int {
        tiers.lastIndex { $0.delayMs <= wait } ?? 0
    }

    private func delayMs(
        _ backoff: BackoffClass, _ attempt: Int, isUrgent: Bool, _ asked: Int64, _ random: UInt64
    ) -> Int64 {
        switch backoff {
        case .refresh: return 0
        case .connection:
            if attempt == 1 { return 0 }
            if attempt <= limits.connectionAttemptsMax {
                return spread(upward: doubled(1000, attempt - 2, capMs: 60_000), 0.5, random)
            }
            // Still no connection: wait like a server fault, but without its end, for the message was never
            // refused.
            let step = attempt - limits.connectionAttemptsMax - 1
            return spread(upward: doubled(10_000, step, capMs: 900_000), 0.2, random)
        case .device:
            // Full jitter, because one recipient's notifications tend to fail together.
            return 1000 + scaled(doubled(60_000, attempt - 1, capMs: 900_000) - 1000, random)
        case .quota:
            return spread(upward: max(asked, doubled(60_000, attempt - 1, capMs: 900_000)), 0.2, random)
        case .server:
            return spread(upward: max(asked, doubled(10_000, attempt - 1, capMs: 900_000)), 0.2, random)
        case .serverSlow:
            if isUrgent, attempt == 1 { return 1000 + scaled(4000, random) }
            let step = attempt - (isUrgent ? 2 : 1)
            return spread(upward: doubled(900_000, step, capMs: 14_400_000), 0.1, random)
        case .tokenUpdate:
            // Another connection of the same key may be healthy; after that only time helps.
            return attempt == 1 ? 0 : spread(upward: 1_200_000, 0.1, random)
        }
    }

    private func doubled(_ baseMs: Int64, _ steps: Int, capMs: Int64) -> Int64 {
        min(capMs, baseMs << Int64(min(max(steps, 0), 20)))
    }

    private func spread(upward delay: Int64, _ share: Double, _ random: UInt64) -> Int64 {
        delay + scaled(Int64(Double(delay) * share), random)
    }

    private func scaled(_ width: Int64, _ random: UInt64) -> Int64 {
        width <= 0 ? 0 : Int64(UInt64(width).multipliedFullWidth(by: random).high)
    }
}
