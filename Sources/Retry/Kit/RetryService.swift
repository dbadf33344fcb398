internal import Core
import Decisions
import EventLoop
package import HTTPServer
package import Kafka
package import Logging
import Metrics
internal import Redis
internal import Registry

/// The retry service: one thread, one consumer group and one producer for each retry topic.
///
/// Records that are due go back to the job topic of their origin with key, value and headers as they came;
/// the retry offset is committed after the brokers have acknowledged that. A record may therefore be written
/// twice around a crash; workers claim origin and attempt in Redis, so that it is sent once.
///
/// - Ownership: `stop` ends it; call it once.
/// - Threading: any thread.
package final class RetryService: Sendable {
    private let controls: [TierControl]
    private let threads: Locked<[WorkerThread]>
    private let beacon: Locked<PodBeacon?>
    private let drainDeadlineMs: UInt64

    /// Starts serving.
    /// - Throws: when librdkafka refuses a property.
    package static func start(_ settings: RetrySettings, log: Logger) throws(KafkaFailure) -> RetryService {
        let schedule = RetrySchedule(tiers: settings.tiers)
        var controls: [TierControl] = []
        var threads: [WorkerThread] = []
        do throws(KafkaFailure) {
            for (index, tier) in schedule.tiers.enumerated() {
                guard settings.servedTiers.isEmpty || settings.servedTiers.contains(tier.name) else {
                    continue
                }
                let runner = try TierRunner(settings, schedule: schedule, tier: index, log: log)
                controls.append(runner.control)
                threads.append(WorkerThread.start(name: "retry-\(tier.name)") { runner.run() })
            }
        } catch {
            for control in controls { control.stop(drainDeadlineMs: 0, abandons: true) }
            for thread in threads { thread.join() }
            throw error
        }
        let service = RetryService(controls, threads, drainDeadlineMs: settings.drainDeadlineMs)
        if let redis = settings.redis { service.startBeacon(redis) }
        return service
    }

    private init(_ controls: [TierControl], _ threads: [WorkerThread], drainDeadlineMs: UInt64) {
        self.controls = controls
        self.threads = Locked(threads)
        self.drainDeadlineMs = drainDeadlineMs
        beacon = Locked(nil)
    }

    private func startBeacon(_ redis: RedisClientOptions) {
        let beacon = PodBeacon(name: PodLine.podName, redis: redis, line: Self.line(controls))
        self.beacon.withLock { $0 = beacon }
    }

    /// Gives the lines of `peal:pods`; each tells how late records were within the last ten seconds or so.
    private static func line(_ controls: [TierControl]) -> @Sendable () -> [UInt8] {
        let startedMs = Clock.wallMs
        let recent = Locked(RecentHistogram())
        return {
            let now = RetrySnapshot(tiers: controls.map(\.snapshot))
            let late = recent.withLock { $0.take(now.dueErrorMs, nowMs: Clock.monotonicMs) }
            var line = PodLine(role: "retry", startedMs: startedMs, ready: Self.ready(controls).sentence)
            line.set("depth", now.tiers.map { ($0.tier, $0.depth) })
            line.set("held", now.tiers.reduce(Int64(0)) { $0 + Int64($1.held) })
            line.set("due_error_p99_ms", Int64(clamping: late.quantile(0.99)))
            return line.end()
        }
    }

    /// How things stand; at most about 250 ms old.
    package var snapshot: RetrySnapshot { RetrySnapshot(tiers: controls.map(\.snapshot)) }

    /// Whether every tier's thread goes round.
    package var live: Health { Self.live(controls) }

    private static func live(_ controls: [TierControl]) -> Health {
        let now = Clock.monotonicMs
        for control in controls {
            let tier = control.snapshot
            if control.hasFailed { return .failing("The \(tier.tier) tier's Kafka consumer can't go on.") }
            if tier.tickMs > 0, now > tier.tickMs + 30_000 {
                return .failing("The \(tier.tier) tier's thread has not moved for 30 seconds.")
            }
        }
        return .ok
    }

    /// Whether every tier has joined its group and Kafka answers.
    package var ready: Health { Self.ready(controls) }

    private static func ready(_ controls: [TierControl]) -> Health {
        if controls.contains(where: \.isStopping) { return .failing("draining") }
        for control in controls where !control.snapshot.isMember {
            return .failing("The \(control.snapshot.tier) tier has not joined its consumer group.")
        }
        if controls.contains(where: { $0.snapshot.areBrokersAway }) {
            return .failing("No Kafka broker answers; records wait until one does.")
        }
        return Self.live(controls)
    }

    /// Whether a tier's consumer can't go on: the process is to be restarted.
    package var hasFailed: Bool { controls.contains { $0.hasFailed } }

    /// Whether every tier has joined its group and goes round.
    package var isReady: Bool { ready == .ok }

    /// Liveness, readiness and metrics for `HTTPServer`.
    package var endpoints: HealthEndpoints {
        HealthEndpoints(
            role: .retry, live: { self.live }, ready: { self.ready },
            metrics: { self.snapshot.write(to: &$0) }, status: { self.snapshot.json() },
            page: { self.snapshot.page(live: self.live, ready: self.ready) })
    }

    /// Hands over what is due, commits and leaves the groups; waits for the threads.
    package func stop() { end(abandons: false) }

    /// Ends at once without producing or committing anything more, as a kill would; for tests of that.
    package func abandon() { end(abandons: true) }

    private func end(abandons: Bool) {
        let beacon = beacon.withLock { (beacon: inout PodBeacon?) -> PodBeacon? in
            defer { beacon = nil }
            return beacon
        }
        defer { beacon?.stop() }
        for control in controls { control.stop(drainDeadlineMs: drainDeadlineMs, abandons: abandons) }
        let running = threads.withLock { (list: inout [WorkerThread]) -> [WorkerThread] in
            defer { list = [] }
            return list
        }
        for thread in running { thread.join() }
    }
}
