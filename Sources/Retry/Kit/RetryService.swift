import Decisions
import EventLoop
package import HTTPServer
package import Kafka
package import Logging
import Metrics

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
        return RetryService(controls, threads, drainDeadlineMs: settings.drainDeadlineMs)
    }

    private init(_ controls: [TierControl], _ threads: [WorkerThread], drainDeadlineMs: UInt64) {
        self.controls = controls
        self.threads = Locked(threads)
        self.drainDeadlineMs = drainDeadlineMs
    }

    /// How things stand; at most about 250 ms old.
    package var snapshot: RetrySnapshot { RetrySnapshot(tiers: controls.map(\.snapshot)) }

    /// Whether every tier's thread goes round.
    package var live: Health {
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
    package var ready: Health {
        if controls.contains(where: \.isStopping) { return .failing("draining") }
        for control in controls where !control.snapshot.isMember {
            return .failing("The \(control.snapshot.tier) tier has not joined its consumer group.")
        }
        if controls.contains(where: { $0.snapshot.areBrokersAway }) {
            return .failing("No Kafka broker answers; records wait until one does.")
        }
        return live
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
        for control in controls { control.stop(drainDeadlineMs: drainDeadlineMs, abandons: abandons) }
        let running = threads.withLock { (list: inout [WorkerThread]) -> [WorkerThread] in
            defer { list = [] }
            return list
        }
        for thread in running { thread.join() }
    }
}
