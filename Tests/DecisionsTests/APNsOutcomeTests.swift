import Decisions
import Testing

@Suite("APNs answers") struct APNsOutcomeTests {
    static let accepted = [
        Row("200", apns(200), Verdict(.accepted, .accepted))
    ]

    static let tokenRows = [
        Row(
            "400 BadDeviceToken, not probed", apns(400, "BadDeviceToken"),
            Verdict(.probeOtherEnvironment, .apnsBadDeviceToken, .suspectToken)),
        Row(
            "400 BadDeviceToken, probed", apns(400, "BadDeviceToken", context(history: .probed)),
            Verdict(.removeToken(registeredBeforeMs: sentMs), .apnsBadDeviceToken, .suspectToken)),
        Row(
            "400 BadDeviceToken, probed, registered again since",
            apns(400, "BadDeviceToken", context(registered: sentMs + 1, history: .probed)),
            Verdict(
                .retry(.device, afterMs: 0), .apnsBadDeviceToken, [.suspectToken, .keptToken, .gateToken])),
        Row(
            "400 DeviceTokenNotForTopic", apns(400, "DeviceTokenNotForTopic"),
            Verdict(
                .removeToken(registeredBeforeMs: sentMs), .apnsDeviceTokenNotForTopic, .suspectToken)),
        Row(
            "400 BadChannelId", apns(400, "BadChannelId"), Verdict(.removeChannel, .apnsBadChannelID)),
        Row(
            "400 ChannelNotRegistered", apns(400, "ChannelNotRegistered"),
            Verdict(.removeChannel, .apnsChannelNotRegistered)),
        Row(
            "410 Unregistered, registered before", apns(410, "Unregistered", timestamp: earlierMs + 1),
            Verdict(.removeToken(registeredBeforeMs: earlierMs + 1), .apnsUnregistered)),
        Row(
            "410 Unregistered, registered at that moment", apns(410, "Unregistered", timestamp: earlierMs),
            Verdict(.retry(.device, afterMs: 0), .apnsUnregistered, [.keptToken, .gateToken])),
        Row(
            "410 Unregistered, registered later", apns(410, "Unregistered", timestamp: earlierMs - 1),
            Verdict(.retry(.device, afterMs: 0), .apnsUnregistered, [.keptToken, .gateToken])),
        Row(
            "410 Unregistered, kept once already",
            apns(410, "Unregistered", timestamp: earlierMs, context(history: .keptToken)),
            Verdict(.keepToken, .apnsUnregistered)),
        Row(
            "410 Unregistered without a timestamp", apns(410, "Unregistered"),
            Verdict(.removeToken(registeredBeforeMs: sentMs), .apnsUnregistered)),
        Row(
            "410 ExpiredToken", apns(410, "ExpiredToken", timestamp: earlierMs + 5),
            Verdict(.removeToken(registeredBeforeMs: earlierMs + 5), .apnsExpiredToken)),
        Row(
            "410 Unregistered for a token that no registry holds",
            apns(410, "Unregistered", timestamp: 5, context(registered: nil)),
            Verdict(.removeToken(registeredBeforeMs: 5), .apnsUnregistered)),
        Row(
            "410 without a body", apns(410),
            Verdict(.removeToken(registeredBeforeMs: sentMs), .apnsClientError, .suspectToken)),
    ]

    static let deadRows =
        [
            ("BadCollapseId", Reason.apnsBadCollapseID), ("BadExpirationDate", .apnsBadExpirationDate),
            ("BadMessageId", .apnsBadMessageID), ("BadPriority", .apnsBadPriority),
            ("DuplicateHeaders", .apnsDuplicateHeaders), ("InvalidPushType", .apnsInvalidPushType),
            ("MissingPushType", .apnsMissingPushType), ("PayloadEmpty", .apnsPayloadEmpty),
            ("BadRequestParams", .apnsBadRequestParams), ("BadRequestPayload", .apnsBadRequestPayload),
        ].map { Row("400 \($0.0)", apns(400, $0.0), Verdict(.dead, $0.1)) }
        + [
            ("MissingDeviceToken", Reason.apnsMissingDeviceToken), ("MissingTopic", .apnsMissingTopic),
            ("MissingChannelId", .apnsMissingChannelID), ("BadTopic", .apnsBadTopic),
        ].map { Row("400 \($0.0)", apns(400, $0.0), Verdict(.dead, $0.1, .alertConfiguration)) }
        + [
            Row(
                "400 unknown", apns(400, "BrandNew"),
                Verdict(.dead, .apnsUnknownReason, .newReason)),
            Row("400 without a body", apns(400), Verdict(.dead, .apnsClientError, .newReason)),
            Row(
                "404 BadPath", apns(404, "BadPath"), Verdict(.dead, .apnsBadPath, .alertConfiguration)),
            Row(
                "405 MethodNotAllowed", apns(405, "MethodNotAllowed"),
                Verdict(.dead, .apnsMethodNotAllowed, .alertConfiguration)),
            Row("413 PayloadTooLarge", apns(413, "PayloadTooLarge"), Verdict(.dead, .apnsPayloadTooLarge)),
            Row(
                "418, which Apple does not document", apns(418),
                Verdict(.dead, .apnsClientError, [.newReason, .alertConfiguration])),
        ]

    static let credentialRows =
        [
            ("InvalidProviderToken", Reason.apnsInvalidProviderToken),
            ("MissingProviderToken", .apnsMissingProviderToken), ("Forbidden", .apnsForbidden),
            ("BadCertificate", .apnsBadCertificate),
            ("BadCertificateEnvironment", .apnsBadCertificateEnvironment),
            ("BadEnvironmentKeyIdInToken", .apnsBadEnvironmentKeyIDInToken),
            ("BadEnvironmentKeyInToken", .apnsBadEnvironmentKeyIDInToken),
        ].map {
            Row(
                "403 \($0.0)", apns(403, $0.0), Verdict(.pauseCredential(.credential), $0.1, .alertCredential)
            )
        }
        + [
            Row(
                "403 TopicMismatch", apns(403, "TopicMismatch"),
                Verdict(.pauseCredential(.topic), .apnsTopicMismatch, .alertCredential)),
            Row(
                "403 unknown", apns(403, "BrandNew"),
                Verdict(
                    .pauseCredential(.credential), .apnsUnknownReason, [.newReason, .alertCredential])),
            Row(
                "403 not JSON",
                OutcomeTable.classify(
                    apnsStatus: 403, body: apnsBody("<html>no</html>"), context: context()),
                Verdict(.pauseCredential(.credential), .apnsClientError, .alertCredential)),
            Row(
                "400 TopicDisallowed", apns(400, "TopicDisallowed"),
                Verdict(.pauseCredential(.topic), .apnsTopicDisallowed, .alertCredential)),
            Row(
                "400 FeatureNotEnabled", apns(400, "FeatureNotEnabled"),
                Verdict(.pauseCredential(.topic), .apnsFeatureNotEnabled, .alertCredential)),
            Row(
                "400 CannotCreateChannelConfig", apns(400, "CannotCreateChannelConfig"),
                Verdict(.pauseCredential(.topic), .apnsCannotCreateChannelConfig, .alertConfiguration)),
            Row(
                "403 ExpiredProviderToken", apns(403, "ExpiredProviderToken"),
                Verdict(
                    .retry(.refresh, afterMs: 0), .apnsExpiredProviderToken,
                    [.drainConnection, .refreshCredential])),
            Row(
                "403 ExpiredProviderToken a second time",
                apns(403, "ExpiredProviderToken", context(history: .refreshed)),
                Verdict(
                    .pauseCredential(.credential), .apnsExpiredProviderToken,
                    [.drainConnection, .alertCredential])),
            Row(
                "403 UnrelatedKeyIdInToken", apns(403, "UnrelatedKeyIdInToken"),
                Verdict(.retry(.refresh, afterMs: 0), .apnsUnrelatedKeyIDInToken, .drainConnection)),
            Row(
                "403 UnrelatedKeyIdInToken a second time",
                apns(403, "UnrelatedKeyIdInToken", context(history: .refreshed)),
                Verdict(
                    .pauseCredential(.credential), .apnsUnrelatedKeyIDInToken,
                    [.drainConnection, .alertCredential])),
        ]

    static let retryRows = [
        Row(
            "400 IdleTimeout", apns(400, "IdleTimeout"),
            Verdict(.retry(.connection, afterMs: 0), .apnsIdleTimeout, .drainConnection)),
        Row(
            "429 TooManyRequests", apns(429, "TooManyRequests"),
            Verdict(.retry(.device, afterMs: 0), .apnsTooManyRequests, .gateToken)),
        Row(
            "429 TooManyRequests with Retry-After",
            apns(429, "TooManyRequests", context(retryAfter: 7000)),
            Verdict(.retry(.device, afterMs: 7000), .apnsTooManyRequests, .gateToken)),
        Row(
            "429 TooManyProviderTokenUpdates", apns(429, "TooManyProviderTokenUpdates"),
            Verdict(
                .retry(.tokenUpdate, afterMs: 0), .apnsTooManyProviderTokenUpdates,
                [.holdMinting, .drainConnection])),
        Row(
            "429 TooManyProviderTokenUpdates over an hour",
            apns(429, "TooManyProviderTokenUpdates", context(tokenUpdatesForMs: 3_600_001)),
            Verdict(
                .pauseCredential(.credential), .apnsTooManyProviderTokenUpdates,
                [.holdMinting, .drainConnection, .alertCredential])),
        Row(
            "429 other", apns(429, "BrandNew"),
            Verdict(.retry(.device, afterMs: 0), .apnsUnknownReason, [.gateToken, .newReason])),
        Row(
            "500 InternalServerError", apns(500, "InternalServerError"),
            Verdict(.retry(.serverSlow, afterMs: 0), .apnsInternalServerError)),
        Row(
            "503 ServiceUnavailable", apns(503, "ServiceUnavailable"),
            Verdict(.retry(.serverSlow, afterMs: 0), .apnsServiceUnavailable)),
        Row(
            "503 Service Unavailable, spelt with a space", apns(503, "Service Unavailable"),
            Verdict(.retry(.serverSlow, afterMs: 0), .apnsServiceUnavailable)),
        Row("502 without a body", apns(502), Verdict(.retry(.serverSlow, afterMs: 0), .apnsServerError)),
        Row(
            "503 Shutdown", apns(503, "Shutdown"),
            Verdict(.retry(.connection, afterMs: 0), .apnsShutdown, .drainConnection)),
        Row(
            "503 Shutdown a second time", apns(503, "Shutdown", context(history: .shutdown)),
            Verdict(.retry(.serverSlow, afterMs: 0), .apnsShutdown)),
        Row(
            "302", apns(302),
            Verdict(
                .retry(.serverSlow, afterMs: 0), .unexpectedStatus, [.newReason, .alertConfiguration])),
    ]

    @Test(
        "each row of the table has its verdict",
        arguments: accepted + tokenRows + deadRows + credentialRows + retryRows)
    func row(_ row: Row) { #expect(row.verdict == row.expected) }

    @Test("every documented reason has a verdict that is not 'unknown'", arguments: APNsReason.allCases)
    func documentedReasons(_ reason: APNsReason) {
        guard reason.status != 0 else { return }
        let verdict = apns(reason.status, reason.name)
        #expect(!verdict.effects.contains(.newReason))
        #expect(verdict.reason.label.description.hasPrefix("apns_"))
        #expect(verdict.reason != .apnsUnknownReason)
    }

    @Test(
        "a transport fault has its row",
        arguments: [
            Row(
                "REFUSED_STREAM", OutcomeTable.classify(.unprocessed, provider: .apns),
                Verdict(.retry(.connection, afterMs: 0), .transportUnprocessed, .notAnAttempt)),
            Row(
                "reset after writing", OutcomeTable.classify(.reset, provider: .apns),
                Verdict(.retry(.connection, afterMs: 0), .transportReset, .mayDuplicate)),
            Row(
                "timeout after writing", OutcomeTable.classify(.timedOut, provider: .apns),
                Verdict(.retry(.connection, afterMs: 0), .transportTimeout, .mayDuplicate)),
            Row(
                "no connection", OutcomeTable.classify(.connectFailed, provider: .apns),
                Verdict(.retry(.connection, afterMs: 0), .transportConnect)),
            Row(
                "GOAWAY naming the credential",
                OutcomeTable.classify(.unprocessed, provider: .apns, goAway: .badCertificate),
                Verdict(
                    .pauseCredential(.credential), .goAwayCredential, [.alertCredential, .drainConnection])),
            Row(
                "GOAWAY for a stale token",
                OutcomeTable.classify(.unprocessed, provider: .apns, goAway: .expiredProviderToken),
                Verdict(
                    .retry(.refresh, afterMs: 0), .goAwayCredential,
                    [.drainConnection, .refreshCredential, .notAnAttempt])),
            Row(
                "GOAWAY for a stale token a second time",
                OutcomeTable.classify(
                    .unprocessed, provider: .apns, goAway: .expiredProviderToken, history: .refreshed),
                Verdict(
                    .pauseCredential(.credential), .goAwayCredential, [.alertCredential, .drainConnection])),
            Row(
                "GOAWAY with another reason",
                OutcomeTable.classify(.unprocessed, provider: .apns, goAway: .shutdown),
                Verdict(.retry(.connection, afterMs: 0), .transportUnprocessed, .notAnAttempt)),
        ])
    func transport(_ row: Row) { #expect(row.verdict == row.expected) }
}

@Suite("APNs error bodies") struct APNsErrorBodyTests {
    @Test("a body with a reason and a timestamp is read")
    func full() {
        let body = apnsBody("{\"reason\":\"Unregistered\",\"timestamp\":1700000000123}")
        #expect(body == APNsErrorBody(reason: .unregistered, timestampMs: 1_700_000_000_123))
    }

    @Test(
        "a timestamp in another notation is read",
        arguments: ["1.7e12", "\"1700000000000\"", "1700000000000.0"])
    func notations(_ number: String) {
        #expect(
            apnsBody("{\"reason\":\"ExpiredToken\",\"timestamp\":\(number)}").timestampMs == 1_700_000_000_000
        )
    }

    @Test(
        "a timestamp that is no number is ignored",
        arguments: ["null", "-5", "1e400", "true", "\"soon\"", "[]"])
    func badTimestamps(_ number: String) {
        let body = apnsBody("{\"reason\":\"ExpiredToken\",\"timestamp\":\(number)}")
        #expect(body == APNsErrorBody(reason: .expiredToken))
    }

    @Test(
        "a body that is not the documented JSON has no reason",
        arguments: ["", "<html>", "{", "[]", "null", "{\"reason\":7}", "{\"reason\":\"\"}", "\u{0}"])
    func other(_ text: String) { #expect(apnsBody(text) == APNsErrorBody()) }

    @Test("an unknown reason keeps a short printable name")
    func unknown() {
        #expect(apnsBody("{\"reason\":\"New\u{7}Reason\"}") == APNsErrorBody())
        let named = apnsBody("{\"reason\":\"New\\u0007é" + String(repeating: "x", count: 100) + "\"}")
        #expect(named.reason == .unknown)
        #expect(named.unknownName?.hasPrefix("New___xx") == true)
        #expect(named.unknownName?.utf8.count == 64)
    }

    @Test("every reason is found by its name", arguments: APNsReason.allCases)
    func names(_ reason: APNsReason) {
        if reason.status != 0 { #expect(APNsReason.parse(reason.name) == reason) }
    }
}
