/// The reasons that APNs documents for a refused request, with their status.
package enum APNsReason: UInt8, CaseIterable, Sendable {
    case none
    case badCollapseID, badDeviceToken, badExpirationDate, badMessageID, badPriority, badTopic
    case deviceTokenNotForTopic, duplicateHeaders, idleTimeout, invalidPushType, missingDeviceToken
    case missingTopic, payloadEmpty, topicDisallowed, badRequestPayload, missingPushType
    case featureNotEnabled, missingChannelID, badChannelID, channelNotRegistered, badRequestParams
    case cannotCreateChannelConfig
    case badCertificate, badCertificateEnvironment, expiredProviderToken, forbidden, invalidProviderToken
    case missingProviderToken, unrelatedKeyIDInToken, badEnvironmentKeyIDInToken, topicMismatch
    case badPath, methodNotAllowed, expiredToken, unregistered, payloadTooLarge
    case tooManyProviderTokenUpdates, tooManyRequests, internalServerError, serviceUnavailable, shutdown

    /// The word in the answer's `reason` member; empty for an accepted request.
    package var name: String {
        switch self {
        case .none: ""
        case .badCollapseID: "BadCollapseId"
        case .badMessageID: "BadMessageId"
        case .missingChannelID: "MissingChannelId"
        case .badChannelID: "BadChannelId"
        case .unrelatedKeyIDInToken: "UnrelatedKeyIdInToken"
        case .badEnvironmentKeyIDInToken: "BadEnvironmentKeyIdInToken"
        default: Self.capitalised("\(self)")
        }
    }

    private static func capitalised(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst()
    }

    /// The HTTP status that goes with it.
    package var status: UInt16 {
        switch self {
        case .none: 200
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden,
            .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken,
            .topicMismatch:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        default: 400
        }
    }

    /// The reason with this name, or nil.
    package static func named(_ name: String) -> APNsReason? {
        allCases.first { $0 != .none && $0.name == name }
    }

    /// The body of each answer by raw value, rendered once; a 410 gets its timestamp when it is sent.
    static let bodies: [[UInt8]] = allCases.map { reason in
        reason == .none ? [] : Array("{\"reason\":\"\(reason.name)\"}".utf8)
    }
}
