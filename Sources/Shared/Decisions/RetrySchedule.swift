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

    /// The first wait of each back-off class, in ms. The defaults are what the providers ask for; shorter
    /// ones are for tests and the embedded mode, whose provider is a simulator.
    package struct Delays: Equatable, Sendable {
        /// No connection, from the second failure on.
        package var connectionMs: Int64
        /// One device is told too much.
        package var deviceMs: Int64
        /// The project's or the topic's quota.
        package var quotaMs: Int64
        /// A server fault of FCM or a push service.
        package var serverMs: Int64
        /// A server fault of APNs, which asks for 15 minutes.
        package var serverSlowMs: Int64
        /// Too many new provider tokens, from the second failure on.
        package var tokenUpdateMs: Int64

        package init(
            connectionMs: Int64 = 1000, deviceMs: Int64 = 60_000, quotaMs: Int64 = 60_000,
            serverMs: Int64 = 10_000, serverSlowMs: Int64 = 900_000, tokenUpdateMs: Int64 = 1_200_000
        ) {
            self.connectionMs = max(1, connectionMs)
            self.deviceMs = max(1, deviceMs)
            self.quotaMs = max(1, quotaMs)
            self.serverMs = max(1, serverMs)
            self.serverSlowMs = max(1, serverSlowMs)
            self.tokenUpdateMs = max(1, tokenUpdateMs)
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
    package let delays: Delays

    /// Takes the tiers in any order; the standard ones when the list is empty.
    package init(
        tiers: [RetryTier] = RetryTier.standard, limits: Limits = Limits(), delays: Delays = Delays()
    ) {
        self.tiers = (tiers.isEmpty ? RetryTier.standard : tiers).sorted { $0.delayMs < $1.delayMs }
        self.limits = limits
        self.delays = delays
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
                return spread(upward: doubled(delays.connectionMs, attempt - 2, cap: 60), 0.5, random)
            }
            // Still no connection: wait like a server fault, but without its end, for the message was never
            // refused.
            let step = attempt - limits.connectionAttemptsMax - 1
            return spread(upward: doubled(delays.serverMs, step, cap: 90), 0.2, random)
        case .device:
            // Full jitter, because one recipient's notifications tend to fail together.
            let longest = doubled(delays.deviceMs, attempt - 1, cap: 15)
            let shortest = min(1000, delays.deviceMs)
            return shortest + scaled(longest - shortest, random)
        case .quota:
            return spread(upward: max(asked, doubled(delays.quotaMs, attempt - 1, cap: 15)), 0.2, random)
        case .server:
            return spread(upward: max(asked, doubled(delays.serverMs, attempt - 1, cap: 90)), 0.2, random)
        case .serverSlow:
            if isUrgent, attempt == 1 { return min(1000 + scaled(4000, random), delays.serverSlowMs) }
            let step = attempt - (isUrgent ? 2 : 1)
            return spread(upward: doubled(delays.serverSlowMs, step, cap: 16), 0.1, random)
        case .tokenUpdate:
            // Another connection of the same key may be healthy; after that only time helps.
            return attempt == 1 ? 0 : spread(upward: delays.tokenUpdateMs, 0.1, random)
        }
    }

    /// Doubles at most up to `cap` times the first wait.
    private func doubled(_ firstMs: Int64, _ steps: Int, cap: Int64) -> Int64 {
        let bounded = min(firstMs, 86_400_000)
        return bounded * min(cap, 1 << Int64(min(max(steps, 0), 20)))
    }

    private func spread(upward delay: Int64, _ share: Double, _ random: UInt64) -> Int64 {
        delay + scaled(Int64(Double(delay) * share), random)
    }

    private func scaled(_ width: Int64, _ random: UInt64) -> Int64 {
        width <= 0 ? 0 : Int64(UInt64(width).multipliedFullWidth(by: random).high)
    }
}
