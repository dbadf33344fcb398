/// A wait that doubles with each failure up to a cap, with jitter, and starts over after a success.
package struct Backoff: Equatable, Sendable {
    /// The first wait and the cap, in ms.
    package let baseMs: Int64
    package let capMs: Int64
    /// How much of the wait is random, 0...1.
    package let jitter: Double
    /// Failures in a row.
    package private(set) var failures = 0

    package init(baseMs: Int64 = 1000, capMs: Int64 = 60_000, jitter: Double = 0.5) {
        self.baseMs = min(max(1, baseMs), 1 << 40)
        self.capMs = max(self.baseMs, capMs)
        self.jitter = min(max(0, jitter), 1)
    }

    /// Notes a failure and returns the wait in ms: between `1 - jitter` of the step and the whole of it.
    package mutating func failed(random: UInt64) -> Int64 {
        let step = min(capMs, baseMs << Int64(min(failures, 20)))
        failures += 1
        let width = Int64(Double(step) * jitter)
        return step - Int64(UInt64(max(0, width)).multipliedFullWidth(by: random).high)
    }

    /// Notes a success.
    package mutating func succeeded() { failures = 0 }
}

/// When a pool may open its next connection to one endpoint: one attempt at a time, with a growing wait
/// between failed ones, because providers take quick reconnects for an attack.
package struct ConnectionBackoff: Equatable, Sendable {
    /// Where it stands.
    package enum State: Equatable, Sendable {
        /// A connection may be tried. To: connecting.
        case ready
        /// One is being tried. To: ready, waiting.
        case connecting
        /// The last one failed; the next not before then. To: connecting.
        case waiting(untilMs: Int64)
    }

    package private(set) var state: State = .ready
    private var backoff: Backoff
    /// A connection that lived shorter than this counts as failed when it closes.
    private let stableMs: Int64

    package init(backoff: Backoff = Backoff(), stableMs: Int64 = 10_000) {
        self.backoff = backoff
        self.stableMs = stableMs
    }

    /// Failed attempts in a row.
    package var failures: Int { backoff.failures }

    /// Whether a connection may be tried now; if so, it counts as being tried.
    package mutating func begin(nowMs: Int64) -> Bool {
        switch state {
        case .connecting: return false
        case .waiting(let until) where nowMs < until: return false
        case .ready, .waiting:
            state = .connecting
            return true
        }
    }

    /// Notes that the attempt succeeded; the failures are forgotten only when the connection has lived a
    /// while.
    package mutating func connected() { state = .ready }

    /// Notes that the attempt failed.
    package mutating func failed(nowMs: Int64, random: UInt64) {
        state = .waiting(untilMs: nowMs + backoff.failed(random: random))
    }

    /// Notes that an established connection closed.
    package mutating func closed(openedMs: Int64, nowMs: Int64, random: UInt64) {
        if nowMs - openedMs >= stableMs {
            backoff.succeeded()
        } else if state != .connecting {
            failed(nowMs: nowMs, random: random)
        }
    }

    /// When a connection may be tried; nil when it may be tried now or one is being tried.
    package var retryAtMs: Int64? {
        if case .waiting(let until) = state { until } else { nil }
    }
}
