/// Sums over runs.
enum Statistics {
    /// The middle of the values, the mean of the two in the middle of an even number; 0 of none.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// The median of the quotients of neighbours, so that what slowed both runs of a pair cancels out.
    static func medianRatio<Sample>(_ pairs: [(Sample, Sample)], _ value: (Sample) -> Double) -> Double {
        median(pairs.map { value($0.0) / max(1e-9, value($0.1)) })
    }
}
