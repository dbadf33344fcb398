import Decisions
import Testing

@testable import PealKit

@Suite("The checker of runs under faults")
struct ChaosCheckerTests {
    @Test("A run in which everything went right breaks no rule")
    func clean() {
        let verdict = ChaosChecker.check(ChaosSample().history)
        #expect(verdict.counts == [:], "\(verdict.samples)")
        #expect(verdict.repeatedCount == 0)
        #expect(verdict.deliveries > 100)
    }

    @Test("A delivery without an outcome is lost")
    func lostOutcome() {
        var sample = ChaosSample()
        let gone = sample.history.events.removeLast()
        sample.count()
        let verdict = ChaosChecker.check(sample.history)
        #expect(verdict.counts == [.lost: 1])
        #expect(verdict.samples[.lost]?.first?.contains(ChaosPlan.name(ofJob: gone.job)) == true)
    }

    @Test("A confirmed job that is not in its topic is lost, an unconfirmed one is not")
    func lostRecord() {
        var sample = ChaosSample()
        let copy = sample.history.copies.removeLast()
        let device = sample.plan.devices(ofJob: copy.job)
        sample.history.events.removeAll { $0.job == copy.job }
        sample.history.requests.removeAll { $0.job == copy.job }
        sample.history.unread[sample.plan.jobs[copy.job].recipient] -= sample.plan.jobs[copy.job].unread
        sample.count()
        #expect(!device.isEmpty)
        #expect(ChaosChecker.check(sample.history).counts == [.lost: 1])
        sample.history.isAcknowledged[copy.place.lane] = false
        #expect(ChaosChecker.check(sample.history).isGood)
    }

    @Test("An acceptance that no provider knows of breaks the record's rule")
    func unseen() {
        var sample = ChaosSample()
        sample.history.requests.removeLast()
        #expect(ChaosChecker.check(sample.history).counts == [.record: 1])
    }

    @Test("A second copy on a device needs a reason")
    func duplicate() {
        var sample = ChaosSample()
        sample.repeatLast(byWorker: 1, afterMs: 50)
        let verdict = ChaosChecker.check(sample.history)
        #expect(verdict.counts == [.duplicate: 1])
        #expect(verdict.samples[.duplicate]?.first?.contains("worker 2") == true)
    }

    @Test("The end of the worker that sent it is a reason only when it was killed, and soon after")
    func killedWorker() throws {
        let endings: [(ChaosLife.Ending, Int64, Bool)] = [
            (.killed, 200, true), (.killed, -200_000, false), (.killed, 60_000, false),
            (.stopped(code: 0), 200, false), (.hung, 200, true),
        ]
        for (ending, delay, isReason) in endings {
            var sample = ChaosSample()
            let sent = try #require(sample.history.requests.last)
            sample.repeatLast(byWorker: 1, afterMs: 1_000)
            sample.history.lives.append(
                ChaosLife(
                    program: "worker-1", slot: sent.worker, startMs: 0, endMs: sent.arrivalMs + delay,
                    ending: ending))
            let verdict = ChaosChecker.check(sample.history)
            #expect((verdict.repeated[.workerKilled] == 1) == isReason, "\(ending) after \(delay)")
            #expect((verdict.counts[.duplicate] == nil) == isReason, "\(ending) after \(delay)")
        }
    }

    @Test("The kill of another worker is no reason")
    func otherWorker() throws {
        var sample = ChaosSample()
        let sent = try #require(sample.history.requests.last)
        sample.repeatLast(byWorker: 1, afterMs: 1_000)
        sample.history.lives.append(
            ChaosLife(
                program: "worker-3", slot: 2, startMs: 0, endMs: sent.arrivalMs + 200, ending: .killed))
        #expect(ChaosChecker.check(sample.history).counts[.duplicate] == 1)
    }

    @Test("A lost answer, a cut connection and a late answer are reasons")
    func ambiguous() {
        var sample = ChaosSample()
        sample.repeatLast(byWorker: 0, afterMs: 50)
        let first = sample.history.requests.count - 2
        var lost = sample
        lost.history.requests[first].isAnswered = false
        #expect(ChaosChecker.check(lost.history).repeated == [.providerFault: 1])
        var cut = sample
        cut.history.requests[first].closedMs = cut.history.requests[first].arrivalMs + 10
        cut.history.requests[first].cause = .proxy
        #expect(ChaosChecker.check(cut.history).repeated == [.linkCut: 1])
        var closed = cut
        closed.history.requests[first].cause = .client
        #expect(ChaosChecker.check(closed.history).counts == [.duplicate: 1])
        var late = sample
        let at = late.history.requests[first].arrivalMs
        let stall = ChaosFault(kind: .linkStall, slot: 0, atMs: 0, durationMs: 4_000, detail: 0)
        late.history.injections.append(
            ChaosHistory.Injection(fault: stall, fromMs: at - 100, toMs: at + 4_000))
        #expect(ChaosChecker.check(late.history).repeated == [.answerLate: 1])
    }

    @Test("A rebalance is a reason only while the broker or Redis withholds answers")
    func rebalance() throws {
        var sample = ChaosSample()
        let sent = try #require(sample.history.requests.last)
        sample.repeatLast(byWorker: 1, afterMs: 7_000)
        sample.history.lives.append(
            ChaosLife(program: "worker-3", slot: 2, startMs: sent.arrivalMs + 100))
        #expect(ChaosChecker.check(sample.history).counts[.duplicate] == 1)
        let slow = ChaosFault(kind: .brokerSlow, slot: 0, atMs: 0, durationMs: 4_000, detail: 0)
        sample.history.injections.append(
            ChaosHistory.Injection(fault: slow, fromMs: sent.arrivalMs, toMs: sent.arrivalMs + 2_000))
        #expect(ChaosChecker.check(sample.history).repeated == [.rebalance: 1])
    }

    @Test("A job that waited ends without being sent when a newer one of its collapse key was")
    func superseded() throws {
        var sample = ChaosSample(jobs: 2_000)
        let plan = sample.plan
        let pair = try #require(sample.neighbours { plan.jobs[$0].collapses })
        let older = sample.history.requests[pair.0].job
        sample.history.retried.insert(older)
        sample.history.requests.removeAll { $0.job == older }
        for (index, event) in sample.history.events.enumerated() where event.job == older {
            sample.history.events[index] = ChaosHistory.Event(
                job: older, place: event.place, device: event.device, outcome: .expired, atMs: event.atMs)
        }
        sample.count()
        #expect(ChaosChecker.check(sample.history).isGood)
        sample.history.requests.removeAll { plan.jobs[$0.job].collapses }
        let verdict = ChaosChecker.check(sample.history)
        #expect(verdict.counts[.outcome] == plan.devices(ofJob: older).count)
    }

    @Test("A second outcome needs a reason, also when it is another one")
    func secondOutcome() throws {
        for outcome in [DeliveryOutcome.accepted, .expired] {
            var sample = ChaosSample()
            let event = try #require(sample.history.events.last)
            sample.history.events.append(
                ChaosHistory.Event(
                    job: event.job, place: event.place, device: event.device, outcome: outcome,
                    atMs: event.atMs + 900))
            sample.count()
            #expect(ChaosChecker.check(sample.history).counts == [.outcome: 1])
        }
    }

    @Test("An outcome that nothing asks for breaks its rule")
    func strangeOutcome() throws {
        for outcome in [DeliveryOutcome.expired, .dead, .rejected, .noDevice, .invalidToken, .duplicate] {
            var sample = ChaosSample()
            let event = sample.history.events.removeLast()
            sample.history.events.append(
                ChaosHistory.Event(
                    job: event.job, place: event.place, device: event.device, outcome: outcome,
                    atMs: event.atMs))
            sample.count()
            #expect(ChaosChecker.check(sample.history).counts[.outcome] == 1, "\(outcome)")
        }
    }

    @Test("A device whose token is gone may go without outcomes")
    func removedDevice() throws {
        var sample = ChaosSample()
        let event = try #require(
            sample.history.events.last { sample.plan.devices(ofJob: $0.job).count > 1 })
        let device = try #require(event.device)
        let told = try #require(sample.history.requests.firstIndex { $0.device == device })
        let first = sample.history.requests[told].job
        sample.history.requests.removeAll { $0.device == device && $0.job != first }
        sample.history.requests[told].answer = .tokenGone
        sample.history.requests[told].isDelivered = false
        sample.history.events.removeAll { $0.device == device && $0.job != first }
        let place = try #require(
            sample.history.events.firstIndex { $0.device == device && $0.job == first })
        let old = sample.history.events[place]
        sample.history.events[place] = ChaosHistory.Event(
            job: old.job, place: old.place, device: device, outcome: .invalidToken, atMs: old.atMs)
        sample.count()
        let verdict = ChaosChecker.check(sample.history)
        #expect(verdict.isGood, "\(verdict.samples)")
        #expect(verdict.outcomes["invalid_token"] == 1)
    }
}
