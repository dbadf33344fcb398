import Decisions
import Testing

@testable import PealKit

@Suite("The checker of runs under faults: state")
struct ChaosStateTests {
    @Test("A first attempt that shows another badge than the counter is found")
    func wrongBadge() throws {
        for shift in [Int64(1), -1] {
            var sample = ChaosSample()
            let last = sample.history.requests.count - 1
            let badge = try #require(sample.history.requests[last].badge)
            sample.history.requests[last].badge = badge + shift
            #expect(ChaosChecker.check(sample.history).counts == [.badge: 1])
        }
    }

    @Test("A missing badge and a wrong counter are found")
    func wrongCounter() {
        var sample = ChaosSample()
        sample.history.requests[0].badge = nil
        sample.history.unread[0] += 1
        #expect(ChaosChecker.check(sample.history).counts == [.badge: 2])
    }

    @Test("A retried job may show what newer jobs added, and no more than all of them")
    func retriedBadge() throws {
        var sample = ChaosSample()
        let request = sample.history.requests[0]
        let total = sample.history.unread[sample.plan.jobs[request.job].recipient]
        sample.history.retried.insert(request.job)
        sample.history.requests[0].badge = total
        #expect(ChaosChecker.check(sample.history).isGood)
        sample.history.requests[0].badge = total + 1
        let count = sample.plan.devices(ofJob: request.job).count
        #expect(count > 0)
        #expect(ChaosChecker.check(sample.history).counts == [.badge: 1])
    }

    @Test("Badges are not compared when Redis lost what it knew")
    func forgotten() {
        var sample = ChaosSample()
        sample.history.unread[0] += 1
        let fault = ChaosFault(kind: .redisForget, slot: 0, atMs: 0, durationMs: 1, detail: 0)
        sample.history.injections.append(ChaosHistory.Injection(fault: fault, fromMs: 1, toMs: 2))
        #expect(ChaosChecker.check(sample.history).counts[.badge] == nil)
    }

    @Test("Two first attempts in the wrong order are found, unless the older one had left for a retry")
    func wrongOrder() throws {
        var sample = ChaosSample()
        let pair = try #require(sample.neighbours())
        sample.history.requests.swapAt(pair.0, pair.1)
        #expect(ChaosChecker.check(sample.history).counts[.order] == 1)
        // By the swap the older job now stands second.
        sample.history.retried.insert(sample.history.requests[pair.1].job)
        #expect(ChaosChecker.check(sample.history).counts[.order] == nil)
    }

    @Test("A late notification that replaces a newer one is found, unless its mark may have been lost")
    func collapse() throws {
        var sample = ChaosSample(jobs: 2_000)
        let plan = sample.plan
        let pair = try #require(sample.neighbours { plan.jobs[$0].collapses })
        var late = sample.history.requests[pair.0]
        late.arrivalMs += 500_000
        sample.history.requests[pair.0].isDelivered = false
        sample.history.requests.append(late)
        sample.history.retried.insert(late.job)
        #expect(ChaosChecker.check(sample.history).counts[.collapse] == 1)
        let full = ChaosFault(kind: .redisFull, slot: 0, atMs: 0, durationMs: 1_000, detail: 0)
        sample.history.injections.append(
            ChaosHistory.Injection(fault: full, fromMs: late.arrivalMs - 9_000, toMs: late.arrivalMs - 8_000))
        #expect(ChaosChecker.check(sample.history).counts[.collapse] == nil)
    }

    @Test("Counters must equal the outcomes when no fault could touch them")
    func counters() {
        var sample = ChaosSample()
        sample.history.totals["accepted", default: 0] += 1
        let verdict = ChaosChecker.check(sample.history)
        #expect(verdict.counts == [.counters: 1])
        #expect(verdict.counterRoom == 0)
    }

    @Test("A kill explains the counters of the seconds before it, and no more")
    func countersOfKilled() throws {
        var sample = ChaosSample()
        let last = try #require(sample.history.events.last)
        sample.history.lives.append(
            ChaosLife(program: "worker-1", slot: 0, startMs: 0, endMs: last.atMs + 100, ending: .killed))
        sample.history.totals["accepted", default: 0] -= 1
        #expect(ChaosChecker.check(sample.history).isGood)
        sample.history.totals["accepted"] = 0
        #expect(ChaosChecker.check(sample.history).counts == [.counters: 1])
    }

    @Test("What is not committed at the end is found")
    func uncommitted() {
        var sample = ChaosSample()
        sample.history.positions = [
            ChaosHistory.Position(topic: "peal.jobs.bulk", partition: 0, committed: nil, end: 0),
            ChaosHistory.Position(topic: "peal.jobs.bulk", partition: 1, committed: 4, end: 5),
            ChaosHistory.Position(topic: "peal.jobs.bulk", partition: 2, committed: nil, end: 3),
        ]
        #expect(ChaosChecker.check(sample.history).counts == [.offsets: 2])
        sample.history.positions = []
        sample.history.isSettled = false
        #expect(ChaosChecker.check(sample.history).counts == [.offsets: 1])
    }

    @Test("A process that ended by itself, hung, failed or grew is found")
    func processes() {
        let endings: [(ChaosLife.Ending, Bool)] = [
            (.running, true), (.killed, true), (.stopped(code: 0), true), (.stopped(code: 1), false),
            (.hung, false), (.fell("signalled(6)"), false),
        ]
        for (ending, isRight) in endings {
            var sample = ChaosSample()
            sample.history.lives = [ChaosLife(program: "retry", slot: -1, startMs: 0, ending: ending)]
            #expect((ChaosChecker.check(sample.history).counts[.processes] == nil) == isRight, "\(ending)")
        }
        var sample = ChaosSample()
        sample.history.peaks = [("worker-1", 5 << 30), ("retry", 1 << 20)]
        #expect(ChaosChecker.check(sample.history).counts == [.memory: 1])
    }

    @Test("Records, outcomes and requests of no job are found")
    func strangers() throws {
        var sample = ChaosSample()
        sample.history.strangers = ["a request is of no known job"]
        let event = sample.history.events[0]
        sample.history.events.append(
            ChaosHistory.Event(
                job: event.job, place: ChaosPlace(lane: 0, partition: 99, offset: 1), device: nil,
                outcome: .accepted, atMs: 1))
        #expect(ChaosChecker.check(sample.history).counts[.phantom] == 2)
    }

    @Test("Both of two jobs with one dedup key sent, or none, is found")
    func dedup() throws {
        let base = ChaosSample(jobs: 600)
        let keyed = try #require(base.keyedPair())
        for outcome in [DeliveryOutcome.accepted, .duplicate] {
            var sample = base
            for (index, event) in sample.history.events.enumerated()
            where event.job == keyed.0 || event.job == keyed.1 {
                sample.history.events[index] = ChaosHistory.Event(
                    job: event.job, place: event.place, device: event.device, outcome: outcome,
                    atMs: event.atMs)
            }
            sample.count()
            var unsent = sample
            unsent.history.requests.removeAll { $0.job == keyed.0 || $0.job == keyed.1 }
            let verdict = ChaosChecker.check(outcome == .duplicate ? unsent.history : sample.history)
            #expect(verdict.counts[.outcome] == 1, "\(outcome)")
        }
    }

    @Test("A job that was sent and is called a duplicate of itself counts as sent")
    func misnamed() throws {
        var sample = ChaosSample(jobs: 600)
        let keyed = try #require(sample.keyedPair())
        for (index, event) in sample.history.events.enumerated() where event.job == keyed.0 {
            sample.history.events[index] = ChaosHistory.Event(
                job: event.job, place: event.place, device: event.device, outcome: .duplicate,
                atMs: event.atMs)
        }
        sample.count()
        let verdict = ChaosChecker.check(sample.history)
        #expect(verdict.isGood, "\(verdict.samples)")
        #expect(verdict.misnamed == 1)
    }

    @Test("After a kill a job may be late and show a newer counter, but not at other times")
    func takenOver() throws {
        var sample = ChaosSample()
        let pair = try #require(sample.neighbours())
        let atMs = sample.history.requests[pair.1].arrivalMs
        sample.history.requests[pair.0].badge = sample.history.requests[pair.1].badge
        sample.history.requests.swapAt(pair.0, pair.1)
        sample.history.requests[pair.1].arrivalMs = atMs
        sample.history.requests[pair.0].arrivalMs = atMs - 10
        var counts = ChaosChecker.check(sample.history).counts
        #expect(counts[.order] == 1)
        #expect(counts[.badge] == 1)
        sample.history.lives.append(
            ChaosLife(program: "worker-1", slot: 0, startMs: 0, endMs: atMs - 200, ending: .killed))
        counts = ChaosChecker.check(sample.history).counts
        #expect(counts[.order] == nil)
        #expect(counts[.badge] == nil)
    }
}
