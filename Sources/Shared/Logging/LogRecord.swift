package import Core

/// One line before it is written.
package struct LogRecord: Sendable {
    /// Milliseconds since 1970.
    package let wallMs: Int64
    /// How much it matters.
    package let level: LogLevel
    /// The part of the program that speaks, such as `kafka.consumer`.
    package let subsystem: String
    /// What happened, as a stable dotted name, such as `redis.unavailable`.
    package let event: String
    /// One sentence for people.
    package let message: String
    /// Details.
    package let fields: LogFields
    /// How many lines of this event were left out since the last one that was written.
    package let suppressed: UInt64

    /// Makes a record.
    package init(
        wallMs: Int64, level: LogLevel, subsystem: String, event: String, message: String, fields: LogFields,
        suppressed: UInt64
    ) {
        self.wallMs = wallMs
        self.level = level
        self.subsystem = subsystem
        self.event = event
        self.message = message
        self.fields = fields
        self.suppressed = suppressed
    }

    /// The same line at another time and with another count.
    func again(wallMs: Int64, suppressed: UInt64) -> LogRecord {
        LogRecord(
            wallMs: wallMs, level: level, subsystem: subsystem, event: event, message: message,
            fields: fields, suppressed: suppressed)
    }
}

/// Turns records into bytes. Pure.
package enum LogFormat: Sendable {
    /// One JSON object a line.
    case json
    /// Words for a terminal, with colours when asked for.
    case human(colours: Bool)

    /// The longest line in bytes; a longer one is cut.
    package static let lineBytesMax = 8 << 10

    /// Appends the record as one line.
    package func append(_ record: LogRecord, to out: inout ByteBuffer) {
        switch self {
        case .json: Self.appendJSON(record, to: &out)
        case .human(let colours): Self.appendHuman(record, colours: colours, to: &out)
        }
    }

    private static func appendJSON(_ record: LogRecord, to out: inout ByteBuffer) {
        out.append("{\"ts\":\"")
        out.append(text: Timestamp.rfc3339(ms: record.wallMs))
        out.append("\",\"level\":\"")
        out.append(record.level.name)
        out.append("\",\"subsystem\":")
        out.append(jsonString: record.subsystem)
        out.append(",\"event\":")
        out.append(jsonString: record.event)
        out.append(",\"message\":")
        out.append(jsonString: cut(record.message, to: 2_048))
        // A repeated key would make the object ambiguous, so the line's own names win.
        var room = lineBytesMax - out.count - 64
        for (key, value) in record.fields.items where !reserved.contains(key) {
            let before = out.count
            out.append(byte: UInt8(ascii: ","))
            out.append(jsonString: cut(key, to: 64))
            out.append(byte: UInt8(ascii: ":"))
            appendJSON(value, to: &out)
            room -= out.count - before
            if room < 0 {
                out.truncate(to: before)
                out.append(",\"cut\":true")
                break
            }
        }
        if record.suppressed > 0 {
            out.append(",\"suppressed\":")
            out.append(unsigned: record.suppressed)
        }
        out.append("}\n")
    }

    private static let reserved: Set<String> = [
        "ts", "level", "subsystem", "event", "message", "suppressed", "cut",
    ]

    private static func appendJSON(_ value: LogValue, to out: inout ByteBuffer) {
        switch value {
        case .text(let text): out.append(jsonString: cut(text, to: 1_024))
        case .integer(let number): out.append(decimal: number)
        case .real(let number) where number.isFinite: out.append(text: "\(number)")
        case .real: out.append("null")
        case .flag(let flag): out.append(flag ? "true" : "false")
        }
    }

    private static func appendHuman(_ record: LogRecord, colours: Bool, to out: inout ByteBuffer) {
        let time = Timestamp.rfc3339(ms: record.wallMs)
        out.append(text: time.dropFirst(11).prefix(12))
        out.append(byte: UInt8(ascii: " "))
        if colours { out.append(colour(of: record.level)) }
        out.append(text: "\(record.level.name)".padded(to: 8))
        if colours { out.append("\u{1B}[0m") }
        out.append(byte: UInt8(ascii: " "))
        out.append(text: record.subsystem.padded(to: 10))
        out.append(byte: UInt8(ascii: " "))
        appendPlain(cut(record.message, to: 2_048), to: &out)
        for (key, value) in record.fields.items {
            guard out.count < lineBytesMax - 1_200 else { break }
            out.append(byte: UInt8(ascii: " "))
            appendPlain(cut(key, to: 64), to: &out)
            out.append(byte: UInt8(ascii: "="))
            switch value {
            case .text(let text): appendPlain(cut(text, to: 1_024), to: &out)
            default: appendJSON(value, to: &out)
            }
        }
        if record.suppressed > 0 { out.append(text: " (and \(record.suppressed) like it)") }
        out.append(byte: UInt8(ascii: "\n"))
    }

    /// Control characters could move the terminal's cursor or forge a line.
    private static func appendPlain(_ text: Substring, to out: inout ByteBuffer) {
        for scalar in text.unicodeScalars {
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            out.append(text: isControl ? "·" : String(scalar))
        }
    }

    private static func colour(of level: LogLevel) -> StaticString {
        switch level {
        case .trace, .debug: "\u{1B}[2m"
        case .info: "\u{1B}[32m"
        case .notice: "\u{1B}[36m"
        case .warning: "\u{1B}[33m"
        case .error, .critical: "\u{1B}[31m"
        }
    }

    private static func cut(_ text: String, to bytes: Int) -> Substring {
        guard text.utf8.count > bytes else { return Substring(text) }
        var end = text.utf8.index(text.startIndex, offsetBy: bytes)
        while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
            end = text.utf8.index(before: end)
        }
        return text[..<end]
    }
}

extension ByteBuffer {
    fileprivate mutating func append(jsonString text: Substring) { append(jsonString: String(text)) }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        count >= width ? self : self + String(repeating: " ", count: width - count)
    }
}
