/// What keeps one app, or one provider, from filling a shard: a bound on what it may have open, and the
/// judgement whether it is merely busy or stuck.
///
/// Above its bound a busy one waits for its own work to end, which costs nothing. A stuck one would hold
/// places that others need: what it has above its bound leaves for a retry topic until it moves again.
///
/// ```
///   moving --(at its bound for a second, and hardly anything ended)--> stuck
///   stuck  --(half of its bound is free, or enough ended in a second)--> moving
/// ```
package struct Bulkhead: Equatable, Sendable {
    /// What happens to the next one.
    package enum Step: Equatable, Sendable {
        case start
        /// Wait here until something has ended.
        case hold
        /// Wait elsewhere.
        case leave
    }

    /// What a look at the clock found.
    package enum Change: Equatable, Sendable {
        case none
        case stuck
        case moving
    }

    /// Over this time its pace is judged, in ms.
    package static let windowMs: Int64 = 1000
    /// One that would need longer than so many windows for what it has open is stuck.
    package static let windowsMax = 8

    /// How many may be open; `Int.max` for no bound.
    package private(set) var limit: Int
    /// Those that are here at all, waiting ones included.
    package private(set) var present = 0
    /// Those that were started: being prepared, or at the provider.
    package var busy: Int { preparing + sending }
    package private(set) var preparing = 0
    package private(set) var sending = 0
    package private(set) var isStuck = false
    /// Since when, in ms since 1970.
    package private(set) var stuckSinceMs: Int64 = 0
    private var ended = 0
    private var windowStartMs: Int64 = .min

    package init(limit: Int) { self.limit = max(1, limit) }

    /// Puts another bound in force; what is open above it ends by itself.
    package mutating func bound(to limit: Int) { self.limit = max(1, limit) }

    /// The bound for one of several: a share of all, at least 16; none when it is alone or may have all.
    package static func limit(of all: Int, share: Double, isAlone: Bool) -> Int {
        isAlone || share >= 1 ? .max : max(16, Int(Double(all) * share))
    }

    // MARK: Counting

    /// One has come.
    package mutating func enter() { present += 1 }

    /// One has gone; `hasEnded` unless it only left to wait elsewhere.
    package mutating func leave(hasEnded: Bool) {
        present -= 1
        if hasEnded { ended &+= 1 }
    }

    /// One begins to be prepared.
    package mutating func prepare() { preparing += 1 }

    /// One is no longer being prepared.
    package mutating func endPreparation() { preparing -= 1 }

    /// One goes to the provider.
    package mutating func send() { sending += 1 }

    /// One is back from the provider.
    package mutating func endSending() { sending -= 1 }

    // MARK: Deciding

    private var isFull: Bool { busy >= limit || present >= limit }

    /// Whether one more may come in, were it only to wait. `extra` is what an urgent one may go above the
    /// bound.
    package func mayEnter(extra: Int = 0) -> Bool { !isStuck || present - extra < limit }

    /// What happens to the next one that is ready to start. Only a quarter of the bound is prepared at a
    /// time, since one that is prepared may turn out to be several. `extra` is what an urgent one may go
    /// above the bound.
    package func step(extra: Int = 0) -> Step {
        if busy - extra >= limit { return isStuck ? .leave : .hold }
        if limit < .max, preparing - extra >= max(16, limit / 4) { return .hold }
        return .start
    }

    /// Begins a new window without judging the old one: something else held everybody up.
    package mutating func excuse(nowMs: Int64) {
        windowStartMs = nowMs
        ended = 0
    }

    /// Judges the pace. Call about every 100 ms.
    package mutating func tick(nowMs: Int64) -> Change {
        guard isFull else {
            windowStartMs = nowMs
            ended = 0
            guard isStuck, max(busy, present) <= limit / 2 else { return .none }
            isStuck = false
            return .moving
        }
        // A clock that was set back begins a new window.
        if windowStartMs == .min || windowStartMs > nowMs { windowStartMs = nowMs }
        guard nowMs - windowStartMs >= Self.windowMs else { return .none }
        let isSlow = ended < max(1, limit / Self.windowsMax)
        windowStartMs = nowMs
        ended = 0
        guard isSlow != isStuck else { return .none }
        isStuck = isSlow
        if isSlow { stuckSinceMs = nowMs }
        return isSlow ? .stuck : .moving
    }
}
