/// How much a log line matters.
package enum LogLevel: UInt8, Comparable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical

    package static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }

    /// The name in lines and configuration.
    package var name: StaticString {
        switch self {
        case .trace: "trace"
        case .debug: "debug"
        case .info: "info"
        case .notice: "notice"
        case .warning: "warning"
        case .error: "error"
        case .critical: "critical"
        }
    }

    /// Reads a name; nil when there is no such level.
    package init?(name: some StringProtocol) {
        guard let level = Self.allCases.first(where: { "\($0.name)" == name }) else { return nil }
        self = level
    }
}

/// The parts of the programs whose level can be set by itself; the `subsystem` of a line.
package enum LogSubsystem: String, Sendable, CaseIterable {
    /// The worker as a whole: its start, its settings.
    case worker
    /// The worker's sending threads: Redis, providers, the kill switch.
    case shard
    /// The worker's readers of Kafka.
    case lane
    /// Provider tokens, certificates, uploaded credentials and their reload.
    case credentials
    /// One line for the end of each delivery at `debug`.
    case delivery
    /// The retry service.
    case retry
    /// The HTTP gateway; one line for each request at `debug`.
    case gateway
    /// The broadcast stage.
    case expand
    /// What librdkafka says.
    case kafka
    /// The export of spans.
    case tracing
}

/// What is wrong with the text of a log level; a sentence that says what there is.
package struct LogLevelFault: Error, Equatable {
    package let sentence: String

    private init(_ sentence: String) { self.sentence = sentence }

    static func level(_ text: some StringProtocol) -> LogLevelFault {
        let known = LogLevel.allCases.map { "\($0.name)" }.joined(separator: ", ")
        return LogLevelFault("there is no log level \"\(text)\"; the levels are \(known)")
    }

    static func subsystem(_ text: some StringProtocol) -> LogLevelFault {
        let known = LogSubsystem.allCases.map(\.rawValue).joined(separator: ", ")
        return LogLevelFault("there is no subsystem \"\(text)\"; the subsystems are \(known)")
    }
}

/// The lowest level that is written, for all subsystems or for one.
package struct LogLevels: Sendable, Equatable {
    /// The level of subsystems without their own.
    package var standard: LogLevel
    /// The levels of single subsystems.
    package var subsystems: [LogSubsystem: LogLevel]

    /// Makes levels.
    package init(standard: LogLevel = .info, subsystems: [LogSubsystem: LogLevel] = [:]) {
        self.standard = standard
        self.subsystems = subsystems
    }

    /// Reads text such as `info,kafka=debug`.
    /// - Throws: when a part is no level, or names an unknown subsystem.
    package init(parsing text: String) throws(LogLevelFault) {
        self.init()
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let (subsystem, level) = try Self.read(part)
            if let subsystem { subsystems[subsystem] = level } else { standard = level }
        }
    }

    /// Reads `LEVEL` or `SUBSYSTEM=LEVEL`; the subsystem is nil for all of them.
    /// - Throws: when there is no such level or subsystem.
    package static func read(
        _ text: some StringProtocol
    ) throws(LogLevelFault) -> (subsystem: LogSubsystem?, level: LogLevel) {
        let words = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = words.last.map { String($0) } ?? ""
        var subsystem: LogSubsystem?
        if words.count == 2 {
            subsystem = LogSubsystem(rawValue: String(words[0]))
            guard subsystem != nil else { throw .subsystem(words[0]) }
        }
        guard let level = LogLevel(name: name) else { throw .level(name) }
        return (subsystem, level)
    }

    /// The level of a subsystem by name; the standard one for a name that has none of its own.
    package func level(of subsystem: String) -> LogLevel {
        LogSubsystem(rawValue: subsystem).flatMap { subsystems[$0] } ?? standard
    }

    /// The text that says the same, such as `info,kafka=debug`.
    package var text: String {
        let own = subsystems.sorted { $0.key.rawValue < $1.key.rawValue }
        return (["\(standard.name)"] + own.map { "\($0.key.rawValue)=\($0.value.name)" })
            .joined(separator: ",")
    }
}
