internal import Core
internal import Decisions

/// A job's bookkeeping as it travels in Kafka headers between hops.
struct RetryHeaders: Equatable {
    /// Hand-overs so far, each under its own number: 0 for a record that its sender wrote.
    var attempt: Int64 = 0
    /// How many of those hand-overs were waits that no provider saw.
    var waits: Int64 = 0
    /// When the job was first taken, milliseconds since 1970; 0 when no header says so.
    var firstMs: Int64 = 0
    /// When the first attempt failed, milliseconds since 1970; 0 before that.
    var firstFailureMs: Int64 = 0
    /// Whether there is an origin.
    var hasOrigin = false
    /// Whether a provider took the job for one of its devices before.
    var hasAccepted = false

    /// Attempts that reached a provider.
    var sends: Int { Int(clamping: max(0, attempt - waits)) }

    /// Why headers can't be understood; the text goes into the dead letter.
    struct Fault: Error, Equatable {
        let sentence: String
    }

    /// Reads the headers; all of them are optional, but none may be something else than it should.
    static func read(_ headers: RecordHeaders) throws(Fault) -> RetryHeaders {
        var out = RetryHeaders()
        guard !headers.isEmpty else { return out }
        if let value = try number(headers, PealHeader.attempt, max: 1_000_000) { out.attempt = value }
        if let value = try number(headers, WorkerHeader.waits, max: 1_000_000) {
            out.waits = min(value, out.attempt)
        }
        if let value = try number(headers, PealHeader.firstMs, max: RecordEntry.latestMs) {
            out.firstMs = value
        }
        if let value = try number(headers, WorkerHeader.firstFailureMs, max: RecordEntry.latestMs) {
            out.firstFailureMs = value
        }
        if let value = try number(headers, WorkerHeader.accepted, max: 1) { out.hasAccepted = value == 1 }
        if let origin = unsafe headers.value(PealHeader.origin) {
            guard origin.count >= 5, origin.count <= 320 else {
                throw Fault(sentence: "the header peal-origin is not topic/partition/offset")
            }
            out.hasOrigin = true
        }
        return out
    }

    private static func number(
        _ headers: RecordHeaders, _ name: StaticString, max: Int64
    ) throws(Fault) -> Int64? {
        guard let bytes = unsafe headers.value(name) else { return nil }
        var value: Int64 = 0
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            guard byte >= 48, byte <= 57, value <= Int64.max / 10 - 1 else {
                throw Fault(sentence: "the header \(name) is not a number")
            }
            value = value * 10 + Int64(byte - 48)
        }
        guard unsafe !bytes.isEmpty, value <= max else {
            throw Fault(sentence: "the header \(name) is not a number")
        }
        return value
    }
}

/// The headers that only workers write and read.
enum WorkerHeader {
    /// How many hand-overs were waits that no provider saw.
    static let waits = PealHeader.waits
    /// When the first attempt failed, milliseconds since 1970.
    static let firstFailureMs: StaticString = "peal-failed-ms"
    /// 1 when a provider took the job for one of its devices.
    static let accepted: StaticString = "peal-accepted"
    /// What was already tried for each device of `peal-devices`, in the same order.
    static let history: StaticString = "peal-history"
    /// The provider that everything owed waits for: paused, left alone, or at its share.
    static let provider: StaticString = "peal-provider"
    /// What is wrong with a dead job, as a sentence.
    static let detail = PealHeader.detail
    /// When a job was found dead, milliseconds since 1970.
    static let deadMs = PealHeader.deadMs
    /// The job topic that a dead job can be put back to.
    static let replayTo = PealHeader.replayTo
}

/// The list of devices still owed a delivery, in `peal-devices` and `peal-history`.
enum OwedDevices {
    /// Appends one id; `,` and `%` inside it are percent-encoded.
    static func append(_ id: UnsafeRawBufferPointer, to list: inout ByteBuffer) {
        if !list.isEmpty { list.append(byte: UInt8(ascii: ",")) }
        for index in id.indices {
            let byte = unsafe id[index]
            if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "%") || byte < 0x20 {
                list.append(byte: UInt8(ascii: "%"))
                list.append(byte: Hex.digit(byte >> 4))
                list.append(byte: Hex.digit(byte))
            } else {
                list.append(byte: byte)
            }
        }
    }

    /// Calls `body` with each id, decoded.
    static func forEach(in list: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var id = ByteBuffer(capacity: 128)
        var at = 0
        while at < list.count {
            let byte = unsafe list[at]
            if byte == UInt8(ascii: ",") {
                unsafe body(id.bytes)
                id.clear()
            } else if byte == UInt8(ascii: "%"), at + 2 < list.count,
                let high = unsafe Hex.value(list[at + 1]), let low = unsafe Hex.value(list[at + 2])
            {
                id.append(byte: high << 4 | low)
                at += 2
            } else {
                id.append(byte: byte)
            }
            at += 1
        }
        unsafe body(id.bytes)
    }

    /// The position of an id in the list; nil when it isn't owed.
    static func position(of id: UnsafeRawBufferPointer, in list: UnsafeRawBufferPointer) -> Int? {
        var position = 0
        var start = 0
        while true {
            var end = start
            while end < list.count, unsafe list[end] != UInt8(ascii: ",") { end += 1 }
            if unsafe equals(UnsafeRawBufferPointer(rebasing: list[start..<end]), id) { return position }
            guard end < list.count else { return nil }
            start = end + 1
            position += 1
        }
    }

    /// The history at that position; empty when there is none.
    static func history(at position: Int, in list: UnsafeRawBufferPointer?) -> AttemptHistory {
        guard let list = unsafe list else { return .none }
        var current = 0
        var value = 0
        for index in list.indices {
            let byte = unsafe list[index]
            if byte == UInt8(ascii: ",") {
                if current == position { break }
                current += 1
                value = 0
            } else if byte >= 48, byte <= 57, value < 1000 {
                value = value * 10 + Int(byte - 48)
            }
        }
        return current == position ? AttemptHistory(rawValue: UInt8(truncatingIfNeeded: value)) : .none
    }

    private static func equals(_ encoded: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) -> Bool {
        var at = 0
        var index = 0
        while at < encoded.count {
            guard index < id.count else { return false }
            var byte = unsafe encoded[at]
            if byte == UInt8(ascii: "%"), at + 2 < encoded.count,
                let high = unsafe Hex.value(encoded[at + 1]),
                let low = unsafe Hex.value(encoded[at + 2])
            {
                byte = high << 4 | low
                at += 2
            }
            guard unsafe byte == id[index] else { return false }
            at += 1
            index += 1
        }
        return index == id.count
    }
}
