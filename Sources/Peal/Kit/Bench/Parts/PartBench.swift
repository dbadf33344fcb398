internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Redis

/// Broker, store, simulator and workers of one part of the bench, with a producer that keeps them busy.
///
/// - Ownership: ``stop()`` ends what it started; the simulator is the caller's.
/// - Threading: one thread.
final class PartBench {
    /// What a part wants to be different from the pipeline's bench.
    struct Setup {
        var kind = BenchJobKind.token
        /// Devices in the registry, one for each recipient.
        var recipients = 0
        var partitions = 64
        /// Lines for the configuration's sections, besides those for one shard and the fetch wait.
        var settings: [String: [String]] = [:]
        var logLevel = "warning"
        /// How long the producer gathers records, in ms.
        var lingerMs = 20
        /// A run's number: no two have a token in common.
        var run = 1
        /// Added to the environment of the workers.
        var environment: [String: String] = [:]
    }

    let options: BenchOptions
    let setup: Setup
    let simulator: BenchSimulator
    let stack: Stack
    /// Jobs published so far.
    private(set) var published = 0
    /// The simulator's count less the requests of this bench.
    private var requestsBefore: Int
    private var requestsAtPause = 0
    private let producer: KafkaProducer
    private var writer: JobWriter
    private var reports: [DeliveryReport] = []

    /// Starts broker and store, registers the recipients and connects the producer.
    init(
        _ options: BenchOptions, _ setup: Setup, directory: String, simulator: BenchSimulator
    ) throws(StackFailure) {
        self.options = options
        self.setup = setup
        self.simulator = simulator
        var parts = StackOptions()
        parts.workers = 0
        parts.retries = 0
        parts.partitions = setup.partitions
        parts.apps = [StackApp(BenchJobs.app)]
        parts.directory = directory
        parts.programDirectory = options.programDirectory
        parts.logLevel = setup.logLevel
        parts.settings = setup.settings
        parts.settings["worker", default: []].append("shards: \(options.shards)")
        if parts.settings["kafka"] == nil { parts.settings["kafka"] = ["fetch.wait.max.ms: 100"] }
        parts.environment = simulator.environment.merging(setup.environment) { _, own in own }
        stack = try Stack(parts)
        do throws(KafkaFailure) {
            producer = try KafkaProducer(
                KafkaConfiguration.producer(
                    brokers: stack.broker.bootstrapServers, clientID: "peal-bench", lingerMs: setup.lingerMs),
                topics: [stack.topics.jobs(lane: BenchJobs.lane)])
            try producer.warmUp(timeoutMs: 10_000)
        } catch {
            throw StackFailure(.broker, "publishing failed: \(error)")
        }
        writer = JobWriter(kind: setup.kind, recipients: setup.recipients, run: setup.run)
        requestsBefore = simulator.requestCount() ?? 0
        if setup.recipients > 0 {
            try RegistryFiller.fill(
                stack.redis.endpoint, app: BenchJobs.app, recipients: setup.recipients)
        }
    }

    /// Ends workers, broker and store.
    func stop() {
        producer.close(deadlineMs: 1_000)
        stack.stop()
    }

    // MARK: - Jobs

    /// Publishes one job without waiting for its acknowledgement.
    /// - Parameter number: Chooses the recipient or the token; nil for the next.
    /// - Returns: the job's id.
    /// - Throws: `.broker` when it is refused.
    @discardableResult
    func publish(number: Int? = nil) throws(StackFailure) -> ULID {
        writer.write(number ?? published)
        while true {
            switch unsafe producer.produce(
                to: producer.topic(0), key: writer.key.bytes, value: writer.job.bytes,
                opaque: UInt64(published))
            {
            case .accepted:
                published += 1
                if published % 1_000 == 0 { try drain() }
                return writer.id
            case .queueFull:
                producer.drain(into: &reports, timeoutMs: 10)
                try checkReports()
            case .failed(let code): throw StackFailure(.broker, "a job was refused: \(code.description)")
            }
        }
    }

    /// Takes the acknowledgements that have come.
    func drain() throws(StackFailure) {
        producer.drain(into: &reports)
        try checkReports()
    }

    /// Waits until the broker has every job.
    func flush() throws(StackFailure) {
        let missing = producer.flush(deadlineMs: 120_000, into: &reports)
        try checkReports()
        if missing > 0 { throw StackFailure(.broker, "\(missing) jobs were not acknowledged") }
    }

    /// Publishes until as many jobs as `backlog` wait, given how many are done.
    func topUp(to backlog: Int, done: Int, stride: Int = 1) throws(StackFailure) {
        while published - done < backlog { try publish(number: published &* stride) }
        try drain()
    }

    private func checkReports() throws(StackFailure) {
        if let bad = reports.first(where: { !$0.isDelivered }) {
            throw StackFailure(.broker, "a job was not written: \(bad.code.description)")
        }
        reports.removeAll(keepingCapacity: true)
    }

    // MARK: - Workers

    /// Starts workers and waits until they share all partitions of the bench's lane.
    func startWorkers(_ count: Int = 1) throws(StackFailure) -> [ChildProcess] {
        let first = stack.workers.count
        for _ in 0..<count { try stack.startWorker() }
        let started = Array(stack.workers[first...])
        let ports = Array(stack.workerPorts[first...])
        let sinceMs = Clock.monotonicMs
        while true {
            let shares = ports.map { metric(Self.partitionsMetric, port: $0) ?? 0 }
            if shares.reduce(0, +) == Double(setup.partitions), shares.allSatisfy({ $0 > 0 }) {
                return started
            }
            try check(started, sinceMs: sinceMs, waitingFor: "every worker's partitions")
            usleep(20_000)
        }
    }

    private static let partitionsMetric = "peal_consumer_partitions{lane=\"\(BenchJobs.lane)\"}"

    /// Stops them; they give back what they have not started.
    func stop(_ workers: [ChildProcess]) {
        for worker in workers { worker.send(signal: SIGTERM) }
        for worker in workers { worker.stop(deadlineMs: 15_000) }
    }

    /// The value of a sample of a worker's metrics, given with its labels; nil when it doesn't tell.
    func metric(_ sample: String, port: UInt16) -> Double? {
        stack.metrics(port: port).flatMap { Self.value(of: sample, in: $0) }
    }

    /// The value of one sample in Prometheus' text form; nil when it isn't there.
    static func value(of sample: String, in text: String) -> Double? {
        let start = sample + " "
        for line in text.split(separator: "\n") where line.hasPrefix(start) {
            return Double(line.dropFirst(start.count))
        }
        return nil
    }

    // MARK: - Waiting

    /// Requests that the simulator saw since this bench began.
    func requests() throws(StackFailure) -> Int {
        guard let count = simulator.requestCount() else {
            throw StackFailure(.simulator, "the simulator does not answer")
        }
        return count - requestsBefore
    }

    /// Call it before another bench uses the same simulator, and ``resume()`` when it has ended.
    func pause() throws(StackFailure) { requestsAtPause = try requests() }

    /// Counts requests from where ``pause()`` left off.
    func resume() throws(StackFailure) { requestsBefore += try requests() - requestsAtPause }

    /// Waits until so many requests were seen.
    func wait(_ workers: [ChildProcess], forRequests count: Int) throws(StackFailure) {
        let sinceMs = Clock.monotonicMs
        while try requests() < count {
            try check(workers, sinceMs: sinceMs, waitingFor: "requests")
            usleep(5_000)
        }
    }

    /// Keeps `backlog` jobs waiting or under way for as long as `goesOn` says, and notes the requests.
    /// `goesOn` hears of every look at them.
    func run(
        _ workers: [ChildProcess], backlog: Int, stride: Int = 1,
        while goesOn: (RateTrace.Mark) throws(StackFailure) -> Bool
    ) throws(StackFailure) -> RateTrace {
        var trace = RateTrace()
        let sinceMs = Clock.monotonicMs
        while true {
            let done = try requests()
            let mark = RateTrace.Mark(atMs: Clock.monotonicMs, count: done)
            trace.note(atMs: mark.atMs, count: done)
            guard try goesOn(mark) else { return trace }
            try topUp(to: backlog, done: done, stride: stride)
            try check(workers, sinceMs: sinceMs, waitingFor: "requests")
            usleep(5_000)
        }
    }

    /// - Throws: when a worker has ended or the run's deadline is over.
    func check(
        _ workers: [ChildProcess], sinceMs: UInt64, waitingFor what: String
    ) throws(StackFailure) {
        for worker in workers where !worker.isRunning {
            throw StackFailure(.program, "a worker has ended; its log ends:\n\(worker.logTail())")
        }
        guard Clock.monotonicMs < sinceMs + options.runDeadlineMs else {
            let tail = workers.last?.logTail() ?? ""
            throw StackFailure(.timedOut, "waited too long for \(what); the worker's log ends:\n\(tail)")
        }
    }
}
