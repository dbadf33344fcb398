/// Tells which of a client's events say the same once more.
///
/// librdkafka reports a broker's failure as a line of its log and then, in the same words, as an error.
package struct KafkaRepeats: Sendable {
    private var lastLine = ""

    /// Nothing has been said yet.
    package init() {}

    /// Whether the event says what the line before it said. Ask for each event, in order.
    package mutating func isRepeat(_ event: KafkaEvent) -> Bool {
        switch event.kind {
        case .log(let level):
            // Nobody is shown the lines above.
            lastLine = level <= 3 ? event.message : ""
            return false
        case .error:
            defer { lastLine = "" }
            // A line begins with the name of its thread.
            return !event.message.isEmpty && lastLine.hasSuffix(event.message)
        case .fatal, .statistics: return false
        }
    }
}
