package import Core

/// Writes log lines of one subsystem. A small value that is passed in, never made in a library.
///
/// ```swift
/// log.warning("redis.unavailable", "Redis does not answer; jobs are held.", ["redis.host": .text(host)])
/// ```
///
/// - Cost: one atomic load below the level; above it a line is built and queued. Not for single
///   notifications, but for ``sampled(_:_:detail:_:)``.
/// - Threading: any.
package struct Logger: Sendable {
    /// The part of the program that speaks.
    package let subsystem: String
    private let cell: LogSwitch.Cell?
    private let sink: LogSink?
    private let levels: LogSwitch
    private let fields: LogFields

    /// Makes the root logger of a process, whose levels don't change.
    package init(_ subsystem: String, sink: LogSink, levels: LogLevels = LogLevels()) {
        self.init(subsystem, sink: sink, levels: LogSwitch(levels))
    }

    /// Makes the root logger of a process.
    package init(_ subsystem: String, sink: LogSink, levels: LogSwitch) {
        self.init(subsystem, sink: sink, levels: levels, fields: [:])
    }

    private init(_ subsystem: String, sink: LogSink?, levels: LogSwitch, fields: LogFields) {
        self.subsystem = subsystem
        self.sink = sink
        self.levels = levels
        self.fields = fields
        cell = sink == nil ? nil : levels.cell(of: subsystem)
    }

    /// A logger that writes nothing.
    package static let silent = Logger("silent", sink: nil, levels: LogSwitch(), fields: [:])

    /// A logger of another subsystem with the same sink and levels, and with more fields on every line.
    package func child(_ subsystem: String, _ more: LogFields = [:]) -> Logger {
        Logger(subsystem, sink: sink, levels: levels, fields: fields.merged(more))
    }

    /// Whether a level is written now; for callers that would do work to build a line. One atomic load.
    package func writes(_ level: LogLevel) -> Bool {
        guard let cell else { return false }
        return level.rawValue >= cell.level
    }

    /// Lines left out because they repeated others, and lines lost because the output was too slow.
    package var losses: (suppressed: UInt64, dropped: UInt64) {
        (sink?.suppressedCount ?? 0, sink?.droppedCount ?? 0)
    }

    /// The levels as `/statusz` shows them: one JSON object.
    package var statusJSON: String {
        let losses = losses
        return "{\(levels.statusMembers),\"suppressed\":\(losses.suppressed),"
            + "\"dropped\":\(losses.dropped)}"
    }

    /// The same in a line of words.
    package var statusLine: String {
        let orders = levels.orders.map(\.words)
        let losses = losses
        return "log: \(levels.configured.text)"
            + (orders.isEmpty ? "" : "; ordered \(orders.joined(separator: ", "))")
            + "; lines suppressed \(losses.suppressed), dropped \(losses.dropped)"
    }

    // MARK: Levels

    /// Puts what the configuration says now in force, and says so when that is a change.
    package func configure(_ configured: LogLevels) {
        guard levels.configure(configured) else { return }
        notice("log.levels", "The configured log levels are now \(configured.text).")
    }

    /// Obeys the operator's orders that are in force at `nowMs` (ms since 1970), and says so when that is a
    /// change. Call it with the last known orders every second or so, so that they end.
    package func follow(_ orders: [LogOrder], nowMs: Int64) {
        guard levels.follow(orders, nowMs: nowMs) else { return }
        let inForce = levels.orders
        guard !inForce.isEmpty else {
            let words = levels.configured.text
            return notice(
                "log.levels", "No log level is ordered any more; the configured ones hold: \(words).")
        }
        let words = inForce.map { order in
            "\(order.words) for \(max(1, (order.untilMs - nowMs) / 1000)) s"
                + (order.by.isEmpty ? "" : " by \(order.by)")
        }
        notice("log.levels", "Log levels are ordered: \(words.joined(separator: ", ")).")
    }

    // MARK: Lines

    /// Writes a line.
    ///
    /// `event` is a stable dotted name; `message` is one sentence, without secrets and whole device tokens.
    /// From `info` on, lines of one event that agree in their words, whatever the numbers, and in what tells
    /// troubles apart (`app`, `route`, `reason` and the like) are limited together.
    package func log(
        _ level: LogLevel, _ event: String, _ message: @autoclosure () -> String,
        _ details: @autoclosure () -> LogFields = [:]
    ) {
        guard writes(level), let sink else { return }
        let text = message()
        let all = fields.merged(details())
        let detail = level < .info ? nil : Self.hash(ofWords: text) ^ all.detail
        sink.write(level, subsystem: subsystem, event: event, detail: detail) { (text, all) }
    }

    /// Writes a line of a kind that may come thousands of times a second. `detail` tells what is limited
    /// together; the line is built only when it is written.
    package func sampled(
        _ level: LogLevel, _ event: String, detail: UInt64,
        _ build: () -> (message: String, fields: LogFields)
    ) {
        guard writes(level), let sink else { return }
        sink.write(level, subsystem: subsystem, event: event, detail: level < .info ? nil : detail) {
            let (message, details) = build()
            return (message, fields.merged(details))
        }
    }

    /// Writes a line that says what all threads of the process say at the same time: one for its cause, at
    /// once, and then one with the number of the others. Only the line's own fields tell causes apart, not
    /// the logger's.
    package func single(
        _ level: LogLevel, _ event: String, _ build: () -> (message: String, fields: LogFields)
    ) {
        guard writes(level), let sink else { return }
        let (message, details) = build()
        let detail = level < .info ? nil : Self.hash(ofWords: message) ^ details.detail
        sink.write(level, subsystem: subsystem, event: event, detail: detail, most: 1) {
            (message, fields.merged(details))
        }
    }

    /// A hash of a text without its digits, so that counts and ports don't tell lines apart.
    private static func hash(ofWords text: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 where byte < 0x30 || byte > 0x39 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return hash
    }

    /// Writes at `trace`.
    package func trace(
        _ event: String, _ message: @autoclosure () -> String, _ details: @autoclosure () -> LogFields = [:]
    ) { log(.trace, event, message(), details()) }

    /// Writes at `debug`.
    package func debug(
        _ event: String, _ message: @autoclosure () -> String, _ details: @autoclosure () -> LogFields = [:]
    ) { log(.debug, event, message(), details()) }

    /// Writes at `info`.
    package func info(
        _ event: String, _ message: @autoclosure () -> String, _ details: @autoclosure () -> LogFields = [:]
    ) { log(.info, event, message(), details()) }

    /// Writes at `notice`.
    package func notice(
        _ event: String, _ message: @autoclosure () -> String, _ details: @autoclosure () -> LogFields = [:]
    ) { log(.notice, event, message(), details()) }

    /// Writes at `warning`.
    package func warning(
        _ event: String, _ message: @autoclosure () -> String, _ details: @autoclosure () -> LogFields = [:]
    ) { log(.warning, event, message(), details()) }

    /// Writes at `error`.
    package func error(
        _ event: String, _ message: @autoclosure () -> String, _ details: @autoclosure () -> LogFields = [:]
    ) { log(.error, event, message(), details()) }

    /// Writes at `critical`.
    package func critical(
        _ event: String, _ message: @autoclosure () -> String, _ details: @autoclosure () -> LogFields = [:]
    ) { log(.critical, event, message(), details()) }
}
