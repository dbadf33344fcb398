/// What a person is told about a reason.
extension Reason {
    /// One short sentence that says what happened and, where it is known, what to fix.
    package var text: StaticString {
        switch self {
        case .accepted: "The provider accepted the notification."
        case .apnsBadCollapseID: "The collapse id is longer than 64 bytes."
        case .apnsBadDeviceToken: "The device token is malformed or belongs to the other environment."
        case .apnsBadExpirationDate:
            "The expiration is not a UNIX date, or not 0 for a channel without storage."
        case .apnsBadMessageID: "The apns-id is not a canonical UUID."
        case .apnsBadPriority: "The priority is not allowed for this push type."
        case .apnsBadTopic: "The apns-topic is invalid; check the app's topic setting."
        case .apnsDeviceTokenNotForTopic: "The device token belongs to another app or kind of token."
        case .apnsDuplicateHeaders: "A request header was repeated."
        case .apnsIdleTimeout: "The connection was idle for too long."
        case .apnsInvalidPushType: "The push type is invalid."
        case .apnsMissingDeviceToken: "The request path has no device token."
        case .apnsMissingTopic: "The apns-topic header is missing; set the app's topic."
        case .apnsPayloadEmpty: "The payload is empty."
        case .apnsTopicDisallowed: "The credential may not send to this topic."
        case .apnsBadCertificate: "The client certificate is invalid."
        case .apnsBadCertificateEnvironment: "The client certificate is for the other environment."
        case .apnsExpiredProviderToken:
            "The provider token is older than an hour; check this machine's clock."
        case .apnsForbidden: "The credential does not allow this action."
        case .apnsInvalidProviderToken:
            "The provider token is invalid; check the key file, key id and team id."
        case .apnsMissingProviderToken: "Neither a client certificate nor a provider token was sent."
        case .apnsUnrelatedKeyIDInToken: "The key is not the one that this connection was opened with."
        case .apnsBadEnvironmentKeyIDInToken: "The key is for the other environment."
        case .apnsTopicMismatch: "The channel belongs to another topic."
        case .apnsBadPath: "The request path is wrong."
        case .apnsMethodNotAllowed: "The request method is wrong."
        case .apnsUnregistered: "The device token is no longer active for the topic."
        case .apnsExpiredToken: "The device token has expired."
        case .apnsPayloadTooLarge: "The payload is larger than the provider allows."
        case .apnsTooManyProviderTokenUpdates: "The provider token changed more than once in 20 minutes."
        case .apnsTooManyRequests: "Too many notifications in a row to one device."
        case .apnsInternalServerError: "APNs had an internal error."
        case .apnsServiceUnavailable: "APNs is unavailable."
        case .apnsShutdown: "The APNs server is shutting down."
        case .apnsFeatureNotEnabled: "The broadcast feature is not enabled for this app."
        case .apnsMissingChannelID: "The channel id is missing."
        case .apnsBadChannelID: "The channel id is malformed."
        case .apnsChannelNotRegistered: "The channel does not exist."
        case .apnsBadRequestParams: "A channel request parameter is wrong."
        case .apnsBadRequestPayload: "A channel request body is wrong."
        case .apnsMissingPushType: "The push type is missing."
        case .apnsCannotCreateChannelConfig: "The app has no room for another channel; delete unused ones."
        case .apnsUnknownReason: "APNs gave a reason that this version does not know."
        case .apnsClientError: "APNs refused the request without a reason."
        case .apnsServerError: "APNs failed without a reason."
        case .fcmInvalidArgument: "FCM refused the message or the token as invalid."
        case .fcmInvalidToken: "FCM says that the registration token is malformed."
        case .fcmInvalidField: "FCM refused a field of the message."
        case .fcmUnauthenticated: "FCM refused the access token; check the service account and the clock."
        case .fcmThirdPartyAuth: "The APNs or Web Push key stored in the Firebase project is bad."
        case .fcmSenderIDMismatch: "The registration token belongs to another Firebase project."
        case .fcmPermissionDenied:
            "The service account may not send: IAM role missing, API disabled or wrong project."
        case .fcmUnregistered: "The registration token is gone."
        case .fcmNotFound: "FCM does not know the path; check the project id."
        case .fcmQuotaExceeded: "The project's or topic's quota is used up."
        case .fcmDeviceQuotaExceeded: "The device's quota is used up."
        case .fcmInternal: "FCM had an internal error."
        case .fcmUnavailable: "FCM is overloaded or unavailable."
        case .fcmClientError: "FCM refused the request without a known reason."
        case .fcmServerError: "FCM failed without a known reason."
        case .oauthInvalidGrant:
            "The token endpoint refused the service account: key deleted, account disabled or clock wrong."
        case .oauthInvalidClient: "The token endpoint does not know the service account."
        case .oauthRefused: "The token endpoint refused the request."
        case .oauthUnavailable: "The token endpoint is unavailable."
        case .webPushGone: "The subscription is gone."
        case .webPushBadRequest: "The push service refused the request or its encryption."
        case .webPushPayloadTooLarge: "The payload is larger than the push service allows."
        case .webPushUnauthorized: "The push service refused the VAPID key."
        case .webPushThrottled: "The push service asks to slow down."
        case .webPushServerError: "The push service failed."
        case .webPushClientError: "The push service refused the request."
        case .unexpectedStatus:
            "The answer's status is neither success nor error; check the endpoint and any proxy."
        case .transportUnprocessed: "The connection closed before the provider processed the request."
        case .transportConnect: "The provider could not be reached."
        case .transportTimeout: "The provider did not answer in time."
        case .transportReset: "The connection broke after the request was written."
        case .goAwayCredential: "The provider closed the connection because of the credential."
        case .expired: "The notification's deadline passed."
        case .muted: "The recipient muted this kind of notification."
        case .quietHours: "The recipient's quiet hours."
        case .capped: "The recipient's frequency cap is reached."
        case .replaced: "A newer notification took its place while it waited for the frequency cap."
        case .quotaWait: "The app's quota at the provider is used up for the moment."
        case .duplicate: "The same notification was sent before."
        case .superseded: "A newer notification of the same collapse key was sent."
        case .noDevice: "The recipient has no device."
        case .cancelled: "The notification was cancelled."
        case .paused: "An operator has paused the app, the provider or the campaign."
        case .circuitOpen: "The provider keeps failing; it is left alone for a while."
        case .appShare: "The app or the provider has used up its share of open deliveries."
        case .retriesExhausted: "Every allowed attempt failed."
        case .malformedJob: "The job is not valid; see the dead record's detail."
        case .contradictoryJob: "The job contradicts itself; see the dead record's detail."
        case .malformedHeaders: "The retry headers are missing or not valid."
        case .unknownApp: "The configuration has no such app."
        case .noCredential: "The app has no credential for this platform."
        case .oversize: "The rendered payload is larger than the provider allows."
        case .credentialPaused: "The credential is paused until it is fixed."
        case .breakerOpen: "Too many tokens of the app were refused; deletion is paused."
        case .internalFault: "Peal failed; please report it."
        }
    }

    /// The reason for what APNs said.
    package init(apns reason: APNsReason, status: Int) {
        switch reason {
        case .none: self = status >= 500 ? .apnsServerError : .apnsClientError
        case .unknown: self = .apnsUnknownReason
        case .badCollapseID: self = .apnsBadCollapseID
        case .badDeviceToken: self = .apnsBadDeviceToken
        case .badExpirationDate: self = .apnsBadExpirationDate
        case .badMessageID: self = .apnsBadMessageID
        case .badPriority: self = .apnsBadPriority
        case .badTopic: self = .apnsBadTopic
        case .deviceTokenNotForTopic: self = .apnsDeviceTokenNotForTopic
        case .duplicateHeaders: self = .apnsDuplicateHeaders
        case .idleTimeout: self = .apnsIdleTimeout
        case .invalidPushType: self = .apnsInvalidPushType
        case .missingDeviceToken: self = .apnsMissingDeviceToken
        case .missingTopic: self = .apnsMissingTopic
        case .payloadEmpty: self = .apnsPayloadEmpty
        case .topicDisallowed: self = .apnsTopicDisallowed
        case .badCertificate: self = .apnsBadCertificate
        case .badCertificateEnvironment: self = .apnsBadCertificateEnvironment
        case .expiredProviderToken: self = .apnsExpiredProviderToken
        case .forbidden: self = .apnsForbidden
        case .invalidProviderToken: self = .apnsInvalidProviderToken
        case .missingProviderToken: self = .apnsMissingProviderToken
        case .unrelatedKeyIDInToken: self = .apnsUnrelatedKeyIDInToken
        case .badEnvironmentKeyIDInToken: self = .apnsBadEnvironmentKeyIDInToken
        case .topicMismatch: self = .apnsTopicMismatch
        case .badPath: self = .apnsBadPath
        case .methodNotAllowed: self = .apnsMethodNotAllowed
        case .unregistered: self = .apnsUnregistered
        case .expiredToken: self = .apnsExpiredToken
        case .payloadTooLarge: self = .apnsPayloadTooLarge
        case .tooManyProviderTokenUpdates: self = .apnsTooManyProviderTokenUpdates
        case .tooManyRequests: self = .apnsTooManyRequests
        case .internalServerError: self = .apnsInternalServerError
        case .serviceUnavailable: self = .apnsServiceUnavailable
        case .shutdown: self = .apnsShutdown
        case .featureNotEnabled: self = .apnsFeatureNotEnabled
        case .missingChannelID: self = .apnsMissingChannelID
        case .badChannelID: self = .apnsBadChannelID
        case .channelNotRegistered: self = .apnsChannelNotRegistered
        case .badRequestParams: self = .apnsBadRequestParams
        case .badRequestPayload: self = .apnsBadRequestPayload
        case .missingPushType: self = .apnsMissingPushType
        case .cannotCreateChannelConfig: self = .apnsCannotCreateChannelConfig
        }
    }
}
