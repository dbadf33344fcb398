import EventLoop
import Glibc
import Synchronization

/// Says from another thread that work should end.
package final class StopFlag: Sendable {
    private let isSet = Atomic<Bool>(false)

    /// A flag that isn't raised.
    package init() {}

    /// Whether to stop.
    package var isRaised: Bool { isSet.load(ordering: .relaxed) }

    /// Asks to stop.
    package func raise() { isSet.store(true, ordering: .relaxed) }
}

/// Raises a flag at the first interrupt or termination signal, and ends the process at the second.
package enum Interruption {
    /// Starts to listen; call first thing in `main`, before other threads are made.
    package static func watch(_ flag: StopFlag) {
        let signals = [Signals.interrupt, Signals.terminate]
        Signals.block(signals)
        _ = WorkerThread.start(name: "signals") {
            guard let loop = try? EventLoop() else { return }
            let handler = Handler(flag)
            guard let source = try? SignalSource(loop: loop, signals: signals, handler: handler) else {
                return
            }
            loop.run()
            source.close()
        }
    }

    private final class Handler: SignalHandler {
        private let flag: StopFlag

        init(_ flag: StopFlag) { self.flag = flag }

        func signalled(_ signal: Int32) {
            if flag.isRaised { _exit(130) }
            flag.raise()
        }
    }
}
