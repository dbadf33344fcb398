import Decisions
import Testing

@Suite("Retry schedule") struct RetryScheduleTests {
    let schedule = RetrySchedule()
    let nowMs: Int64 = 1_700_000_000_000

    func failure(
        _ backoff: BackoffClass, attempt: Int = 1, after: Int64 = 0, since: Int64 = 0, ttl: Int64? = nil,
        urgent: Bool = false
    ) -> RetrySchedule.Failure {
        RetrySchedule.Failure(
            backoff: backoff, attempt: attempt, firstFailureMs: nowMs - since, nowMs: nowMs, afterMs: after,
            deadlineMs: ttl.map { nowMs + $0 } ?? .max, isUrgent: urgent)
    }

    /// The shortest and the longest wait that any random value gives, in ms.
    func bounds(_ failure: RetrySchedule.Failure) -> ClosedRange<Int64>? {
        func wait(_ random: UInt64) -> Int64? {
            switch schedule.next(after: failure, random: random) {
            case .now: 0
            case .wait(_, let due): due - nowMs
            case .expired, .exhausted: nil
            }
        }
        guard let low = wait(0), let high = wait(.max) else { return nil }
        return low...high
    }

    @Test("connection faults go at once, then from 1 s, then like a server fault without an end")
    func connection() {
        #expect(bounds(failure(.connection)) == 0...0)
        #expect(bounds(failure(.connection, attempt: 2)) == 1000...1499)
        #expect(bounds(failure(.connection, attempt: 3)) == 2000...2999)
        #expect(bounds(failure(.connection, attempt: 4)) == 10_000...11_999)
        #expect(bounds(failure(.connection, attempt: 5, since: 90_000_000)) == 20_000...23_999)
    }

    @Test(
        "each class waits its time",
        arguments: [
            (BackoffClass.refresh, 1, Int64(0), Int64(0)), (.device, 1, 1000, 59_999),
            (.device, 2, 1000, 119_999),
            (.device, 9, 1000, 899_999), (.quota, 1, 60_000, 71_999), (.quota, 2, 120_000, 143_999),
            (.quota, 9, 900_000, 1_079_999), (.server, 1, 10_000, 11_999), (.server, 3, 40_000, 47_999),
            (.serverSlow, 1, 900_000, 989_999), (.serverSlow, 2, 1_800_000, 1_979_999),
            (.serverSlow, 29, 14_400_000, 15_839_999), (.tokenUpdate, 1, 0, 0),
            (.tokenUpdate, 2, 1_200_000, 1_319_999),
        ])
    func classes(_ backoff: BackoffClass, _ attempt: Int, _ low: Int64, _ high: Int64) {
        #expect(bounds(failure(backoff, attempt: attempt)) == low...high)
    }

    @Test("an urgent push is tried once early before APNs' 15 minutes")
    func urgent() {
        #expect(bounds(failure(.serverSlow, urgent: true)) == 1000...4999)
        #expect(bounds(failure(.serverSlow, attempt: 2, urgent: true)) == 900_000...989_999)
    }

    @Test("the provider's wait is never shortened", arguments: BackoffClass.allCases)
    func retryAfter(_ backoff: BackoffClass) throws {
        let range = try #require(bounds(failure(backoff, after: 2_000_000)))
        #expect(range.lowerBound >= 2_000_000)
    }

    @Test("an absurd wait is cut to a day")
    func longestWait() throws {
        #expect(try #require(bounds(failure(.device, after: .max))) == 86_400_000...86_400_000)
    }

    @Test("a delivery whose deadline comes first expires")
    func deadline() {
        #expect(schedule.next(after: failure(.server, ttl: 10_000), random: 0) == .expired)
        #expect(
            schedule.next(after: failure(.server, ttl: 10_001), random: 0)
                == .wait(tier: 1, dueMs: nowMs + 10_000))
        #expect(schedule.next(after: failure(.connection, ttl: 0), random: 0) == .expired)
        #expect(schedule.next(after: failure(.connection, ttl: 1), random: 0) == .now)
    }

    @Test("quota and server faults end after an hour, attempts after thirty")
    func exhausted() {
        #expect(schedule.next(after: failure(.quota, attempt: 5, since: 3_600_000), random: 0) == .exhausted)
        #expect(schedule.next(after: failure(.server, attempt: 5, since: 3_600_000), random: 0) == .exhausted)
        #expect(bounds(failure(.server, attempt: 1, since: 3_599_999)) != nil)
        #expect(bounds(failure(.serverSlow, attempt: 5, since: 36_000_000)) != nil)
        #expect(schedule.next(after: failure(.connection, attempt: 30), random: 0) == .exhausted)
        #expect(bounds(failure(.connection, attempt: 29)) != nil)
    }

    @Test(
        "a wait goes to the longest tier that is not longer",
        arguments: [
            (Int64(1), 0), (999, 0), (1000, 0), (9999, 0), (10_000, 1), (59_999, 1), (60_000, 2),
            (300_000, 3),
            (899_999, 3), (900_000, 4), (3_600_000, 5), (Int64.max, 5),
        ])
    func tiers(_ wait: Int64, _ tier: Int) { #expect(schedule.tier(forWaitMs: wait) == tier) }

    @Test("tiers may come in any order, and an empty list means the standard ones")
    func tierOrder() {
        let mixed = RetrySchedule(tiers: [
            RetryTier(name: "b", delayMs: 50), RetryTier(name: "a", delayMs: 5),
        ])
        #expect(mixed.tiers.map(\.name) == ["a", "b"])
        #expect(RetrySchedule(tiers: []).tiers == RetryTier.standard)
    }

    @Test("extreme values do not trap", arguments: BackoffClass.allCases)
    func extremes(_ backoff: BackoffClass) {
        let wild = RetrySchedule.Failure(
            backoff: backoff, attempt: -5, firstFailureMs: 0, nowMs: .max - 1, afterMs: .min, deadlineMs: .max
        )
        let decision = schedule.next(after: wild, random: .max)
        #expect(decision == .now || decision == .expired || decision == .exhausted)
    }
}

@Suite("Retry-After") struct RetryAfterTests {
    func parse(_ text: String, now: Int64 = 784_111_777_000) -> Int64? {
        Array(text.utf8).withUnsafeBytes { RetryAfter.parse($0, nowMs: now) }
    }

    @Test("seconds are read")
    func seconds() {
        #expect(parse("0") == 0)
        #expect(parse("120") == 120_000)
        #expect(parse(" 7 ") == 7000)
        #expect(parse("99999999999999999999999") == 86_400_000)
    }

    @Test("an HTTP date is read as the wait until then")
    func dates() {
        #expect(parse("Sun, 06 Nov 1994 08:49:37 GMT") == 0)
        #expect(parse("Sun, 06 Nov 1994 08:50:37 GMT") == 60_000)
        #expect(parse("Sat, 05 Nov 1994 08:50:37 GMT") == 0)
        #expect(parse("Sun, 06 Nov 2094 08:50:37 GMT") == 86_400_000)
    }

    @Test(
        "anything else is no wait",
        arguments: [
            "", "-1", "1.5", "soon", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT", String(repeating: "9", count: 65),
        ])
    func other(_ text: String) { #expect(parse(text) == nil) }
}
