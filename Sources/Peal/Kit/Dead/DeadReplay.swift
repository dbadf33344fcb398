internal import Configuration
internal import Core
internal import Decisions
internal import EventLoop
internal import Glibc
internal import Jobs
internal import Kafka
internal import ProducerKit
internal import Redis
internal import Registry
internal import Terminal

/// Puts dead letters back to their job topics, a batch at a time: check, publish, wait for the broker,
/// remember.
///
/// What is remembered was acknowledged. A run that is cut off is simply begun again: it passes over what is
/// remembered, and the workers drop the second copies of the batch that was under way.
final class DeadReplay {
    /// What a run may do.
    struct Options: Equatable {
        var isDry = false
        /// Letters a second.
        var rate = 500
        /// The most letters that are published; nil for all.
        var limit: Int?
        var again = false
    }

    /// What a run did.
    struct Summary: Equatable {
        var isDry = false
        var counts: [ReplayVerdict: Int] = [:]
        /// One letter of each verdict, to look at.
        var examples: [ReplayVerdict: DeadLetter.Place] = [:]
        var isAppUnchecked = false
        /// Whether there may be more letters than were looked at.
        var stoppedAtLimit = false
        var durationMs: UInt64 = 0

        /// 1 when letters need somebody's hand: unreadable, of no app, refused.
        var exitCode: Int32 {
            [.unreadable, .unknownApp, .refused].contains { counts[$0] ?? 0 > 0 } ? 1 : 0
        }
    }

    /// The most letters of a batch.
    private static let batchMax = 500

    private let options: Options
    private let access: ToolAccess
    private let check: ReplayCheck
    private let schedule: RetrySchedule
    private let producer: KafkaProducer?
    private let run: Int32?
    private let startMs = Clock.monotonicMs
    private var headers = KafkaHeaders()
    private(set) var summary = Summary()
    private var published = 0

    /// Makes a run; the session's scripts don't matter.
    init(_ options: Options, access: ToolAccess, session: RedisSession) throws(ToolFailure) {
        guard let parser = JobParser() else { throw ToolFailure(away: "there is no memory for the parser") }
        self.options = options
        self.access = access
        let settings = access.settings
        let apps = settings.apps.isEmpty ? nil : Set(settings.apps.map(\.name))
        check = ReplayCheck(
            memory: ReplayMemory(topic: access.names.dead), session: session, parser: parser, apps: apps,
            again: options.again)
        schedule = settings.retrySchedule
        summary.isDry = options.isDry
        summary.isAppUnchecked = apps == nil
        run = options.again ? ReplayRecord.run(startedMs: Clock.wallMs) : nil
        guard !options.isDry else {
            producer = nil
            return
        }
        let configuration = try access.producer()
        let topics = JobPublisher.topics(names: access.names, tiers: settings.topics.retryTiers)
        producer = try KafkaFailure.told { () throws(KafkaFailure) in
            let producer = try KafkaProducer(configuration, topics: topics)
            try producer.warmUp(timeoutMs: ToolAccess.questionMs)
            return producer
        }
    }

    /// How many letters a batch may have, so that the rate is kept evenly.
    var batch: Int { min(Self.batchMax, max(1, options.rate / 5)) }

    /// Replays what the filter takes of the scan.
    func carryOut(_ scan: LogScan, _ filter: DeadFilter) throws(ToolFailure) -> Summary {
        let inbox = LetterInbox(filter, parser: check.parser)
        let configuration = try access.tool()
        let topics = scan.topics
        let stretches = scan.stretches
        let reader = try KafkaFailure.told { () throws(KafkaFailure) in
            try KafkaLogReader(configuration, topics: topics, stretches: stretches)
        }
        defer {
            reader.close()
            producer?.close(deadlineMs: 1000)
        }
        let title = options.isDry ? "checking" : "replaying"
        _ = try LogScan.read(reader, into: inbox, title: title, batch: batch) {
            (_: KafkaLogReader) throws(ToolFailure) -> Bool in
            let letters = inbox.take()
            if !letters.isEmpty { try self.work(letters) }
            self.summary.stoppedAtLimit = self.options.limit.map { self.published >= $0 } ?? false
            return self.summary.stoppedAtLimit
        }
        summary.durationMs = Clock.monotonicMs - startMs
        return summary
    }

    private func work(_ letters: [DeadLetter]) throws(ToolFailure) {
        let now = Clock.wallMs
        let results = try RedisFailure.told { () throws(RedisFailure) in
            try check.check(letters, nowMs: now)
        }
        var chosen: [ReplayCheck.Result] = []
        for result in results {
            guard result.verdict == .replay else {
                note(result.verdict, result.letter)
                continue
            }
            if let limit = options.limit, published + chosen.count >= limit { break }
            chosen.append(result)
        }
        if options.isDry {
            for result in chosen { note(.replay, result.letter) }
        } else {
            try publish(chosen, nowMs: now)
        }
        published += chosen.count
        pace()
    }

    /// Publishes a batch, waits for the broker and remembers what it acknowledged.
    private func publish(_ batch: [ReplayCheck.Result], nowMs: Int64) throws(ToolFailure) {
        guard let producer, !batch.isEmpty else { return }
        var reports: [DeliveryReport] = []
        for (number, result) in batch.enumerated() {
            guard let job = result.job else { continue }
            let record = ReplayRecord(
                result.letter, job, names: access.names, schedule: schedule, run: run, nowMs: nowMs)
            guard let topic = producer.topic(named: record.topic) else { continue }
            headers.clear()
            for header in record.headers { add(header) }
            let deadline = Clock.monotonicMs + 30_000
            while send(job.key, result.letter.record.value ?? [], to: topic, UInt64(number), producer)
                == .queueFull, Clock.monotonicMs < deadline
            {
                producer.drain(into: &reports, timeoutMs: 50)
            }
        }
        let missing = producer.flush(deadlineMs: 60_000, into: &reports)
        let delivered = Set(reports.filter(\.isDelivered).map(\.opaque))
        var letters: [DeadLetter] = []
        for (number, result) in batch.enumerated() {
            let isThere = delivered.contains(UInt64(number))
            note(isThere ? .replay : .refused, result.letter)
            if isThere { letters.append(result.letter) }
        }
        do throws(RedisFailure) {
            try check.memory.remember(letters, check.session)
        } catch {
            throw ToolFailure(
                away: "\(letters.count) letters were published and could not be remembered in Redis "
                    + "(\(error.message)); begin again: workers drop a second copy of them for as long as "
                    + "their jobs are good, at most two days")
        }
        if missing > 0 {
            throw ToolFailure(
                away: "Kafka did not acknowledge \(missing) letters within 60 s; begin again: what was "
                    + "replayed is remembered")
        }
    }

    private func add(_ header: CopiedRecord.Header) {
        let name = Array(header.name.utf8)
        unsafe name.withUnsafeBytes { name in
            unsafe header.value.withUnsafeBytes { _ = unsafe headers.add(name: name, $0) }
        }
    }

    private func send(
        _ key: [UInt8], _ value: [UInt8], to topic: KafkaProducer.Topic, _ number: UInt64,
        _ producer: KafkaProducer
    ) -> ProduceResult {
        unsafe key.withUnsafeBytes { key in
            unsafe value.withUnsafeBytes {
                unsafe producer.produce(to: topic, key: key, value: $0, headers: headers, opaque: number)
            }
        }
    }

    private func note(_ verdict: ReplayVerdict, _ letter: DeadLetter) {
        summary.counts[verdict, default: 0] += 1
        if summary.examples[verdict] == nil { summary.examples[verdict] = letter.place }
    }

    /// Waits until so many letters may have gone out.
    private func pace() {
        guard !options.isDry, options.rate > 0 else { return }
        let dueMs = startMs + UInt64(published) * 1000 / UInt64(options.rate)
        while Clock.monotonicMs < dueMs {
            usleep(UInt32(clamping: min(100, dueMs - Clock.monotonicMs) * 1000))
        }
    }
}

/// Keeps the letters of one batch that are meant.
private final class LetterInbox: KafkaRecordSink {
    private let filter: DeadFilter
    private let parser: JobParser
    private var letters: [DeadLetter] = []

    init(_ filter: DeadFilter, parser: JobParser) {
        self.filter = filter
        self.parser = parser
    }

    func take(_ record: borrowing KafkaRecord) {
        guard filter.matches(record) else { return }
        let letter = DeadLetter(CopiedRecord(record))
        if filter.matchesID(letter, parser) { letters.append(letter) }
    }

    func take() -> [DeadLetter] {
        defer { letters.removeAll(keepingCapacity: true) }
        return letters
    }
}
