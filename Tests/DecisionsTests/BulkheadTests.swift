import Testing

@testable import Decisions

@Suite struct BulkheadTests {
    /// One with as much open as said.
    private func bulkhead(limit: Int, preparing: Int = 0, sending: Int = 0, present: Int? = nil) -> Bulkhead {
        var one = Bulkhead(limit: limit)
        for _ in 0..<(present ?? preparing + sending) { one.enter() }
        for _ in 0..<preparing { one.prepare() }
        for _ in 0..<sending { one.send() }
        return one
    }

    private func expectTick(
        _ one: inout Bulkhead, _ nowMs: Int64, _ change: Bulkhead.Change,
        at place: SourceLocation = #_sourceLocation
    ) {
        let found = one.tick(nowMs: nowMs)
        #expect(found == change, sourceLocation: place)
    }

    @Test func theBoundIsAShareUnlessOneIsAlone() {
        #expect(Bulkhead.limit(of: 1000, share: 0.5, isAlone: false) == 500)
        #expect(Bulkhead.limit(of: 20, share: 0.5, isAlone: false) == 16)
        #expect(Bulkhead.limit(of: 1000, share: 0.5, isAlone: true) == .max)
        #expect(Bulkhead.limit(of: 1000, share: 1, isAlone: false) == .max)
    }

    @Test func withoutABoundEverythingStartsAndNobodyIsStuck() {
        var one = bulkhead(limit: .max, preparing: 5000, sending: 5000)
        #expect(one.step() == .start)
        for now in stride(from: Int64(0), to: 10_000, by: 100) { expectTick(&one, now, .none) }
    }

    @Test(arguments: [0, 1, 50, 99]) func belowTheBoundEverythingStarts(sending: Int) {
        #expect(bulkhead(limit: 100, sending: sending).step() == .start)
        #expect(bulkhead(limit: 100, sending: sending).mayEnter())
    }

    @Test(arguments: [100, 101, 300]) func atTheBoundABusyOneHoldsAndAStuckOneLeaves(sending: Int) {
        var one = bulkhead(limit: 100, sending: sending)
        #expect(one.step() == .hold)
        #expect(one.mayEnter())
        expectTick(&one, 1000, .none)
        expectTick(&one, 2000, .stuck)
        #expect(one.stuckSinceMs == 2000)
        #expect(one.step() == .leave)
        #expect(!one.mayEnter())
    }

    @Test func anUrgentOneMayGoAboveTheBoundByItsReserve() {
        for isStuck in [false, true] {
            var one = bulkhead(limit: 100, sending: 100)
            _ = one.tick(nowMs: 0)
            if isStuck { _ = one.tick(nowMs: 1000) }
            #expect(one.step(extra: 10) == .start)
            #expect(one.mayEnter(extra: 10))
            for _ in 0..<10 {
                one.enter()
                one.send()
            }
            #expect(one.step(extra: 10) == (isStuck ? .leave : .hold))
            #expect(one.mayEnter(extra: 10) == !isStuck)
        }
    }

    @Test func onlyAQuarterIsPreparedAtATime() {
        #expect(bulkhead(limit: 100, preparing: 24).step() == .start)
        #expect(bulkhead(limit: 100, preparing: 25).step() == .hold)
        #expect(bulkhead(limit: 16, preparing: 15).step() == .start)
        #expect(bulkhead(limit: 16, preparing: 16).step() == .hold)
    }

    @Test func oneThatOnlyStandsInQueuesIsStuckTooAndMayStartWhatItsBoundAllows() {
        var one = bulkhead(limit: 100, sending: 3, present: 100)
        _ = one.tick(nowMs: 0)
        expectTick(&one, 1000, .stuck)
        #expect(one.step() == .start)
        #expect(!one.mayEnter())
        for _ in 0..<50 { one.leave(hasEnded: false) }
        expectTick(&one, 1100, .moving)
        #expect(one.mayEnter())
    }

    /// An eighth of the bound in a second is a pace; what only left is none.
    @Test(arguments: [(ended: 0, left: 100, isStuck: true), (12, 0, false), (11, 0, true), (90, 0, false)])
    func thePaceTellsBusyFromStuck(ended: Int, left: Int, isStuck: Bool) {
        var one = bulkhead(limit: 100, sending: 100, present: 300)
        _ = one.tick(nowMs: 0)
        for _ in 0..<ended { one.leave(hasEnded: true) }
        for _ in 0..<left { one.leave(hasEnded: false) }
        expectTick(&one, 999, .none)
        expectTick(&one, 1000, (isStuck ? .stuck : .none))
    }

    @Test func aStuckOneMovesAgainByItsPaceOrWhenHalfOfItIsFree() {
        var paced = bulkhead(limit: 100, sending: 100, present: 300)
        _ = paced.tick(nowMs: 0)
        expectTick(&paced, 1000, .stuck)
        for _ in 0..<20 { paced.leave(hasEnded: true) }
        expectTick(&paced, 2000, .moving)
        #expect(paced.step() == .hold)
        var freed = bulkhead(limit: 100, sending: 100)
        _ = freed.tick(nowMs: 0)
        expectTick(&freed, 1000, .stuck)
        for _ in 0..<49 {
            freed.endSending()
            freed.leave(hasEnded: true)
        }
        expectTick(&freed, 1100, .none)
        #expect(freed.isStuck)
        freed.endSending()
        freed.leave(hasEnded: true)
        expectTick(&freed, 1200, .moving)
    }

    @Test func whoIsHeldUpBySomethingElseIsNotJudged() {
        var bulkhead = Bulkhead(limit: 10)
        for _ in 0..<10 { bulkhead.enter() }
        var now: Int64 = 0
        for _ in 0..<50 {
            now += 100
            bulkhead.excuse(nowMs: now)
        }
        #expect(bulkhead.tick(nowMs: now + 100) == .none)
        #expect(!bulkhead.isStuck)
        // From then on it counts again.
        var change = Bulkhead.Change.none
        for _ in 0..<30 where change == .none {
            now += 100
            change = bulkhead.tick(nowMs: now)
        }
        #expect(change == .stuck)
    }

    @Test func aClockThatIsSetBackBeginsANewWindow() {
        var one = bulkhead(limit: 100, sending: 100)
        _ = one.tick(nowMs: 1_000_000)
        expectTick(&one, 500, .none)
        expectTick(&one, 1500, .stuck)
    }

    @Test func whatAVerdictSaysAboutTheProvider() {
        for backoff in BackoffClass.allCases {
            let expected: Verdict.Health =
                [.connection, .server, .serverSlow].contains(backoff) ? .fails : .works
            #expect(Verdict(.retry(backoff, afterMs: 0), .fcmInternal).health == expected)
            #expect(
                Verdict(.retry(.connection, afterMs: 0), .transportUnprocessed, .notAnAttempt).health
                    == .unknown)
        }
        for outcome: Verdict.Outcome in [
            .accepted, .removeToken(registeredBeforeMs: 0), .keepToken, .removeChannel, .dead,
            .pauseCredential(.credential), .probeOtherEnvironment,
        ] { #expect(Verdict(outcome, .accepted).health == .works) }
        #expect(Verdict(.retry(.connection, afterMs: 0), .apnsShutdown).health == .unknown)
        for fault in TransportFault.allCases {
            let health = OutcomeTable.classify(fault, provider: .fcm).health
            #expect(health == (fault == .unprocessed ? .unknown : .fails))
        }
        #expect(apns(503, "ServiceUnavailable").health == .fails)
        #expect(apns(429, "TooManyRequests").health == .works)
        #expect(apns(400, "BadDeviceToken").health == .works)
        #expect(apns(410, "Unregistered").health == .works)
    }

    @Test func askingWhetherACircuitWouldAdmitCountsNothing() {
        var limits = CircuitBreaker.Limits()
        limits.probes = 1
        var one = CircuitBreaker(limits: limits)
        #expect(one.wouldAdmit(nowMs: 0))
        one.trip(nowMs: 0)
        #expect(!one.wouldAdmit(nowMs: limits.openMs - 1))
        let before = one
        #expect(one.wouldAdmit(nowMs: limits.openMs))
        #expect(one == before)
        let isAdmitted = one.admit(nowMs: limits.openMs)
        #expect(isAdmitted)
        #expect(!one.wouldAdmit(nowMs: limits.openMs))
        #expect(one.wouldAdmit(nowMs: limits.openMs + limits.probeTimeoutMs))
    }
}
