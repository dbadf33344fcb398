internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Kafka
internal import Logging
internal import Redis
internal import Registry
internal import Services

/// Expands broadcasts: reads both topics of the stage, asks Redis for recipients, writes their jobs to the
/// bulk lane and commits what is finished.
///
/// - Threading: made on any thread, then everything on its own; only `control` is shared.
final class ExpandRunner {
    /// The consumer's topics, by index.
    enum Input {
        static let broadcasts = 0
        static let parts = 1
    }

    let control = ExpandControl()
    let settings: ExpandSettings
    let log: Logger
    var kafkaLog: KafkaLog
    let loop: EventLoop
    let consumer: KafkaConsumer
    let producer: KafkaProducer
    let parser: JobParser
    let bulkTopic: String
    let partsTarget: KafkaProducer.Topic
    let bulkTarget: KafkaProducer.Topic
    let deadTarget: KafkaProducer.Topic
    var redis: RedisClient?

    /// By topic, then by number.
    var partitions: [[ExpandPartition]] = [[], []]
    var epoch: UInt32 = 0
    var plans: [UInt32: PlanWork] = [:]
    /// In the order that they came in.
    var parts: [PartWork] = []
    var partsByNumber: [UInt32: PartWork] = [:]
    var keys: Set<PartWork.Key> = []
    var pages: [UInt32: (page: RecipientPage, part: PartWork)] = [:]
    var burials: [UInt32: Burial] = [:]
    /// The next number of a plan, part, page or burial.
    private var nextNumber: UInt32 = 0
    /// Recipients in memory, and pages that are being read.
    var loaded = 0
    var readingPages = 0
    /// Whether the producer took no more when it was last asked.
    var isFull = false
    /// Whether partitions are being given up: nothing new is begun.
    var isDraining = false
    /// Whether the topic is paused for lack of room, by topic.
    var isCrowded = [false, false]

    var gate = ControlGate()
    var controlState: ControlState?
    /// The apps that the gate knows, by its numbers.
    var apps: [String] = []
    var isReadingControl = false
    var nextControlMs: UInt64 = 0
    /// When log orders are looked at next, ms of the loop's clock.
    var nextLogLevelsMs: UInt64 = 0
    var controlRefusal = ""

    var nextCommitMs: UInt64 = 0
    var nextPollMs: UInt64 = 0
    var nextPublishMs: UInt64 = 0
    var snapshot = ExpandSnapshot()
    var headers = KafkaHeaders()
    /// Whose headers `headers` holds; nil for no part's.
    var headersOf: UInt32?
    var key = ByteBuffer(capacity: 512)
    var value = ByteBuffer(capacity: 8192)
    var reports: [DeliveryReport] = []

    /// Makes the clients; nothing is read before `run`.
    init(_ settings: ExpandSettings, parser: JobParser, loop: EventLoop, log: Logger) throws(KafkaFailure) {
        self.settings = settings
        self.log = log
        kafkaLog = KafkaLog(log)
        self.parser = parser
        self.loop = loop
        let names = settings.names
        bulkTopic = names.jobs(lane: "bulk")
        var reading = KafkaConfiguration.consumer(
            brokers: settings.brokers, group: settings.group, clientID: settings.clientID)
        // Records are few and may be large; more of them ahead would only cost memory.
        reading.set("queued.min.messages", "1000")
        reading.set("queued.max.messages.kbytes", "8192")
        if settings.isEmbedded { reading.tuneForEmbeddedBroker() }
        try reading.apply(settings.kafkaProperties)
        var writing = KafkaConfiguration.producer(
            brokers: settings.brokers, clientID: settings.clientID, lingerMs: settings.lingerMs)
        writing.set("queue.buffering.max.kbytes", "131072")
        if settings.isEmbedded { writing.tuneForEmbeddedBroker() }
        try writing.apply(settings.kafkaProperties)
        consumer = try KafkaConsumer(reading, topics: [names.broadcasts, names.broadcastParts])
        producer = try KafkaProducer(writing, topics: [names.broadcastParts, bulkTopic, names.dead])
        partsTarget = producer.topic(0)
        bulkTarget = producer.topic(1)
        deadTarget = producer.topic(2)
        consumer.delegate = self
        producer.observer = self
    }

    /// Serves until the control says to stop.
    func run() {
        var options = settings.redis
        options.scripts = BroadcastCommands.scripts
        options.clientName = "peal-expand"
        let client = RedisClient(loop: loop, options: options, handler: self)
        redis = client
        client.start()
        var registration: Registration?
        if producer.notificationDescriptor >= 0 {
            registration = try? loop.add(
                descriptor: producer.notificationDescriptor, interest: .readable, handler: self)
        }
        do throws(KafkaFailure) { try consumer.subscribe() } catch {
            log.error("expand.subscribe_failed", error.description)
            control.fail()
        }
        warmUp()
        while !control.isStopping, !consumer.hasFailed { turn() }
        if consumer.hasFailed {
            log.critical(
                "expand.consumer_failed", "The Kafka consumer can't go on; the process is to be restarted.")
            control.fail()
        }
        finish()
        if let registration { loop.remove(registration) }
        client.close()
        // The client's last answers are given within a turn.
        loop.runOnce(maxWaitMs: 0)
        redis = nil
    }

    /// Without this the first record of each topic waits up to a second for its metadata.
    private func warmUp() {
        for _ in 0..<5 where !control.isStopping {
            if (try? producer.warmUp(timeoutMs: 500)) != nil { return }
        }
    }

    /// A number for a plan, part, page or burial. It comes round after four billion of them, long after the
    /// one that had it before.
    func takeNumber() -> UInt32 {
        nextNumber = (nextNumber &+ 1) & 0x3FFF_FFFF
        return nextNumber
    }

    private func turn() {
        let isBusy = !pages.isEmpty || !plans.isEmpty || !burials.isEmpty || parts.contains { $0.isAsking }
        loop.runOnce(maxWaitMs: isBusy && (isFull || !hasRecords) ? 2 : 0)
        work()
        if loop.nowMs >= nextCommitMs { commit() }
        if loop.nowMs >= nextPublishMs { publish() }
        guard !isBusy || loop.nowMs >= nextPollMs else { return }
        nextPollMs = loop.nowMs &+ 20
        balanceRoom()
        _ = consumer.poll(timeoutMs: isBusy ? 0 : 20, maxRecords: 64, into: self)
    }

    /// One step of everything that is under way.
    func work() {
        askControl()
        stepPlans()
        stepParts()
        produce()
        settleReports()
    }

    // MARK: Offsets

    /// Whether the record's partition is still this process's in the assignment that brought the record.
    func isOwned(_ record: HeldRecord) -> Bool {
        let list = partitions[record.topic]
        return list.indices.contains(record.partition) && list[record.partition].isOwned
            && list[record.partition].epoch == record.epoch
    }

    /// Notes that a record is dealt with.
    func finish(_ record: HeldRecord) {
        guard isOwned(record) else { return }
        partitions[record.topic][record.partition].tracker.finish(record.offset, epoch: record.epoch)
    }

    private func commit() {
        nextCommitMs = loop.nowMs &+ settings.commitIntervalMs
        let positions = takeCommits()
        guard !positions.isEmpty else { return }
        do throws(KafkaFailure) { try consumer.commit(positions) } catch {
            snapshot.commitFailures &+= 1
            for position in positions { forgetCommit(position) }
            log.warning("expand.commit_failed", error.description)
        }
    }

    func takeCommits() -> [TopicPartitionOffset] {
        var positions: [TopicPartitionOffset] = []
        for topic in partitions.indices {
            for index in partitions[topic].indices {
                guard let offset = partitions[topic][index].commitDue else { continue }
                positions.append(
                    TopicPartitionOffset(
                        topic: Int32(clamping: topic), partition: Int32(clamping: index), offset: offset))
                partitions[topic][index].committed = offset
            }
        }
        return positions
    }

    /// The commit did not count, so the next one names the partition again.
    func forgetCommit(_ position: TopicPartitionOffset) {
        let index = Int(position.partition)
        guard partitions[Int(position.topic)].indices.contains(index) else { return }
        partitions[Int(position.topic)][index].committed = -1
    }

    /// Tells others how things stand.
    func publish() {
        nextPublishMs = loop.nowMs &+ 250
        snapshot.parts = parts.count
        snapshot.partsPaused = parts.count { $0.isPaused }
        snapshot.loaded = loaded
        snapshot.inFlight = producer.inFlight
        snapshot.partitions = partitions.reduce(0) { $0 + $1.count { $0.isOwned } }
        snapshot.isRedisReady = redis?.isReady ?? false
        snapshot.redisFailure = redis?.lastFailure?.message ?? ""
        snapshot.isControlKnown = controlState != nil
        snapshot.controlVersion = controlState?.version ?? -1
        snapshot.tickMs = Clock.monotonicMs
        var unread: Int64 = 0
        for topic in partitions.indices {
            for (index, partition) in partitions[topic].enumerated() where partition.isOwned {
                let place = TopicPartition(topic: Int32(clamping: topic), partition: Int32(clamping: index))
                guard partition.hasBegun, let marks = consumer.watermarks(place) else { continue }
                unread += max(0, marks.high - partition.tracker.next)
            }
        }
        snapshot.unread = unread
        control.publish(snapshot)
    }
}
