import Testing

@testable import Core

@Suite struct TimeBucketsTests {
    /// The comparisons say the same as a search of the bounds.
    @Test func everyTimeHasTheBucketOfItsBound() {
        let bounds = TimeBuckets.boundsMs
        #expect(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 })
        for bound in bounds {
            for time in [bound - 1, bound, bound + 1] {
                let expected = bounds.firstIndex { time <= $0 } ?? bounds.count
                #expect(TimeBuckets.bucket(time) == expected, "\(time) ms")
            }
        }
        #expect(TimeBuckets.bucket(.max) == bounds.count)
    }

    @Test func countsAddUpFromBoundToBound() {
        var one = TimeBuckets()
        for ms: Int64 in [-5, 0, 1, 2, 7, 7, 100, 101, 3_600_000, 3_600_001, .max] { one.record(ms: ms) }
        #expect(one.total == 11)
        let at = { (bound: UInt64) in one.cumulative[TimeBuckets.boundsMs.firstIndex(of: bound) ?? 0] }
        #expect(at(1) == 3 && at(2) == 4 && at(5) == 4 && at(10) == 6 && at(100) == 7 && at(250) == 8)
        #expect(at(3_600_000) == 9 && one.cumulative.last == 11)
        #expect(one.cumulative.count == TimeBuckets.boundsMs.count + 1)
        var two = TimeBuckets()
        two.record(ms: 2500)
        two.merge(two)
        #expect(two.total == 2 && two.sumMs == 5000)
        two.merge(one)
        #expect(two.total == 13)
        #expect(TimeBuckets().total == 0 && TimeBuckets().sumMs == 0)
    }
}
