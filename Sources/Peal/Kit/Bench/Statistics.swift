internal import Terminal

/// Sums over runs.
enum Statistics {
    /// The middle of the values, the mean of the two in the middle of an even number; 0 of none.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// The quotients of neighbours: what slowed both runs of a pair cancels out.
    static func ratios<Sample>(_ pairs: [(Sample, Sample)], _ value: (Sample) -> Double) -> [Double] {
        pairs.map { value($0.0) / max(1e-9, value($0.1)) }
    }

    /// The median and, of more than one value, the lowest and the highest: `1.65 (1.52 to 1.71)`.
    static func text(_ values: [Double]) -> String {
        let middle = Human.decimal(median(values), places: 2)
        guard values.count > 1, let low = values.min(), let high = values.max() else { return middle }
        return "\(middle) (\(Human.decimal(low, places: 2)) to \(Human.decimal(high, places: 2)))"
    }
}
