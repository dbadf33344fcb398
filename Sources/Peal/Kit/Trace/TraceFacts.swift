internal import Configuration
internal import Core
internal import Decisions
internal import Kafka
internal import Redis
internal import Registry

/// What Redis and the consumer groups know of a job, in sentences.
struct TraceFacts: Equatable {
    /// One thing that is known.
    struct Fact: Equatable {
        /// A fixed word for programs.
        var code: String
        var sentence: String
    }

    var facts: [Fact] = []
    /// Why something could not be asked, as a sentence; nil for nothing.
    var note: String?

    private mutating func add(_ code: String, _ sentence: String) {
        facts.append(Fact(code: code, sentence: sentence))
    }

    /// Asks the groups about jobs that lie in a lane without a sign of a worker.
    mutating func askGroups(_ story: TraceStory, _ access: ToolAccess) throws(ToolFailure) {
        for run in story.runs where run.state == .inLane {
            guard let hop = run.hop, case .lane(let lane) = hop.kind else { continue }
            let group = "\(access.settings.worker.group).\(lane)"
            let inspector = try access.inspector(group: group)
            defer { inspector.close() }
            let committed = try KafkaFailure.told { () throws(KafkaFailure) in
                try inspector.committed(
                    topic: hop.topic, partitions: Int(hop.partition) + 1, timeoutMs: ToolAccess.questionMs)
            }
            guard let next = committed.last.flatMap({ $0 }) else {
                add("group", "The group \(group) has never finished a job of \(hop.topic)/\(hop.partition).")
                continue
            }
            if hop.offset < next {
                add(
                    "group",
                    "The group \(group) is past it (offset \(next)): its job is done with. What an app's "
                        + "'outcomes' setting leaves out, and what retention has deleted, is not shown.")
            } else {
                add(
                    "group",
                    "The group \(group) has \(hop.offset - next) older jobs of \(hop.topic)/"
                        + "\(hop.partition) to finish first.")
            }
        }
    }

    /// Asks Redis.
    mutating func askRedis(
        id: String, _ job: TraceJob, _ story: TraceStory, _ access: ToolAccess
    ) throws(ToolFailure) {
        let session = try access.redis()
        defer { session.close() }
        var facts = self
        try RedisFailure.told { () throws(RedisFailure) in
            try facts.askControl(id: id, job, session)
            try facts.askDone(story, access, session)
            try facts.askDedup(id: id, job, access, session)
            try facts.askBroadcast(id: id, job, session)
        }
        self = facts
    }

    private mutating func askControl(id: String, _ job: TraceJob, _ session: RedisSession)
        throws(RedisFailure)
    {
        let store = ControlStore(session: session)
        let now = try store.nowMs()
        for entry in try store.read().entries where entry.isInForce(nowMs: now) {
            let isAbout =
                switch entry.subject {
                case .app(let app): app == job.app
                case .provider(_, let app): app == nil || app == job.app
                case .campaign(let app, let name): app == job.app && name == job.campaign
                case .job(let app, let name): app == job.app && name == id
                }
            guard isAbout else { continue }
            let what = entry.action == .pause ? "paused" : "cancelled"
            let by = entry.by.isEmpty ? "" : " by \(entry.by)"
            let why = entry.reason.isEmpty ? "" : ": \(entry.reason)"
            add(what, "\(entry.subject.words) is \(what)\(by)\(why).")
        }
    }

    /// Finished offsets above the commit.
    private mutating func askDone(
        _ story: TraceStory, _ access: ToolAccess, _ session: RedisSession
    ) throws(RedisFailure) {
        for event in story.runs.flatMap(\.events) {
            guard case .lane(let lane) = event.kind else { continue }
            let (segment, bit) = event.offset.quotientAndRemainder(
                dividingBy: FinishedOffsets.segmentSize)
            let group = "\(access.settings.worker.group).\(lane)"
            let key = "peal:done:\(group):\(event.topic):\(event.partition):\(segment)"
            // The bits begin after two numbers of eight bytes.
            let answer = try session.command("GETBIT", key, "\(128 + bit)")
            if answer.integer == 1 { add("done", "\(event.place) is finished, by Redis.") }
        }
    }

    private mutating func askDedup(
        id: String, _ job: TraceJob, _ access: ToolAccess, _ session: RedisSession
    ) throws(RedisFailure) {
        if let recipient = job.recipient, let key = job.dedup {
            let text = try session.command("GET", "peal:dedup:{\(job.app):\(recipient)}:\(key)").text ?? ""
            let state =
                switch text.first {
                case "d": "a job of it was delivered"
                case "c": "a job of it is under way"
                default: "no job of it is known"
                }
            add("dedup", "Its dedup key \"\(key)\": \(state).")
        }
        guard let app = access.settings.app(job.app), app.dedupIDsMs > 0, !job.key.isEmpty else { return }
        let window = JobIDWindow(windowMs: app.dedupIDsMs, expected: app.dedupIDsExpected)
        let none = JobPosition(lane: 0, topicHash: 0, partition: 0, offset: 0, timestampMs: 0)
        let bytes = Array(id.utf8)
        let claim = unsafe bytes.withUnsafeBytes { id in
            unsafe job.key.withUnsafeBytes { key in
                unsafe JobIDClaim(
                    id: id, keyHash: Hash64.of(key), origin: none, publishedMs: job.publishedMs,
                    window: window)
            }
        }
        var field = ByteBuffer(capacity: 16)
        claim.appendField(to: &field)
        let name = field.array
        for slice in [claim.slice - 1, claim.slice, claim.slice + 1] {
            let answer = try session.run { out in
                out.begin(3)
                out.argument("HGET")
                out.argument(text: "peal:ids:{\(job.app):\(claim.bucket)}:\(slice)")
                out.argument(array: name)
            }
            guard let text = answer.text else { continue }
            let state = text == "0" ? "a job with it was delivered" : "a job with it is under way"
            return add("dedup_id", "Its id: \(state); another one would be dropped.")
        }
        add("dedup_id", "Its id is not known to be delivered or under way.")
    }

    private mutating func askBroadcast(id: String, _ job: TraceJob, _ session: RedisSession)
        throws(RedisFailure)
    {
        guard job.isBroadcast else { return }
        let fields = try session.command("HGETALL", RegistryKeys.broadcast(app: job.app, id: id)).pairs
            .map { (field: $0.key, value: $0.value.text ?? "") }
        guard let status = BroadcastStatus(fields: fields) else {
            return add("broadcast", "It is a broadcast, and Redis knows none of that id.")
        }
        add(
            "broadcast",
            "It is a broadcast: \(status.state.rawValue), \(status.recipients) recipients so far, "
                + "\(status.partsDone) of \(status.parts) parts. Each recipient's job has an id of its own, "
                + "\(id).<16 characters>.")
    }
}
