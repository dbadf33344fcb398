/// The members of an outcome event that the demo counts by, found without reading the whole document.
///
/// Only for events about the demo's own jobs, whose ids and device ids need no escapes.
struct OutcomeEventScan: Equatable {
    var job = ""
    /// Empty when the outcome is about the job as a whole.
    var device = ""
    var outcome = ""
    var reason = ""
    var apnsID = ""
    /// The job's first record: `topic/partition/offset`.
    var origin = ""
    var attempts = 0
    /// Whether the job came back from a retry topic.
    var hasWaited = false
    /// From publishing to the outcome, in ms; -1 when the event doesn't say.
    var afterMs = -1
    /// When the outcome was reached, in ms since 1970; 0 when the event doesn't say.
    var atMs = 0

    /// Reads an event; nil when it has no outcome.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        // A name in quotes follows an opening brace or a comma; everything else is a value.
        while let name = unsafe Self.string(bytes, &index) {
            guard index < bytes.count, unsafe bytes[index] == UInt8(ascii: ":") else { return nil }
            index += 1
            guard index < bytes.count else { return nil }
            if unsafe bytes[index] == UInt8(ascii: "\"") {
                guard let value = unsafe Self.string(bytes, &index) else { return nil }
                take(name, value)
            } else {
                take(name, unsafe Self.number(bytes, &index))
            }
        }
        if outcome.isEmpty { return nil }
    }

    private mutating func take(_ name: String, _ value: String) {
        switch name {
        case "job": job = value
        case "device": device = value
        case "outcome": outcome = value
        case "reason": reason = value
        case "apns_id": apnsID = value
        case "origin": origin = value
        default: break
        }
    }

    private mutating func take(_ name: String, _ value: Int) {
        switch name {
        case "attempts": attempts = value
        case "waited": hasWaited = value != 0
        case "after_ms": afterMs = value
        case "at_ms": atMs = value
        default: break
        }
    }

    /// The next text in quotes, escapes left as they are.
    private static func string(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> String? {
        while index < bytes.count, unsafe bytes[index] != UInt8(ascii: "\"") { index += 1 }
        let start = index + 1
        index = start
        while index < bytes.count {
            if unsafe bytes[index] == UInt8(ascii: "\"") {
                defer { index += 1 }
                return unsafe String(decoding: bytes[start..<index], as: UTF8.self)
            }
            index += unsafe bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) -> Int {
        var value = 0
        while index < bytes.count, unsafe bytes[index] != UInt8(ascii: ","),
            unsafe bytes[index] != UInt8(ascii: "}")
        {
            if unsafe bytes[index] == UInt8(ascii: "t") { value = 1 }
            let digit = unsafe bytes[index] &- 48
            if digit < 10, value < 1 << 50 { value = value * 10 + Int(digit) }
            index += 1
        }
        return value
    }
}
