package import Decisions
internal import Registry

extension Overview {
    /// The live counters of a minute, or since the beginning: the fields of `peal:stat` and `peal:total`.
    package struct Counts: Equatable, Sendable {
        /// A counter with a place of its own.
        package enum Field: Int, CaseIterable, Sendable {
            case jobs, accepted, expired, muted, capped, duplicate, noDevice, invalidToken, rejected, dead
            case cancelled, sent, failed, retried, tokensRemoved, latencySumMs, unreadAdded, unreadCleared
            case urgent, normal, bulk

            /// The name in Redis.
            package var name: String {
                switch self {
                case .jobs: "jobs"
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
                case .sent: "sent"
                case .failed: "failed"
                case .retried: "retried"
                case .tokensRemoved: "tokens_removed"
                case .latencySumMs: CounterFields.latencySum
                case .unreadAdded: CounterFields.unreadAdded
                case .unreadCleared: CounterFields.unreadCleared
                case .urgent: CounterFields.lane("urgent")
                case .normal: CounterFields.lane("normal")
                case .bulk: CounterFields.lane("bulk")
                }
            }
        }

        private var values = [Int64](repeating: 0, count: Field.allCases.count)
        /// Accepted deliveries by latency: place `n` those of at most ``CounterFields/latencyBoundsMs``[n],
        /// and longer than the bound before; the last place those that took longer than all of them.
        package private(set) var latency = [Int64](
            repeating: 0, count: CounterFields.latencyBoundsMs.count + 1)
        /// Why deliveries ended otherwise than accepted, or were retried, by the reasons' labels.
        package private(set) var reasons: [String: Int64] = [:]

        /// Nothing counted.
        package init() {}

        /// The most different reasons that are kept; there are fewer than half as many.
        static let reasonsMax = 256

        /// The count of a field; never negative.
        package subscript(field: Field) -> Int64 {
            get { values[field.rawValue] }
            set { values[field.rawValue] = max(0, newValue) }
        }

        /// Takes a field of Redis over; one that this version does not know, or that is no count, is left.
        package mutating func take(field name: String, _ count: Int64) {
            guard count > 0 else { return }
            if let place = Self.places[name] {
                values[place] = count
            } else if let place = Self.latencyPlaces[name] {
                latency[place] = count
            } else if name.hasPrefix(Self.reasonPrefix), reasons.count < Self.reasonsMax {
                reasons[String(name.dropFirst(Self.reasonPrefix.count))] = count
            }
        }

        /// Adds other counts to these.
        package mutating func add(_ other: Counts) {
            for place in values.indices { values[place] = values[place].adding(other.values[place]) }
            for place in latency.indices { latency[place] = latency[place].adding(other.latency[place]) }
            for (reason, count) in other.reasons
            where reasons[reason] != nil || reasons.count < Self.reasonsMax {
                reasons[reason] = (reasons[reason] ?? 0).adding(count)
            }
        }

        /// The deliveries of an outcome.
        package subscript(outcome outcome: DeliveryOutcome) -> Int64 { self[Self.field(of: outcome)] }

        /// All deliveries that ended.
        package var deliveries: Int64 { self[.accepted].adding(self[.failed]) }

        /// The latency below which `fraction` (0...1) of the accepted deliveries lie, in ms; between two
        /// bounds it is estimated. Nil when none was counted; the highest bound when it lies above that.
        package func latencyMs(fraction: Double) -> Double? {
            let total = latency.reduce(Int64(0)) { $0.adding($1) }
            guard total > 0 else { return nil }
            let wanted = Double(total) * min(max(0, fraction), 1)
            var seen = 0.0
            var lower = 0.0
            for (bound, count) in zip(CounterFields.latencyBoundsMs, latency) {
                let upper = Double(bound)
                if count > 0, seen + Double(count) >= wanted {
                    return lower + (upper - lower) * max(0, wanted - seen) / Double(count)
                }
                seen += Double(count)
                lower = upper
            }
            return lower
        }

        private static func field(of outcome: DeliveryOutcome) -> Field {
            switch outcome {
            case .accepted: .accepted
            case .expired: .expired
            case .muted: .muted
            case .capped: .capped
            case .duplicate: .duplicate
            case .noDevice: .noDevice
            case .invalidToken: .invalidToken
            case .rejected: .rejected
            case .dead: .dead
            case .cancelled: .cancelled
            }
        }

        private static let reasonPrefix = "reason:"
        private static let places = Dictionary(
            uniqueKeysWithValues: Field.allCases.map { ($0.name, $0.rawValue) })
        private static let latencyPlaces = Dictionary(
            uniqueKeysWithValues: CounterFields.latency.enumerated().map { ($1, $0) })
    }
}
