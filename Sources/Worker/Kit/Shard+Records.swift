internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Kafka
internal import Logging

/// The records that a shard writes: outcome events, retries and dead letters, each kept until it is
/// acknowledged.
extension Shard {
    /// The most bytes of a job that go into a dead letter when the broker refuses the whole.
    private static let deadBytesMax: Int32 = 65_536

    // MARK: Outcomes

    func produceOutcome(
        _ index: Int32, _ outcome: DeliveryOutcome, _ reason: Reason, _ delivery: Int32?,
        device: UnsafeRawBufferPointer? = nil
    ) {
        let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        let job = jobs[index]
        var event = OutcomeEvent(
            outcome: outcome, reason: reason, provider: nil, attempts: job.headers.sends, nowMs: nowMs,
            publishedMs: job.publishedMs, lane: lanes[Int(job.lane)].nameJSON)
        event.hasWaited = job.headers.hasOrigin
        body.clear()
        text.clear()
        appendOrigin(index, to: &text)
        let isReadable = job.app >= 0
        if let delivery {
            let slot = deliveries[delivery]
            event.provider = slot.provider
            event.attempts += slot.sentAtMs > 0 ? 1 + Int(slot.resends) : 0
            let id =
                unsafe slot.provider == .apns && slot.block.count > 0
                ? unsafe slot.slice(slot.idAt, 36) : unsafe none
            unsafe event.append(
                to: &body, job: isReadable ? job.job : nil, device: slot.device, apnsID: id,
                origin: text.bytes)
        } else {
            unsafe event.append(
                to: &body, job: isReadable ? job.job : nil, device: device ?? none, apnsID: none,
                origin: text.bytes)
        }
        // A consumer of the events finds the sender's trace where the job had it.
        let size = body.count
        let (batch, entry) = origin(index)
        if entry.headersLength > 0 {
            swap(&body, &text)
            body.clear()
            passTrace(batch.headers(entry))
            let headers = body.count
            unsafe body.append(text.bytes)
            keep(index, .outcomes, headers: headers, value: size)
        } else {
            keep(index, .outcomes, headers: 0, value: size)
        }
        scratch.clear()
    }

    // MARK: Retries

    /// Hands a job over to the retry topic that fits its due time. With `hasDeviceLists`, `text` holds the
    /// owed devices and `scratch` what was tried for each.
    func handOver(
        _ index: Int32, dueMs: Int64, attempts: Int64, waits: Int64 = 0, reason: Reason?,
        hasDeviceLists: Bool = false, provider: Provider? = nil
    ) {
        let known = jobs[index].headers
        if !hasDeviceLists { tellWait(index, reason, dueMs: dueMs) }
        markLate(index)
        body.clear()
        func number(_ name: StaticString, _ value: Int64) {
            var digits = ByteBuffer(capacity: 24)
            digits.append(decimal: value)
            unsafe RecordHeaders.pack(Self.bytes(name), digits.bytes, into: &body)
        }
        number(PealHeader.attempt, known.attempt + attempts)
        if known.waits + waits > 0 { number(WorkerHeader.waits, known.waits + waits) }
        number(PealHeader.dueMs, dueMs)
        number(PealHeader.firstMs, jobs[index].publishedMs)
        let firstFailure = known.firstFailureMs > 0 ? known.firstFailureMs : attempts > waits ? nowMs : 0
        if firstFailure > 0 { number(WorkerHeader.firstFailureMs, firstFailure) }
        if jobs[index].hasAccepted { number(WorkerHeader.accepted, 1) }
        if let reason {
            unsafe RecordHeaders.pack(Self.bytes(PealHeader.reason), Self.bytes(reason.label), into: &body)
        }
        if let provider {
            unsafe RecordHeaders.pack(
                Self.bytes(WorkerHeader.provider), Self.bytes(provider.name), into: &body)
        }
        if hasDeviceLists {
            if !text.isEmpty {
                unsafe RecordHeaders.pack(Self.bytes(PealHeader.devices), text.bytes, into: &body)
            }
            unsafe RecordHeaders.pack(Self.bytes(WorkerHeader.history), scratch.bytes, into: &body)
        } else {
            passThrough(index, PealHeader.devices)
            passThrough(index, WorkerHeader.history)
        }
        text.clear()
        appendOrigin(index, to: &text)
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.origin), text.bytes, into: &body)
        passForeignHeaders(index)
        let tier = settings.schedule.tier(forWaitMs: max(0, dueMs - nowMs))
        keep(index, .retry(tier), headers: body.count, value: -1)
    }

    // MARK: Broadcasts

    /// Hands a job for a topic or for all over to the broadcast stage, with the time that its ages count
    /// from.
    func produceBroadcast(_ index: Int32) {
        body.clear()
        text.clear()
        text.append(decimal: jobs[index].publishedMs)
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.firstMs), text.bytes, into: &body)
        text.clear()
        appendOrigin(index, to: &text)
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.origin), text.bytes, into: &body)
        passForeignHeaders(index)
        keep(index, .broadcasts, headers: body.count, value: -1)
    }

    // MARK: Dead letters

    func produceDead(_ index: Int32, _ reason: Reason, _ detail: String, _ delivery: Int32?) {
        body.clear()
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.reason), Self.bytes(reason.label), into: &body)
        var words = ByteBuffer(capacity: 256)
        words.append(text: detail)
        unsafe RecordHeaders.pack(
            Self.bytes(WorkerHeader.detail), UnsafeRawBufferPointer(rebasing: words.bytes.prefix(512)),
            into: &body)
        words.clear()
        words.append(decimal: nowMs)
        unsafe RecordHeaders.pack(Self.bytes(WorkerHeader.deadMs), words.bytes, into: &body)
        text.clear()
        appendOrigin(index, to: &text)
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.origin), text.bytes, into: &body)
        words.clear()
        words.append(array: lanes[Int(jobs[index].lane)].topicBytes)
        unsafe RecordHeaders.pack(Self.bytes(WorkerHeader.replayTo), words.bytes, into: &body)
        words.clear()
        words.append(decimal: jobs[index].headers.attempt)
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.attempt), words.bytes, into: &body)
        words.clear()
        words.append(decimal: jobs[index].publishedMs)
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.firstMs), words.bytes, into: &body)
        if let delivery, unsafe !deliveries[delivery].device.isEmpty {
            words.clear()
            unsafe OwedDevices.append(deliveries[delivery].device, to: &words)
            unsafe RecordHeaders.pack(Self.bytes(PealHeader.devices), words.bytes, into: &body)
        } else if delivery == nil {
            // Without them a replay would go to the devices that have had it.
            passThrough(index, PealHeader.devices)
        }
        passForeignHeaders(index)
        keep(index, .dead, headers: body.count, value: -1)
    }

    // MARK: Headers

    static func bytes(_ text: StaticString) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    /// Appends `topic/partition/offset` of where the job was first published.
    func appendOrigin(_ index: Int32, to out: inout ByteBuffer) {
        let (batch, entry) = origin(index)
        if let known = unsafe batch.headers(entry).value(PealHeader.origin) {
            unsafe out.append(known)
            return
        }
        out.append(array: lanes[batch.lane].topicBytes)
        out.append(byte: UInt8(ascii: "/"))
        out.append(decimal: Int64(entry.partition))
        out.append(byte: UInt8(ascii: "/"))
        out.append(decimal: entry.offset)
    }

    private func passThrough(_ index: Int32, _ name: StaticString) {
        let (batch, entry) = origin(index)
        guard let value = unsafe batch.headers(entry).value(name) else { return }
        unsafe RecordHeaders.pack(Self.bytes(name), value, into: &body)
    }

    /// Headers that are not ours go along as they came, `traceparent` among them.
    private func passForeignHeaders(_ index: Int32) {
        let (batch, entry) = origin(index)
        let ours = unsafe Self.bytes("peal-")
        unsafe batch.headers(entry).forEach { name, value in
            guard unsafe !name.starts(with: ours) else { return }
            unsafe RecordHeaders.pack(name, value, into: &body)
        }
        if jobs[index].trace >= 0 { appendTraceParent(index) }
    }

    /// The sender's `traceparent` and `tracestate`, when there are any.
    private func passTrace(_ headers: RecordHeaders) {
        for name in [PealHeader.traceParent, PealHeader.traceState] {
            guard let value = unsafe headers.value(name) else { continue }
            unsafe RecordHeaders.pack(Self.bytes(name), value, into: &body)
        }
    }

    // MARK: Producing

    /// Puts what `body` holds into a record slot and hands it to Kafka. `value` is -1 when the job's own
    /// bytes are the record's value.
    private func keep(_ index: Int32, _ topic: OutputTopic, headers: Int, value: Int) {
        let record = records.take()
        records[record].job = index
        records[record].topic = topic
        records[record].headersLength = Int32(headers)
        records[record].valueLength = Int32(value)
        if value < 0 {
            let (batch, entry) = origin(index)
            records[record].jobBytes = unsafe Int32(clamping: batch.value(entry)?.count ?? -1)
        }
        if jobs[index].trace >= 0, topic != .outcomes { records[record].startNs = Clock.wallNs }
        unsafe records[record].block = blocks.take(body.count)
        var writer = unsafe BlockWriter(records[record].block)
        unsafe writer.append(body.bytes)
        jobs[index].openRecords += 1
        if !produce(record) { unsentRecords.append(record) }
    }

    /// Hands a record to Kafka; false when its queue is full.
    private func produce(_ record: Int32) -> Bool {
        let slot = records[record]
        let (batch, entry) = origin(slot.job)
        let block = unsafe UnsafeRawBufferPointer(slot.block)
        var value: UnsafeRawBufferPointer?
        if slot.valueLength >= 0 {
            let end = Int(slot.headersLength + slot.valueLength)
            unsafe value = UnsafeRawBufferPointer(rebasing: block[Int(slot.headersLength)..<end])
        } else if slot.jobBytes >= 0, let whole = unsafe batch.value(entry) {
            unsafe value = UnsafeRawBufferPointer(rebasing: whole.prefix(Int(slot.jobBytes)))
        }
        let result: ProduceResult
        let key = unsafe batch.key(entry)
        if slot.headersLength == 0 {
            result = unsafe producer.produce(
                to: topic(slot.topic), key: key, value: value, opaque: records.reference(record))
        } else {
            headers.clear()
            let packed = unsafe RecordHeaders(
                packed: UnsafeRawBufferPointer(rebasing: block[..<Int(slot.headersLength)]))
            // Peal's own headers come first, so what no longer fits is the sender's.
            var dropped = 0
            unsafe packed.forEach { name, value in if unsafe !headers.add(name: name, value) { dropped += 1 }
            }
            if dropped > 0 {
                counts.headersDropped &+= UInt64(dropped)
                logger.warning(
                    "kafka.headers_dropped",
                    "A record has more headers than fit; the last ones are left out.",
                    ["headers": .number(dropped)])
            }
            result = unsafe producer.produce(
                to: topic(slot.topic), key: key, value: value, headers: headers,
                opaque: records.reference(record))
        }
        switch result {
        case .accepted: return true
        case .queueFull: return false
        case .failed(let code):
            refused(record, code)
            return true
        }
    }

    private func topic(_ topic: OutputTopic) -> KafkaProducer.Topic {
        switch topic {
        case .outcomes: outcomeTopic
        case .dead: deadTopic
        case .broadcasts: broadcastTopic
        case .retry(let tier): retryTopics[min(tier, retryTopics.count - 1)]
        }
    }

    /// Tries the records that Kafka's queue had no room for.
    func produceUnsent() {
        var list: [Int32] = []
        swap(&list, &unsentRecords)
        for (position, record) in list.enumerated() where !produce(record) {
            unsentRecords.append(contentsOf: list[position...])
            return
        }
    }

    /// Takes the broker's answers.
    func drainReports() {
        reports.removeAll(keepingCapacity: true)
        producer.drain(into: &reports)
        for report in reports {
            guard let record = records.resolve(report.opaque) else { continue }
            if report.isDelivered { acknowledged(record) } else { refused(record, report.code) }
        }
    }

    private func acknowledged(_ record: Int32) {
        let index = records[record].job
        if records[record].startNs > 0 { traceRecord(record) }
        let block = unsafe records[record].block
        if block.count > 0 { unsafe blocks.give(block) }
        records.give(record)
        jobs[index].openRecords -= 1
        settle(index)
    }

    /// A record that was not written is produced again for as long as it takes; nothing is finished without
    /// it. One that is too large for the broker is cut, which only a dead letter can be.
    private func refused(_ record: Int32, _ code: KafkaErrorCode) {
        if code == .messageTooLarge, records[record].topic == .dead,
            records[record].jobBytes > Self.deadBytesMax
        {
            let size = records[record].jobBytes
            records[record].jobBytes = Self.deadBytesMax
            logger.warning(
                "dead.cut", "A dead letter was too large for the broker; only its beginning is kept.",
                ["bytes": .number(size)])
        } else {
            logger.warning(
                "kafka.refused", "A record was not written and is produced again: \(code.description)")
        }
        refusedRecords.append(record)
    }

    /// Tries the refused records again, at the pace of the shard's tick.
    func produceRefused() {
        guard !refusedRecords.isEmpty else { return }
        unsentRecords.append(contentsOf: refusedRecords)
        refusedRecords.removeAll(keepingCapacity: true)
    }
}
