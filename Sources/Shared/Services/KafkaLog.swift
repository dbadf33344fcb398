internal import Core
package import Kafka
package import Logging

/// Puts what a librdkafka client reports into the log, under the subsystem `kafka`, each thing once.
///
/// All clients of a process say that a broker is away, each in several lines. They are written as one line a
/// cause, with the number of the others.
///
/// - Threading: one owner, the client's thread.
package struct KafkaLog {
    private let logger: Logger
    private var repeats = KafkaRepeats()

    /// Logs as a child of the client's own logger.
    package init(_ logger: Logger) { self.logger = logger.child("kafka") }

    /// Tells one event. Call it for each event, in order.
    package mutating func tell(_ event: KafkaEvent, _ more: LogFields = [:]) {
        guard !repeats.isRepeat(event) else { return }
        switch event.kind {
        case .fatal: write(.error, "kafka.fatal", event, more)
        case .error: write(.warning, "kafka.error", event, more)
        case .log(let level):
            // The operator's properties go to both clients; each then tells which ones are not its own.
            let isNoise = level > 4 || event.message.contains("will be ignored by this")
            write(isNoise ? .debug : .warning, isNoise ? "kafka.log" : "kafka.error", event, more)
        case .statistics: break
        }
    }

    private func write(_ level: LogLevel, _ name: String, _ event: KafkaEvent, _ more: LogFields) {
        guard logger.writes(level) else { return }
        let words = Self.withoutThread(event.message)
        let isAway = level == .warning && Self.saysAway(words)
        logger.single(level, isAway ? "kafka.away" : name) {
            var fields = more
            if event.code != .none { fields.append("kafka.error", .text(event.code.name)) }
            guard isAway else { return (words, fields) }
            return (
                "Kafka can't be reached; work waits and goes on by itself. Check kafka.brokers and the "
                    + "brokers: \(words)", fields
            )
        }
    }

    /// A line of librdkafka's log begins with the name of its thread.
    static func withoutThread(_ message: String) -> String {
        guard message.hasPrefix("[thrd:"), let end = message.firstIndex(of: "]") else { return message }
        return String(message[end...].dropFirst(3))
    }

    /// Whether it says that a broker can't be reached, rather than that a connection was closed.
    static func saysAway(_ message: String) -> Bool {
        ["Connect to ", "Failed to resolve", "brokers are down", "Connection setup timed out"].contains {
            message.contains($0)
        }
    }
}
