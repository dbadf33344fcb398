/// A log-linear histogram of values from 0 to 2^40: fixed memory, constant time to record. Values are in
/// whatever unit the owner chose; larger ones count as the largest that fits. One owner; merge to combine
/// threads.
package struct Histogram: Sendable {
    /// How far a quantile may lie above the true value, and the memory that takes.
    package enum Precision: Int, Sendable, CaseIterable {
        /// 32 sub-buckets a power of two: at most 3.2 %, 9 KiB. For what runs all the time.
        case coarse = 5
        /// 128 sub-buckets a power of two: at most 0.8 %, 34 KiB. For measurements.
        case fine = 7

        var bucketCount: Int { (40 - rawValue + 1) << rawValue }
    }

    /// Values that lie together.
    package struct Bucket: Sendable, Equatable {
        /// The highest value that counts as one of them.
        package let upperBound: UInt64
        /// How many there are; never 0.
        package let count: UInt64
    }

    /// How exact the quantiles are.
    package let precision: Precision
    private var counts: [UInt64]
    /// How many values were recorded, their sum (wrapping) and the highest of them.
    package private(set) var total: UInt64 = 0
    package private(set) var sum: UInt64 = 0
    package private(set) var highest: UInt64 = 0

    /// An empty one; its memory is taken here and never grows.
    package init(_ precision: Precision = .coarse) {
        self.precision = precision
        counts = [UInt64](repeating: 0, count: precision.bucketCount)
    }

    /// Counts one value.
    package mutating func record(_ value: UInt64) {
        counts[index(of: value)] &+= 1
        total &+= 1
        sum &+= value
        if value > highest { highest = value }
    }

    /// Adds another histogram's counts. When it is of another precision, its values count as the highest of
    /// their bucket, so that the errors of both add up.
    package mutating func merge(_ other: Histogram) {
        if precision == other.precision {
            for index in counts.indices { counts[index] &+= other.counts[index] }
        } else {
            for bucket in other.buckets { counts[index(of: bucket.upperBound)] &+= bucket.count }
        }
        total &+= other.total
        sum &+= other.sum
        highest = max(highest, other.highest)
    }

    /// What was recorded since `earlier`, a former state of this very histogram; all of it when the two don't
    /// fit. The highest value is that of its bucket.
    package func since(_ earlier: Histogram) -> Histogram {
        guard precision == earlier.precision, total >= earlier.total else { return self }
        var difference = Histogram(precision)
        for index in counts.indices where counts[index] > earlier.counts[index] {
            difference.counts[index] = counts[index] &- earlier.counts[index]
            difference.total &+= difference.counts[index]
            difference.highest = min(highest, upperBound(of: index))
        }
        difference.sum = sum &- earlier.sum
        return difference
    }

    /// The smallest bucket bound below which `fraction` (0...1) of the values lie; 0 when empty.
    package func quantile(_ fraction: Double) -> UInt64 {
        guard total > 0 else { return 0 }
        // A fraction that isn't a number counts as 0: comparing with it is always false.
        let within = fraction > 0 ? min(fraction, 1) : 0
        let wanted = UInt64(exactly: (Double(total) * within).rounded(.up)) ?? total
        var seen: UInt64 = 0
        for index in counts.indices {
            seen += counts[index]
            if seen >= max(1, wanted) { return min(highest, upperBound(of: index)) }
        }
        return highest
    }

    /// The mean; 0 when empty.
    package var mean: Double { total == 0 ? 0 : Double(sum) / Double(total) }

    /// The buckets that hold values, from the lowest on: what a curve of the distribution is drawn from.
    package var buckets: [Bucket] {
        counts.indices.filter { counts[$0] > 0 }
            .map { Bucket(upperBound: min(highest, upperBound(of: $0)), count: counts[$0]) }
    }

    /// How many values are at most each of these bounds, which rise. A value that lies above a bound, but in
    /// its bucket, counts as at most it: that is off by the precision's error and never for a value that is
    /// the bound itself.
    package func cumulative(_ bounds: [UInt64]) -> [UInt64] {
        var sums: [UInt64] = []
        sums.reserveCapacity(bounds.count)
        var seen: UInt64 = 0
        var next = 0
        for bound in bounds {
            let last = index(of: bound)
            while next <= last {
                seen &+= counts[next]
                next += 1
            }
            sums.append(seen)
        }
        return sums
    }

    private func index(of value: UInt64) -> Int {
        let bits = precision.rawValue
        guard value >= 1 << UInt64(bits) else { return Int(value) }
        let capped = min(value, 1 << 40 - 1)
        let exponent = 63 - capped.leadingZeroBitCount
        let shift = exponent - bits
        return (shift + 1) << bits + Int(capped >> UInt64(shift)) - 1 << bits
    }

    private func upperBound(of index: Int) -> UInt64 {
        let bits = precision.rawValue
        guard index >= 1 << bits else { return UInt64(index) }
        let shift = index >> bits - 1
        let mantissa = UInt64(index & (1 << bits - 1)) + 1 << UInt64(bits)
        return (mantissa + 1) << UInt64(shift) - 1
    }
}
