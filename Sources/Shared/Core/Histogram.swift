/// A log-linear histogram (32 sub-buckets a power of two, so at most 3.2 % relative error) of values from 0
/// to 2^40. One owner; merge to combine threads.
package struct Histogram: Sendable {
    private static let subBits = 5
    private static let bucketCount = (40 - subBits + 1) << subBits
    private var counts = [UInt64](repeating: 0, count: bucketCount)
    /// How many values were recorded, their sum (wrapping) and the highest of them.
    package private(set) var total: UInt64 = 0
    package private(set) var sum: UInt64 = 0
    package private(set) var highest: UInt64 = 0

    package init() {}

    /// Counts one value.
    package mutating func record(_ value: UInt64) {
        counts[Self.index(of: value)] &+= 1
        total &+= 1
        sum &+= value
        if value > highest { highest = value }
    }

    /// Adds another histogram's counts.
    package mutating func merge(_ other: Histogram) {
        for index in counts.indices { counts[index] &+= other.counts[index] }
        total &+= other.total
        sum &+= other.sum
        highest = max(highest, other.highest)
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
            if seen >= max(1, wanted) { return min(highest, Self.upperBound(of: index)) }
        }
        return highest
    }

    /// The mean; 0 when empty.
    package var mean: Double { total == 0 ? 0 : Double(sum) / Double(total) }

    private static func index(of value: UInt64) -> Int {
        guard value >= 1 << UInt64(subBits) else { return Int(value) }
        let capped = min(value, 1 << 40 - 1)
        let exponent = 63 - capped.leadingZeroBitCount
        let shift = exponent - subBits
        return (shift + 1) << subBits + Int(capped >> UInt64(shift)) - 1 << subBits
    }

    private static func upperBound(of index: Int) -> UInt64 {
        guard index >= 1 << subBits else { return UInt64(index) }
        let shift = index >> subBits - 1
        let mantissa = UInt64(index & (1 << subBits - 1)) + 1 << UInt64(subBits)
        return (mantissa + 1) << UInt64(shift) - 1
    }
}
