/// Writes log lines of one subsystem. A small value that is passed in, never made in a library.
///
/// ```swift
/// log.warning("redis.unavailable", "Redis does not answer; jobs are held.", ["redis.host": .text(host)])
/// ```
///
/// - Cost: nothing but a comparison below the level; above it a line is built and queued. Not for single
///   notifications.
/// - Threading: any.
package struct Logger: Sendable {
    /// The part of the program that speaks.
    package let subsystem: String
    /// The lowest level that is written.
    package let minimum: LogLevel
    private let sink: LogSink?
    private let levels: LogLevels
    private let fields: LogFields

    /// Makes the root logger of a process.
    package init(_ subsystem: String, sink: LogSink, levels: LogLevels = LogLevels()) {
        self.init(subsystem, sink: sink, levels: levels, fields: [:])
    }

    private init(_ subsystem: String, sink: LogSink?, levels: LogLevels, fields: LogFields) {
        self.subsystem = subsystem
        self.sink = sink
        self.levels = levels
        self.fields = fields
        minimum = levels.level(of: subsystem)
    }

    /// A logger that writes nothing.
    package static let silent = Logger("silent", sink: nil, levels: LogLevels(), fields: [:])

    /// A logger of another subsystem with the same sink and levels, and with more fields on every line.
    package func child(_ subsystem: String, _ more: LogFields = [:]) -> Logger {
        Logger(subsystem, sink: sink, levels: levels, fields: fields.merged(more))
    }

    /// Whether a level is written; for callers that would do work to build a line.
    package func writes(_ level: LogLevel) -> Bool { sink != nil && level >= minimum }

    /// Writes a line.
    ///
    /// `event` is a stable dotted name, and lines of one event are limited together; `message` is one
    /// sentence, without secrets and whole device tokens.
    package func log(
        _ level: LogLevel, _ event: String, _ message: @autoclosure () -> String,
        _ details: @autoclosure () -> LogFields = [:]
    ) {
        guard let sink, level >= minimum else { return }
        sink.write(
            level, subsystem: subsystem, event: event, message: message(), fields: fields.merged(details()))
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
