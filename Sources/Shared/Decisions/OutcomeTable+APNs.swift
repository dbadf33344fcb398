extension OutcomeTable {
    /// How long TooManyProviderTokenUpdates may go on before the credential is blamed.
    static let tokenUpdatesMaxMs: Int64 = 3_600_000

    /// The verdict on an APNs answer; `body` is what the error body says, the default for a success.
    package static func classify(
        apnsStatus status: Int, body: APNsErrorBody = APNsErrorBody(), context: DeliveryContext
    ) -> Verdict {
        let reason = Reason(apns: body.reason, status: status)
        let news: Verdict.Effects = body.reason == .unknown ? .newReason : []
        switch status {
        case 200: return Verdict(.accepted, .accepted)
        case 400: return badRequest(body.reason, reason, context)
        case 403: return forbidden(body.reason, reason, context, news)
        case 404, 405: return Verdict(.dead, reason, news.union(.alertConfiguration))
        case 410:
            // Without a reason it may come from something in between, so the breaker watches it.
            let doubt: Verdict.Effects = body.reason.status == 410 ? [] : .suspectToken
            let lost = body.timestampMs ?? context.sentAtMs
            return token(lostAtMs: lost, context, reason, news.union(doubt))
        case 413: return Verdict(.dead, reason, news)
        case 429: return throttled(body.reason, reason, context, news)
        case 400..<500:
            // A 4xx that Apple does not document comes from something in between.
            return Verdict(.dead, reason, [.newReason, .alertConfiguration])
        case 500..<600:
            if body.reason == .shutdown, !context.history.contains(.shutdown) {
                return retry(.connection, context, reason, .drainConnection)
            }
            return retry(.serverSlow, context, reason, news)
        default: return retry(.serverSlow, context, .unexpectedStatus, [.newReason, .alertConfiguration])
        }
    }

    private static func badRequest(
        _ apns: APNsReason, _ reason: Reason, _ context: DeliveryContext
    ) -> Verdict {
        switch apns {
        case .badDeviceToken:
            if !context.history.contains(.probed) {
                return Verdict(.probeOtherEnvironment, reason, .suspectToken)
            }
            return token(lostAtMs: context.sentAtMs, context, reason, .suspectToken)
        case .deviceTokenNotForTopic:
            return token(lostAtMs: context.sentAtMs, context, reason, .suspectToken)
        case .idleTimeout: return retry(.connection, context, reason, .drainConnection)
        case .missingDeviceToken, .missingTopic, .missingChannelID, .badTopic:
            return Verdict(.dead, reason, .alertConfiguration)
        case .topicDisallowed, .featureNotEnabled: return pause(.topic, reason)
        case .badChannelID, .channelNotRegistered: return Verdict(.removeChannel, reason)
        case .cannotCreateChannelConfig:
            return Verdict(.pauseCredential(.topic), reason, .alertConfiguration)
        case .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders,
            .invalidPushType, .missingPushType, .payloadEmpty, .badRequestParams, .badRequestPayload:
            return Verdict(.dead, reason)
        default: return Verdict(.dead, reason, .newReason)
        }
    }

    private static func forbidden(
        _ apns: APNsReason, _ reason: Reason, _ context: DeliveryContext, _ news: Verdict.Effects
    ) -> Verdict {
        switch apns {
        case .expiredProviderToken, .unrelatedKeyIDInToken:
            // Both wedge the connection they came on; a new credential on it would fail as well.
            if context.history.contains(.refreshed) { return pause(.credential, reason, .drainConnection) }
            let effects: Verdict.Effects =
                apns == .expiredProviderToken ? [.drainConnection, .refreshCredential] : .drainConnection
            return retry(.refresh, context, reason, effects)
        case .topicMismatch: return pause(.topic, reason)
        default: return pause(.credential, reason, news)
        }
    }

    private static func throttled(
        _ apns: APNsReason, _ reason: Reason, _ context: DeliveryContext, _ news: Verdict.Effects
    ) -> Verdict {
        guard apns == .tooManyProviderTokenUpdates else {
            return retry(.device, context, reason, news.union(.gateToken))
        }
        // The answer sticks to the connection, and minting again makes it worse.
        let effects: Verdict.Effects = [.holdMinting, .drainConnection]
        if context.tokenUpdatesForMs > tokenUpdatesMaxMs { return pause(.credential, reason, effects) }
        return retry(.tokenUpdate, context, reason, effects)
    }
}
