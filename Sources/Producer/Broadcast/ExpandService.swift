internal import EventLoop
internal import Glibc
package import HTTPServer
internal import Jobs
package import Logging
internal import Metrics
internal import Redis
internal import Registry

/// The broadcast stage: one thread with a consumer of both of its topics, a producer and a Redis connection.
///
/// A broadcast is divided into parts, each a run of the subscriber index's shards, which the processes of one
/// consumer group share. A part writes the jobs of its recipients to the bulk lane and stores in Redis how
/// far it has got once the broker has acknowledged them. What a crash lets it repeat carries the same origin,
/// and workers let one record of an origin through for each recipient.
///
/// - Ownership: `stop` ends it; call it once.
/// - Threading: any thread.
package final class ExpandService: Sendable {
    private let control: ExpandControl
    private let thread: Locked<WorkerThread?>
    private let beacon: Locked<PodBeacon?>

    /// Starts serving.
    /// - Throws: when librdkafka refuses a property, or the system a descriptor or memory.
    package static func start(_ settings: ExpandSettings, log: Logger) throws -> ExpandService {
        guard let parser = JobParser() else {
            throw SystemFailure(errno: ENOMEM, doing: "make a job parser")
        }
        let runner = try ExpandRunner(settings, parser: parser, loop: try EventLoop(), log: log)
        let control = runner.control
        let beacon = PodBeacon(name: PodLine.podName, redis: settings.redis, line: Self.line(control))
        return ExpandService(control, WorkerThread.start(name: "expand") { runner.run() }, beacon)
    }

    private init(_ control: ExpandControl, _ thread: WorkerThread, _ beacon: PodBeacon) {
        self.control = control
        self.thread = Locked(thread)
        self.beacon = Locked(beacon)
    }

    /// Gives the lines of `peal:pods`.
    private static func line(_ control: ExpandControl) -> @Sendable () -> [UInt8] {
        let startedMs = Clock.wallMs
        return {
            let now = control.snapshot
            var line = PodLine(role: "expand", startedMs: startedMs, ready: Self.ready(control).sentence)
            line.set("parts", Int64(now.parts))
            line.set("parts_paused", Int64(now.partsPaused))
            line.set("recipients", Int64(clamping: now.recipients))
            line.set("control", now.controlVersion)
            return line.end()
        }
    }

    /// How things stand; at most about 250 ms old.
    package var snapshot: ExpandSnapshot { control.snapshot }

    /// Whether the thread goes round.
    package var live: Health { Self.live(control) }

    private static func live(_ control: ExpandControl) -> Health {
        if control.hasFailed { return .failing("The Kafka consumer can't go on.") }
        let tickMs = control.snapshot.tickMs
        if tickMs > 0, Clock.monotonicMs > tickMs + 30_000 {
            return .failing("The stage's thread has not moved for 30 seconds.")
        }
        return .ok
    }

    /// Whether the group has been joined and Redis answers.
    package var ready: Health { Self.ready(control) }

    private static func ready(_ control: ExpandControl) -> Health {
        if control.isStopping { return .failing("draining") }
        let now = control.snapshot
        if !now.isMember { return .failing("The stage has not joined its consumer group.") }
        if !now.isRedisReady { return .failing("Redis does not answer. \(now.redisFailure)") }
        if !now.isControlKnown { return .failing("It is not known yet what is paused.") }
        return Self.live(control)
    }

    /// Whether the consumer can't go on: the process is to be restarted.
    package var hasFailed: Bool { control.hasFailed }

    /// Liveness, readiness and metrics for `HTTPServer`.
    package var endpoints: HealthEndpoints {
        HealthEndpoints(
            role: .expand, live: { self.live }, ready: { self.ready },
            metrics: { self.snapshot.write(to: &$0) }, status: { self.snapshot.json() },
            page: { self.snapshot.page(live: self.live, ready: self.ready) })
    }

    /// Finishes what is out, stores progress, commits and leaves the group; waits for the thread.
    package func stop() { end(abandons: false) }

    /// Ends at once without producing, storing or committing anything more, as a kill would; for tests of
    /// that.
    package func abandon() { end(abandons: true) }

    private func end(abandons: Bool) {
        control.stop(abandons: abandons)
        let beacon = beacon.withLock { (beacon: inout PodBeacon?) -> PodBeacon? in
            defer { beacon = nil }
            return beacon
        }
        defer { beacon?.stop() }
        let running = thread.withLock { (thread: inout WorkerThread?) -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        running?.join()
    }
}
