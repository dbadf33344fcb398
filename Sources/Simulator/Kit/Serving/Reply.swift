import EventLoop

/// A place where one thread leaves a value for another that waits for it.
///
/// Waiting polls every half millisecond: it happens only when a test or an operator asks something.
final class Reply<Value: Sendable>: Sendable {
    private let value = Locked<Value?>(nil)

    func put(_ new: Value) { value.withLock { (slot: inout Value?) in slot = new } }

    func wait(deadlineMs: UInt64) -> Value? {
        let end = Clock.monotonicMs + deadlineMs
        while true {
            if let found = value.withLock({ (slot: inout Value?) in slot }) { return found }
            guard Clock.monotonicMs < end else { return nil }
            Pause.briefly()
        }
    }
}
