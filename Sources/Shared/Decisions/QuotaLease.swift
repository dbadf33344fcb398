/// One shard's lease of a quota that many share: when to ask for tokens, how many, and when what finds none
/// should come back.
///
/// Times are ms of a clock that never steps back. Tokens are leased for at most a tenth of a second of the
/// whole quota and are worthless a second later; nothing is given back.
package struct QuotaLease: Equatable, Sendable {
    /// How long leased tokens are good for, in ms.
    package static let lifetimeMs: Int64 = 1000
    /// The longest wait between two questions while something waits, in ms: shorter than the time after which
    /// the bucket forgets who waits.
    package static let askWithinMs: Int64 = 200
    /// Refusals within this time slow the pace once, in ms.
    private static let slowEveryMs: Int64 = 1000
    /// The latest that something is put off to, in ms.
    package static let putOffMaxMs: Int64 = 3_600_000

    /// The quota, tokens in a thousand seconds.
    package let quota: Int64
    /// What is left of the lease.
    package private(set) var tokens: Int64 = 0
    /// Whether a question is under way.
    package private(set) var isAsking = false
    /// Tokens in a thousand seconds at present.
    package private(set) var pace: Int64
    /// Who shares the quota, this one included.
    package private(set) var lessees: Int64 = 1
    private var asked: Int64 = 0
    private var expiresMs: Int64 = 0
    private var nextAskMs: Int64 = 0
    /// Until when the provider wants nothing, as far as is known here.
    private var closedUntilMs: Int64 = 0
    /// Whether the answer under way was given before the provider refused.
    private var isAnswerStale = false
    private var usedNow: Int64 = 0
    private var usedBefore: Int64 = 0
    private var tickedMs: Int64 = 0
    private var nextDueUs: Int64 = 0
    private var slowedMs: Int64 = -slowEveryMs

    package init(quota: Int64) {
        self.quota = min(max(1, quota), 1 << 40)
        pace = self.quota
    }

    /// The most tokens that the bucket saves up: a quarter of a second's.
    package var capacity: Int64 { max(1, quota / 4000) }

    /// The most tokens of one lease: a tenth of a second's, or two even parts of it when that is less.
    package var chunk: Int64 {
        let whole = pace / 10_000
        return max(1, min(whole, 2 * whole / lessees))
    }

    /// How many may wait in memory: about what a second brings.
    package var waitingMax: Int { Int(min(512, max(16, pace / lessees / 1000))) }

    /// Takes a token; false when there is none.
    package mutating func take(nowMs: Int64) -> Bool {
        if nowMs >= expiresMs { tokens = 0 }
        guard tokens > 0 else { return false }
        tokens -= 1
        usedNow += 1
        return true
    }

    /// How many tokens to ask for now; nil for no question. Every question is answered by a call of
    /// `granted` or `failed`.
    package mutating func ask(waiting: Int, nowMs: Int64) -> Int64? {
        tick(nowMs: nowMs)
        guard !isAsking, nowMs >= nextAskMs else { return nil }
        let left = nowMs >= expiresMs ? 0 : tokens
        let recent = max(usedNow, usedBefore)
        // Ahead of the need only while there is one, so that an idle shard leases nothing.
        guard waiting > 0 || (recent > 0 && left * 2 < min(recent, chunk)) else { return nil }
        asked = min(chunk, max(Int64(waiting), recent - left, 1))
        isAsking = true
        return asked
    }

    /// Takes the answer in.
    package mutating func granted(
        _ given: Int64, waitMs: Int64, lessees: Int64, pace: Int64, nowMs: Int64
    ) {
        isAsking = false
        self.lessees = max(1, lessees)
        let before = self.pace
        self.pace = min(max(1, pace), quota)
        // Turns that were given at a slower pace are not waited for.
        if self.pace > before {
            nextDueUs = min(nextDueUs, max(nowMs + Self.lifetimeMs, closedUntilMs) * 1000)
        }
        if nowMs >= expiresMs { tokens = 0 }
        guard !isAnswerStale else {
            isAnswerStale = false
            return
        }
        tokens += max(0, given)
        if given > 0 { expiresMs = nowMs + Self.lifetimeMs }
        if given < asked { nextAskMs = nowMs + min(max(waitMs, 5), Self.askWithinMs) }
        if given == 0, waitMs > Self.lifetimeMs { closedUntilMs = max(closedUntilMs, nowMs + waitMs) }
    }

    /// The question has no answer.
    package mutating func failed(nowMs: Int64) {
        isAsking = false
        isAnswerStale = false
        nextAskMs = nowMs + 100
    }

    /// The provider refused for the quota and asked to wait; 0 when it named no time.
    package mutating func refused(waitMs: Int64, nowMs: Int64) {
        tokens = 0
        isAnswerStale = isAsking
        if waitMs > 0 { closedUntilMs = max(closedUntilMs, nowMs + min(waitMs, Self.putOffMaxMs)) }
        nextAskMs = max(nextAskMs, nowMs + min(max(waitMs, 100), Self.askWithinMs))
        // One burst of refusals is one refusal, as it is in the bucket that all share.
        guard nowMs >= slowedMs + Self.slowEveryMs else { return }
        slowedMs = nowMs
        pace = max(1, pace / 2, quota / 20)
    }

    /// How long what finds neither a token nor room to wait should stay away, in ms: each one until its own
    /// turn at this lessee's part of the quota, so that they don't all come back at once.
    package mutating func putOff(nowMs: Int64) -> Int64 {
        let interval = 1_000_000_000 / max(1, pace / lessees)
        let first = max(nowMs + Self.lifetimeMs, closedUntilMs) * 1000
        let last = (nowMs + Self.putOffMaxMs) * 1000
        nextDueUs = min(max(nextDueUs + interval, first), max(first, last))
        return nextDueUs / 1000 - nowMs
    }

    private mutating func tick(nowMs: Int64) {
        guard nowMs >= tickedMs + 100 else { return }
        usedBefore = nowMs >= tickedMs + 200 ? 0 : usedNow
        usedNow = 0
        tickedMs = nowMs
    }
}
