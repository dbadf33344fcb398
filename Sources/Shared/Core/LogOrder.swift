/// An operator's order to log more, or less, for a while: the field `log` or `log:<subsystem>` of
/// `peal:control` and its value.
///
/// It holds over what the configuration says, and ends by itself.
package struct LogOrder: Equatable, Sendable {
    /// The longest time that an order is believed for, in ms: a day.
    package static let longestMs: Int64 = 86_400_000

    /// What it is about; nil for every subsystem that has no order of its own.
    package var subsystem: LogSubsystem?
    package var level: LogLevel
    /// When it ends, in ms since 1970.
    package var untilMs: Int64
    /// When it was given, in ms since 1970; 0 when unknown.
    package var atMs: Int64
    /// Who gave it; empty when unknown.
    package var by: String

    package init(
        _ subsystem: LogSubsystem?, _ level: LogLevel, untilMs: Int64, atMs: Int64 = 0, by: String = ""
    ) {
        self.subsystem = subsystem
        self.level = level
        self.untilMs = untilMs
        self.atMs = atMs
        self.by = by
    }

    /// Reads a field and its value; nil when the field is no such order, or its value names no level or no
    /// end.
    package init?(field: String, value: String) {
        guard let subsystem = Self.subsystem(ofField: field),
            let object = try? JSONValue.parse(text: value),
            let level = object["level"]?.string.flatMap({ LogLevel(name: $0) }),
            let untilMs = object["until_ms"]?.integer
        else { return nil }
        self.init(
            subsystem, level, untilMs: untilMs, atMs: max(0, object["at_ms"]?.integer ?? 0),
            by: object["by"]?.string ?? "")
    }

    /// `.some(nil)` for the field of all subsystems; nil for a field of something else.
    private static func subsystem(ofField field: String) -> LogSubsystem?? {
        if field == "log" { return .some(nil) }
        guard field.hasPrefix("log:"), let known = LogSubsystem(rawValue: String(field.dropFirst(4))) else {
            return nil
        }
        return .some(known)
    }

    /// The field in `peal:control`.
    package static func field(_ subsystem: LogSubsystem?) -> String {
        subsystem.map { "log:\($0.rawValue)" } ?? "log"
    }

    /// Its own field.
    package var field: String { Self.field(subsystem) }

    /// The value that says the same.
    package var value: String {
        var out = ByteBuffer(capacity: 128)
        out.append(text: "{\"level\":\"\(level.name)\",\"by\":")
        out.append(jsonString: by)
        out.append(text: ",\"at_ms\":\(atMs),\"until_ms\":\(untilMs)}")
        return out.text
    }

    /// Whether it is in force: not ended, and not longer than ``longestMs``.
    package func isInForce(nowMs: Int64) -> Bool {
        let left = untilMs.subtractingReportingOverflow(nowMs)
        return nowMs < untilMs && !left.overflow && left.partialValue <= Self.longestMs
    }

    /// What is said of it: `delivery=debug`, or `debug` for everything.
    package var words: String { (subsystem.map { "\($0.rawValue)=" } ?? "") + "\(level.name)" }
}
