internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka

/// How long urgent jobs take while a long backlog of bulk jobs is worked off.
///
/// The bulk jobs wait in Kafka before the worker starts. Urgent ones are published at an even pace from when
/// a hundredth of the backlog is done until all of it is; each one's time runs from its record's timestamp to
/// its outcome event.
final class LaneMeasurement {
    /// What was measured.
    struct Result: Sendable {
        var bulk = 0
        var urgent = 0
        var p50Ms = 0
        var p99Ms = 0
        var highestMs = 0
        /// All of them, in order.
        var timesMs: [Int] = []
        /// Bulk notifications a second meanwhile.
        var bulkPerSecond = 0.0
    }

    private static let bulkApp = "shop"
    private static let urgentApp = "pager"
    private static let everyMs: UInt64 = 100

    private let options: BenchOptions
    private let simulator: BenchSimulator
    private let stack: Stack
    private let producer: KafkaProducer

    /// Starts broker, store and producer.
    init(_ options: BenchOptions, directory: String, simulator: BenchSimulator) throws(StackFailure) {
        self.options = options
        self.simulator = simulator
        var parts = StackOptions()
        parts.workers = 0
        parts.retries = 0
        parts.partitions = options.partitions
        // A million events would not fit into the embedded broker; only the urgent ones are asked for.
        parts.apps = [StackApp(Self.bulkApp, outcomes: "off"), StackApp(Self.urgentApp)]
        parts.directory = directory
        parts.logLevel = "warning"
        parts.settings = [
            "worker": ["shards: \(options.shards)"], "kafka": ["fetch.wait.max.ms: 100"],
        ]
        parts.environment = simulator.environment
        stack = try Stack(parts)
        do throws(KafkaFailure) {
            producer = try KafkaProducer(
                KafkaConfiguration.producer(
                    brokers: stack.broker.bootstrapServers, clientID: "peal-bench", lingerMs: 5),
                topics: [stack.topics.jobs(lane: "bulk"), stack.topics.jobs(lane: "urgent")])
            try producer.warmUp(timeoutMs: 10_000)
        } catch {
            throw StackFailure(.broker, "publishing failed: \(error)")
        }
    }

    /// Ends broker, store and what is left.
    func stop() {
        producer.close(deadlineMs: 2_000)
        stack.stop()
    }

    /// Publishes the backlog, and the urgent jobs while a worker works it off.
    func measure(say: (String) -> Void) throws(StackFailure) -> Result {
        say("lanes: publishing \(options.jobs) bulk jobs")
        for number in 0..<options.jobs { try publish(number, app: Self.bulkApp, topic: 0) }
        try flush()
        let events = UrgentEvents()
        let consumer = try events.consumer(stack, options.partitions)
        defer { consumer.close(deadlineMs: 2_000) }
        let before = try requests()
        let worker = try stack.startWorker()
        defer { worker.stop(deadlineMs: 15_000) }
        var deadlineMs = Clock.monotonicMs + options.runDeadlineMs
        while try requests() < before + options.jobs / 100 { try pause(deadlineMs, worker) }
        let startMs = Clock.monotonicMs
        let done = try requests()
        var result = Result(bulk: options.jobs)
        var nextMs = startMs
        deadlineMs = startMs + options.runDeadlineMs
        var now = done
        while now < before + options.jobs + result.urgent {
            if Clock.monotonicMs >= nextMs {
                try publish(options.jobs + result.urgent, app: Self.urgentApp, topic: 1)
                result.urgent += 1
                nextMs += Self.everyMs
            }
            _ = consumer.poll(timeoutMs: 5, maxRecords: 1000, into: events)
            try pause(deadlineMs, worker)
            now = try requests()
        }
        let elapsed = Double(max(1, Clock.monotonicMs - startMs))
        result.bulkPerSecond = Double(now - done - result.urgent) * 1000 / elapsed
        try flush()
        while events.afterMs.count < result.urgent {
            _ = consumer.poll(timeoutMs: 50, maxRecords: 1000, into: events)
            try pause(deadlineMs, worker)
        }
        let times = events.afterMs.sorted()
        result.timesMs = times
        result.p50Ms = times[times.count / 2]
        result.p99Ms = times[min(times.count - 1, times.count * 99 / 100)]
        result.highestMs = times[times.count - 1]
        return result
    }

    private func publish(_ number: Int, app: String, topic: Int) throws(StackFailure) {
        var token = ByteBuffer(capacity: 64)
        BenchJobs.append(token: UInt64(number), to: &token)
        var key = ByteBuffer(capacity: 96)
        key.append(text: "\(app)/\(number)")
        var job = ByteBuffer(capacity: 256)
        job.append(text: #"{"id":"\#(number)","app":"\#(app)","to":{"token":""#)
        unsafe job.append(token.bytes)
        job.append(text: #"","platform":"ios"},"title":"Spring is here"}"#)
        var reports: [DeliveryReport] = []
        while true {
            switch unsafe producer.produce(
                to: producer.topic(topic), key: key.bytes, value: job.bytes, opaque: UInt64(number))
            {
            case .accepted:
                if number % 1000 == 0 { producer.drain(into: &reports) }
                return
            case .queueFull: producer.drain(into: &reports, timeoutMs: 10)
            case .failed(let code): throw StackFailure(.broker, "a job was refused: \(code.description)")
            }
        }
    }

    private func flush() throws(StackFailure) {
        var reports: [DeliveryReport] = []
        let missing = producer.flush(deadlineMs: 60_000, into: &reports)
        if missing > 0 { throw StackFailure(.broker, "\(missing) jobs were not acknowledged") }
    }

    private func requests() throws(StackFailure) -> Int {
        guard let count = simulator.requestCount() else {
            throw StackFailure(.simulator, "the simulator does not answer")
        }
        return count
    }

    private func pause(_ deadlineMs: UInt64, _ worker: ChildProcess) throws(StackFailure) {
        guard worker.isRunning, Clock.monotonicMs < deadlineMs else {
            throw StackFailure(.timedOut, "the run did not end; the worker's log ends:\n\(worker.logTail())")
        }
        usleep(10_000)
    }
}

/// Gathers how long the urgent jobs took.
private final class UrgentEvents: KafkaRecordSink {
    var afterMs: [Int] = []

    func take(_ record: borrowing KafkaRecord) {
        guard let value = unsafe record.value, let event = unsafe OutcomeEventScan(value) else { return }
        afterMs.append(event.outcome == "accepted" ? event.afterMs : .max)
    }

    func consumer(_ stack: Stack, _ partitions: Int) throws(StackFailure) -> KafkaConsumer {
        do throws(KafkaFailure) {
            let consumer = try KafkaConsumer(
                .tool(brokers: stack.broker.bootstrapServers, group: "peal-bench"),
                topics: [stack.topics.outcomes])
            try consumer.assign(
                (0..<partitions).map {
                    TopicPartitionOffset(
                        topic: 0, partition: Int32(clamping: $0), offset: TopicPartitionOffset.beginning)
                })
            return consumer
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
    }
}
