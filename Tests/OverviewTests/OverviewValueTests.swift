import Registry
import Testing

@testable import Overview

@Suite struct OverviewCountsTests {
    @Test func everyStandardFieldHasAPlace() {
        let names = Overview.Counts.Field.allCases.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(CounterFields.standard.allSatisfy(names.contains))
        for field in Overview.Counts.Field.allCases {
            var counts = Overview.Counts()
            counts.take(field: field.name, 5)
            #expect(counts[field] == 5)
        }
    }

    @Test func sumsStopAtTheLargestNumber() {
        var counts = Overview.Counts()
        counts.take(field: "accepted", .max)
        counts.take(field: "latency:10", .max)
        counts.take(field: "reason:expired", .max)
        counts.add(counts)
        #expect(counts[.accepted] == .max && counts.latency[0] == .max && counts.reasons["expired"] == .max)
        #expect(counts.deliveries == .max)
    }

    @Test func reasonsAreBounded() {
        var counts = Overview.Counts()
        for number in 0..<1000 { counts.take(field: "reason:\(number)", 1) }
        #expect(counts.reasons.count == 256)
        var other = Overview.Counts()
        other.take(field: "reason:other", 1)
        counts.add(other)
        #expect(counts.reasons.count == 256)
    }

    @Test func quantilesLieWithinTheirBucket() throws {
        var counts = Overview.Counts()
        #expect(counts.latencyMs(fraction: 0.5) == nil)
        counts.take(field: "latency:25", 100)
        #expect(counts.latencyMs(fraction: 0) == 10)
        #expect(counts.latencyMs(fraction: 0.5) == 17.5)
        #expect(counts.latencyMs(fraction: 1) == 25)
        counts.take(field: "latency:500", 100)
        #expect(counts.latencyMs(fraction: 0.5) == 25)
        #expect(counts.latencyMs(fraction: 0.75) == 375)
        counts.take(field: "latency:inf", 1_000)
        #expect(counts.latencyMs(fraction: 0.99) == 30_000)
    }

    @Test func aPodIsGoneFifteenSecondsAfterItsLastBeat() {
        let pod = Overview.Pod(name: "a:1", role: "worker", beatMs: 100_000)
        #expect(pod.isAlive(nowMs: 90_000))
        #expect(pod.isAlive(nowMs: 114_999))
        #expect(!pod.isAlive(nowMs: 115_000))
    }

    @Test func figuresOfPodsThatAreGoneDoNotCount() {
        var overview = Overview(nowMs: 200_000)
        var facts = Overview.Pod.Worker()
        facts.lagByLane = ["bulk": 7, "urgent": 1]
        facts.oldestMs = ["bulk": 900]
        facts.rate = 12.5
        var retry = Overview.Pod.Retry()
        retry.depth = ["1m": 4]
        overview.pods = [
            Overview.Pod(name: "a", role: "worker", beatMs: 199_000, detail: .worker(facts)),
            Overview.Pod(name: "b", role: "worker", beatMs: 199_000, detail: .worker(facts)),
            Overview.Pod(name: "c", role: "worker", beatMs: 100_000, detail: .worker(facts)),
            Overview.Pod(name: "d", role: "retry", beatMs: 199_000, detail: .retry(retry)),
            Overview.Pod(name: "e", role: "retry", beatMs: 1_000, detail: .retry(retry)),
        ]
        #expect(overview.alivePods.map(\.name) == ["a", "b", "d"])
        #expect(overview.lagByLane == ["bulk": 14, "urgent": 2])
        #expect(overview.oldestMsByLane == ["bulk": 900])
        #expect(overview.rate == 25)
        #expect(overview.retryDepth == ["1m": 4])
    }
}
