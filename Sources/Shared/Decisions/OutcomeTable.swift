/// What each answer of each provider means for a delivery: a pure function of the answer and what is known.
///
/// The rows follow the providers' documentation; where they leave a choice, a token is never deleted and a
/// credential is never blamed without proof.
package enum OutcomeTable {
    /// Whether the status alone says that the provider took it: the whole of the success path.
    @inlinable package static func isAccepted(_ provider: Provider, status: Int) -> Bool {
        switch provider {
        case .apns, .fcm, .log: status == 200
        case .webPush: status == 201 || status == 200 || status == 202
        }
    }

    /// The verdict on a request that ended without an answer.
    ///
    /// `goAway` is the reason in the GOAWAY debug data; `none` when there was none.
    package static func classify(
        _ fault: TransportFault, provider: Provider, goAway: APNsReason = .none, history: AttemptHistory = []
    ) -> Verdict {
        if provider == .apns, goAway.status == 403 {
            let isStale = goAway == .expiredProviderToken || goAway == .unrelatedKeyIDInToken
            if isStale, fault == .unprocessed, !history.contains(.refreshed) {
                return Verdict(
                    .retry(.refresh, afterMs: 0), .goAwayCredential,
                    [.drainConnection, .refreshCredential, .notAnAttempt])
            }
            // The debug data names the credential, so the request must not wander to the next connection.
            return Verdict(
                .pauseCredential(.credential), .goAwayCredential, [.alertCredential, .drainConnection])
        }
        // APNs answers within a second, FCM may still be working on it: FCM is not asked again at once.
        let written: BackoffClass = provider == .apns ? .connection : .server
        return switch fault {
        case .unprocessed: Verdict(.retry(.connection, afterMs: 0), .transportUnprocessed, .notAnAttempt)
        case .connectFailed: Verdict(.retry(.connection, afterMs: 0), .transportConnect)
        case .timedOut: Verdict(.retry(written, afterMs: 0), .transportTimeout, .mayDuplicate)
        case .reset: Verdict(.retry(written, afterMs: 0), .transportReset, .mayDuplicate)
        }
    }

    /// The rule for a token that the provider gave up at `lostAtMs`: delete only what was registered earlier.
    /// A token that was registered at that moment or later is alive again, so it is kept and tried once more.
    static func token(
        lostAtMs: Int64, _ context: DeliveryContext, _ reason: Reason, _ effects: Verdict.Effects = []
    ) -> Verdict {
        if let registered = context.registeredAtMs, registered >= lostAtMs {
            if context.history.contains(.keptToken) { return Verdict(.keepToken, reason, effects) }
            return retry(.device, context, reason, effects.union([.keptToken, .gateToken]))
        }
        return Verdict(.removeToken(registeredBeforeMs: lostAtMs), reason, effects)
    }

    static func retry(
        _ backoff: BackoffClass, _ context: DeliveryContext, _ reason: Reason, _ effects: Verdict.Effects = []
    ) -> Verdict {
        Verdict(.retry(backoff, afterMs: max(0, context.retryAfterMs ?? 0)), reason, effects)
    }

    static func pause(_ scope: Verdict.Scope, _ reason: Reason, _ effects: Verdict.Effects = []) -> Verdict {
        Verdict(.pauseCredential(scope), reason, effects.union(.alertCredential))
    }
}
