/// Makes a rate over the last seconds out of a count since the start.
package struct RecentRate: Sendable {
    /// How far back it looks, in ms.
    private static let windowMs: UInt64 = 3_000

    private var states: [(atMs: UInt64, count: UInt64)] = []

    package init() {}

    /// Takes the count as it is now; gives how much a second it rose by within the last few seconds. To be
    /// called about once a second; calls in quick succession count as one.
    package mutating func take(_ count: UInt64, nowMs: UInt64) -> Double {
        if let last = states.last, nowMs < last.atMs &+ 200 {
            states[states.count - 1].count = count
        } else {
            states.append((nowMs, count))
        }
        while states.count > 2, states[1].atMs &+ Self.windowMs <= nowMs { states.removeFirst() }
        guard let first = states.first, nowMs > first.atMs, count >= first.count else { return 0 }
        return Double(count - first.count) * 1000 / Double(nowMs - first.atMs)
    }
}
