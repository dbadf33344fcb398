import Core

/// Is lent the records that a producer could not deliver, on the producer's thread.
package protocol KafkaFailureSink: AnyObject {
    /// Called for each failed record; it must not call back into the producer.
    func kafkaFailed(_ record: borrowing KafkaRecord, _ report: DeliveryReport)
}

/// Keeps copies of the records that failed because the producer's client had to be replaced, in their order,
/// and produces them again.
///
/// Until `isEmpty` nothing else should be produced, so that one key's records stay in order. Bounded by what
/// the producer can have under way. One owner thread: the producer's.
@safe
package final class FailedRecords: KafkaFailureSink {
    private struct Entry {
        var topic: Int
        var opaque: UInt64
        var timestampMs: Int64
        var keyCount: Int
        var valueCount: Int
        var headerCount: Int
    }

    private var bytes = ByteBuffer(capacity: 1024)
    private var entries: [Entry] = []
    private var next = 0
    private var headers = KafkaHeaders()

    /// Keeps nothing yet. Set it as the producer's `failureSink`, and hold it.
    package init() {}

    /// Whether nothing waits to be produced again.
    package var isEmpty: Bool { next == entries.count }

    /// How many records were produced again so far.
    package private(set) var resentCount = 0

    package func kafkaFailed(_ record: borrowing KafkaRecord, _ report: DeliveryReport) {
        guard report.code.meansClientReplaced else { return }
        var entry = unsafe Entry(
            topic: Int(record.topic), opaque: report.opaque, timestampMs: max(0, record.timestampMs),
            keyCount: record.key?.count ?? -1, valueCount: record.value?.count ?? -1, headerCount: 0)
        if let key = unsafe record.key { unsafe bytes.append(key) }
        if let value = unsafe record.value { unsafe bytes.append(value) }
        unsafe record.forEachHeader { name, value in
            entry.headerCount += 1
            append(count: name.count)
            unsafe bytes.append(name)
            append(count: value.count)
            unsafe bytes.append(value)
        }
        entries.append(entry)
    }

    private func append(count: Int) {
        for shift in stride(from: 0, to: 32, by: 8) {
            bytes.append(byte: UInt8(truncatingIfNeeded: count >> shift))
        }
    }

    private func takeCount() -> Int {
        let count = unsafe bytes.bytes.prefix(4).enumerated().reduce(0) {
            $0 | Int($1.element) << (8 * $1.offset)
        }
        bytes.consume(4)
        return count
    }

    /// Produces what it keeps again, in order, until the producer's queue is full.
    /// - Returns: the numbers of the records that the producer refused for good.
    package func resend(to producer: KafkaProducer) -> [UInt64] {
        var refused: [UInt64] = []
        while next < entries.count {
            let entry = entries[next]
            let total = max(0, entry.keyCount) + max(0, entry.valueCount)
            headers.clear()
            let result = produce(entry, headersAt: total, to: producer)
            if result == .queueFull { return refused }
            if result == .accepted { resentCount += 1 } else { refused.append(entry.opaque) }
            drop(entry, total)
            next += 1
        }
        entries.removeAll(keepingCapacity: true)
        next = 0
        bytes.clear(keepingAtMost: 65_536)
        return refused
    }

    private func produce(_ entry: Entry, headersAt: Int, to producer: KafkaProducer) -> ProduceResult {
        let all = unsafe bytes.bytes
        let keyEnd = max(0, entry.keyCount)
        let key = unsafe entry.keyCount < 0 ? nil : UnsafeRawBufferPointer(rebasing: all[..<keyEnd])
        let value =
            unsafe entry.valueCount < 0 ? nil : UnsafeRawBufferPointer(rebasing: all[keyEnd..<headersAt])
        var at = headersAt
        for _ in 0..<entry.headerCount {
            let name = unsafe span(all, &at)
            let text = unsafe span(all, &at)
            unsafe headers.add(name: name, text)
        }
        return unsafe producer.produce(
            to: producer.topic(entry.topic), key: key, value: value, headers: headers,
            timestampMs: entry.timestampMs, opaque: entry.opaque)
    }

    private func span(_ all: UnsafeRawBufferPointer, _ at: inout Int) -> UnsafeRawBufferPointer {
        var count = 0
        for index in 0..<4 { unsafe count |= Int(all[at + index]) << (8 * index) }
        let from = at + 4
        at = from + count
        return unsafe UnsafeRawBufferPointer(rebasing: all[from..<at])
    }

    private func drop(_ entry: Entry, _ total: Int) {
        bytes.consume(total)
        for _ in 0..<entry.headerCount * 2 { bytes.consume(takeCount()) }
    }
}
