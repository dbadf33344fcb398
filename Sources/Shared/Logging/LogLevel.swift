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

/// The lowest level that is written, for all subsystems or for one.
package struct LogLevels: Sendable, Equatable {
    /// The level of subsystems without their own.
    package var standard: LogLevel
    /// The levels of single subsystems; a name covers its children (`kafka` covers `kafka.consumer`).
    package var subsystems: [String: LogLevel]

    /// Makes levels.
    package init(standard: LogLevel = .info, subsystems: [String: LogLevel] = [:]) {
        self.standard = standard
        self.subsystems = subsystems
    }

    /// Reads text such as `info,kafka=debug,worker.shard=trace`; nil when a part has no known level.
    package init?(parsing text: String) {
        self.init()
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: "=", omittingEmptySubsequences: false)
            if words.count == 1, let level = LogLevel(name: words[0]) {
                standard = level
            } else if words.count == 2, !words[0].isEmpty, let level = LogLevel(name: words[1]) {
                subsystems[String(words[0])] = level
            } else {
                return nil
            }
        }
    }

    /// The level of a subsystem: its own, else its nearest parent's, else the standard one.
    package func level(of subsystem: String) -> LogLevel {
        var name = Substring(subsystem)
        while true {
            if let level = subsystems[String(name)] { return level }
            guard let dot = name.lastIndex(of: ".") else { return standard }
            name = name[..<dot]
        }
    }
}
