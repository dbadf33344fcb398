internal import Core

/// The bounds of histograms, in microseconds.
package enum MetricBounds {
    /// Times that are counted in whole milliseconds: 1 ms to an hour.
    package static let milliseconds: [UInt64] = TimeBuckets.boundsMs.map { $0 * 1000 }
    /// What answering a request takes: 250 us to 30 s.
    package static let request: [UInt64] = [
        250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
        5_000_000, 10_000_000, 30_000_000,
    ]
}
