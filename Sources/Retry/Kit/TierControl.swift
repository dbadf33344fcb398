import EventLoop

/// What a tier's thread and the service share.
final class TierControl: Sendable {
    struct State: Sendable {
        var isStopping = false
        var isAbandoned = false
        var hasFailed = false
        var drainDeadlineMs: UInt64 = 0
        var snapshot: RetryTierSnapshot
    }

    private let state: Locked<State>

    init(snapshot: RetryTierSnapshot) { state = Locked(State(snapshot: snapshot)) }

    var isStopping: Bool { state.withLock { $0.isStopping } }
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }
    var drainDeadlineMs: UInt64 { state.withLock { $0.drainDeadlineMs } }
    var snapshot: RetryTierSnapshot { state.withLock { $0.snapshot } }

    /// Asks the thread to stop; `abandons` as after a kill.
    func stop(drainDeadlineMs: UInt64, abandons: Bool) {
        state.withLock {
            $0.isStopping = true
            $0.isAbandoned = $0.isAbandoned || abandons
            $0.drainDeadlineMs = drainDeadlineMs
        }
    }

    func note(_ body: (inout State) -> Void) { state.withLock(body) }

    func publish(_ snapshot: RetryTierSnapshot) { state.withLock { $0.snapshot = snapshot } }
}
