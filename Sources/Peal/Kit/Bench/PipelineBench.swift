internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Metrics
internal import Redis
internal import Terminal

/// One run of the whole pipeline. CPU is in microseconds a notification.
struct PipelineSample: Sendable {
    let perSecond: Double
    let workerUs: Double
    let redisUs: Double
    let brokerUs: Double
    let simulatorUs: Double
    /// How much of the machine other programs took meanwhile, 0...1.
    let othersShare: Double
    /// Resident memory after the last notification. The broker's is this process's.
    let workerBytes: UInt64
    let redisBytes: UInt64
    let brokerBytes: UInt64
    let simulatorBytes: UInt64
    /// Of publishing a job: the producer and the broker's share of it, outside the measured time.
    let publishUs: Double
    let h2load: TransportSample

    /// Of all processes of the pipeline.
    var togetherUs: Double { workerUs + redisUs + brokerUs + simulatorUs }
}

/// What the runs of one kind of job came to.
struct PipelineResult: Sendable {
    let kind: BenchJobKind
    let samples: [PipelineSample]

    /// The median of one figure.
    func median(_ value: (PipelineSample) -> Double) -> Double { Statistics.median(samples.map(value)) }

    /// Notifications a second for each of h2load's requests a second on the same simulator.
    var rateRatio: Double { Statistics.median(rateRatios) }

    /// The same of each run.
    var rateRatios: [Double] { samples.map { $0.perSecond / max(1, $0.h2load.requestsPerSecond) } }
}

/// Runs Kafka, Redis, a worker and the simulator together, with everything on this machine.
///
/// The jobs of a run wait in Kafka before its worker starts. It is measured from when a fiftieth of them are
/// at the simulator until the last outcome is in its topic.
final class PipelineBench {
    private let options: BenchOptions
    private let simulator: BenchSimulator
    private let stack: Stack
    private let jobs: BenchJobs
    private let inspector: KafkaInspector
    private var runs = 0

    /// Starts broker and store and registers the recipients.
    init(options: BenchOptions, directory: String, simulator: BenchSimulator) throws(StackFailure) {
        self.options = options
        self.simulator = simulator
        var parts = StackOptions()
        parts.workers = 0
        parts.retries = 0
        parts.partitions = options.partitions
        parts.apps = [StackApp(BenchJobs.app)]
        parts.directory = directory
        parts.logLevel = "warning"
        parts.settings = [
            "worker": ["shards: \(options.shards)"],
            // The default of the client; the stack's own suits demos, where latency counts more.
            "kafka": ["fetch.wait.max.ms: 100"],
        ]
        parts.environment = simulator.environment
        stack = try Stack(parts)
        jobs = BenchJobs(options: options)
        do throws(KafkaFailure) {
            inspector = try KafkaInspector(
                .tool(brokers: stack.broker.bootstrapServers, group: "peal-bench"))
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
        try jobs.register(at: stack.redis.endpoint)
    }

    /// Ends broker, store and what is left.
    func stop() {
        inspector.close()
        stack.stop()
    }

    /// Every kind of job, in turns with h2load, after a short run of each that doesn't count.
    func run(_ load: LoadGenerator, say: (String) -> Void) throws(StackFailure) -> [PipelineResult] {
        var samples: [[PipelineSample]] = BenchJobKind.allCases.map { _ in [] }
        for kind in BenchJobKind.allCases { _ = try measure(kind, load, jobs: max(1_000, options.jobs / 5)) }
        for round in 0..<options.rounds {
            for (index, kind) in BenchJobKind.allCases.enumerated() {
                let sample = try measure(kind, load, jobs: options.jobs)
                samples[index].append(sample)
                say(
                    "pipeline \(kind.rawValue) \(round + 1)/\(options.rounds):"
                        + " h2load \(TransportComparison.text(sample.h2load)),"
                        + " peal \(Human.rate(sample.perSecond))"
                        + " worker \(Human.decimal(sample.workerUs, places: 2)) us")
            }
        }
        return zip(BenchJobKind.allCases, samples).map { PipelineResult(kind: $0, samples: $1) }
    }

    private func measure(
        _ kind: BenchJobKind, _ load: LoadGenerator, jobs count: Int
    ) throws(StackFailure) -> PipelineSample {
        runs += 1
        let beforeNs = Clock.processCPUNs
        try jobs.publish(
            kind, count: count, run: runs, brokers: stack.broker.bootstrapServers, topics: stack.topics)
        let publishUs = Double(Clock.processCPUNs - beforeNs) / 1_000 / Double(count)
        let shape = BenchOptions.Shape(connections: 1, streams: 100)
        let yardstick = try load.run(shape, requests: options.requests)
        let target = (requests: try requests() + count, outcomes: try outcomes() + Int64(count))
        let worker = try stack.startWorker()
        defer { worker.stop(deadlineMs: 15_000) }
        let first = try start(worker, after: target.requests - count, jobs: count)
        try waitForRequests(worker, first, target.requests)
        // Asking for the outcomes of all partitions takes the mock broker a second, which is not the
        // pipeline's.
        let arrivedMs = Clock.monotonicMs
        while try outcomes() < target.outcomes { try check(worker, first.atMs, "outcomes") }
        let last = mark(worker, target.requests)
        try checkOutcomes(worker, count)
        let sent = Double(max(1, last.requests - first.requests))
        let elapsedMs = Double(max(1, last.atMs - first.atMs))
        let othersUs = last.machineUs - first.machineUs - (last.togetherUs - first.togetherUs)
        return PipelineSample(
            perSecond: sent * 1_000 / Double(max(1, arrivedMs - first.atMs)),
            workerUs: (last.workerUs - first.workerUs) / sent,
            redisUs: (last.redisUs - first.redisUs) / sent,
            brokerUs: (last.brokerUs - first.brokerUs) / sent,
            simulatorUs: (last.simulatorUs - first.simulatorUs) / sent,
            othersShare: min(1, max(0, othersUs / elapsedMs / 1_000 / Double(Clock.processorCount))),
            workerBytes: worker.residentBytes ?? 0,
            redisBytes: stack.redis.processID.map { ProcessTime.residentBytes(of: $0) } ?? 0,
            brokerBytes: Clock.residentBytes,
            simulatorBytes: simulator.process.residentBytes ?? 0, publishUs: publishUs, h2load: yardstick)
    }

    // MARK: - Waiting

    /// The moment and the CPU times at a number of requests.
    private struct Mark {
        let atMs: UInt64
        let requests: Int
        let workerUs: Double
        let redisUs: Double
        let brokerUs: Double
        let simulatorUs: Double
        let machineUs: Double

        /// Of the pipeline's processes.
        var togetherUs: Double { workerUs + redisUs + brokerUs + simulatorUs }
    }

    private func mark(_ worker: ChildProcess, _ requests: Int) -> Mark {
        Mark(
            atMs: Clock.monotonicMs, requests: requests,
            workerUs: ProcessTime.cpuUs(of: worker.processID),
            redisUs: stack.redis.processID.map { ProcessTime.cpuUs(of: $0) } ?? 0,
            brokerUs: Double(Clock.processCPUNs) / 1_000,
            simulatorUs: ProcessTime.cpuUs(of: simulator.process.processID),
            machineUs: ProcessTime.machineUs)
    }

    /// Waits for the first notifications: before them the worker joins its group, connects and asks for
    /// credentials, which are requests too.
    private func start(
        _ worker: ChildProcess, after before: Int, jobs: Int
    ) throws(StackFailure) -> Mark {
        let sinceMs = Clock.monotonicMs
        while true {
            let now = try requests()
            if now >= before + jobs / 50 { return mark(worker, now) }
            try check(worker, sinceMs, "the first request")
            usleep(5_000)
        }
    }

    private func waitForRequests(
        _ worker: ChildProcess, _ first: Mark, _ target: Int
    ) throws(StackFailure) {
        while true {
            let now = try requests()
            if now >= target { return }
            try check(worker, first.atMs, "requests")
            // Often enough at the end to see it, seldom before: asking costs CPU too.
            let done = Double(max(1, now - first.requests))
            let leftMs = Double(Clock.monotonicMs - first.atMs) / done * Double(target - now)
            usleep(UInt32(clamping: Int(min(100, max(1, leftMs / 2)) * 1_000)))
        }
    }

    private func check(_ worker: ChildProcess, _ sinceMs: UInt64, _ what: String) throws(StackFailure) {
        guard worker.isRunning else {
            throw StackFailure(.program, "the worker has ended; its log ends:\n\(worker.logTail())")
        }
        guard Clock.monotonicMs < sinceMs + options.runDeadlineMs else {
            throw StackFailure(
                .timedOut, "no more \(what) came; the worker's log ends:\n\(worker.logTail())")
        }
    }

    /// Everything must have been accepted, or the figures are of something else.
    private func checkOutcomes(_ worker: ChildProcess, _ jobs: Int) throws(StackFailure) {
        let end = Clock.monotonicMs + 5_000
        var seen = 0.0
        while Clock.monotonicMs < end {
            let metrics = stack.metrics(port: stack.workerPorts.last ?? 0) ?? ""
            seen = MetricText(metrics).sum("peal_deliveries_total", where: "outcome", is: "accepted")
            if Int(seen) == jobs { return }
            usleep(50_000)
        }
        throw StackFailure(
            .program, "\(Int(seen)) of \(jobs) were accepted; the worker's log ends:\n\(worker.logTail())")
    }

    private func requests() throws(StackFailure) -> Int {
        guard let count = simulator.requestCount() else {
            throw StackFailure(.simulator, "the simulator does not answer")
        }
        return count
    }

    /// Outcomes ever written.
    private func outcomes() throws(StackFailure) -> Int64 {
        var sum: Int64 = 0
        do throws(KafkaFailure) {
            for partition in 0..<options.partitions {
                sum += try inspector.watermarks(
                    topic: stack.topics.outcomes, partition: Int32(clamping: partition), timeoutMs: 10_000
                ).high
            }
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
        return sum
    }
}
