import Decisions
import Testing

@Suite("Quota lease") struct QuotaLeaseTests {
    /// A bucket for one or more lessees, as the server keeps it, without its fairness.
    private struct Bucket {
        let perSecond: Double
        let capacity: Double
        var tokens: Double
        var atMs: Int64 = 0

        mutating func take(_ wanted: Int64, nowMs: Int64) -> Int64 {
            tokens = min(capacity, tokens + Double(nowMs - atMs) * perSecond / 1000)
            atMs = nowMs
            let given = min(wanted, Int64(tokens))
            tokens -= Double(given)
            return given
        }
    }

    @Test("an idle lease asks for nothing, a waiting one at once and for no more than a tenth of a second")
    func asking() {
        var lease = QuotaLease(quota: 1_000_000)
        #expect(lease.chunk == 100 && lease.capacity == 250)
        #expect(lease.ask(waiting: 0, nowMs: 1000) == nil)
        #expect(lease.ask(waiting: 1, nowMs: 1000) == 1)
        #expect(lease.isAsking)
        #expect(lease.ask(waiting: 500, nowMs: 1001) == nil)
        lease.granted(1, waitMs: 0, lessees: 1, pace: 1_000_000, nowMs: 1002)
        #expect(lease.take(nowMs: 1002) == true)
        #expect(lease.take(nowMs: 1002) == false)
        #expect(lease.ask(waiting: 500, nowMs: 1002) == 100)
    }

    @Test("what was leased is worthless after a second")
    func expiry() {
        var lease = QuotaLease(quota: 1_000_000)
        _ = lease.ask(waiting: 2, nowMs: 0)
        lease.granted(2, waitMs: 0, lessees: 1, pace: 1_000_000, nowMs: 10)
        #expect(lease.take(nowMs: 1009) == true)
        #expect(lease.take(nowMs: 1010) == false)
    }

    @Test("with many lessees each leases two even parts at most")
    func parts() {
        var lease = QuotaLease(quota: 1_000_000)
        _ = lease.ask(waiting: 1, nowMs: 0)
        lease.granted(1, waitMs: 0, lessees: 10, pace: 1_000_000, nowMs: 0)
        #expect(lease.chunk == 20)
        #expect(lease.waitingMax == 100)
        // Small quotas go one by one.
        #expect(QuotaLease(quota: 5000).chunk == 1)
        #expect(QuotaLease(quota: 5000).waitingMax == 16)
    }

    @Test("a question without an answer, or with nothing, is asked again soon")
    func askingAgain() {
        var lease = QuotaLease(quota: 1_000_000)
        _ = lease.ask(waiting: 5, nowMs: 0)
        lease.failed(nowMs: 0)
        #expect(lease.ask(waiting: 5, nowMs: 99) == nil)
        #expect(lease.ask(waiting: 5, nowMs: 100) == 5)
        lease.granted(0, waitMs: 30_000, lessees: 1, pace: 1_000_000, nowMs: 100)
        #expect(lease.ask(waiting: 5, nowMs: 299) == nil)
        #expect(lease.ask(waiting: 5, nowMs: 300) == 5)
    }

    @Test("a refusal throws the lease away and keeps what comes off until the wait is over")
    func refusal() {
        var lease = QuotaLease(quota: 1_000_000)
        _ = lease.ask(waiting: 50, nowMs: 0)
        lease.granted(50, waitMs: 0, lessees: 1, pace: 1_000_000, nowMs: 0)
        #expect(lease.take(nowMs: 1) == true)
        #expect(lease.ask(waiting: 50, nowMs: 1) == 50)
        lease.refused(waitMs: 60_000, nowMs: 1)
        #expect(lease.take(nowMs: 1) == false)
        // Tokens that were on their way come too late; those after them are the bucket's to give.
        lease.granted(50, waitMs: 0, lessees: 1, pace: 1_000_000, nowMs: 2)
        #expect(lease.take(nowMs: 2) == false)
        #expect(lease.ask(waiting: 50, nowMs: 200) == nil)
        #expect(lease.ask(waiting: 50, nowMs: 201) == 50)
        lease.granted(1, waitMs: 0, lessees: 1, pace: 10_000, nowMs: 301)
        #expect(lease.take(nowMs: 301) == true)
        #expect(lease.putOff(nowMs: 301) >= 59_000)
        #expect(lease.pace == 10_000)
    }

    @Test("what is put off comes back one by one at the lessee's part of the rate")
    func puttingOff() {
        var lease = QuotaLease(quota: 100_000)
        _ = lease.ask(waiting: 1, nowMs: 0)
        lease.granted(1, waitMs: 0, lessees: 2, pace: 100_000, nowMs: 0)
        let due = (0..<200).map { _ in lease.putOff(nowMs: 0) }
        #expect(due.first == 1000)
        #expect(due.last == 4980)
        #expect(zip(due, due.dropFirst()).allSatisfy { $1 - $0 == 20 })
        for _ in 0..<1_000_000 { _ = lease.putOff(nowMs: 0) }
        #expect(lease.putOff(nowMs: 0) == QuotaLease.putOffMaxMs)
    }

    @Test(
        "three lessees with a backlog use the whole quota and never exceed it",
        arguments: [1000, 20_000, 200_000, 9_500_000] as [Int64])
    func wholeQuota(quota: Int64) {
        var leases = [QuotaLease](repeating: QuotaLease(quota: quota), count: 3)
        let capacity = Double(leases[0].capacity)
        var bucket = Bucket(perSecond: Double(quota) / 1000, capacity: capacity, tokens: capacity)
        var sent: [Int64] = []
        let seconds: Int64 = 20
        for now in stride(from: 0, to: seconds * 1000, by: 2) as StrideTo<Int64> {
            for index in leases.indices {
                while leases[index].take(nowMs: now) { sent.append(now) }
                guard let wanted = leases[index].ask(waiting: 100_000, nowMs: now) else { continue }
                let given = bucket.take(wanted, nowMs: now)
                let wait = given < wanted ? Int64(1_000_000 / quota) + 1 : 0
                leases[index].granted(given, waitMs: wait, lessees: 3, pace: quota, nowMs: now)
            }
        }
        let most = Double(quota * seconds) / 1000 + capacity
        #expect(Double(sent.count) <= most + 1)
        #expect(Double(sent.count) >= 0.9 * Double(quota * seconds) / 1000 - 3)
        var first = 0
        var worst = 0
        for last in sent.indices {
            while sent[last] - sent[first] >= 1000 { first += 1 }
            worst = max(worst, last - first + 1)
        }
        #expect(Double(worst) <= Double(quota) / 1000 + capacity + Double(3 * leases[0].chunk) + 1)
    }

    @Test func aBurstOfRefusalsSlowsOnceAndItsTurnsAreForgottenWhenThePaceIsBack() {
        var lease = QuotaLease(quota: 10_000_000)
        for _ in 0..<40 { lease.refused(waitMs: 0, nowMs: 10) }
        #expect(lease.pace == 5_000_000)
        for second in 1...20 { lease.refused(waitMs: 0, nowMs: 10 + Int64(second) * 1000) }
        // As low as the shared bucket goes, never lower.
        #expect(lease.pace == 500_000)
        for _ in 0..<5000 { _ = lease.putOff(nowMs: 21_000) }
        #expect(lease.putOff(nowMs: 21_000) > 10_000)
        _ = lease.ask(waiting: 1, nowMs: 22_000)
        lease.granted(1, waitMs: 0, lessees: 1, pace: 10_000_000, nowMs: 22_000)
        #expect(lease.putOff(nowMs: 22_000) <= 1001)
    }
}
