import Core
import EventLoop

/// Every request the simulator answered, to be asked by job, token or `apns-id`.
///
/// Rows and texts are appended to chunks that never move; what does not fit the bound is counted instead of
/// kept.
/// - Threading: any. The simulator's loop appends under a lock that is held for well under a microsecond; a
///   query holds it while it looks through the hashes (about a millisecond for a million rows).
@safe
package final class RequestRecord: @unchecked Sendable {
    private static let chunkRows = 4096
    private static let chunkBytes = 1 << 20

    // Everything below is read and written under `lock`, which is what makes the unchecked conformance true.
    private let lock = Lock()
    private let rowsMax: Int
    private let bytesMax: Int
    private var rowChunks: [UnsafeMutablePointer<RecordRow>] = unsafe []
    private var textChunks: [UnsafeMutableRawPointer] = unsafe []
    private var textUsed = 0
    private var jobs: [UInt64] = []
    private var tokens: [UInt64] = []
    private var ids: [UInt64] = []
    private var rowCount = 0
    private var droppedCount: UInt64 = 0
    private var counts = AnswerCounts()

    /// - Parameters:
    ///   - rowsMax: the most requests kept.
    ///   - bytesMax: the most bytes of text and bodies kept.
    package init(rowsMax: Int = 1_000_000, bytesMax: Int = 1 << 30) {
        self.rowsMax = max(0, rowsMax)
        self.bytesMax = max(Self.chunkBytes, bytesMax)
    }

    deinit {
        freeChunks()
    }

    private func freeChunks() {
        while let chunk = unsafe rowChunks.popLast() { unsafe chunk.deallocate() }
        while let chunk = unsafe textChunks.popLast() { unsafe chunk.deallocate() }
    }

    /// Requests kept.
    package var count: Int { lock.withLock { rowCount } }
    /// Requests that were answered and not kept.
    package var dropped: UInt64 { lock.withLock { droppedCount } }
    /// How many answers of each kind were given, kept or not.
    package var answers: AnswerCounts { lock.withLock { counts } }

    /// Forgets all requests and counts and frees their memory.
    package func clear() {
        lock.withLock {
            freeChunks()
            textUsed = 0
            jobs = []
            tokens = []
            ids = []
            rowCount = 0
            droppedCount = 0
            counts = AnswerCounts()
        }
    }

    /// Adds one request.
    func append(_ row: RecordRow, _ texts: RecordTexts) {
        let jobHash = texts.job.isEmpty ? 0 : texts.job.hash
        let tokenHash = texts.token.isEmpty ? 0 : texts.token.hash
        let idHash = texts.id.isEmpty ? 0 : texts.id.hash
        lock.withLock {
            counts.count(row)
            guard rowCount < rowsMax, let place = place(for: row.textBytes) else {
                droppedCount += 1
                return
            }
            var row = row
            row.textChunk = UInt32(place.chunk)
            row.textStart = UInt32(place.start)
            unsafe copy(texts, row: row, to: textChunks[place.chunk] + place.start)
            if rowCount % Self.chunkRows == 0 {
                unsafe rowChunks.append(UnsafeMutablePointer<RecordRow>.allocate(capacity: Self.chunkRows))
            }
            unsafe (rowChunks[rowCount / Self.chunkRows] + rowCount % Self.chunkRows).initialize(to: row)
            jobs.append(jobHash)
            tokens.append(tokenHash)
            ids.append(idHash)
            rowCount += 1
        }
    }

    private func place(for bytes: Int) -> (chunk: Int, start: Int)? {
        guard bytes <= Self.chunkBytes else { return nil }
        if unsafe textChunks.isEmpty || textUsed + bytes > Self.chunkBytes {
            guard unsafe (textChunks.count + 1) * Self.chunkBytes <= bytesMax else { return nil }
            unsafe textChunks.append(
                UnsafeMutableRawPointer.allocate(byteCount: Self.chunkBytes, alignment: 16))
            textUsed = 0
        }
        defer { textUsed += bytes }
        return unsafe (textChunks.count - 1, textUsed)
    }

    private func copy(_ texts: RecordTexts, row: RecordRow, to start: UnsafeMutableRawPointer) {
        var at = unsafe start
        func put(_ bytes: Bytes, _ count: Int) {
            guard count > 0, count <= bytes.count, let base = unsafe bytes.raw.baseAddress else { return }
            unsafe at.copyMemory(from: base, byteCount: count)
            unsafe at += count
        }
        put(texts.token, Int(row.tokenCount))
        put(texts.id, Int(row.idCount))
        put(texts.topic, Int(row.topicCount))
        put(texts.collapse, Int(row.collapseCount))
        put(texts.thread, Int(row.threadCount))
        put(texts.job, Int(row.jobCount))
        put(texts.body, Int(row.bodyKept))
    }
}

// MARK: - Queries

extension RequestRecord {
    /// The requests that carried this job id, in order of arrival.
    package func requests(job: String) -> [RecordedRequest] {
        find(job) {
            $0.jobs
        } where: {
            $0.job == job
        }
    }

    /// The requests to this device token, in order of arrival.
    package func requests(token: String) -> [RecordedRequest] {
        find(token) {
            $0.tokens
        } where: {
            $0.token == token
        }
    }

    /// The requests with this `apns-id`, in order of arrival.
    package func requests(apnsID: String) -> [RecordedRequest] {
        find(apnsID) {
            $0.ids
        } where: {
            $0.id == apnsID
        }
    }

    /// A page of requests in order of arrival.
    package func requests(from start: Int, limit: Int) -> [RecordedRequest] {
        lock.withLock {
            let low = min(max(0, start), rowCount)
            return (low..<min(rowCount, low + max(0, min(limit, rowCount)))).map { restore($0) }
        }
    }

    /// Calls `body` with every request in order of arrival, in pages, so that serving goes on meanwhile.
    package func forEach(_ body: (RecordedRequest) -> Void) {
        var start = 0
        while true {
            let page = requests(from: start, limit: 1000)
            if page.isEmpty { return }
            page.forEach(body)
            start += page.count
        }
    }

    private func find(
        _ text: String, _ column: (RequestRecord) -> [UInt64], where matches: (RecordedRequest) -> Bool
    ) -> [RecordedRequest] {
        let wanted = Hash64.of(text: text)
        return lock.withLock {
            let hashes = column(self)
            var found: [RecordedRequest] = []
            for index in hashes.indices where hashes[index] == wanted {
                let request = restore(index)
                if matches(request) { found.append(request) }
            }
            return found
        }
    }

    private func restore(_ index: Int) -> RecordedRequest {
        let row = unsafe rowChunks[index / Self.chunkRows][index % Self.chunkRows]
        var at = unsafe UnsafeRawPointer(textChunks[Int(row.textChunk)] + Int(row.textStart))
        func take(_ count: Int) -> Bytes {
            defer { unsafe at += count }
            return unsafe Bytes(UnsafeRawBufferPointer(start: at, count: count))
        }
        var request = RecordedRequest()
        request.index = index
        request.token = take(Int(row.tokenCount)).text
        request.id = take(Int(row.idCount)).text
        request.topic = take(Int(row.topicCount)).text
        request.collapse = take(Int(row.collapseCount)).text
        request.thread = take(Int(row.threadCount)).text
        request.job = take(Int(row.jobCount)).text
        request.body = take(Int(row.bodyKept)).array
        row.fill(&request)
        return request
    }

    /// What the kept requests amount to.
    package func summary() -> RecordSummary {
        lock.withLock {
            var summary = RecordSummary(answers: counts, kept: rowCount, dropped: droppedCount)
            var pairs: [UInt64: UInt32] = [:]
            var seenJobs: Set<UInt64> = []
            for index in 0..<rowCount {
                let row = unsafe rowChunks[index / Self.chunkRows][index % Self.chunkRows]
                if row.verdict != 0 { summary.refusedByRules += 1 }
                guard row.delivered, !row.validateOnly else { continue }
                summary.delivered += 1
                guard jobs[index] != 0 else { continue }
                seenJobs.insert(jobs[index])
                pairs[Hash64.mix(jobs[index], tokens[index]), default: 0] += 1
            }
            summary.jobs = seenJobs.count
            summary.deliveries = pairs.count
            summary.duplicates = pairs.values.reduce(0) { $0 + Int($1) - 1 }
            return summary
        }
    }
}

extension RecordRow {
    /// Copies everything but the texts.
    fileprivate func fill(_ request: inout RecordedRequest) {
        request.provider = provider
        request.environment = environment
        request.pushType = pushType
        request.priority = Int(priority)
        request.expiration = expiration < 0 ? nil : expiration
        request.badge = badge < 0 ? nil : badge
        request.bodyCount = Int(bodyCount)
        request.bodyHash = bodyHash
        request.action = action
        request.status = Int(status)
        request.reason = reasonName(reason)
        request.verdict = reasonName(verdict)
        request.byFault = byFault
        request.delivered = delivered
        request.validateOnly = validateOnly
        request.connection = Int(connection)
        request.stream = Int(stream)
        request.peerPort = Int(peerPort)
        request.arrivalMs = arrivalMs
    }

    private func reasonName(_ value: UInt8) -> String {
        guard value != 0 else { return "" }
        if provider == .apns { return APNsReason(rawValue: value)?.name ?? AnswerCounts.unknownReason }
        let name = FCMError(rawValue: value)?.name ?? AnswerCounts.unknownReason
        guard let apns = APNsReason(rawValue: apnsReason), apns != .none else { return name }
        return "\(name) \(apns.name)"
    }
}
