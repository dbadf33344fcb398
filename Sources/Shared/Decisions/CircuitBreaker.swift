/// Stops sending to a provider under a credential while it fails, and finds out by a few probes when it works
/// again.
///
/// ```
///   closed --(too many failures in the window)--> open --(time is up)--> halfOpen --(all probes good)-->
///   closed
///                                                  ^                        |
///                                                  +----(a probe failed)----+   open time doubles up to the
///                                                  cap
/// ```
///
/// Only server and connection failures count, never a 4xx.
package struct CircuitBreaker: Equatable, Sendable {
    /// When it opens and for how long. Times in ms.
    package struct Limits: Equatable, Sendable {
        package var windowMs: Int64 = 10_000
        package var callsMin: Int = 50
        package var failureShare: Double = 0.5
        package var openMs: Int64 = 5000
        package var openMaxMs: Int64 = 60_000
        package var probes: Int = 5
        /// After this long without an answer a probe is given up and another one allowed.
        package var probeTimeoutMs: Int64 = 30_000

        package init() {}
    }

    /// Where it stands.
    package enum State: Equatable, Sendable {
        /// Everything goes. To: open.
        case closed
        /// Nothing goes until then. To: halfOpen.
        case open(untilMs: Int64)
        /// Some probes are out. To: closed, open.
        case halfOpen(sent: Int, good: Int, sinceMs: Int64)
    }

    package private(set) var state: State = .closed
    /// How often it opened since it was last closed for good.
    package private(set) var openings = 0
    private let limits: Limits
    private var window: FailureWindow

    package init(limits: Limits = Limits()) {
        self.limits = limits
        window = FailureWindow(windowMs: limits.windowMs)
    }

    /// Whether a call may go now; in the half-open state it counts as a probe.
    package mutating func admit(nowMs: Int64) -> Bool {
        switch state {
        case .closed: return true
        case .open(let until):
            guard nowMs >= until else { return false }
            state = .halfOpen(sent: 1, good: 0, sinceMs: nowMs)
            return true
        case .halfOpen(let sent, let good, let since):
            if sent < limits.probes {
                state = .halfOpen(sent: sent + 1, good: good, sinceMs: since)
                return true
            }
            guard nowMs - since >= limits.probeTimeoutMs else { return false }
            // The missing probes never answered; their places are free again.
            state = .halfOpen(sent: good + 1, good: good, sinceMs: nowMs)
            return true
        }
    }

    /// Whether a call would be let through now; counts nothing.
    package func wouldAdmit(nowMs: Int64) -> Bool {
        switch state {
        case .closed: true
        case .open(let until): nowMs >= until
        case .halfOpen(let sent, _, let since):
            sent < limits.probes || nowMs - since >= limits.probeTimeoutMs
        }
    }

    /// When a call may go at the earliest; nil when it may go now or a probe's answer is awaited.
    package var retryAtMs: Int64? {
        if case .open(let until) = state { until } else { nil }
    }

    /// Notes calls that the provider answered, whatever it said.
    package mutating func succeeded(_ count: Int = 1, nowMs: Int64) {
        switch state {
        case .closed: window.add(good: count, bad: 0, nowMs: nowMs)
        case .open: break
        case .halfOpen(let sent, let good, let since):
            if good + count >= limits.probes {
                close()
            } else {
                state = .halfOpen(sent: sent, good: good + count, sinceMs: since)
            }
        }
    }

    /// Notes calls that failed in the server or on the way.
    package mutating func failed(_ count: Int = 1, nowMs: Int64) {
        switch state {
        case .closed:
            window.add(good: 0, bad: count, nowMs: nowMs)
            let (calls, bad) = window.totals(nowMs: nowMs)
            if calls >= limits.callsMin, Double(bad) >= Double(calls) * limits.failureShare {
                open(nowMs: nowMs)
            }
        case .open: break
        case .halfOpen: open(nowMs: nowMs)
        }
    }

    /// Opens at once, for a credential that is known to be bad.
    package mutating func trip(nowMs: Int64) {
        if case .open = state { return }
        open(nowMs: nowMs)
    }

    /// Closes at once, for a credential that was replaced.
    package mutating func close() {
        state = .closed
        openings = 0
        window = FailureWindow(windowMs: limits.windowMs)
    }

    private mutating func open(nowMs: Int64) {
        let time = min(limits.openMaxMs, min(limits.openMs, 1 << 40) << Int64(min(openings, 16)))
        openings += 1
        state = .open(untilMs: nowMs + time)
    }
}

extension Verdict {
    /// What an answer, or its absence, says about the provider.
    package enum Health: Equatable, Sendable {
        /// It answered, were it with a refusal.
        case works
        /// It failed, or could not be reached.
        case fails
        /// Neither: it proved that it has not looked at the request, or said goodbye in good order.
        case unknown
    }

    /// What the verdict says about the provider, for the circuit breaker: never is a 4xx its failure.
    package var health: Health {
        guard case .retry(let backoff, _) = outcome else { return .works }
        if effects.contains(.notAnAttempt) || reason == .apnsShutdown { return .unknown }
        return switch backoff {
        case .connection, .server, .serverSlow: .fails
        case .refresh, .device, .quota, .tokenUpdate: .works
        }
    }
}

/// Counts of good and bad events over a sliding window of ten slices.
package struct FailureWindow: Equatable, Sendable {
    private var good = [Int](repeating: 0, count: 10)
    private var bad = [Int](repeating: 0, count: 10)
    private let sliceMs: Int64
    private var slice: Int64 = 0

    package init(windowMs: Int64) { sliceMs = max(1, windowMs / 10) }

    /// Adds events at `nowMs`.
    package mutating func add(good goodCount: Int, bad badCount: Int, nowMs: Int64) {
        turn(nowMs: nowMs)
        let index = Int(slice % 10)
        good[index] &+= max(0, goodCount)
        bad[index] &+= max(0, badCount)
    }

    /// All events and the bad ones among them within the window.
    package mutating func totals(nowMs: Int64) -> (calls: Int, bad: Int) {
        turn(nowMs: nowMs)
        let bads = bad.reduce(0, &+)
        return (good.reduce(0, &+) &+ bads, bads)
    }

    private mutating func turn(nowMs: Int64) {
        let current = max(0, nowMs) / sliceMs
        guard current > slice else { return }
        for step in 1...min(10, current - slice) {
            good[Int((slice + step) % 10)] = 0
            bad[Int((slice + step) % 10)] = 0
        }
        slice = current
    }
}
