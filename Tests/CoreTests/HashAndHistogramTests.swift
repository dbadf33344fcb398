import Testing

@testable import Core

@Suite("Hash64")
struct HashTests {
    /// These values are part of the format: `apns-id` and the spreading of recipients derive from them.
    @Test("The hash is the same in every version")
    func stability() {
        #expect(Hash64.of(text: "") == HashVectors.empty)
        #expect(Hash64.of(text: "a") == HashVectors.a)
        #expect(Hash64.of(text: "shop/user-123") == HashVectors.key)
        #expect(Hash64.of(text: "shop/user-123", seed: 7) == HashVectors.seeded)
    }

    @Test("Short inputs, neighbours and trailing zeros don't collide")
    func distinct() {
        var seen: Set<UInt64> = []
        var count = 0
        for length in 0...64 {
            let zeros = [UInt8](repeating: 0, count: length)
            seen.insert(zeros.withUnsafeBytes { Hash64.of($0) })
            count += 1
        }
        for number in 0..<20_000 {
            seen.insert(Hash64.of(text: "user-\(number)"))
            count += 1
        }
        #expect(seen.count == count)
    }

    @Test("Keys spread evenly over a few shards")
    func spread() {
        for shards: UInt64 in [2, 3, 4, 7, 16] {
            var counts = [Int](repeating: 0, count: Int(shards))
            for number in 0..<20_000 {
                counts[Int(Hash64.of(text: "shop/user-\(number)") % shards)] += 1
            }
            let even = 20_000 / Int(shards)
            #expect(counts.allSatisfy { abs($0 - even) < even / 8 })
        }
    }

    @Test("The hash doesn't depend on where the bytes lie")
    func alignment() {
        let text = Array("0123456789abcdef0123".utf8)
        let expected = text.withUnsafeBytes { Hash64.of($0) }
        for offset in 0..<8 {
            let moved = [UInt8](repeating: 9, count: offset) + text
            moved.withUnsafeBytes {
                #expect(Hash64.of(UnsafeRawBufferPointer(rebasing: $0[offset...])) == expected)
            }
        }
    }
}

@Suite("Histogram")
struct HistogramTests {
    /// What the documentation promises for each precision.
    private static func error(_ precision: Histogram.Precision) -> Double {
        precision == .fine ? 0.008 : 0.032
    }

    @Test(
        "No quantile lies further above the true value than promised", arguments: Histogram.Precision.allCases
    )
    func errorBound(precision: Histogram.Precision) {
        var value: UInt64 = 0
        while value < 1 << 39 {
            var histogram = Histogram(precision)
            histogram.record(value)
            histogram.record(1 << 40)
            let answer = histogram.quantile(0.5)
            #expect(answer >= value)
            #expect(Double(answer - value) <= Double(value) * Self.error(precision))
            value = value * 21 / 20 + 1
        }
    }

    @Test(
        "Each power of two and its neighbours keep to that, too",
        arguments: Histogram.Precision.allCases)
    func powers(precision: Histogram.Precision) {
        for power in UInt64(0)..<40 {
            let start = UInt64(1) << power
            for value in [start - 1, start, start + 1] where value < 1 << 40 {
                var histogram = Histogram(precision)
                histogram.record(value)
                histogram.record(.max)
                let bound = histogram.quantile(0.5)
                #expect(bound >= value)
                #expect(Double(bound - value) <= Double(value) * Self.error(precision))
            }
        }
    }

    @Test("Quantiles of a known distribution", arguments: Histogram.Precision.allCases)
    func quantiles(precision: Histogram.Precision) {
        var histogram = Histogram(precision)
        for value in 1...10_000 { histogram.record(UInt64(value)) }
        for (fraction, expected) in [(0.5, 5000.0), (0.9, 9000), (0.99, 9900), (0.999, 9990)] {
            let answer = Double(histogram.quantile(fraction))
            #expect(answer >= expected)
            #expect(answer <= expected * (1 + Self.error(precision)))
        }
        #expect(histogram.quantile(1) == 10_000)
        #expect(histogram.quantile(0) == 1)
        #expect(histogram.mean == 5000.5)
        #expect(histogram.highest == 10_000)
    }

    @Test("An empty one answers zero")
    func empty() {
        let histogram = Histogram()
        #expect(histogram.precision == .coarse)
        #expect(histogram.quantile(0.5) == 0)
        #expect(histogram.mean == 0)
        #expect(histogram.buckets == [])
    }

    @Test(
        "Values beyond the range and odd fractions are taken, not trapped on",
        arguments: Histogram.Precision.allCases)
    func extremes(precision: Histogram.Precision) {
        var histogram = Histogram(precision)
        let values: [UInt64] = [0, 1, 31, 32, 33, 1 << 40 - 1, 1 << 40, .max]
        for value in values { histogram.record(value) }
        #expect(histogram.total == 8)
        #expect(histogram.highest == .max)
        #expect(histogram.quantile(-1) == 0)
        #expect(histogram.quantile(2) >= 1 << 40 - 1)
        #expect(histogram.quantile(.nan) <= .max)
        #expect(histogram.quantile(.infinity) == histogram.quantile(1))
    }

    @Test("The buckets hold every value, in order, and the last one ends at the highest")
    func buckets() {
        var histogram = Histogram(.fine)
        for value in [UInt64(7), 7, 300, 100_000] { histogram.record(value) }
        #expect(histogram.buckets.map(\.count) == [2, 1, 1])
        let bounds = histogram.buckets.map(\.upperBound)
        #expect(bounds == bounds.sorted())
        #expect(bounds.first == 7)
        #expect(bounds.last == 100_000)
    }

    @Test("Merging adds", arguments: Histogram.Precision.allCases)
    func merge(precision: Histogram.Precision) {
        var first = Histogram(precision)
        var second = Histogram(precision)
        var both = Histogram(precision)
        for value in 0..<1000 {
            first.record(UInt64(value))
            both.record(UInt64(value))
            second.record(UInt64(value * 1000))
            both.record(UInt64(value * 1000))
        }
        first.merge(second)
        #expect(first.total == both.total)
        #expect(first.sum == both.sum)
        #expect(first.buckets == both.buckets)
        for fraction in [0.1, 0.5, 0.9, 1] { #expect(first.quantile(fraction) == both.quantile(fraction)) }
    }

    @Test("Merging an empty one changes nothing, and into an empty one copies")
    func mergeEmpty() {
        var full = Histogram(.fine)
        for value in UInt64(0)..<500 { full.record(value * value) }
        var copy = Histogram(.fine)
        copy.merge(full)
        #expect(copy.buckets == full.buckets)
        copy.merge(Histogram(.fine))
        #expect(copy.buckets == full.buckets)
        #expect(copy.total == full.total)
        #expect(copy.highest == full.highest)
    }

    @Test("Merging one of the other precision keeps count and sum, and adds at most its error")
    func mergeAcross() {
        for (into, from) in [(Histogram.Precision.fine, Histogram.Precision.coarse), (.coarse, .fine)] {
            var target = Histogram(into)
            var source = Histogram(from)
            for value in UInt64(1)...10_000 { source.record(value) }
            source.record(.max)
            target.merge(source)
            #expect(target.total == 10_001)
            #expect(target.sum == source.sum)
            #expect(target.highest == .max)
            for (fraction, expected) in [(0.5, 5000.0), (0.99, 9901)] {
                let answer = Double(target.quantile(fraction))
                #expect(answer >= expected)
                #expect(answer <= expected * 1.041)
            }
        }
    }
}
