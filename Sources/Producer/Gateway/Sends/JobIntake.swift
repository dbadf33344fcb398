internal import Core
internal import HTTPServer
internal import Jobs
internal import ProducerKit
internal import Security

/// Reads the body of a send: one job as a JSON object, an array of jobs, or one job a line (NDJSON).
///
/// - Threading: one thread.
final class JobIntake {
    /// What a request asks for, before its jobs are read.
    struct Send {
        var ranges: [Range<Int>] = []
        /// Whether the body is an array or lines, so that places are worth telling.
        var isBatch = false
        /// An index of `TopicNames.lanes`.
        var lane = 1
        var idempotencyKey: String?
        /// What the idempotency key is for beside the body and the lane: empty for the jobs of a body.
        var scope = ""
        /// Whether ids follow from the idempotency key and the jobs.
        var derivesIDs = false
    }

    /// The jobs of the last `check`; they point into the bytes that it was shown.
    private(set) var jobs: [Job] = []

    private let parser: JobParser
    private let batchMax: Int
    private let apps: AppNames
    private var ids: ULIDGenerator
    private var text = ByteBuffer(capacity: 256)

    /// Makes an intake for jobs of these apps; nil without memory for the parser.
    init?(apps: AppNames, batchMax: Int, seed: UInt64) {
        guard let parser = JobParser() else { return nil }
        self.parser = parser
        self.batchMax = batchMax
        self.apps = apps
        ids = ULIDGenerator(seed: seed)
    }

    // MARK: - The request

    /// Finds the jobs in a request's body.
    func read(_ request: HTTPRequest) throws(Problem) -> Send {
        var send = Send()
        send.lane = try Self.lane(request)
        send.idempotencyKey = try Self.idempotencyKey(request)
        let isLines = try Self.isLines(request)
        let first = request.body.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        guard let first else { throw .badRequest("The body is empty; send a job.") }
        send.isBatch = isLines || first == UInt8(ascii: "[")
        send.ranges = send.isBatch ? try split(request.body) : [0..<request.body.count]
        return send
    }

    private static func lane(_ request: HTTPRequest) throws(Problem) -> Int {
        guard let name = request.query("lane") else { return 1 }
        guard let lane = TopicNames.lanes.firstIndex(of: name) else {
            throw .badRequest("The lane is urgent, normal or bulk.", field: "lane")
        }
        return lane
    }

    static func idempotencyKey(_ request: HTTPRequest) throws(Problem) -> String? {
        guard let key = request.header("idempotency-key") else { return nil }
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .badRequest(
                "An Idempotency-Key has 1 to 255 printable ASCII characters without spaces.",
                field: "idempotency-key")
        }
        return key
    }

    private static func isLines(_ request: HTTPRequest) throws(Problem) -> Bool {
        guard let header = request.header("content-type") else { return false }
        let type = header.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        switch type {
        case "application/json": return false
        case "application/x-ndjson", "application/ndjson", "application/jsonl": return true
        default:
            throw Problem(
                415, "unsupported_media_type", "The body's type isn't known here",
                detail: "Send application/json or application/x-ndjson.")
        }
    }

    private func split(_ body: [UInt8]) throws(Problem) -> [Range<Int>] {
        var splitter = JobSplitter()
        var ranges: [Range<Int>] = []
        let fault = unsafe body.withUnsafeBytes { bytes -> Problem? in
            while true {
                switch unsafe splitter.next(in: bytes, isLast: true) {
                case .job(let range, _):
                    ranges.append(range)
                    if ranges.count > batchMax { return tooMany }
                case .fault(_, let reason, _): return .badRequest(reason, index: ranges.count)
                case .end, .more: return nil
                }
            }
        }
        if let fault { throw fault }
        guard !ranges.isEmpty else { throw .badRequest("The body holds no job; send at least one.") }
        return ranges
    }

    private var tooMany: Problem {
        Problem(
            413, "batch_too_large", "There are too many jobs in one request",
            detail: "A request may hold at most \(batchMax) jobs; send the others in another one.")
    }

    // MARK: - The jobs

    /// Reads and checks all of the jobs; the bytes must stay where they are for as long as `jobs` is used.
    /// - Throws: what is wrong with the first bad one; `allows` says whether its app may be used.
    func check(
        _ bytes: UnsafeRawBufferPointer, _ ranges: [Range<Int>], nowMs: Int64, isBatch: Bool,
        allows: (String) -> Bool
    ) throws(Problem) {
        jobs.removeAll(keepingCapacity: true)
        var known = ""
        for (place, range) in ranges.enumerated() {
            var job = Job()
            let slice = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
            let fault = unsafe parser.parse(slice, into: &job) ?? job.waitFault(nowMs: nowMs)
            if let fault {
                throw Problem(
                    400, "invalid_job", "A job can't be used", detail: fault.sentence, field: fault.field,
                    index: isBatch ? place : nil)
            }
            let app = string(job.app)
            if app != known, let problem = refusal(app, allows) {
                var problem = problem
                problem.index = isBatch ? place : nil
                throw problem
            }
            known = app
            jobs.append(job)
        }
    }

    /// Why no job may name the app. Whether there is such an app is told only to who may send for it.
    private func refusal(_ app: String, _ allows: (String) -> Bool) -> Problem? {
        guard allows(app) else {
            return Problem(
                403, "forbidden", "This isn't allowed",
                detail: "These credentials don't allow sending for this job's app.", field: "app")
        }
        guard apps.contains(app) else {
            return Problem(
                400, "unknown_app", "There is no such app", detail: apps.fault(app), field: "app")
        }
        return nil
    }

    /// Whether one of the jobs is to wait for its time.
    func hasScheduled(nowMs: Int64) -> Bool { jobs.contains { Self.isScheduled($0, nowMs) } }

    private static func isScheduled(_ job: Job, _ nowMs: Int64) -> Bool {
        job.flags.contains(.hasSendAt) && job.sendAtMs > nowMs
    }

    /// Copies the checked jobs, each with an id, for what Redis has to know of them.
    func prepare(
        _ send: Send, keyName: String, bodyDigest body: UnsafeRawBufferPointer, nowMs: Int64
    ) -> PreparedSend {
        // A request's own id won't do as the owner: its sender chooses it, and may choose it twice.
        let owner = ids.next(nowMs: UInt64(max(0, nowMs))).text
        var prepared = PreparedSend(
            jobs: [], lane: send.lane, keyName: keyName, owner: owner, idempotency: nil)
        if let key = send.idempotencyKey {
            var digest = unsafe SHA256.hash(body)
            digest.append(UInt8(truncatingIfNeeded: send.lane))
            digest += Array(send.scope.utf8)
            prepared.idempotency = .init(
                key: Hex.encode(SHA256.hash(text: key)), digest: Hex.encode(digest),
                keepsIDs: !send.derivesIDs)
        }
        var derived =
            send.derivesIDs ? prepared.idempotency.map { DerivedIDs(keyName: keyName, request: $0) } : nil
        for job in jobs {
            let id: String
            if let given = job.id {
                id = string(given)
            } else if let next = unsafe derived?.next(job.bytes) {
                id = next
            } else {
                id = ids.next(nowMs: UInt64(max(0, nowMs))).text
            }
            var one = PreparedSend.PreparedJob(
                bytes: unsafe Array(job.bytes), id: id, hasOwnID: job.id != nil, app: string(job.app))
            if Self.isScheduled(job, nowMs) {
                one.dueMs = job.sendAtMs
                one.about = about(job, lane: send.lane)
            }
            prepared.jobs.append(one)
        }
        return prepared
    }

    /// What the list of scheduled jobs shows of one: never its text, and never a token.
    private func about(_ job: Job, lane: Int) -> String {
        var out = ByteBuffer(capacity: 128)
        out.append(text: "\"lane\":\"\(TopicNames.lanes[lane])\",\"to\":")
        switch job.target {
        case .recipient, .devices, .others: member(&out, "recipient", job.recipient)
        case .topic: member(&out, "topic", job.audience)
        case .token: out.append("{\"token\":true}")
        case .all: out.append("{\"all\":true}")
        }
        if let kind = job.kind {
            out.append(",\"kind\":")
            out.append(jsonString: string(kind))
        }
        return out.text
    }

    private func member(_ out: inout ByteBuffer, _ name: StaticString, _ value: JSONText?) {
        out.append("{\"")
        out.append(name)
        out.append("\":")
        out.append(jsonString: value.map { string($0) } ?? "")
        out.append("}")
    }

    private func string(_ value: JSONText) -> String {
        text.clear()
        value.append(to: &text)
        return text.text
    }

    // MARK: - The answer

    /// The answer to a send.
    static func accepted(_ receipts: [Receipt]) -> HTTPResponse {
        .json(202, bytes: body(receipts))
    }

    static func body(_ receipts: [Receipt]) -> [UInt8] {
        var out = ByteBuffer(capacity: 64 + receipts.count * 64)
        out.append("{\"jobs\":[")
        for (index, receipt) in receipts.enumerated() {
            if index > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append("{\"id\":")
            out.append(jsonString: receipt.id)
            out.append(receipt.isScheduled ? ",\"scheduled\":true}" : ",\"scheduled\":false}")
        }
        out.append("]}\n")
        return out.array
    }
}
