/// Counts of times in fixed buckets, for what is counted with every message: exact at its bounds, without
/// memory of its own. Where quantiles are wanted a ``Histogram`` is the better choice.
package struct TimeBuckets: Sendable {
    /// The highest time of each bucket, in milliseconds; one more bucket holds what is above.
    package static let boundsMs: [UInt64] = [
        1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 3_600_000,
    ]

    @usableFromInline var counts = InlineArray<18, UInt64>(repeating: 0)
    /// The sum of the times in milliseconds, wrapping.
    package var sumMs: UInt64 = 0

    /// No times.
    @inlinable package init() {}

    /// Counts a time; one below 0, as between clocks that differ, counts as 0.
    @inlinable package mutating func record(ms: Int64) {
        let ms = UInt64(max(0, ms))
        counts[Self.bucket(ms)] &+= 1
        sumMs &+= ms
    }

    /// Adds another's counts.
    package mutating func merge(_ other: TimeBuckets) {
        for index in counts.indices { counts[index] &+= other.counts[index] }
        sumMs &+= other.sumMs
    }

    /// How many times were counted.
    package var total: UInt64 { cumulative.last ?? 0 }

    /// How many times are at most each of ``boundsMs``, and at last all of them.
    package var cumulative: [UInt64] {
        var seen: UInt64 = 0
        return counts.indices.map { index in
            seen &+= counts[index]
            return seen
        }
    }

    /// The first bucket whose bound is not below the time: four or five comparisons and no memory.
    @inlinable static func bucket(_ ms: UInt64) -> Int {
        if ms <= 100 {
            if ms <= 10 { return ms <= 2 ? (ms <= 1 ? 0 : 1) : (ms <= 5 ? 2 : 3) }
            return ms <= 25 ? 4 : (ms <= 50 ? 5 : 6)
        }
        if ms <= 5000 {
            if ms <= 500 { return ms <= 250 ? 7 : 8 }
            return ms <= 1000 ? 9 : (ms <= 2500 ? 10 : 11)
        }
        if ms <= 60_000 { return ms <= 10_000 ? 12 : (ms <= 30_000 ? 13 : 14) }
        return ms <= 300_000 ? 15 : (ms <= 3_600_000 ? 16 : 17)
    }
}
