internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Redis
internal import SimulatorKit
internal import Terminal

/// One run of the demo: everything embedded, a file of jobs through it, every delivery compared with the
/// providers' record.
package struct Demo {
    /// How a run goes.
    package struct Options: Sendable {
        package var stack = StackOptions()
        /// How many jobs.
        package var count = 20_000
        /// Jobs published and not yet settled: what keeps the embedded broker's partitions from overflowing.
        package var windowMax = 20_000
        /// How long FCM answers 503, in ms; 0 for no outage.
        package var outageMs = 3_000
        /// How long there may be no news before the rest is given up as lost, in ms.
        package var patienceMs: UInt64 = 60_000
        /// Whether progress is shown on standard error.
        package var isVerbose = true

        package init() {}
    }

    let options: Options
    let plan: DemoPlan

    /// Plans a run.
    package init(options: Options, input: DemoInput) {
        self.options = options
        plan = DemoPlan(input: input, count: options.count)
    }

    /// Runs it on a stack of its own.
    package func run() throws(StackFailure) -> DemoReport {
        say("starting broker, Redis, simulator, worker and retry service")
        let stack = try Stack(options.stack)
        defer { stack.stop() }
        return try run(on: stack)
    }

    /// Runs it on a stack that is ready.
    package func run(on stack: Stack) throws(StackFailure) -> DemoReport {
        let sender = DemoSender(plan: plan)
        let recipients = plan.rounds * plan.input.recipients.count
        let registering = ProgressBar(title: "registering", isShown: isShown)
        try sender.register(at: stack.redis.endpoint) { registering.update(done: $0, total: recipients) }
        registering.clear()
        let collector = try OutcomeCollector(
            brokers: stack.broker.bootstrapServers, topics: stack.topics,
            partitions: stack.options.partitions, ledger: DemoLedger(plan: plan, pacedJobs: pacedJobs))
        let startMs = Clock.monotonicMs
        var floodWallMs = Clock.wallMs
        do throws(StackFailure) {
            floodWallMs = try publish(sender, stack, collector)
            try wait(for: collector, stack)
        } catch {
            collector.stop()
            throw error
        }
        let elapsedMs = Clock.monotonicMs - startMs
        collector.stop()
        var (ledger, deadLetters) = collector.result
        say("comparing with the providers' record")
        Self.audit(&ledger, stack.simulator.record)
        var report = ledger.report()
        report.deadLetters = deadLetters
        report.elapsedMs = elapsedMs
        report.busyMs = UInt64(max(1, ledger.lastFirstAttemptMs - floodWallMs))
        report.badgeMismatches += try sender.wrongCounters(at: stack.redis.endpoint)
        return report
    }

    /// How many jobs are published at a modest rate before the flood.
    private var pacedJobs: Int { min(2_000, plan.jobCount / 10) }

    /// Publishes all jobs; returns the time at which the flood began, in ms since 1970.
    private func publish(
        _ sender: DemoSender, _ stack: Stack, _ collector: OutcomeCollector
    ) throws(StackFailure) -> Int64 {
        let bar = ProgressBar(title: "sending", isShown: isShown)
        var hasFailed = false
        let outageFrom = plan.jobCount / 3
        let window = options.windowMax
        let paced = pacedJobs
        let startMs = Clock.monotonicMs
        var floodWallMs = Clock.wallMs
        try sender.publish(
            to: stack.broker.bootstrapServers, topics: stack.topics,
            room: { published in
                if published < paced {
                    let due = Int(clamping: (Clock.monotonicMs - startMs) * Self.pacedPerSecond / 1000) + 1
                    floodWallMs = Clock.wallMs
                    return min(due, paced) - published
                }
                if !hasFailed, published >= outageFrom, options.outageMs > 0 {
                    hasFailed = true
                    Self.startOutage(stack.simulator, forMs: options.outageMs)
                }
                return min(500, window - (published - collector.progress.settledJobs))
            },
            progress: { published in
                bar.update(
                    done: collector.progress.settledJobs, total: plan.jobCount, note: "\(published) published"
                )
            })
        bar.clear()
        return floodWallMs
    }

    private static let pacedPerSecond: UInt64 = 1_000

    /// FCM answers 503 for a while, and APNs says goodbye on every connection in the middle of it.
    private static func startOutage(_ simulator: Simulator, forMs: Int) {
        let script = """
            {"rules":[{"provider":"fcm","from_ms":0,"for_ms":\(forMs),"answer":{"error":"UNAVAILABLE"}}],
             "events":[{"at_ms":\(forMs / 2),"provider":"apns","do":{"action":"goaway","last_stream":"all"}}]}
            """
        try? simulator.setFaults(script)
    }

    private func wait(for collector: OutcomeCollector, _ stack: Stack) throws(StackFailure) {
        let bar = ProgressBar(title: "settling", isShown: isShown)
        defer { bar.clear() }
        var last = -1
        var newsMs = Clock.monotonicMs
        while true {
            let progress = collector.progress
            if progress.isComplete { return }
            bar.update(done: progress.settled, total: plan.slotCount, note: "deliveries")
            let now = Clock.monotonicMs
            if progress.settled != last {
                last = progress.settled
                newsMs = now
            } else if now - newsMs > options.patienceMs {
                say("no outcome for \(options.patienceMs / 1000) s: giving up on the rest")
                return
            }
            if let fallen = stack.fallen.first {
                throw StackFailure(
                    .program, "\(fallen.name) has ended by itself; its log ends:\n\(fallen.logTail())")
            }
            usleep(20_000)
        }
    }

    static func audit(_ ledger: inout DemoLedger, _ record: RequestRecord) {
        var taken = ledger
        record.forEach { request in
            taken.take(
                DemoRequest(
                    job: request.job, token: request.token, apnsID: request.id, badge: request.badge,
                    isDelivered: request.delivered, isAnswered: request.action == .respond))
        }
        ledger = taken
    }

    private var isShown: Bool { options.isVerbose && Console.isTerminal(2) }

    private func say(_ text: String) {
        if options.isVerbose { Console.complain(text) }
    }
}
