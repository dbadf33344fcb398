internal import EventLoop

/// What the stage's thread and the service share.
final class ExpandControl: Sendable {
    struct State: Sendable {
        var isStopping = false
        var isAbandoned = false
        var hasFailed = false
        var snapshot = ExpandSnapshot()
    }

    private let state = Locked(State())

    var isStopping: Bool { state.withLock { $0.isStopping } }
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }
    var snapshot: ExpandSnapshot { state.withLock { $0.snapshot } }

    /// Asks the thread to stop; `abandons` as after a kill.
    func stop(abandons: Bool) {
        state.withLock {
            $0.isStopping = true
            $0.isAbandoned = $0.isAbandoned || abandons
        }
    }

    /// Notes that the thread can't go on.
    func fail() { state.withLock { $0.hasFailed = true } }

    func publish(_ snapshot: ExpandSnapshot) { state.withLock { $0.snapshot = snapshot } }
}
