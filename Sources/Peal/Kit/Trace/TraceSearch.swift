internal import Core
internal import Jobs
internal import Kafka
internal import ProducerKit

/// Finds a job's records as they are read: by its id's bytes first, and only then by reading them.
final class TraceSearch: KafkaRecordSink {
    /// What a topic of the scan holds.
    enum Role: Equatable {
        case lane(String)
        case retry(String)
        case broadcast
        case dead
        case outcomes
    }

    private let id: String
    private let needle: ByteSearch
    private let parser: JobParser
    private(set) var topics: [(name: String, role: Role)]
    private(set) var events: [TraceEvent] = []
    /// What the first record says that has the job.
    private(set) var job: TraceJob?
    /// Records that were looked at.
    private(set) var seen = 0

    /// The most events that are kept: a job that was published without end is cut off.
    static let eventsMax = 10_000

    init(id: String, parser: JobParser) {
        self.id = id
        // As it stands between the quotes of JSON.
        var text = ByteBuffer(capacity: 64)
        text.append(jsonString: id)
        needle = ByteSearch(Array(text.array.dropFirst().dropLast()))
        self.parser = parser
        topics = []
    }

    /// Says what the topics of the scan that is read next hold.
    func begin(_ topics: [(name: String, role: Role)]) { self.topics = topics }

    /// Whether no more events are kept.
    var isFull: Bool { events.count >= Self.eventsMax }

    func take(_ record: borrowing KafkaRecord) {
        seen += 1
        guard let value = unsafe record.value, unsafe needle.isIn(value), !isFull else {
            return
        }
        let topic = topics[Int(record.topic)]
        let copy = CopiedRecord(record)
        if topic.role == .outcomes {
            takeOutcome(copy, topic.name)
        } else {
            takeJob(copy, topic.name, topic.role)
        }
    }

    private func takeJob(_ record: CopiedRecord, _ topic: String, _ role: Role) {
        guard let value = record.value else { return }
        let found = unsafe value.withUnsafeBytes { bytes -> TraceJob? in
            var job = Job()
            guard unsafe parser.parse(bytes, into: &job) == nil else { return nil }
            guard job.id?.string == id else { return nil }
            return describe(job, record)
        }
        // A dead letter may be dead because it can't be read.
        guard found != nil || role == .dead else { return }
        if job == nil || (job?.publishedMs ?? 0) > (found?.publishedMs ?? .max) { job = found ?? job }
        var event = TraceEvent(
            kind: .dead, topic: topic, partition: record.partition, offset: record.offset,
            atMs: max(0, record.timestampMs),
            origin: record.text(PealHeader.origin) ?? "\(topic)/\(record.partition)/\(record.offset)")
        event.attempt = record.number(PealHeader.attempt) ?? 0
        event.dueMs = record.number(PealHeader.dueMs) ?? 0
        event.reason = record.text(PealHeader.reason) ?? ""
        event.detail = record.text(PealHeader.detail) ?? ""
        event.devices = record.text(PealHeader.devices).map { ReplayJob.devices(in: $0).sorted() } ?? []
        switch role {
        case .lane(let name): event.kind = .lane(name)
        case .retry(let name): event.kind = .retry(name)
        case .broadcast: event.kind = .broadcast
        case .dead, .outcomes: break
        }
        events.append(event)
    }

    private func describe(_ job: Job, _ record: CopiedRecord) -> TraceJob {
        var key = ByteBuffer(capacity: 256)
        JobKey.write(job, to: &key)
        return TraceJob(
            app: job.app.string, recipient: job.recipient?.string, campaign: job.campaign?.string,
            dedup: job.dedup?.string, isBroadcast: job.target == .topic || job.target == .all,
            key: record.key ?? key.array,
            publishedMs: record.number(PealHeader.firstMs) ?? max(0, record.timestampMs))
    }

    private func takeOutcome(_ record: CopiedRecord, _ topic: String) {
        guard let value = record.value else { return }
        let text = String(decoding: value, as: UTF8.self)
        guard let event = try? JSONValue.parse(text: text), event["job"]?.string == id,
            let outcome = event["outcome"]?.string
        else { return }
        var found = TraceEvent(
            kind: .outcome(outcome), topic: topic, partition: record.partition, offset: record.offset,
            atMs: event["at_ms"]?.integer ?? max(0, record.timestampMs),
            origin: event["origin"]?.string ?? "")
        found.reason = event["reason"]?.string ?? ""
        found.devices = event["device"]?.string.map { [$0] } ?? []
        found.provider = event["provider"]?.string ?? ""
        found.apnsID = event["apns_id"]?.string ?? ""
        found.requests = Int(clamping: event["attempts"]?.integer ?? 0)
        events.append(found)
        if job == nil {
            job = TraceJob(
                app: event["app"]?.string ?? "", recipient: event["recipient"]?.string,
                campaign: event["campaign"]?.string, key: record.key ?? [],
                publishedMs: found.atMs - (event["after_ms"]?.integer ?? 0))
        }
    }
}
