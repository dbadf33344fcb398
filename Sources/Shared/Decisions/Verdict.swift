/// What to do about a provider's answer.
package struct Verdict: Equatable, Sendable {
    /// The one thing that happens to the delivery.
    package enum Outcome: Equatable, Sendable {
        /// Done.
        case accepted
        /// Another attempt in this class, not before `afterMs` from now (0 when the provider named no time).
        case retry(BackoffClass, afterMs: Int64)
        /// Drop the delivery and delete the token, if it was last registered before this time (ms since
        /// 1970).
        case removeToken(registeredBeforeMs: Int64)
        /// Drop the delivery, keep the token: it was registered again after the provider lost it.
        case keepToken
        /// Drop the delivery and forget the broadcast channel.
        case removeChannel
        /// The request can never succeed: to the dead-letter topic.
        case dead
        /// Nothing of this scope can be sent until someone fixes it; the message is kept, not retried in a
        /// loop.
        case pauseCredential(Scope)
        /// Try the other APNs environment once, on its own small pool, before the token is judged.
        case probeOtherEnvironment
    }

    /// What a paused credential holds up.
    package enum Scope: UInt8, Equatable, Sendable {
        /// All of the app's sends with this credential.
        case credential
        /// The app's sends to this topic only.
        case topic
        /// A Firebase project's iOS and web sends; its Android sends go on.
        case projectApple
        /// Web Push under this VAPID key and origin.
        case origin
    }

    /// What happens beside the delivery's own fate.
    package struct Effects: OptionSet, Equatable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The configuration or our own code is at fault: alert.
        package static let alertConfiguration = Effects(rawValue: 1 << 0)
        /// The credential is at fault: alert.
        package static let alertCredential = Effects(rawValue: 1 << 1)
        /// A reason that this version does not know: count it by name and alert.
        package static let newReason = Effects(rawValue: 1 << 2)
        /// Drain this connection; the next attempt needs another one.
        package static let drainConnection = Effects(rawValue: 1 << 3)
        /// Renew the credential before the next attempt.
        package static let refreshCredential = Effects(rawValue: 1 << 4)
        /// Mint no provider token for 20 minutes.
        package static let holdMinting = Effects(rawValue: 1 << 5)
        /// The provider may have taken it already: keep the same apns-id and collapse id.
        package static let mayDuplicate = Effects(rawValue: 1 << 6)
        /// Proved unprocessed: it does not count as an attempt.
        package static let notAnAttempt = Effects(rawValue: 1 << 7)
        /// The wait applies to everything under the same quota.
        package static let gateQuota = Effects(rawValue: 1 << 8)
        /// Send nothing else to this token until the wait is over.
        package static let gateToken = Effects(rawValue: 1 << 9)
        /// Counts for the mass-invalidation breaker: the token was refused in a way that a wrong environment,
        /// topic or project would also explain. A token that is gone does not count, however many are.
        package static let suspectToken = Effects(rawValue: 1 << 10)
        /// The token was registered after the provider lost it, so it is tried once more.
        package static let keptToken = Effects(rawValue: 1 << 11)
    }

    package let outcome: Outcome
    package let reason: Reason
    package let effects: Effects

    @inlinable package init(_ outcome: Outcome, _ reason: Reason, _ effects: Effects = []) {
        self.outcome = outcome
        self.reason = reason
        self.effects = effects
    }

    /// How the delivery ends by this verdict; nil while it goes on.
    package var terminal: DeliveryOutcome? {
        switch outcome {
        case .accepted: .accepted
        case .removeToken, .keepToken, .removeChannel: .invalidToken
        case .dead: .rejected
        case .retry, .pauseCredential, .probeOtherEnvironment: nil
        }
    }
}
