import Core
import Decisions
import RetryKit
import Testing

@Suite struct RetryPolicyTests {
    private let schedule = RetrySchedule()

    @Test func aRecordIsHandedOverExactlyWhenItIsDue() {
        let policy = RetryPolicy(schedule: schedule, tier: 1)
        #expect(policy.step(dueMs: 1_000, enteredMs: 0, nowMs: 999) == .wait(untilMs: 1_000))
        #expect(policy.step(dueMs: 1_000, enteredMs: 0, nowMs: 1_000) == .handOver)
        #expect(policy.step(dueMs: 1_000, enteredMs: 0, nowMs: 9_000_000) == .handOver)
        #expect(policy.step(dueMs: 0, enteredMs: 5, nowMs: 1) == .handOver)
    }

    @Test(arguments: [(0, 10_000), (1, 60_000), (2, 300_000), (3, 900_000), (4, 3_600_000), (5, 3_600_000)])
    func aWaitTooLongForTheTierMovesOnAfterTheNextTiersDelay(tier: Int, hopAge: Int64) {
        let policy = RetryPolicy(schedule: schedule, tier: tier)
        #expect(policy.hopAgeMs == hopAge)
        let due = Int64(10 * 86_400_000)
        #expect(policy.step(dueMs: due, enteredMs: 0, nowMs: 0) == .wait(untilMs: hopAge))
        #expect(policy.step(dueMs: due, enteredMs: 0, nowMs: hopAge - 1) == .wait(untilMs: hopAge))
        #expect(policy.step(dueMs: due, enteredMs: 0, nowMs: hopAge) == .hop(tier: 5))
    }

    @Test func whatIsLeftOfAWaitChoosesTheTier() {
        let policy = RetryPolicy(schedule: schedule, tier: 4)
        let now: Int64 = 3_600_000
        for (rest, tier) in [(2_000, 0), (10_000, 1), (59_999, 1), (60_000, 2), (900_000, 4), (9_000_000, 5)]
        {
            #expect(policy.step(dueMs: now + Int64(rest), enteredMs: 0, nowMs: now) == .hop(tier: tier))
        }
        // Nearly due: sat out.
        #expect(policy.step(dueMs: now + 500, enteredMs: 0, nowMs: now) == .wait(untilMs: now + 500))
    }

    @Test func underPressureOnlyWhatHasBeenInTheTopicForItsDelayMovesOn() {
        let policy = RetryPolicy(schedule: schedule, tier: 2)
        #expect(!policy.mayYield(dueMs: 200_000, enteredMs: 0, nowMs: 59_999))
        #expect(policy.mayYield(dueMs: 200_000, enteredMs: 0, nowMs: 60_000))
        #expect(!policy.mayYield(dueMs: 60_500, enteredMs: 0, nowMs: 60_000))
        let shortest = RetryPolicy(schedule: schedule, tier: 0)
        #expect(shortest.mayYield(dueMs: 9_000, enteredMs: 0, nowMs: 250))
        #expect(!shortest.mayYield(dueMs: 9_000, enteredMs: 0, nowMs: 249))
    }

    /// The promise behind "a long wait never blocks a shorter one": whatever lies before a record in the
    /// topic may move on by the time the record is due.
    @Test func everythingBeforeARecordMayMoveOnByItsDueTime() {
        for (index, tier) in schedule.tiers.enumerated() {
            let policy = RetryPolicy(schedule: schedule, tier: index)
            let enteredLater = Int64(5)
            let due = enteredLater + tier.delayMs
            let blockerDue = due + 1_000
            #expect(policy.mayYield(dueMs: blockerDue, enteredMs: 0, nowMs: due))
        }
    }

    @Test func theHeapGivesEntriesByTime() {
        var heap = DueHeap()
        var state: UInt64 = 42
        var times: [Int64] = []
        for number in 0..<500 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let time = Int64(state >> 54)
            times.append(time)
            heap.push(DueHeap.Entry(atMs: time, slot: UInt32(number), generation: 0))
        }
        #expect(heap.pop(nowMs: -1) == nil)
        heap.rebuild { $0.slot % 2 == 0 }
        let expected = times.enumerated().filter { $0.offset % 2 == 0 }.map(\.element).sorted()
        #expect(heap.nextMs == expected.first)
        var got: [Int64] = []
        while let entry = heap.pop(nowMs: 2_000) { got.append(entry.atMs) }
        #expect(got == expected)
        #expect(heap.count == 0 && heap.nextMs == nil)
    }
}

private typealias FaultRow = (due: String?, attempt: String?, origin: String?, fault: RetryHeaders.Fault)

private let faults: [FaultRow] = [
    (nil, "1", "peal.jobs.normal/0/0", .dueMissing),
    ("", "1", "peal.jobs.normal/0/0", .dueMalformed),
    ("-5", "1", "peal.jobs.normal/0/0", .dueMalformed),
    ("12x", "1", "peal.jobs.normal/0/0", .dueMalformed),
    ("9999999999999999999", "1", "peal.jobs.normal/0/0", .dueMalformed),
    ("999999999999999999", "1", "peal.jobs.normal/0/0", .dueTooFar),
    ("5", nil, "peal.jobs.normal/0/0", .attemptMissing),
    ("5", "one", "peal.jobs.normal/0/0", .attemptMalformed),
    ("5", "1000001", "peal.jobs.normal/0/0", .attemptMalformed),
    ("5", "1", nil, .originMissing),
    ("5", "1", "", .originMalformed),
    ("5", "1", "peal.jobs.normal", .originMalformed),
    ("5", "1", "peal.jobs.normal/0", .originMalformed),
    ("5", "1", "peal.jobs.normal/0/", .originMalformed),
    ("5", "1", "peal.jobs.normal//4", .originMalformed),
    ("5", "1", "peal.jobs.normal/--1/4", .originMalformed),
    ("5", "1", "peal.jobs.normal/0/4/5", .originMalformed),
    ("5", "1", "peal.jobs.other/0/4", .laneUnknown),
    ("5", "1", "peal.dead/0/4", .laneUnknown),
    ("5", "1", "/0/4", .laneUnknown),

]

@Suite struct RetryHeadersTests {
    private let lanes = LaneTable(names: TopicNames(), lanes: ["urgent", "normal", "bulk"])

    private func parse(
        _ due: String?, _ attempt: String?, _ origin: String?
    ) -> Result<RetryHeaders, RetryHeaders.Fault> {
        func lend<R>(_ text: String?, _ body: (UnsafeRawBufferPointer?) -> R) -> R {
            guard let text else { return body(nil) }
            return Array(text.utf8).withUnsafeBytes { body($0) }
        }
        return lend(due) { due in
            lend(attempt) { attempt in
                lend(origin) { origin in
                    do throws(RetryHeaders.Fault) {
                        return .success(
                            try RetryHeaders.parse(
                                due: due, attempt: attempt, origin: origin, lanes: lanes, nowMs: 1_000))
                    } catch { return .failure(error) }
                }
            }
        }
    }

    @Test func wholeHeadersSayWhenAndWhere() throws {
        let first = try parse("1700000000", "3", "peal.jobs.bulk/7/123456").get()
        #expect(first.dueMs == 1_700_000_000 && first.attempt == 3 && first.lane == 2)
        #expect(try parse("0", "0", "peal.jobs.urgent/-1/9K2").get().lane == 0)
    }

    @Test(arguments: faults)
    func eachFaultIsNamed(due: String?, attempt: String?, origin: String?, fault: RetryHeaders.Fault) {
        #expect(parse(due, attempt, origin) == .failure(fault))
    }
}
