extension OutcomeTable {
    /// The verdict on a Web Push service's answer (RFC 8030).
    package static func classify(webPushStatus status: Int, context: DeliveryContext) -> Verdict {
        switch status {
        case 200, 201, 202: return Verdict(.accepted, .accepted)
        case 404, 410: return token(lostAtMs: context.sentAtMs, context, .webPushGone)
        case 400: return Verdict(.dead, .webPushBadRequest)
        case 413: return Verdict(.dead, .webPushPayloadTooLarge)
        case 401, 403:
            // A key that others of the same origin take is not wrong: this subscription was made with another
            // one.
            if context.acceptedElsewhere {
                return token(lostAtMs: context.sentAtMs, context, .webPushUnauthorized, .suspectToken)
            }
            return pause(.origin, .webPushUnauthorized)
        case 429: return retry(.quota, context, .webPushThrottled, .gateQuota)
        case 400..<500: return Verdict(.dead, .webPushClientError, .newReason)
        case 500..<600: return retry(.server, context, .webPushServerError)
        default: return retry(.server, context, .unexpectedStatus, [.newReason, .alertConfiguration])
        }
    }

    /// What to do after an OAuth token request.
    package enum TokenVerdict: Equatable, Sendable {
        /// The answer holds a token.
        case granted
        /// Ask again in class `server`, not before `afterMs`; keep sending with the cached bearer while it is
        /// valid.
        case hold(afterMs: Int64, Reason)
        /// The service account does not work: pause it and alert.
        case pauseCredential(Reason)
    }

    /// The verdict on an OAuth token endpoint's answer (RFC 6749 section 5.2).
    ///
    /// The status is 0 when no answer came, `error` is the body's member of that name, `retryAfterMs` the
    /// header's wait.
    package static func classify(
        tokenEndpointStatus status: Int, error: String?, retryAfterMs: Int64? = nil
    ) -> TokenVerdict {
        switch status {
        case 200: .granted
        case 400..<500 where status != 408 && status != 429:
            switch error {
            case "invalid_grant": .pauseCredential(.oauthInvalidGrant)
            case "invalid_client", "unauthorized_client": .pauseCredential(.oauthInvalidClient)
            default: .pauseCredential(.oauthRefused)
            }
        default: .hold(afterMs: max(0, retryAfterMs ?? 0), .oauthUnavailable)
        }
    }
}
