import Core
import Decisions
import EventLoop
import Kafka
import Logging
import Services

/// Serves one retry topic: reads it, holds records until they are due, gives them back to their job topics,
/// and commits what the brokers have acknowledged.
///
/// - Threading: made on any thread, then everything on its own; only `control` is shared.
final class TierRunner {
    let control: TierControl
    let policy: RetryPolicy
    let settings: RetrySettings
    let log: Logger
    var kafkaLog: KafkaLog
    let lanes: LaneTable
    let consumer: KafkaConsumer
    let producer: KafkaProducer
    /// Where the topics begin in the producer's list: lanes, then tiers, then the dead topic.
    let tierTarget: Int
    let deadTarget: Int

    let store = HeldRecords()
    var heap = DueHeap()
    /// Slots to produce, in order; `readyFrom` is the first that is left.
    var ready: [Int] = []
    var readyFrom = 0
    var partitions: [RetryPartition] = []
    var epoch: UInt32 = 0
    var isPausedForRoom = false
    var nowMs: Int64 = 0
    var nextCommitMs: Int64 = 0
    var nextRelieveMs: Int64 = 0
    var nextPublishMs: Int64 = 0
    /// Since when all brokers are said to be away, in wall ms; 0 when they aren't.
    var brokersAwayMs: Int64 = 0
    var nextProbeMs: Int64 = 0
    var snapshot: RetryTierSnapshot
    var headers = KafkaHeaders()
    var reports: [DeliveryReport] = []
    /// Makes the ids of spans.
    var spanSeed = RandomSource.seed()

    private static let pollRecordsMax = 2_000

    /// Makes the clients; nothing is read before `run`.
    init(_ settings: RetrySettings, schedule: RetrySchedule, tier: Int, log: Logger) throws(KafkaFailure) {
        let name = schedule.tiers[tier].name
        let names = TopicNames(prefix: settings.topicPrefix)
        self.settings = settings
        self.log = log
        kafkaLog = KafkaLog(log)
        policy = RetryPolicy(schedule: schedule, tier: tier)
        lanes = LaneTable(names: names, lanes: settings.lanes)
        tierTarget = settings.lanes.count
        deadTarget = tierTarget + schedule.tiers.count
        snapshot = RetryTierSnapshot(tier: name)
        control = TierControl(snapshot: snapshot)
        var reading = KafkaConfiguration.consumer(
            brokers: settings.brokers, group: "\(settings.groupPrefix)-\(name)", clientID: settings.clientID)
        if settings.isEmbedded { reading.tuneForEmbeddedBroker() }
        try reading.apply(settings.kafkaProperties)
        var writing = KafkaConfiguration.producer(
            brokers: settings.brokers, clientID: settings.clientID, lingerMs: settings.lingerMs)
        // Every record is kept until its report, so a long queue in the client would hold it twice.
        writing.set("queue.buffering.max.kbytes", "32768")
        try writing.apply(settings.kafkaProperties)
        consumer = try KafkaConsumer(reading, topics: [names.retry(tier: name)])
        producer = try KafkaProducer(
            writing, topics: lanes.topics + schedule.tiers.map { names.retry(tier: $0.name) } + [names.dead])
        consumer.delegate = self
        producer.observer = self
    }

    /// Serves the topic until the control says to stop.
    func run() {
        do throws(KafkaFailure) { try consumer.subscribe() } catch {
            log.error("retry.subscribe_failed", error.description)
            control.note { $0.hasFailed = true }
        }
        warmUp()
        while !control.isStopping, !consumer.hasFailed {
            turn()
        }
        if consumer.hasFailed {
            log.critical(
                "retry.consumer_failed", "The Kafka consumer can't go on; the process is to be restarted.")
            control.note { $0.hasFailed = true }
        }
        finish()
    }

    /// Without this the first record of each topic waits up to a second for its metadata.
    private func warmUp() {
        for _ in 0..<5 where !control.isStopping {
            if (try? producer.warmUp(timeoutMs: 500)) != nil { return }
        }
    }

    private func turn() {
        nowMs = Clock.wallMs
        takeDue()
        produceReady()
        settleReports()
        if nowMs >= nextCommitMs { commit() }
        if nowMs >= nextPublishMs { publish() }
        if brokersAwayMs > 0, nowMs >= nextProbeMs { probeBrokers() }
        balanceRoom()
        let crowded = store.bytes > settings.heldBytesMax * 3 / 4
        _ = consumer.poll(timeoutMs: waitMs(), maxRecords: crowded ? 64 : Self.pollRecordsMax, into: self)
    }

    /// librdkafka says when the brokers are gone, also when they only closed idle connections, and never says
    /// that they are back.
    private func probeBrokers() {
        nextProbeMs = nowMs + 1_000
        if (try? producer.warmUp(timeoutMs: 200)) != nil { brokersAwayMs = 0 }
    }

    private func waitMs() -> Int {
        if readyFrom < ready.count || producer.inFlight > 0 { return 2 }
        let next = min(heap.nextMs ?? .max, nowMs + 50)
        return Int(max(0, min(next - nowMs, 50)))
    }

    /// Decides about the records whose time has come.
    func takeDue() {
        while let entry = heap.pop(nowMs: nowMs) {
            let index = Int(entry.slot)
            guard isHeld(entry) else { continue }
            act(on: index)
        }
        if heap.count > 2 * store.count + 1_024 { heap.rebuild(isHeld) }
    }

    private func isHeld(_ entry: DueHeap.Entry) -> Bool {
        let index = Int(entry.slot)
        guard store.slots.indices.contains(index) else { return false }
        return store.slots[index].generation == entry.generation && store.slots[index].state == .held
    }

    /// Carries out the policy's step for a held record.
    func act(on index: Int) {
        let record = store.slots[index]
        switch policy.step(dueMs: record.dueMs, enteredMs: record.enteredMs, nowMs: nowMs) {
        case .handOver: makeReady(index)
        case .hop(let tier): move(index, toTier: tier)
        case .wait(let untilMs): wait(index, untilMs: untilMs)
        }
    }

    func wait(_ index: Int, untilMs: Int64) {
        store.update(index) { $0.state = .held }
        heap.push(
            DueHeap.Entry(
                atMs: untilMs, slot: UInt32(truncatingIfNeeded: index),
                generation: store.slots[index].generation))
    }

    func makeReady(_ index: Int) {
        store.update(index) { $0.state = .ready }
        ready.append(index)
    }

    func move(_ index: Int, toTier tier: Int) {
        store.update(index) { $0.target = Int32(clamping: tierTarget + tier) }
        makeReady(index)
    }

    /// Produces what is ready until the producer has no room.
    func produceReady() {
        while readyFrom < ready.count {
            let index = ready[readyFrom]
            // A revocation may have freed it.
            guard store.slots[index].state == .ready else {
                readyFrom += 1
                continue
            }
            switch produce(index) {
            case .accepted: store.update(index) { $0.state = .inFlight }
            case .queueFull: return compactReady()
            case .failed(let code): fail(index, code)
            }
            readyFrom += 1
        }
        ready.removeAll(keepingCapacity: true)
        readyFrom = 0
    }

    private func compactReady() {
        guard readyFrom > 4_096, readyFrom > ready.count / 2 else { return }
        ready.removeFirst(readyFrom)
        readyFrom = 0
    }

    private func produce(_ index: Int) -> ProduceResult {
        let record = store.slots[index]
        headers.clear()
        if record.isDead {
            addDeadHeaders(index)
        } else {
            unsafe store.forEachHeader(index) { _ = unsafe headers.add(name: $0, $1) }
        }
        return unsafe producer.produce(
            to: producer.topic(Int(record.target)), key: store.key(index), value: store.value(index),
            headers: headers, opaque: store.token(index))
    }

    /// A dead record keeps its headers; what they lack for a replay is added: the reason, and where it was
    /// found.
    private func addDeadHeaders(_ index: Int) {
        var hasOrigin = false
        unsafe store.forEachHeader(index) { name, value in
            if unsafe name.elementsEqual("peal-reason".utf8) { return }
            if unsafe name.elementsEqual("peal-origin".utf8) { hasOrigin = true }
            _ = unsafe headers.add(name: name, value)
        }
        let topic = consumer.topics.first ?? ""
        let record = store.slots[index]
        if !hasOrigin {
            headers.add(PealHeader.origin, text: "\(topic)/\(record.partition)/\(record.offset)")
        }
        headers.add(PealHeader.reason, text: "\(Reason.malformedHeaders.label)")
    }

    /// Producing failed: the record is tried again later.
    private func fail(_ index: Int, _ code: KafkaErrorCode) {
        snapshot.produceFailures &+= 1
        // A partition that has gone to another owner is read again there.
        guard isOwned(index) else { return store.release(index) }
        log.warning(
            "retry.produce_failed", "A record could not be produced and is tried again.",
            ["kafka.error": .text(code.name), "retry.tier": .text(snapshot.tier)])
        var failures: UInt8 = 0
        store.update(index) {
            if $0.failures < 7 { $0.failures += 1 }
            failures = $0.failures
        }
        wait(index, untilMs: nowMs + 250 << Int64(failures - 1))
    }

    /// Whether the record's partition is still this process's in the assignment that brought the record.
    func isOwned(_ index: Int) -> Bool {
        let place = Int(store.slots[index].partition)
        guard partitions.indices.contains(place), partitions[place].isOwned else { return false }
        return partitions[place].epoch == store.slots[index].epoch
    }

    /// Takes the delivery reports: what was acknowledged is finished.
    func settleReports() {
        reports.removeAll(keepingCapacity: true)
        guard producer.drain(into: &reports, timeoutMs: 0, limit: 20_000) > 0 else { return }
        let ackMs = Clock.wallMs
        for report in reports { settle(report, ackMs: ackMs) }
    }

    func settle(_ report: DeliveryReport, ackMs: Int64) {
        guard let index = store.index(ofToken: report.opaque) else { return }
        guard report.isDelivered else { return fail(index, report.code) }
        let record = store.slots[index]
        if settings.tracer != nil { trace(index, ackMs: ackMs) }
        if Int(record.target) < tierTarget {
            snapshot.handedOver &+= 1
            snapshot.dueErrorMs.record(UInt64(max(0, ackMs - record.dueMs)))
        } else if Int(record.target) < deadTarget {
            snapshot.hopped &+= 1
        }
        let place = Int(record.partition)
        if partitions.indices.contains(place), partitions[place].isOwned {
            if partitions[place].tracker.finish(record.offset, epoch: record.epoch) {
                partitions[place].highestFinished = max(partitions[place].highestFinished, record.offset)
            }
        }
        store.release(index)
    }

    /// Commits what is contiguous.
    func commit() {
        nextCommitMs = nowMs + settings.commitIntervalMs
        let positions = takeCommits()
        guard !positions.isEmpty else { return }
        do throws(KafkaFailure) { try consumer.commit(positions) } catch {
            snapshot.commitFailures &+= 1
            for position in positions { forgetCommit(position) }
            log.warning("retry.commit_failed", error.description, ["retry.tier": .text(snapshot.tier)])
        }
    }

    func takeCommits() -> [TopicPartitionOffset] {
        var positions: [TopicPartitionOffset] = []
        for index in partitions.indices {
            guard let offset = partitions[index].commitDue else { continue }
            positions.append(
                TopicPartitionOffset(topic: 0, partition: Int32(clamping: index), offset: offset))
            partitions[index].committed = offset
        }
        return positions
    }

    /// The commit did not count, so the next one names the partition again.
    func forgetCommit(_ position: TopicPartitionOffset) {
        let index = Int(position.partition)
        if partitions.indices.contains(index) { partitions[index].committed = -1 }
    }

    /// Tells others how things stand.
    func publish() {
        nextPublishMs = nowMs + 250
        snapshot.inFlight = producer.inFlight
        snapshot.held = max(0, store.count - snapshot.inFlight)
        snapshot.heldBytes = store.bytes
        snapshot.headersCut = store.headersCut
        snapshot.partitions = partitions.count { $0.isOwned }
        snapshot.tickMs = Clock.monotonicMs
        snapshot.areBrokersAway = brokersAwayMs > 0 && nowMs - brokersAwayMs >= 3_000
        var unread: Int64 = 0
        for index in partitions.indices where partitions[index].isOwned && partitions[index].hasBegun {
            let place = TopicPartition(topic: 0, partition: Int32(clamping: index))
            guard let marks = consumer.watermarks(place) else { continue }
            unread += max(0, marks.high - partitions[index].tracker.next)
        }
        snapshot.unread = unread
        control.publish(snapshot)
    }
}
