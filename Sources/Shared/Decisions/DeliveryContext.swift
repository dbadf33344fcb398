/// What the worker knows about a delivery when its answer arrives. All times are ms since 1970.
package struct DeliveryContext: Equatable, Sendable {
    /// When the token was last registered; nil when the job named a token that no registry holds.
    package var registeredAtMs: Int64?
    /// When the request was handed to the connection.
    package var sentAtMs: Int64
    /// The provider's Retry-After, in ms from now; nil when there was none.
    package var retryAfterMs: Int64?
    /// What was already tried for this delivery.
    package var history: AttemptHistory
    /// How long this credential has been answered TooManyProviderTokenUpdates, in ms; 0 when it is the first
    /// time.
    package var tokenUpdatesForMs: Int64
    /// Whether another token (or, for Web Push, another subscription of the same origin) accepted the same
    /// payload or key, which puts the blame on this token.
    package var acceptedElsewhere: Bool

    package init(
        registeredAtMs: Int64?, sentAtMs: Int64, retryAfterMs: Int64? = nil, history: AttemptHistory = [],
        tokenUpdatesForMs: Int64 = 0, acceptedElsewhere: Bool = false
    ) {
        self.registeredAtMs = registeredAtMs
        self.sentAtMs = sentAtMs
        self.retryAfterMs = retryAfterMs
        self.history = history
        self.tokenUpdatesForMs = tokenUpdatesForMs
        self.acceptedElsewhere = acceptedElsewhere
    }
}

/// What was already tried for one delivery; it travels with the retry.
package struct AttemptHistory: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Nothing was tried yet. An empty literal means the same, but costs a generic call of the library.
    @inlinable package static var none: AttemptHistory { AttemptHistory(rawValue: 0) }
    /// The credential was renewed (or the right connection chosen) because of this delivery.
    package static let refreshed = AttemptHistory(rawValue: 1 << 0)
    /// The other environment was asked, or there is none to ask.
    package static let probed = AttemptHistory(rawValue: 1 << 1)
    /// The token was kept once because it was registered after the provider lost it.
    package static let keptToken = AttemptHistory(rawValue: 1 << 2)
    /// It was sent again at once because a server was shutting down.
    package static let shutdown = AttemptHistory(rawValue: 1 << 3)

    /// The history after a verdict: what must not be tried a second time.
    package func after(_ verdict: Verdict) -> AttemptHistory {
        switch verdict.outcome {
        case .retry(.refresh, _): union(.refreshed)
        case .retry where verdict.effects.contains(.keptToken): union(.keptToken)
        case .retry(.connection, _) where verdict.reason == .apnsShutdown: union(.shutdown)
        case .probeOtherEnvironment: union(.probed)
        default: self
        }
    }
}

/// How a request ended without an answer.
package enum TransportFault: UInt8, CaseIterable, Sendable {
    /// REFUSED_STREAM, or GOAWAY with a last stream id below ours: the provider did not process it.
    case unprocessed
    /// No connection could be made, or none was free before the deadline; nothing was written.
    case connectFailed
    /// No answer within the deadline after the request was written.
    case timedOut
    /// A reset or a close after the request was written.
    case reset
}
