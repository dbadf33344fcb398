/// How one delivery to one device ended. Each delivery has exactly one.
package enum DeliveryOutcome: UInt8, CaseIterable, Sendable {
    /// The provider accepted it. It says nothing about whether the device showed it.
    case accepted
    /// Its deadline passed before a provider took it.
    case expired
    /// The recipient muted notifications.
    case muted
    /// The recipient's frequency cap held it back.
    case capped
    /// It was sent before under the same dedup key or id.
    case duplicate
    /// The recipient has no device that it could go to.
    case noDevice
    /// The provider says that the token is not, or no longer, good.
    case invalidToken
    /// The provider refused the notification for good.
    case rejected
    /// It went to the dead-letter topic without a provider's refusal: poison, attempts used up.
    case dead
    /// It was cancelled by its sender or by an operator.
    case cancelled

    /// The name in outcome events, metrics and Redis fields.
    package var name: StaticString {
        switch self {
        case .accepted: "accepted"
        case .expired: "expired"
        case .muted: "muted"
        case .capped: "capped"
        case .duplicate: "duplicate"
        case .noDevice: "no_device"
        case .invalidToken: "invalid_token"
        case .rejected: "rejected"
        case .dead: "dead"
        case .cancelled: "cancelled"
        }
    }

    /// Finds the outcome by its name; nil for any other text.
    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name.description == name }) else { return nil }
        self = match
    }

    /// Whether the job's bytes also go to the dead-letter topic.
    package var isDeadLetter: Bool { self == .rejected || self == .dead }
}
