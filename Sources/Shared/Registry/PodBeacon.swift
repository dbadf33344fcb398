internal import EventLoop
package import Redis

/// Writes a process's line into `peal:pods` every second, and takes it out at the end.
///
/// Workers do that on a thread that they have anyway; the other roles have this one. With Redis away it says
/// nothing and tries again every second: the line is about the process, not the process about the line.
/// - Ownership: ``stop()`` ends it; call it once.
/// - Threading: any. `line` runs on the beacon's thread.
package final class PodBeacon: Sendable {
    private static let everyMs: UInt64 = 1_000

    private let stopping = BlockingQueue<Void>(capacity: 1)
    private let thread: WorkerThread

    /// Starts. `name` is unique among the pods; `line` gives what to write. `also` runs with each beat that
    /// Redis has taken, for whatever else a process writes once a second.
    package init(
        name: String, redis: RedisClientOptions, line: @escaping @Sendable () -> [UInt8],
        also: @escaping @Sendable (RedisSession) -> Void = { _ in }
    ) {
        let stopping = stopping
        var options = redis
        options.scripts = []
        options.clientName = "peal-pod"
        let usable = options
        thread = WorkerThread.start(name: "pod-beacon") {
            var session: RedisSession?
            func beat() {
                do throws(RedisFailure) {
                    let open: RedisSession
                    if let session { open = session } else { open = try RedisSession(options: usable) }
                    session = open
                    let json = line()
                    try open.run { RegistryCommands.beat(pod: name, json: json, into: &$0) }
                    also(open)
                } catch {
                    // Readiness and metrics tell what is wrong with Redis; here nothing can be done about it.
                }
            }
            beat()
            while case .nothing = stopping.next(timeoutMs: Self.everyMs) { beat() }
            _ = try? session?.run { RegistryCommands.goodbye(pod: name, into: &$0) }
            session?.close()
        }
    }

    /// Takes the line out, if Redis answers, and ends the thread.
    package func stop() {
        stopping.close()
        thread.join()
    }
}
