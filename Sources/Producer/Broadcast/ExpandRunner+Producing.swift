internal import Core
internal import Decisions
internal import EventLoop
internal import Kafka
internal import Logging

/// What a record's opaque number says: the kind, the number of what it belongs to, and its place in that.
private struct RecordTag {
    enum Kind: UInt64 {
        case recipient = 1
        case part = 2
        case dead = 3
    }

    let kind: Kind
    let number: UInt32
    let index: UInt32

    init(_ kind: Kind, _ number: UInt32, _ index: UInt32) {
        self.kind = kind
        self.number = number
        self.index = index
    }

    init?(opaque: UInt64) {
        guard let kind = Kind(rawValue: opaque >> 62) else { return nil }
        self.init(
            kind, UInt32(truncatingIfNeeded: opaque >> 32 & 0x3FFF_FFFF), UInt32(truncatingIfNeeded: opaque))
    }

    var opaque: UInt64 { kind.rawValue << 62 | UInt64(number) << 32 | UInt64(index) }
}

// Records to Kafka, and the broker's answers.
extension ExpandRunner: KafkaObserver, IOHandler {
    /// Records of one turn, so that reading and polling go on beside producing.
    private static let turnRecordsMax = 4096
    /// The most bytes of a record that go into a dead letter.
    private static let deadBytesMax = 65_536

    /// Whether there is something to produce.
    var hasRecords: Bool {
        parts.contains { part in part.pages.contains { $0.isWaiting && mayBegin($0, part) } }
    }

    /// A page of which nothing is out stays so while its part is held back or ends.
    private func mayBegin(_ page: RecipientPage, _ part: PartWork) -> Bool {
        page.isBegun || (part.stage == .expanding && !part.isPaused)
    }

    /// Produces what waits, until the producer has no room or the turn's share is used up.
    func produce() {
        for (number, burial) in burials where burial.isWaiting {
            guard bury(number, burial) else { return }
        }
        for (number, plan) in plans where plan.stage == .publishing {
            while let index = plan.waiting.last {
                guard publish(plan, number, index) else { return }
            }
        }
        isFull = false
        var budget = Self.turnRecordsMax
        for part in parts where !part.pages.isEmpty {
            for page in part.pages {
                // A page's place in the order is kept, so that those of which nothing is out are the last
                // ones.
                guard page.isRead, mayBegin(page, part) else { break }
                while let index = page.next {
                    guard budget > 0, produce(index, page, part) else { return }
                    budget -= 1
                }
            }
        }
    }

    private func produce(_ index: UInt32, _ page: RecipientPage, _ part: PartWork) -> Bool {
        if headersOf != part.number { fillHeaders(part) }
        let name = unsafe page.name(index)
        key.clear()
        key.append(array: part.appPrefix)
        unsafe key.append(name)
        value.clear()
        unsafe part.template.append(recipient: name, to: &value)
        let opaque = RecordTag(.recipient, page.number, index).opaque
        switch unsafe producer.produce(
            to: bulkTarget, key: key.bytes, value: value.bytes, headers: headers, opaque: opaque)
        {
        case .accepted: page.advance()
        case .queueFull:
            isFull = true
            return false
        case .failed(let code):
            isFull = true
            snapshot.produceFailures &+= 1
            log.warning("kafka.refused", "A record was not taken and is produced again: \(code.description)")
            return false
        }
        return true
    }

    private func fillHeaders(_ part: PartWork) {
        headers.clear()
        headers.add(PealHeader.origin, text: part.key.broadcast.origin(topic: bulkTopic))
        headers.add(PealHeader.firstMs, decimal: part.template.firstMs)
        part.record.addForeign(to: &headers)
        headersOf = part.number
    }

    private func publish(_ plan: PlanWork, _ number: UInt32, _ index: UInt32) -> Bool {
        let of = plan.template.identity
        headersOf = nil
        headers.clear()
        headers.add(ExpandHeader.broadcast, text: of.id)
        headers.add(ExpandHeader.part, text: "\(index)/\(plan.parts)")
        let published = plan.record.number(PealHeader.firstMs) ?? max(0, plan.record.timestampMs)
        headers.add(PealHeader.firstMs, decimal: published)
        plan.record.addForeign(to: &headers)
        key.clear()
        key.append(text: "\(of.app)/\(of.id)/\(index)")
        let opaque = RecordTag(.part, number, index).opaque
        let result = unsafe plan.record.value.withUnsafeBytes {
            unsafe producer.produce(
                to: partsTarget, key: key.bytes, value: $0, headers: headers, opaque: opaque)
        }
        guard result == .accepted else {
            if result != .queueFull { snapshot.produceFailures &+= 1 }
            return false
        }
        plan.advance()
        return true
    }

    private func bury(_ number: UInt32, _ burial: Burial) -> Bool {
        let record = burial.record
        headersOf = nil
        headers.clear()
        let origin = record.text(PealHeader.origin) ?? place(of: record)
        headers.add(PealHeader.reason, text: "\(burial.reason.label)")
        headers.add(PealHeader.detail, text: String(burial.detail.prefix(512)))
        headers.add(PealHeader.deadMs, decimal: Clock.wallMs)
        headers.add(PealHeader.origin, text: origin)
        headers.add(PealHeader.replayTo, text: replayTopic(origin))
        record.addForeign(to: &headers)
        let opaque = RecordTag(.dead, number, 0).opaque
        let result = unsafe record.key.withUnsafeBytes { key in
            unsafe record.value.withUnsafeBytes { value in
                // What is larger than a job was none; its beginning is enough, and the broker takes it.
                let kept = unsafe UnsafeRawBufferPointer(rebasing: value.prefix(Self.deadBytesMax))
                return unsafe producer.produce(
                    to: deadTarget, key: key, value: kept, headers: headers, opaque: opaque)
            }
        }
        guard result == .accepted else { return false }
        burial.isWaiting = false
        return true
    }

    /// The job topic that the record first came by; the bulk lane for one that was put here by hand.
    private func replayTopic(_ origin: String) -> String {
        let topic = String(origin.prefix { $0 != "/" })
        return settings.names.lane(of: topic) == nil ? bulkTopic : topic
    }

    /// Takes the broker's answers.
    func settleReports() {
        reports.removeAll(keepingCapacity: true)
        guard producer.drain(into: &reports, timeoutMs: 0, limit: 20_000) > 0 else { return }
        var failures = 0
        for report in reports {
            guard let tag = RecordTag(opaque: report.opaque) else { continue }
            if !report.isDelivered { failures += 1 }
            switch tag.kind {
            case .recipient:
                guard let page = pages[tag.number]?.page else { continue }
                if report.isDelivered {
                    page.acknowledge()
                    snapshot.recipients &+= 1
                } else {
                    page.refuse(tag.index)
                }
            case .part:
                guard let plan = plans[tag.number] else { continue }
                if report.isDelivered { plan.acknowledge() } else { plan.refuse(tag.index) }
            case .dead:
                guard let burial = burials[tag.number] else { continue }
                if report.isDelivered {
                    burials[tag.number] = nil
                    finish(burial.record)
                } else {
                    burial.isWaiting = true
                }
            }
        }
        guard failures > 0 else { return }
        snapshot.produceFailures &+= UInt64(failures)
        log.warning(
            "kafka.refused", "Records were not written and are produced again.",
            ["records": .number(failures)])
    }

    func ioReady(_ events: IOEvents) { settleReports() }
}
