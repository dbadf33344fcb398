extension OutcomeTable {
    /// The verdict on an FCM answer; `body` is what the error body says, the default for a success.
    package static func classify(
        fcmStatus status: Int, body: FCMErrorBody = FCMErrorBody(), context given: DeliveryContext
    ) -> Verdict {
        if status == 200 { return Verdict(.accepted, .accepted) }
        var context = given
        if let delay = body.retryDelayMs { context.retryAfterMs = max(delay, context.retryAfterMs ?? 0) }
        switch status {
        case 400..<500: return clientError(status, body, context)
        case 500: return retry(.server, context, body.code == .internalError ? .fcmInternal : .fcmServerError)
        case 502, 503, 504: return retry(.server, context, .fcmUnavailable)
        case 500..<600: return retry(.server, context, .fcmServerError)
        default: return retry(.server, context, .unexpectedStatus, [.newReason, .alertConfiguration])
        }
    }

    private static func clientError(_ status: Int, _ body: FCMErrorBody, _ context: DeliveryContext)
        -> Verdict
    {
        // FCM's own codes are clearer than the status, which may be someone else's.
        switch body.code {
        case .thirdPartyAuth: return pause(.projectApple, .fcmThirdPartyAuth)
        case .unregistered: return token(lostAtMs: context.sentAtMs, context, .fcmUnregistered)
        case .senderIDMismatch:
            return token(lostAtMs: context.sentAtMs, context, .fcmSenderIDMismatch, .suspectToken)
        default: break
        }
        switch (status, body.code) {
        case (400, _): return invalidArgument(body, context)
        case (401, .none):
            if context.history.contains(.refreshed) { return pause(.credential, .fcmUnauthenticated) }
            return retry(.refresh, context, .fcmUnauthenticated, .refreshCredential)
        case (403, .none): return pause(.credential, .fcmPermissionDenied)
        case (404, .none): return Verdict(.pauseCredential(.credential), .fcmNotFound, .alertConfiguration)
        case (429, _):
            if body.quota == .device { return retry(.device, context, .fcmDeviceQuotaExceeded, .gateToken) }
            return retry(.quota, context, .fcmQuotaExceeded, .gateQuota)
        case (_, .unspecified): return Verdict(.dead, .fcmClientError)
        default: return Verdict(.dead, .fcmClientError, .newReason)
        }
    }

    private static func invalidArgument(_ body: FCMErrorBody, _ context: DeliveryContext) -> Verdict {
        if body.hasAPNsError { return wrapped(body, context) }
        switch body.badField {
        case .token: return token(lostAtMs: context.sentAtMs, context, .fcmInvalidToken, .suspectToken)
        case .other: return Verdict(.dead, .fcmInvalidField)
        case .none: break
        }
        switch body.code {
        case .invalidArgument:
            // The body does not say whether the token or the payload is wrong. A payload that another token
            // accepted is not.
            if context.acceptedElsewhere {
                return token(lostAtMs: context.sentAtMs, context, .fcmInvalidArgument, .suspectToken)
            }
            return Verdict(.dead, .fcmInvalidArgument)
        case .unspecified, .none: return Verdict(.dead, .fcmClientError)
        default: return Verdict(.dead, .fcmClientError, .newReason)
        }
    }

    /// The verdict on what APNs told FCM. The connection and the APNs key are Google's and the project's, so
    /// the rows about them change their meaning; there is no other environment to probe and no timestamp.
    private static func wrapped(_ body: FCMErrorBody, _ context: DeliveryContext) -> Verdict {
        let reason = Reason(apns: body.apnsReason, status: body.apnsStatus)
        switch body.apnsReason {
        case .idleTimeout, .shutdown, .tooManyProviderTokenUpdates: return retry(.server, context, reason)
        case .topicDisallowed, .featureNotEnabled: return pause(.projectApple, reason)
        default: break
        }
        if body.apnsStatus == 403 { return pause(.projectApple, reason) }
        var known = context
        known.history.insert(.probed)
        return classify(
            apnsStatus: body.apnsStatus, body: APNsErrorBody(reason: body.apnsReason), context: known)
    }
}
