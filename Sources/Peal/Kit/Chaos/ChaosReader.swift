internal import Core
internal import Decisions
internal import EventLoop
internal import Kafka

/// Reads every topic of a run from its beginning, on a thread of its own, while the run goes on: the
/// embedded broker drops what gets old.
///
/// - Threading: any thread may ask. ``stop()`` ends the thread; call it once.
final class ChaosReader: Sendable {
    /// What was read.
    struct Log: Sendable {
        var copies: [ChaosHistory.Copy] = []
        var events: [ChaosHistory.Event] = []
        var retried: Set<Int> = []
        var deadLetters = 0
        var strangers: [String] = []
        /// The next offset of each topic's partitions.
        var ends: [[Int64]] = []
        /// Copies without any outcome so far.
        var open = 0
    }

    /// The topics in the order of ``Log/ends``: jobs by lane, retries by tier, outcomes, dead letters.
    let topics: [String]
    private let log: Locked<Log>
    private let isStopping = Locked(false)
    private let thread: WorkerThread

    private struct ConsumerBox: @unchecked Sendable {
        // Handed to the thread that alone uses it from then on.
        let consumer: KafkaConsumer
    }

    /// Starts to read.
    init(brokers: String, names: TopicNames, tiers: [String], partitions: Int, plan: ChaosPlan)
        throws(StackFailure)
    {
        let jobs = TopicNames.lanes.map { names.jobs(lane: $0) }
        topics = jobs + tiers.map { names.retry(tier: $0) } + [names.outcomes, names.dead]
        var empty = Log()
        empty.ends = topics.map { _ in Array(repeating: 0, count: partitions) }
        let log = Locked(empty)
        self.log = log
        let box: ConsumerBox
        do throws(KafkaFailure) {
            var configuration = KafkaConfiguration.consumer(
                brokers: brokers, group: "peal-chaos", clientID: "peal-chaos")
            configuration.tuneForEmbeddedBroker()
            configuration.set("socket.timeout.ms", "\(ChaosOptions.kafkaMs)")
            let consumer = try KafkaConsumer(configuration, topics: topics)
            var positions: [TopicPartitionOffset] = []
            for topic in topics.indices {
                for partition in 0..<partitions {
                    positions.append(
                        TopicPartitionOffset(
                            topic: Int32(clamping: topic), partition: Int32(clamping: partition),
                            offset: TopicPartitionOffset.beginning))
                }
            }
            try consumer.assign(positions)
            box = ConsumerBox(consumer: consumer)
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
        let sink = ChaosSink(plan: plan, jobTopics: jobs, tiers: tiers.count)
        let parts = SinkBox(sink: sink)
        let stopping = isStopping
        thread = WorkerThread.start(name: "chaos-reader") {
            while !stopping.withLock({ (flag: inout Bool) in flag }) {
                _ = box.consumer.poll(timeoutMs: 50, maxRecords: 2_000, into: parts.sink)
                log.withLock { (log: inout Log) in parts.sink.give(to: &log) }
            }
            box.consumer.close(deadlineMs: 2_000)
        }
    }

    private struct SinkBox: @unchecked Sendable {
        // As the consumer.
        let sink: ChaosSink
    }

    /// How far it is: records of jobs, outcome events, copies without an outcome.
    var progress: (copies: Int, events: Int, open: Int) {
        log.withLock { (log: inout Log) in (log.copies.count, log.events.count, log.open) }
    }

    /// The next offset of each topic's partitions.
    var ends: [[Int64]] { log.withLock { (log: inout Log) in log.ends } }

    /// Everything that was read.
    var contents: Log { log.withLock { (log: inout Log) in log } }

    /// Ends the thread.
    func stop() {
        isStopping.withLock { (flag: inout Bool) in flag = true }
        thread.join()
    }
}

/// Reads records while their bytes are there.
private final class ChaosSink: KafkaRecordSink {
    private let plan: ChaosPlan
    private let jobTopics: [String]
    private let tiers: Int
    private var fresh = ChaosReader.Log()
    private var positions: [(topic: Int, partition: Int, next: Int64)] = []
    private var isSettled: [ChaosPlace: Bool] = [:]
    private var open = 0

    init(plan: ChaosPlan, jobTopics: [String], tiers: Int) {
        self.plan = plan
        self.jobTopics = jobTopics
        self.tiers = tiers
    }

    func take(_ record: borrowing KafkaRecord) {
        let topic = Int(record.topic)
        positions.append((topic, Int(record.partition), record.offset + 1))
        if topic < jobTopics.count {
            guard unsafe record.header(PealHeader.attempt) == nil else { return }
            takeJob(record, topic)
        } else if topic < jobTopics.count + tiers {
            if let value = unsafe record.value, let job = unsafe job(value) { fresh.retried.insert(job) }
        } else if topic == jobTopics.count + tiers {
            takeEvent(record)
        } else {
            fresh.deadLetters += 1
        }
    }

    private func takeJob(_ record: borrowing KafkaRecord, _ lane: Int) {
        let place = ChaosPlace(lane: lane, partition: Int(record.partition), offset: record.offset)
        guard let value = unsafe record.value, let job = unsafe job(value) else {
            fresh.strangers.append("the record \(place) is no job of the run")
            return
        }
        fresh.copies.append(ChaosHistory.Copy(job: job, place: place))
        guard isSettled[place] == nil else { return }
        isSettled[place] = false
        open += 1
    }

    private func takeEvent(_ record: borrowing KafkaRecord) {
        guard let value = unsafe record.value, let event = unsafe OutcomeEventScan(value),
            let job = plan.job(id: event.job), let outcome = DeliveryOutcome(name: event.outcome),
            let place = ChaosPlace(origin: event.origin, topics: jobTopics)
        else {
            fresh.strangers.append("an outcome event is of no job of the run")
            return
        }
        var device: Int?
        if !event.device.isEmpty {
            device = plan.device(id: event.device, ofJob: job)
            if device == nil {
                fresh.strangers.append("an outcome of \(event.job) is for no known device")
                return
            }
        }
        fresh.events.append(
            ChaosHistory.Event(
                job: job, place: place, device: device, outcome: outcome, atMs: Int64(event.atMs)))
        if isSettled[place] == false { open -= 1 }
        isSettled[place] = true
    }

    /// The job whose text this is: the run writes the id first.
    private func job(_ value: UnsafeRawBufferPointer) -> Int? {
        let start = unsafe String(decoding: value.prefix(40), as: UTF8.self)
        guard start.hasPrefix("{\"id\":\"") else { return nil }
        return plan.job(id: start.dropFirst(7).prefix { $0 != "\"" })
    }

    /// Moves what was read since the last call.
    func give(to log: inout ChaosReader.Log) {
        guard !positions.isEmpty else { return }
        for position in positions { log.ends[position.topic][position.partition] = position.next }
        positions.removeAll(keepingCapacity: true)
        log.copies += fresh.copies
        log.events += fresh.events
        log.retried.formUnion(fresh.retried)
        log.deadLetters += fresh.deadLetters
        log.strangers += fresh.strangers
        fresh = ChaosReader.Log()
        log.open = open
    }
}
