import Decisions
import Testing

@Suite("Token bucket") struct TokenBucketTests {
    @Test("it starts full, empties and refills")
    func refill() {
        var bucket = TokenBucket(rate: 10, capacity: 20, nowMs: 0)
        #expect(bucket.take(25, nowMs: 0) == 20)
        #expect(bucket.take(1, nowMs: 99) == 0)
        #expect(bucket.take(1, nowMs: 100) == 1)
        #expect(bucket.take(100, nowMs: 60_000) == 20)
    }

    @Test("it says how long to wait")
    func wait() {
        var bucket = TokenBucket(rate: 10, capacity: 20, nowMs: 0)
        #expect(bucket.take(20, nowMs: 0) == 20)
        #expect(bucket.waitMs(for: 5, nowMs: 0) == 500)
        #expect(bucket.waitMs(for: 5, nowMs: 500) == 0)
        #expect(bucket.waitMs(for: 21, nowMs: 0) == nil)
        #expect(TokenBucket(rate: 0, capacity: 0, nowMs: 0).waitMs(for: 1, nowMs: 9) == nil)
    }

    @Test("a clock that steps back gives nothing")
    func clock() {
        var bucket = TokenBucket(rate: 10, capacity: 20, nowMs: 10_000)
        #expect(bucket.take(20, nowMs: 10_000) == 20)
        #expect(bucket.take(1, nowMs: 0) == 0)
        #expect(bucket.take(1, nowMs: 100) == 1)
    }

    @Test("a lease is added and thrown away")
    func lease() {
        var lease = TokenBucket(rate: 0, capacity: 100, nowMs: 0)
        lease.drain(nowMs: 0)
        lease.add(40)
        #expect(lease.take(50, nowMs: 1000) == 40)
        lease.add(1_000_000)
        #expect(lease.tokens == 100)
        lease.drain(nowMs: 0)
        #expect(lease.take(1, nowMs: 5000) == 0)
    }

    @Test("retries are earned by first attempts, above a floor")
    func budget() {
        var budget = RetryBudget(share: 0.1, floorPerSecond: 0, nowMs: 0)
        var taken = 0
        while budget.takeRetry(nowMs: 0) { taken += 1 }
        #expect(taken == 100)
        for _ in 0..<5 { budget.firstAttempts(5) }
        #expect(budget.takeRetry(nowMs: 0) == true)
        #expect(budget.takeRetry(nowMs: 0) == true)
        #expect(budget.takeRetry(nowMs: 0) == false)
    }
}

@Suite("Circuit breaker") struct CircuitBreakerTests {
    func opened() -> CircuitBreaker {
        var breaker = CircuitBreaker()
        breaker.failed(50, nowMs: 1000)
        return breaker
    }

    @Test("closed: a few failures change nothing")
    func closed() {
        var breaker = CircuitBreaker()
        breaker.failed(49, nowMs: 1000)
        #expect(breaker.state == .closed)
        #expect(breaker.admit(nowMs: 1000) == true)
        breaker.succeeded(60, nowMs: 1001)
        breaker.failed(1, nowMs: 1002)
        #expect(breaker.state == .closed)
    }

    @Test("closed: half of fifty calls open it")
    func opens() {
        var breaker = CircuitBreaker()
        breaker.succeeded(25, nowMs: 1000)
        breaker.failed(24, nowMs: 2000)
        #expect(breaker.state == .closed)
        breaker.failed(1, nowMs: 3000)
        #expect(breaker.state == .open(untilMs: 8000))
        #expect(breaker.retryAtMs == 8000)
    }

    @Test("closed: failures leave the window")
    func window() {
        var breaker = CircuitBreaker()
        breaker.failed(49, nowMs: 1000)
        breaker.failed(10, nowMs: 12_000)
        #expect(breaker.state == .closed)
    }

    @Test("open: nothing goes, and late answers change nothing")
    func open() {
        var breaker = opened()
        #expect(breaker.admit(nowMs: 5999) == false)
        breaker.succeeded(100, nowMs: 2000)
        breaker.failed(100, nowMs: 2000)
        breaker.trip(nowMs: 5000)
        #expect(breaker.state == .open(untilMs: 6000))
    }

    @Test("half open: five probes go, and their success closes it")
    func probes() {
        var breaker = opened()
        for _ in 0..<5 { #expect(breaker.admit(nowMs: 6000) == true) }
        #expect(breaker.admit(nowMs: 6000) == false)
        for _ in 0..<4 { breaker.succeeded(nowMs: 6100) }
        #expect(breaker.state == .halfOpen(sent: 5, good: 4, sinceMs: 6000))
        breaker.succeeded(nowMs: 6200)
        #expect(breaker.state == .closed)
        #expect(breaker.openings == 0)
        breaker.failed(49, nowMs: 6300)
        #expect(breaker.state == .closed)
    }

    @Test("half open: a failure opens it for twice as long, up to a minute")
    func doubles() {
        var breaker = opened()
        var now: Int64 = 1000
        for wait in [Int64(5000), 10_000, 20_000, 40_000, 60_000, 60_000] {
            #expect(breaker.state == .open(untilMs: now + wait))
            now += wait
            #expect(breaker.admit(nowMs: now) == true)
            breaker.failed(nowMs: now)
        }
    }

    @Test("half open: a probe without an answer is replaced after a while")
    func lostProbes() {
        var breaker = opened()
        for _ in 0..<5 { #expect(breaker.admit(nowMs: 6000) == true) }
        breaker.succeeded(nowMs: 6001)
        #expect(breaker.admit(nowMs: 35_999) == false)
        #expect(breaker.admit(nowMs: 36_000) == true)
        #expect(breaker.state == .halfOpen(sent: 2, good: 1, sinceMs: 36_000))
    }

    @Test("any state: it can be opened and closed by hand")
    func byHand() {
        var breaker = CircuitBreaker()
        breaker.trip(nowMs: 1000)
        #expect(breaker.admit(nowMs: 1001) == false)
        breaker.close()
        #expect(breaker.admit(nowMs: 1002) == true)
    }
}

@Suite("Invalidation breaker") struct InvalidationBreakerTests {
    @Test("a few refused tokens among many sends do not open it")
    func normal() {
        var breaker = InvalidationBreaker()
        breaker.note(answered: 10_000, refused: 400, nowMs: 1000)
        breaker.note(answered: 19, refused: 19, nowMs: 200_000)
        #expect(!breaker.isOpen(nowMs: 200_000))
    }

    @Test("a share above the limit opens it, and it closes by itself")
    func opens() {
        var breaker = InvalidationBreaker()
        breaker.note(answered: 400, refused: 19, nowMs: 1000)
        #expect(!breaker.isOpen(nowMs: 1000))
        breaker.note(answered: 1, refused: 1, nowMs: 1500)
        #expect(!breaker.isOpen(nowMs: 1500))
        breaker.note(answered: 1, refused: 1, nowMs: 2000)
        #expect(breaker.isOpen(nowMs: 2000))
        #expect(breaker.isOpen(nowMs: 301_999))
        #expect(!breaker.isOpen(nowMs: 302_000))
        #expect(breaker.openings == 1)
    }

    @Test("it stays open while the refusals go on, and a change of configuration closes it")
    func stays() {
        var breaker = InvalidationBreaker()
        breaker.note(answered: 30, refused: 30, nowMs: 1000)
        breaker.note(answered: 30, refused: 30, nowMs: 200_000)
        #expect(breaker.isOpen(nowMs: 400_000))
        #expect(breaker.openings == 1)
        breaker.reset()
        #expect(!breaker.isOpen(nowMs: 200_001))
    }
}

@Suite("Back-off") struct BackoffTests {
    @Test("it doubles to the cap and starts over")
    func doubles() {
        var backoff = Backoff(baseMs: 1000, capMs: 60_000, jitter: 0)
        var waits: [Int64] = []
        for _ in 0..<8 { waits.append(backoff.failed(random: 7)) }
        #expect(waits == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
        backoff.succeeded()
        #expect(backoff.failed(random: 7) == 1000)
    }

    @Test("jitter takes at most its share off")
    func jitter() {
        var low = Backoff(jitter: 0.5)
        var high = Backoff(jitter: 0.5)
        #expect(low.failed(random: .max) == 501)
        #expect(high.failed(random: 0) == 1000)
    }

    @Test("it does not overflow")
    func long() {
        var backoff = Backoff(baseMs: .max, capMs: .max, jitter: 1)
        for _ in 0..<200 { #expect(backoff.failed(random: .max) >= 0) }
    }

    @Test("ready: one connection is tried at a time")
    func ready() {
        var machine = ConnectionBackoff()
        #expect(machine.begin(nowMs: 0) == true)
        #expect(machine.begin(nowMs: 0) == false)
        machine.connected()
        #expect(machine.begin(nowMs: 1) == true)
    }

    @Test("waiting: nothing is tried before its time")
    func waiting() {
        var machine = ConnectionBackoff(backoff: Backoff(jitter: 0))
        #expect(machine.begin(nowMs: 0) == true)
        machine.failed(nowMs: 0, random: 0)
        #expect(machine.retryAtMs == 1000)
        #expect(machine.begin(nowMs: 999) == false)
        #expect(machine.begin(nowMs: 1000) == true)
        machine.failed(nowMs: 1000, random: 0)
        #expect(machine.state == .waiting(untilMs: 3000))
    }

    @Test("a connection that dies at once counts as failed, one that lived resets the wait")
    func shortLife() {
        var machine = ConnectionBackoff(backoff: Backoff(jitter: 0))
        #expect(machine.begin(nowMs: 0) == true)
        machine.connected()
        machine.closed(openedMs: 0, nowMs: 100, random: 0)
        #expect(machine.state == .waiting(untilMs: 1100))
        #expect(machine.begin(nowMs: 1100) == true)
        machine.connected()
        machine.closed(openedMs: 1100, nowMs: 1200, random: 0)
        #expect(machine.state == .waiting(untilMs: 3200))
        #expect(machine.begin(nowMs: 3200) == true)
        machine.connected()
        machine.closed(openedMs: 3200, nowMs: 13_200, random: 0)
        #expect(machine.state == .ready)
        #expect(machine.failures == 0)
    }
}
