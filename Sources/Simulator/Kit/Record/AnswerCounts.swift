package import Core

/// How many answers of each kind were given.
package struct AnswerCounts: Sendable {
    /// The reason given by an answer that asks how a client treats a reason it has never heard of.
    static let unknownReason = "SomethingNew"

    package private(set) var requests: UInt64 = 0
    package private(set) var accepted: UInt64 = 0
    private var statuses = [UInt64](repeating: 0, count: 2 * 600)
    private var reasons = [UInt64](repeating: 0, count: 2 * 256)
    private var actions = [UInt64](repeating: 0, count: 8)

    init() {}

    mutating func count(_ row: RecordRow) {
        requests &+= 1
        if row.action == .respond, row.status / 100 == 2 { accepted &+= 1 }
        let provider = Int(row.provider.rawValue)
        if row.action == .respond || row.status > 0 {
            statuses[provider * 600 + min(599, Int(row.status))] &+= 1
        }
        reasons[provider * 256 + Int(row.reason)] &+= 1
        actions[Int(row.action.rawValue)] &+= 1
    }

    /// The answers with this status.
    package func count(_ provider: Provider, status: Int) -> UInt64 {
        status >= 0 && status < 600 ? statuses[Int(provider.rawValue) * 600 + status] : 0
    }

    /// The answers with this APNs reason.
    package func count(_ reason: APNsReason) -> UInt64 { reasons[Int(reason.rawValue)] }

    /// The answers with this FCM error.
    package func count(_ error: FCMError) -> UInt64 { reasons[256 + Int(error.rawValue)] }

    /// How often this happened on the wire.
    package func count(_ action: Answer.Action) -> UInt64 { actions[Int(action.rawValue)] }

    /// Appends the counts as a JSON object.
    package func append(json buffer: inout ByteBuffer) {
        buffer.append("{\"requests\":")
        buffer.append(unsigned: requests)
        buffer.append(",\"accepted\":")
        buffer.append(unsigned: accepted)
        for provider in Provider.allCases {
            let rows = (0..<600).filter { count(provider, status: $0) > 0 }
            table(&buffer, "\(provider.name)_statuses", rows.map { ("\($0)", count(provider, status: $0)) })
        }
        table(
            &buffer, "apns_reasons",
            APNsReason.allCases.filter { $0 != .none && count($0) > 0 }.map { ($0.name, count($0)) })
        table(
            &buffer, "fcm_errors",
            FCMError.allCases.filter { $0 != .none && count($0) > 0 }.map { ($0.name, count($0)) })
        table(
            &buffer, "actions", Answer.Action.allCases.filter { count($0) > 0 }.map { ($0.name, count($0)) })
        buffer.append("}")
    }

    private func table(_ buffer: inout ByteBuffer, _ name: String, _ rows: [(String, UInt64)]) {
        buffer.append(",")
        buffer.append(jsonString: name)
        buffer.append(":{")
        for (index, row) in rows.enumerated() {
            if index > 0 { buffer.append(",") }
            buffer.append(jsonString: row.0)
            buffer.append(":")
            buffer.append(unsigned: row.1)
        }
        buffer.append("}")
    }
}

/// What the recorded requests amount to.
package struct RecordSummary: Sendable {
    package let answers: AnswerCounts
    /// Requests in the record, and requests that did not fit it.
    package let kept: Int
    package let dropped: UInt64
    /// Messages that a device got (also those whose answer was lost on purpose), validate-only requests left
    /// out.
    package var delivered = 0
    /// Requests that broke one of the service's rules.
    package var refusedByRules = 0
    /// Distinct job ids among the delivered messages.
    package var jobs = 0
    /// Distinct pairs of job and token among the delivered messages.
    package var deliveries = 0
    /// Messages delivered again for the same job and token.
    package var duplicates = 0

    init(answers: AnswerCounts, kept: Int, dropped: UInt64) {
        self.answers = answers
        self.kept = kept
        self.dropped = dropped
    }

    /// Appends the summary as a JSON object.
    package func append(json buffer: inout ByteBuffer) {
        let rows: [(StaticString, Int)] = [
            ("kept", kept), ("delivered", delivered), ("refused_by_rules", refusedByRules), ("jobs", jobs),
            ("deliveries", deliveries), ("duplicates", duplicates),
        ]
        buffer.append("{\"dropped\":")
        buffer.append(unsigned: dropped)
        for (name, value) in rows {
            buffer.append(",\"")
            buffer.append(name)
            buffer.append("\":")
            buffer.append(decimal: Int64(value))
        }
        buffer.append(",\"answers\":")
        answers.append(json: &buffer)
        buffer.append("}")
    }
}
