package import Core

/// Cuts the last seconds out of a histogram that counts since the start.
package struct RecentHistogram: Sendable {
    /// How far back it looks, in ms.
    private static let windowMs: UInt64 = 10_000

    private var states: [(atMs: UInt64, histogram: Histogram)] = []

    package init() {}

    /// Takes the histogram as it is now and gives what was recorded within the last ten seconds or so; since
    /// the start before that long. To be called about once a second: at most a dozen states are kept.
    package mutating func take(_ histogram: Histogram, nowMs: UInt64) -> Histogram {
        if let last = states.last, nowMs < last.atMs &+ Self.windowMs / 10 {
            return states.first.map { histogram.since($0.histogram) } ?? histogram
        }
        while states.count > 1, states[1].atMs &+ Self.windowMs <= nowMs { states.removeFirst() }
        states.append((nowMs, histogram))
        return states.count > 1 ? histogram.since(states[0].histogram) : histogram
    }
}
