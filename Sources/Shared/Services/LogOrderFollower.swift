internal import Decisions
internal import EventLoop
package import Logging
package import Redis
internal import Registry

/// Obeys an operator's orders about log levels, `peal control log`, in a process that has no other reason to
/// read `peal:control`.
///
/// It reads the hash's version once a second, and the rest when that has changed and every 10 s. While Redis
/// is away the last known orders hold until they end; nothing is said about it, since nothing depends on it.
///
/// - Ownership: `stop` ends its thread.
/// - Threading: any.
package final class LogOrderFollower: Sendable {
    private let stopping = BlockingQueue<Void>(capacity: 1)
    private let thread: WorkerThread

    /// Starts following.
    package init(_ options: RedisClientOptions, logger: Logger, everyMs: UInt64 = 1_000) {
        let stopping = stopping
        thread = WorkerThread.start(name: "log-orders") {
            var quick = options
            // A stop waits for a question under way.
            quick.timeoutMs = min(options.timeoutMs, 500)
            guard let session = try? RedisSession(options: quick) else { return }
            var state: ControlState?
            var nextFullMs: UInt64 = 0
            repeat {
                let isDue = Clock.monotonicMs >= nextFullMs
                if let known = Self.read(session, state, isDue: isDue) {
                    if isDue { nextFullMs = Clock.monotonicMs + 10_000 }
                    state = known
                }
                logger.follow(state?.logOrders ?? [], nowMs: Clock.wallMs)
            } while Self.waits(stopping, everyMs)
            session.close()
        }
    }

    private static func waits(_ stopping: BlockingQueue<Void>, _ timeoutMs: UInt64) -> Bool {
        if case .nothing = stopping.next(timeoutMs: timeoutMs) { return true }
        return false
    }

    /// The hash as it is now; nil when Redis doesn't say.
    private static func read(_ session: RedisSession, _ known: ControlState?, isDue: Bool) -> ControlState? {
        if let known, !isDue {
            guard let version = try? session.run({ ControlCommands.version(into: &$0) }) else { return nil }
            if version.integer ?? Int64(version.text ?? "") ?? 0 == known.version { return known }
        }
        guard let all = try? session.run({ RegistryCommands.control(into: &$0) }) else { return nil }
        return ControlState(fields: all.pairs.map { (field: $0.key, value: $0.value.text ?? "") })
    }

    /// Ends the thread; waits for a question under way, half a second at most.
    package func stop() {
        stopping.close()
        thread.join()
    }
}
