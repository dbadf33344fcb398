internal import EventLoop
internal import Glibc
package import Logging

/// The life of a service process: starts it, waits for a signal, stops it within its deadline.
package enum ServiceRunner {
    /// The exit code for a configuration that can't be used (EX_CONFIG of sysexits.h).
    package static let configurationExitCode: Int32 = 78
    /// The exit code when a stop took longer than its deadline.
    package static let overdueExitCode: Int32 = 70

    /// Heaps that the C library may divide its memory into.
    private static let heaps = 2
    /// Free bytes that each of them may keep.
    private static let heapSlack = 4 << 20

    /// Blocks the signals that end a service, so that every thread made later inherits that, and bounds the
    /// C library's heaps. First thing in `main`.
    package static func prepare() {
        // By default nearly every thread gets a heap of its own, and what one thread allocates and another
        // frees, as records and batches are, leaves holes in each of them. And what the largest read of Kafka
        // took once would be kept for the next one.
        Clock.limitHeaps(heaps, keepingBytes: heapSlack)
        Signals.ignorePipe()
        Signals.block([Signals.interrupt, Signals.terminate, Signals.hangUp])
    }

    /// Waits for SIGTERM or SIGINT, or until the service has failed for good, then calls `stop`; a watchdog
    /// ends the process if that takes longer than `deadlineMs`. What is committed by then stays committed, so
    /// the hard end loses nothing. SIGHUP calls `reload` on this thread; without one it does nothing.
    /// - Returns: the exit code: 0 after a signal, 1 after a failure.
    package static func runUntilSignal(
        deadlineMs: UInt64, logger: Logger, sink: LogSink, hasFailed: @escaping () -> Bool = { false },
        reload: (() -> Void)? = nil, stop: () -> Void
    ) -> Int32 {
        guard let loop = try? EventLoop() else {
            logger.critical("process.no_descriptor", "No descriptors are left; raise ulimit -n.")
            return 1
        }
        let waiter = SignalWaiter(loop: loop, hasFailed: hasFailed, reload: reload)
        guard
            let source = try? SignalSource(
                loop: loop, signals: [Signals.interrupt, Signals.terminate, Signals.hangUp], handler: waiter)
        else { return 1 }
        let failed = waiter.wait()
        source.close()
        logger.notice(
            "process.stopping",
            failed ? "The service has failed; stopping." : "Stopping: work in flight is finished first.")
        let finished = Locked(false)
        let watchdog = WorkerThread.start(name: "watchdog") {
            let end = Clock.monotonicMs + deadlineMs
            while Clock.monotonicMs < end {
                if finished.withLock({ $0 }) { return }
                usleep(20_000)
            }
            if !finished.withLock({ $0 }) { _exit(overdueExitCode) }
        }
        stop()
        finished.withLock { $0 = true }
        watchdog.join()
        logger.notice("process.stopped", "Stopped.")
        sink.close()
        return failed ? 1 : 0
    }
}

/// Waits on a loop for the signals that end a process, or for its service's failure.
private final class SignalWaiter: SignalHandler, TimerHandler {
    private let loop: EventLoop
    private let hasFailed: () -> Bool
    private let reload: (() -> Void)?
    private var failed = false

    init(loop: EventLoop, hasFailed: @escaping () -> Bool, reload: (() -> Void)?) {
        self.loop = loop
        self.reload = reload
        self.hasFailed = hasFailed
    }

    /// Returns whether it was the failure.
    func wait() -> Bool {
        timerFired(0)
        if !failed { loop.run() }
        return failed
    }

    func signalled(_ signal: Int32) {
        // SIGHUP would end the process by default.
        if signal == Signals.hangUp { reload?() } else { loop.stop() }
    }

    func timerFired(_ tag: UInt64) {
        failed = hasFailed()
        if failed { return loop.stop() }
        _ = loop.schedule(afterMs: 500, tag: 0, handler: self)
    }
}
