internal import Core
internal import HTTPServer
internal import Jobs
internal import Redis

/// A send that Redis has to know of before it is published: it has an idempotency key, or jobs that wait.
struct PreparedSend: Sendable {
    struct PreparedJob: Sendable {
        /// As the sender wrote it.
        var bytes: [UInt8]
        var id: String
        /// Whether the id stands in the bytes.
        var hasOwnID: Bool
        var app: String
        /// When it is due, in ms since 1970; nil for at once.
        var dueMs: Int64?
        /// Members of a JSON object for the list of scheduled jobs.
        var about = ""
    }

    /// An idempotency key and what it is for, both as digests.
    struct Idempotency: Sendable {
        var key: String
        var digest: String
        /// Whether the jobs' ids are written down with the claim.
        var keepsIDs = true
    }

    var jobs: [PreparedJob]
    var lane: Int
    var keyName: String
    /// Tells the claim of this request from those of all others.
    var owner: String
    var idempotency: Idempotency?
    /// The answer once Kafka has the jobs, and to a repeat.
    var answer: @Sendable ([Receipt]) -> HTTPResponse = { JobIntake.accepted($0) }
    /// How long the claim keeps others from carrying the request out, in ms: longer than it may take.
    var claimMs = IdempotencyStore.claimMs

    /// Claims the idempotency key and lists the jobs that wait; runs on a registry thread.
    func begin(_ session: RedisSession) throws -> Reply {
        var send = self
        let claims = idempotency.map {
            IdempotencyStore(
                session: session, keyName: keyName, key: $0.key, owner: owner, claimMs: claimMs)
        }
        if let claims, let idempotency {
            switch try claims.claim(digest: idempotency.digest, answer: answerText) {
            case .ours(let answer): send.adoptIDs(of: answer)
            case .done(let answer):
                var response = self.answer(Self.receipts(of: answer))
                response.headers.append(("idempotent-replayed", "true"))
                return .answer(response)
            case .underWay(let waitMs):
                throw Problem(
                    409, "idempotency_under_way", "The first request of this key is under way",
                    detail: "Repeat the request later; it will get the first one's answer.",
                    retryAfterSeconds: Int(clamping: max(1, min(5, (waitMs + 999) / 1000))))
            case .other:
                throw Problem(
                    422, "idempotency_mismatch", "The key was used for another request",
                    detail: "Use a new Idempotency-Key for a new request.", field: "idempotency-key")
            }
        }
        do {
            try send.list(session)
        } catch {
            try? claims?.release()
            throw error
        }
        return send.reply()
    }

    /// Whether one of the jobs waits for its time.
    var isScheduled: Bool { jobs.contains { $0.dueMs != nil } }

    private var receipts: [Receipt] { jobs.map { Receipt(id: $0.id, isScheduled: $0.dueMs != nil) } }

    private var answerText: String {
        let kept = idempotency?.keepsIDs == false ? [] : receipts
        return String(decoding: JobIntake.body(kept), as: UTF8.self)
    }

    /// Takes the ids over that were fixed by a request of the same key that did not come to its end.
    private mutating func adoptIDs(of answer: String) {
        let listed = Self.receipts(of: answer)
        guard listed.count == jobs.count else { return }
        for index in jobs.indices { jobs[index].id = listed[index].id }
    }

    /// Reads what `answerText` wrote.
    private static func receipts(of answer: String) -> [Receipt] {
        let listed = (try? JSONValue.parse(text: answer))?["jobs"]?.array ?? []
        return listed.map {
            Receipt(id: $0["id"]?.string ?? "", isScheduled: $0["scheduled"]?.bool ?? false)
        }
    }

    private func list(_ session: RedisSession) throws {
        for (app, waiting) in Dictionary(grouping: jobs.filter { $0.dueMs != nil }, by: \.app) {
            let entries = waiting.map {
                ScheduledStore.Entry(id: $0.id, dueMs: $0.dueMs ?? 0, about: $0.about)
            }
            guard try ScheduledStore(session: session, app: app).add(entries) else {
                throw Problem(
                    429, "schedule_full", "Too many jobs wait for their time",
                    detail: "An app may have \(ScheduledStore.entriesMax) scheduled jobs; cancel some, or "
                        + "send these later.",
                    retryAfterSeconds: 60)
            }
        }
    }

    private var submissions: [Submission] {
        jobs.map { Submission(job: Self.bytes(of: $0), lane: lane) }
    }

    /// Publishes jobs that Redis need not know of.
    func plainReply() -> Reply { .publish(submissions, then: answer) }

    private func reply() -> Reply {
        let send = self
        return .publishAndSettle(
            submissions, then: { _ in send.answer(send.receipts) },
            settle: { outcome, session in try send.settle(outcome, session) })
    }

    /// The job with its id.
    private static func bytes(of job: PreparedJob) -> [UInt8] {
        guard !job.hasOwnID, let brace = job.bytes.firstIndex(of: UInt8(ascii: "{")) else { return job.bytes }
        var out = ByteBuffer(capacity: job.bytes.count + 64)
        out.append(array: Array(job.bytes[...brace]))
        out.append("\"id\":")
        out.append(jsonString: job.id)
        out.append(",")
        out.append(array: Array(job.bytes[(brace + 1)...]))
        return out.array
    }

    private func settle(_ outcome: PublishOutcome, _ session: RedisSession) throws {
        let claims = idempotency.map {
            IdempotencyStore(session: session, keyName: keyName, key: $0.key, owner: owner)
        }
        switch outcome {
        case .acknowledged: try claims?.finish()
        case .unknown: try claims?.giveUp()
        case .refused:
            // What is published by nobody is not listed either.
            for (app, waiting) in Dictionary(grouping: jobs.filter { $0.dueMs != nil }, by: \.app) {
                try ScheduledStore(session: session, app: app).remove(waiting.map(\.id))
            }
            try claims?.release()
        }
    }
}
