package import Decisions

/// What happens to a record of one retry topic at a moment. Pure.
///
/// A record is held in memory until it is due. One that waits longer than its topic is meant for moves on to
/// the topic that fits the rest, so that a topic's retention need only outlast a few of its own delays. When
/// memory or the span of open offsets is full, records move on after their topic's own delay already: every
/// record behind them is due later than that, so a long wait never blocks a shorter one.
package struct RetryPolicy: Sendable {
    /// What to do.
    package enum Step: Equatable, Sendable {
        /// It is due: back to its job topic.
        case handOver
        /// To the retry topic of this tier, to wait on.
        case hop(tier: Int)
        /// Look again at this time.
        case wait(untilMs: Int64)
    }

    /// The tiers, by growing delay.
    package let schedule: RetrySchedule
    /// The tier whose topic this is.
    package let tier: Int
    /// After how long in the topic a record moves on, in ms.
    package let hopAgeMs: Int64
    /// After how long it may move on when there is no room, in ms.
    package let pressureAgeMs: Int64

    /// A wait shorter than this is sat out: moving on would cost more than it frees.
    package static let shortWaitMs: Int64 = 500

    /// The policy of the tier at an index of `schedule.tiers`.
    package init(schedule: RetrySchedule, tier: Int) {
        self.schedule = schedule
        self.tier = tier
        let delay = schedule.tiers.indices.contains(tier) ? schedule.tiers[tier].delayMs : 1000
        hopAgeMs = schedule.tiers.indices.contains(tier + 1) ? schedule.tiers[tier + 1].delayMs : delay
        // Only the shortest tier takes waits below its own delay.
        pressureAgeMs = tier == 0 ? min(delay, 250) : delay
    }

    /// The step for a record that is due at `dueMs` and came into the topic at `enteredMs`.
    package func step(dueMs: Int64, enteredMs: Int64, nowMs: Int64) -> Step {
        if dueMs <= nowMs { return .handOver }
        let hopAt = enteredMs + hopAgeMs
        if hopAt > nowMs { return .wait(untilMs: min(dueMs, hopAt)) }
        if dueMs - nowMs <= Self.shortWaitMs { return .wait(untilMs: dueMs) }
        return .hop(tier: schedule.tier(forWaitMs: dueMs - nowMs))
    }

    /// Whether the record may move on to make room.
    package func mayYield(dueMs: Int64, enteredMs: Int64, nowMs: Int64) -> Bool {
        dueMs - nowMs > Self.shortWaitMs && nowMs - enteredMs >= pressureAgeMs
    }
}
