/// Why a delivery ended or is retried: a closed set, so that it can be a metric label and an index.
///
/// The raw value is an index into per-process counters and never leaves the process; the label does.
package enum Reason: UInt8, CaseIterable, Sendable {
    case accepted
    case apnsBadCollapseID
    case apnsBadDeviceToken
    case apnsBadExpirationDate
    case apnsBadMessageID
    case apnsBadPriority
    case apnsBadTopic
    case apnsDeviceTokenNotForTopic
    case apnsDuplicateHeaders
    case apnsIdleTimeout
    case apnsInvalidPushType
    case apnsMissingDeviceToken
    case apnsMissingTopic
    case apnsPayloadEmpty
    case apnsTopicDisallowed
    case apnsBadCertificate
    case apnsBadCertificateEnvironment
    case apnsExpiredProviderToken
    case apnsForbidden
    case apnsInvalidProviderToken
    case apnsMissingProviderToken
    case apnsUnrelatedKeyIDInToken
    case apnsBadEnvironmentKeyIDInToken
    case apnsTopicMismatch
    case apnsBadPath
    case apnsMethodNotAllowed
    case apnsUnregistered
    case apnsExpiredToken
    case apnsPayloadTooLarge
    case apnsTooManyProviderTokenUpdates
    case apnsTooManyRequests
    case apnsInternalServerError
    case apnsServiceUnavailable
    case apnsShutdown
    case apnsFeatureNotEnabled
    case apnsMissingChannelID
    case apnsBadChannelID
    case apnsChannelNotRegistered
    case apnsBadRequestParams
    case apnsBadRequestPayload
    case apnsMissingPushType
    case apnsCannotCreateChannelConfig
    case apnsUnknownReason
    case apnsClientError
    case apnsServerError
    case fcmInvalidArgument
    case fcmInvalidToken
    case fcmInvalidField
    case fcmUnauthenticated
    case fcmThirdPartyAuth
    case fcmSenderIDMismatch
    case fcmPermissionDenied
    case fcmUnregistered
    case fcmNotFound
    case fcmQuotaExceeded
    case fcmDeviceQuotaExceeded
    case fcmInternal
    case fcmUnavailable
    case fcmClientError
    case fcmServerError
    case oauthInvalidGrant
    case oauthInvalidClient
    case oauthRefused
    case oauthUnavailable
    case webPushGone
    case webPushBadRequest
    case webPushPayloadTooLarge
    case webPushUnauthorized
    case webPushThrottled
    case webPushServerError
    case webPushClientError
    case unexpectedStatus
    case transportUnprocessed
    case transportConnect
    case transportTimeout
    case transportReset
    case goAwayCredential
    case expired
    case muted
    case quietHours
    case capped
    case replaced
    case quotaWait
    case duplicate
    case superseded
    case noDevice
    case cancelled
    case paused
    case circuitOpen
    case appShare
    case retriesExhausted
    case malformedJob
    case contradictoryJob
    case malformedHeaders
    case unknownApp
    case noCredential
    case oversize
    case credentialPaused
    case breakerOpen
    case internalFault

    /// The label in metrics, outcome events, headers and Redis fields.
    package var label: StaticString {
        switch self {
        case .accepted: "accepted"
        case .apnsBadCollapseID: "apns_bad_collapse_id"
        case .apnsBadDeviceToken: "apns_bad_device_token"
        case .apnsBadExpirationDate: "apns_bad_expiration_date"
        case .apnsBadMessageID: "apns_bad_message_id"
        case .apnsBadPriority: "apns_bad_priority"
        case .apnsBadTopic: "apns_bad_topic"
        case .apnsDeviceTokenNotForTopic: "apns_device_token_not_for_topic"
        case .apnsDuplicateHeaders: "apns_duplicate_headers"
        case .apnsIdleTimeout: "apns_idle_timeout"
        case .apnsInvalidPushType: "apns_invalid_push_type"
        case .apnsMissingDeviceToken: "apns_missing_device_token"
        case .apnsMissingTopic: "apns_missing_topic"
        case .apnsPayloadEmpty: "apns_payload_empty"
        case .apnsTopicDisallowed: "apns_topic_disallowed"
        case .apnsBadCertificate: "apns_bad_certificate"
        case .apnsBadCertificateEnvironment: "apns_bad_certificate_environment"
        case .apnsExpiredProviderToken: "apns_expired_provider_token"
        case .apnsForbidden: "apns_forbidden"
        case .apnsInvalidProviderToken: "apns_invalid_provider_token"
        case .apnsMissingProviderToken: "apns_missing_provider_token"
        case .apnsUnrelatedKeyIDInToken: "apns_unrelated_key_id_in_token"
        case .apnsBadEnvironmentKeyIDInToken: "apns_bad_environment_key_id_in_token"
        case .apnsTopicMismatch: "apns_topic_mismatch"
        case .apnsBadPath: "apns_bad_path"
        case .apnsMethodNotAllowed: "apns_method_not_allowed"
        case .apnsUnregistered: "apns_unregistered"
        case .apnsExpiredToken: "apns_expired_token"
        case .apnsPayloadTooLarge: "apns_payload_too_large"
        case .apnsTooManyProviderTokenUpdates: "apns_too_many_provider_token_updates"
        case .apnsTooManyRequests: "apns_too_many_requests"
        case .apnsInternalServerError: "apns_internal_server_error"
        case .apnsServiceUnavailable: "apns_service_unavailable"
        case .apnsShutdown: "apns_shutdown"
        case .apnsFeatureNotEnabled: "apns_feature_not_enabled"
        case .apnsMissingChannelID: "apns_missing_channel_id"
        case .apnsBadChannelID: "apns_bad_channel_id"
        case .apnsChannelNotRegistered: "apns_channel_not_registered"
        case .apnsBadRequestParams: "apns_bad_request_params"
        case .apnsBadRequestPayload: "apns_bad_request_payload"
        case .apnsMissingPushType: "apns_missing_push_type"
        case .apnsCannotCreateChannelConfig: "apns_cannot_create_channel_config"
        case .apnsUnknownReason: "apns_unknown_reason"
        case .apnsClientError: "apns_4xx"
        case .apnsServerError: "apns_5xx"
        case .fcmInvalidArgument: "fcm_invalid_argument"
        case .fcmInvalidToken: "fcm_invalid_token"
        case .fcmInvalidField: "fcm_invalid_field"
        case .fcmUnauthenticated: "fcm_unauthenticated"
        case .fcmThirdPartyAuth: "fcm_third_party_auth"
        case .fcmSenderIDMismatch: "fcm_sender_id_mismatch"
        case .fcmPermissionDenied: "fcm_permission_denied"
        case .fcmUnregistered: "fcm_unregistered"
        case .fcmNotFound: "fcm_not_found"
        case .fcmQuotaExceeded: "fcm_quota_exceeded"
        case .fcmDeviceQuotaExceeded: "fcm_device_quota_exceeded"
        case .fcmInternal: "fcm_internal"
        case .fcmUnavailable: "fcm_unavailable"
        case .fcmClientError: "fcm_4xx"
        case .fcmServerError: "fcm_5xx"
        case .oauthInvalidGrant: "oauth_invalid_grant"
        case .oauthInvalidClient: "oauth_invalid_client"
        case .oauthRefused: "oauth_refused"
        case .oauthUnavailable: "oauth_unavailable"
        case .webPushGone: "web_push_gone"
        case .webPushBadRequest: "web_push_bad_request"
        case .webPushPayloadTooLarge: "web_push_payload_too_large"
        case .webPushUnauthorized: "web_push_unauthorized"
        case .webPushThrottled: "web_push_throttled"
        case .webPushServerError: "web_push_5xx"
        case .webPushClientError: "web_push_4xx"
        case .unexpectedStatus: "unexpected_status"
        case .transportUnprocessed: "transport_unprocessed"
        case .transportConnect: "transport_connect"
        case .transportTimeout: "transport_timeout"
        case .transportReset: "transport_reset"
        case .goAwayCredential: "goaway_credential"
        case .expired: "expired"
        case .muted: "muted"
        case .quietHours: "quiet_hours"
        case .capped: "capped"
        case .replaced: "replaced"
        case .quotaWait: "quota_wait"
        case .duplicate: "duplicate"
        case .superseded: "superseded"
        case .noDevice: "no_device"
        case .cancelled: "cancelled"
        case .paused: "paused"
        case .circuitOpen: "circuit_open"
        case .appShare: "app_share"
        case .retriesExhausted: "retries_exhausted"
        case .malformedJob: "malformed_job"
        case .contradictoryJob: "contradictory_job"
        case .malformedHeaders: "malformed_headers"
        case .unknownApp: "unknown_app"
        case .noCredential: "no_credential"
        case .oversize: "oversize"
        case .credentialPaused: "credential_paused"
        case .breakerOpen: "breaker_open"
        case .internalFault: "internal_fault"
        }
    }

    /// Whether something waits for nothing but its provider to be free again.
    package var waitsForProvider: Bool { self == .paused || self == .circuitOpen || self == .appShare }

    /// Finds the reason by its label; nil for a label of another version.
    package init?(label: String) {
        guard let match = Self.allCases.first(where: { $0.label.description == label }) else { return nil }
        self = match
    }
}
