internal import Core
internal import Decisions
internal import Logging

/// The fields of the lines about single deliveries, by which support finds what became of a job. Their names
/// are those of the outcome events where both say the same; docs/logging.md lists them.
enum DeliveryField: String, CaseIterable {
    /// The job's id.
    case job
    case app
    case lane
    /// The device's id in the registry; a text as long as a token is shortened like one.
    case device
    /// Attempts that reached a provider, this one included.
    case attempts
    case apnsID = "apns_id"
    case provider
    case outcome
    case reason
    /// The HTTP status of the provider's last answer.
    case status
    /// From the request to its answer.
    case providerMs = "provider_ms"
    /// From the publication until now.
    case afterMs = "after_ms"
    /// When the next attempt is due, in ms since 1970.
    case dueMs = "due_ms"
    /// `topic/partition/offset` of the job's first record.
    case origin
    case traceID = "trace_id"
}

/// What an operator sees of deliveries.
enum DeliveryLine {
    /// How loud the end of a delivery is: what the sender or the configuration has to mend is a warning, what
    /// is lost by time or by a token's end is worth knowing, the rest is there for who asks.
    static func level(of outcome: DeliveryOutcome) -> LogLevel {
        switch outcome {
        case .rejected, .dead: .warning
        case .expired, .invalidToken: .info
        default: .debug
        }
    }

    /// The sentence of an end.
    static func sentence(of outcome: DeliveryOutcome) -> String {
        switch outcome {
        case .accepted: "A provider took a delivery."
        case .rejected: "A delivery was refused for good; its job is in the dead-letter topic."
        case .dead: "A job will never be sent; it is in the dead-letter topic, with the reason."
        case .expired: "A delivery ended unsent: its time ran out, or a newer job took its place."
        case .invalidToken: "A device's token is no longer good."
        case .muted: "A recipient wants to hear nothing of this."
        case .capped: "A recipient has had enough of this class for now."
        case .duplicate: "A second job of the same key or id was dropped."
        case .noDevice: "A recipient has no device for this."
        case .cancelled: "A delivery was cancelled by an operator or its sender."
        }
    }

    /// The registry's id of a device, or what is told of it.
    static func name(device: UnsafeRawBufferPointer, token: UnsafeRawBufferPointer) -> String {
        if device.count > 48 || (unsafe !token.isEmpty && device.elementsEqual(token)) {
            return unsafe Redacted.token(device)
        }
        return unsafe String(decoding: device, as: UTF8.self)
    }
}

extension LogFields {
    mutating func add(_ field: DeliveryField, _ text: String) {
        if !text.isEmpty { append(field.rawValue, .text(text)) }
    }

    mutating func add(_ field: DeliveryField, _ number: Int64) { append(field.rawValue, .integer(number)) }
}
