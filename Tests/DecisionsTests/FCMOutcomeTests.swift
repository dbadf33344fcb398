import Decisions
import Testing

@Suite("FCM answers") struct FCMOutcomeTests {
    static let removed = Verdict.Outcome.removeToken(registeredBeforeMs: sentMs)

    static let rows400 = [
        Row(
            "400 with ApnsError Unregistered uses the send time",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(410, "Unregistered"))),
            Verdict(removed, .apnsUnregistered)),
        Row(
            "400 with ApnsError BadDeviceToken is not probed",
            fcm(
                400,
                fcmText(
                    400, "INVALID_ARGUMENT", fcmError("INVALID_ARGUMENT"), apnsError(400, "BadDeviceToken"))),
            Verdict(removed, .apnsBadDeviceToken, .suspectToken)),
        Row(
            "400 with ApnsError BadCollapseId",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(400, "BadCollapseId"))),
            Verdict(.dead, .apnsBadCollapseID)),
        Row(
            "400 with ApnsError PayloadTooLarge",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(413, "PayloadTooLarge"))),
            Verdict(.dead, .apnsPayloadTooLarge)),
        Row(
            "400 with ApnsError InvalidProviderToken blames the project's key",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(403, "InvalidProviderToken"))),
            Verdict(.pauseCredential(.projectApple), .apnsInvalidProviderToken, .alertCredential)),
        Row(
            "400 with ApnsError ExpiredProviderToken is not our token",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(403, "ExpiredProviderToken"))),
            Verdict(.pauseCredential(.projectApple), .apnsExpiredProviderToken, .alertCredential)),
        Row(
            "400 with ApnsError TopicDisallowed",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(400, "TopicDisallowed"))),
            Verdict(.pauseCredential(.projectApple), .apnsTopicDisallowed, .alertCredential)),
        Row(
            "400 with ApnsError TooManyRequests",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(429, "TooManyRequests"))),
            Verdict(.retry(.device, afterMs: 0), .apnsTooManyRequests, .gateToken)),
        Row(
            "400 with ApnsError Shutdown is Google's connection",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", apnsError(503, "Shutdown"))),
            Verdict(.retry(.server, afterMs: 0), .apnsShutdown)),
        Row(
            "400 BadRequest on the token field",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", badRequest("message.token"))),
            Verdict(removed, .fcmInvalidToken, .suspectToken)),
        Row(
            "400 BadRequest on another field",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", badRequest("message.data[0].value"))),
            Verdict(.dead, .fcmInvalidField)),
        Row(
            "400 BadRequest on the token and another field",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", badRequest("message.token", "message.android"))),
            Verdict(.dead, .fcmInvalidField)),
        Row(
            "400 FcmError only, payload not accepted elsewhere",
            fcm(400, fcmText(400, "INVALID_ARGUMENT", fcmError("INVALID_ARGUMENT"))),
            Verdict(.dead, .fcmInvalidArgument)),
        Row(
            "400 FcmError only, payload accepted elsewhere",
            fcm(
                400, fcmText(400, "INVALID_ARGUMENT", fcmError("INVALID_ARGUMENT")),
                context(acceptedElsewhere: true)),
            Verdict(removed, .fcmInvalidArgument, .suspectToken)),
        Row(
            "400 without details", fcm(400, fcmText(400, "INVALID_ARGUMENT")),
            Verdict(.dead, .fcmClientError)),
        Row(
            "400 UNSPECIFIED_ERROR",
            fcm(
                400, fcmText(400, "INVALID_ARGUMENT", fcmError("UNSPECIFIED_ERROR")),
                context(acceptedElsewhere: true)),
            Verdict(.dead, .fcmClientError)),
        Row(
            "400 unknown code", fcm(400, fcmText(400, "INVALID_ARGUMENT", fcmError("BRAND_NEW"))),
            Verdict(.dead, .fcmClientError, .newReason)),
    ]

    static let rows4xx = [
        Row(
            "401 without FcmError", fcm(401, fcmText(401, "UNAUTHENTICATED")),
            Verdict(.retry(.refresh, afterMs: 0), .fcmUnauthenticated, .refreshCredential)),
        Row(
            "401 without FcmError a second time",
            fcm(401, fcmText(401, "UNAUTHENTICATED"), context(history: .refreshed)),
            Verdict(.pauseCredential(.credential), .fcmUnauthenticated, .alertCredential)),
        Row(
            "401 THIRD_PARTY_AUTH_ERROR",
            fcm(401, fcmText(401, "UNAUTHENTICATED", fcmError("THIRD_PARTY_AUTH_ERROR"))),
            Verdict(.pauseCredential(.projectApple), .fcmThirdPartyAuth, .alertCredential)),
        Row(
            "401 APNS_AUTH_ERROR", fcm(401, fcmText(401, "UNAUTHENTICATED", fcmError("APNS_AUTH_ERROR"))),
            Verdict(.pauseCredential(.projectApple), .fcmThirdPartyAuth, .alertCredential)),
        Row(
            "403 SENDER_ID_MISMATCH",
            fcm(403, fcmText(403, "PERMISSION_DENIED", fcmError("SENDER_ID_MISMATCH"))),
            Verdict(removed, .fcmSenderIDMismatch, .suspectToken)),
        Row(
            "403 without FcmError", fcm(403, fcmText(403, "PERMISSION_DENIED")),
            Verdict(.pauseCredential(.credential), .fcmPermissionDenied, .alertCredential)),
        Row(
            "404 UNREGISTERED", fcm(404, fcmText(404, "NOT_FOUND", fcmError("UNREGISTERED"))),
            Verdict(removed, .fcmUnregistered)),
        Row(
            "404 UNREGISTERED, registered at the send time",
            fcm(404, fcmText(404, "NOT_FOUND", fcmError("UNREGISTERED")), context(registered: sentMs)),
            Verdict(.retry(.device, afterMs: 0), .fcmUnregistered, [.keptToken, .gateToken])),
        Row(
            "404 without FcmError deletes nothing", fcm(404, fcmText(404, "NOT_FOUND")),
            Verdict(.pauseCredential(.credential), .fcmNotFound, .alertConfiguration)),
        Row(
            "404 with HTML deletes nothing", fcm(404, "<html>Not Found</html>"),
            Verdict(.pauseCredential(.credential), .fcmNotFound, .alertConfiguration)),
        Row(
            "429 QUOTA_EXCEEDED", fcm(429, fcmText(429, "RESOURCE_EXHAUSTED", fcmError("QUOTA_EXCEEDED"))),
            Verdict(.retry(.quota, afterMs: 0), .fcmQuotaExceeded, .gateQuota)),
        Row(
            "429 with Retry-After", fcm(429, fcmText(429, "RESOURCE_EXHAUSTED"), context(retryAfter: 90_000)),
            Verdict(.retry(.quota, afterMs: 90_000), .fcmQuotaExceeded, .gateQuota)),
        Row(
            "429 whose QuotaFailure names the device",
            fcm(
                429,
                fcmText(
                    429, "RESOURCE_EXHAUSTED",
                    "{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\","
                        + "\"violations\":[{\"subject\":\"device:abc\"}]}"
                )), Verdict(.retry(.device, afterMs: 0), .fcmDeviceQuotaExceeded, .gateToken)),
        Row("418", fcm(418), Verdict(.dead, .fcmClientError, .newReason)),
        Row(
            "403 UNSPECIFIED_ERROR",
            fcm(403, fcmText(403, "PERMISSION_DENIED", fcmError("UNSPECIFIED_ERROR"))),
            Verdict(.dead, .fcmClientError)),
    ]

    static let rows5xx = [
        Row("200", fcm(200), Verdict(.accepted, .accepted)),
        Row(
            "500 INTERNAL", fcm(500, fcmText(500, "INTERNAL", fcmError("INTERNAL"))),
            Verdict(.retry(.server, afterMs: 0), .fcmInternal)),
        Row(
            "500 UNSPECIFIED_ERROR", fcm(500, fcmText(500, "INTERNAL", fcmError("UNSPECIFIED_ERROR"))),
            Verdict(.retry(.server, afterMs: 0), .fcmServerError)),
        Row(
            "503 UNAVAILABLE", fcm(503, fcmText(503, "UNAVAILABLE", fcmError("UNAVAILABLE"))),
            Verdict(.retry(.server, afterMs: 0), .fcmUnavailable)),
        Row("502 without a body", fcm(502), Verdict(.retry(.server, afterMs: 0), .fcmUnavailable)),
        Row("504 with HTML", fcm(504, "<html>"), Verdict(.retry(.server, afterMs: 0), .fcmUnavailable)),
        Row(
            "503 with RetryInfo",
            fcm(
                503,
                fcmText(
                    503, "UNAVAILABLE",
                    "{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"12.5s\"}")),
            Verdict(.retry(.server, afterMs: 12_500), .fcmUnavailable)),
        Row("599", fcm(599), Verdict(.retry(.server, afterMs: 0), .fcmServerError)),
        Row(
            "302", fcm(302),
            Verdict(.retry(.server, afterMs: 0), .unexpectedStatus, [.newReason, .alertConfiguration])),
    ]

    @Test("each row of the table has its verdict", arguments: rows400 + rows4xx + rows5xx)
    func row(_ row: Row) { #expect(row.verdict == row.expected) }

    @Test(
        "a transport fault has its row",
        arguments: [
            Row(
                "REFUSED_STREAM", OutcomeTable.classify(.unprocessed, provider: .fcm),
                Verdict(.retry(.connection, afterMs: 0), .transportUnprocessed, .notAnAttempt)),
            Row(
                "timeout", OutcomeTable.classify(.timedOut, provider: .fcm),
                Verdict(.retry(.server, afterMs: 0), .transportTimeout, .mayDuplicate)),
            Row(
                "reset", OutcomeTable.classify(.reset, provider: .fcm),
                Verdict(.retry(.server, afterMs: 0), .transportReset, .mayDuplicate)),
            Row(
                "a 403 reason in a GOAWAY means nothing from FCM",
                OutcomeTable.classify(.unprocessed, provider: .fcm, goAway: .forbidden),
                Verdict(.retry(.connection, afterMs: 0), .transportUnprocessed, .notAnAttempt)),
        ])
    func transport(_ row: Row) { #expect(row.verdict == row.expected) }

    @Test("a code in the status or message counts only when it is FCM's own")
    func decodeOrder() {
        #expect(fcmBody("{\"error\":{\"status\":\"UNREGISTERED\"}}").code == .unregistered)
        #expect(
            fcmBody("{\"error\":{\"status\":\"NOT_FOUND\",\"message\":\"UNREGISTERED\"}}").code
                == .unregistered)
        #expect(fcmBody("{\"error\":{\"status\":\"INVALID_ARGUMENT\"}}").code == .none)
        #expect(fcmBody(fcmText(404, "UNREGISTERED", fcmError("INTERNAL"))).code == .internalError)
    }

    @Test(
        "a body of any kind is read without a fault",
        arguments: [
            "", "{", "[]", "null", "7", "{\"error\":7}", "{\"error\":{\"details\":7}}",
            "{\"error\":{\"details\":[7,{\"@type\":7},{\"@type\":\"x\"}]}}", "\u{FF}\u{0}",
        ])
    func anyBody(_ text: String) { #expect(fcmBody(text) == FCMErrorBody()) }

    @Test("an ApnsError with an absurd status falls back to the reason's own")
    func apnsStatus() {
        let body = fcmBody(fcmText(400, "INVALID_ARGUMENT", apnsError(999_999, "Unregistered")))
        #expect(body.apnsStatus == 410)
    }
}

@Suite("Web Push and token endpoint answers") struct WebOutcomeTests {
    static func web(_ status: Int, _ given: DeliveryContext = context()) -> Verdict {
        OutcomeTable.classify(webPushStatus: status, context: given)
    }

    static let removed = Verdict.Outcome.removeToken(registeredBeforeMs: sentMs)

    @Test(
        "each Web Push row has its verdict",
        arguments: [
            Row("201", web(201), Verdict(.accepted, .accepted)),
            Row("202", web(202), Verdict(.accepted, .accepted)),
            Row("404", web(404), Verdict(removed, .webPushGone)),
            Row("410", web(410), Verdict(removed, .webPushGone)),
            Row("400", web(400), Verdict(.dead, .webPushBadRequest)),
            Row("413", web(413), Verdict(.dead, .webPushPayloadTooLarge)),
            Row(
                "401", web(401), Verdict(.pauseCredential(.origin), .webPushUnauthorized, .alertCredential)),
            Row(
                "403 of a single subscription", web(403, context(acceptedElsewhere: true)),
                Verdict(removed, .webPushUnauthorized, .suspectToken)),
            Row(
                "429", web(429, context(retryAfter: 120_000)),
                Verdict(.retry(.quota, afterMs: 120_000), .webPushThrottled, .gateQuota)),
            Row("503", web(503), Verdict(.retry(.server, afterMs: 0), .webPushServerError)),
            Row("405", web(405), Verdict(.dead, .webPushClientError, .newReason)),
            Row(
                "301", web(301),
                Verdict(.retry(.server, afterMs: 0), .unexpectedStatus, [.newReason, .alertConfiguration])),
        ])
    func webPush(_ row: Row) { #expect(row.verdict == row.expected) }

    @Test("each token endpoint row has its verdict")
    func tokenEndpoint() {
        func verdict(_ status: Int, _ error: String? = nil, _ after: Int64? = nil)
            -> OutcomeTable.TokenVerdict
        {
            OutcomeTable.classify(tokenEndpointStatus: status, error: error, retryAfterMs: after)
        }
        #expect(verdict(200) == .granted)
        #expect(verdict(400, "invalid_grant") == .pauseCredential(.oauthInvalidGrant))
        #expect(verdict(401, "invalid_client") == .pauseCredential(.oauthInvalidClient))
        #expect(verdict(400, "other") == .pauseCredential(.oauthRefused))
        #expect(verdict(404) == .pauseCredential(.oauthRefused))
        #expect(verdict(429, nil, 5000) == .hold(afterMs: 5000, .oauthUnavailable))
        #expect(verdict(408) == .hold(afterMs: 0, .oauthUnavailable))
        #expect(verdict(503) == .hold(afterMs: 0, .oauthUnavailable))
        #expect(verdict(0) == .hold(afterMs: 0, .oauthUnavailable))
        #expect(verdict(302, nil, -4) == .hold(afterMs: 0, .oauthUnavailable))
    }

    @Test("success is the provider's own success status only")
    func success() {
        #expect(OutcomeTable.isAccepted(.apns, status: 200))
        #expect(!OutcomeTable.isAccepted(.apns, status: 201))
        #expect(OutcomeTable.isAccepted(.fcm, status: 200))
        #expect(OutcomeTable.isAccepted(.webPush, status: 201))
        #expect(!OutcomeTable.isAccepted(.webPush, status: 204))
    }
}

@Suite("Reasons and outcomes") struct ReasonTests {
    @Test("labels are unique, lower case and found again")
    func labels() {
        var seen: Set<String> = []
        for reason in Reason.allCases {
            let label = reason.label.description
            #expect(seen.insert(label).inserted, "\(label) twice")
            #expect(label.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 })
            #expect(Reason(label: label) == reason)
            #expect(reason.text.description.hasSuffix("."))
        }
        #expect(Reason(label: "no_such") == nil)
    }

    @Test("outcome names are unique and found again")
    func outcomes() {
        let names = Set(DeliveryOutcome.allCases.map { $0.name.description })
        #expect(names.count == DeliveryOutcome.allCases.count)
        for outcome in DeliveryOutcome.allCases {
            #expect(DeliveryOutcome(name: outcome.name.description) == outcome)
        }
        #expect(DeliveryOutcome(name: "sent") == nil)
    }

    @Test("a verdict that ends a delivery names its outcome")
    func terminal() {
        #expect(Verdict(.accepted, .accepted).terminal == .accepted)
        #expect(Verdict(.removeToken(registeredBeforeMs: 1), .fcmUnregistered).terminal == .invalidToken)
        #expect(Verdict(.keepToken, .fcmUnregistered).terminal == .invalidToken)
        #expect(Verdict(.removeChannel, .apnsBadChannelID).terminal == .invalidToken)
        #expect(Verdict(.dead, .apnsPayloadEmpty).terminal == .rejected)
        #expect(Verdict(.retry(.server, afterMs: 0), .fcmInternal).terminal == nil)
        #expect(Verdict(.pauseCredential(.topic), .apnsForbidden).terminal == nil)
        #expect(Verdict(.probeOtherEnvironment, .apnsBadDeviceToken).terminal == nil)
    }

    @Test("what is tried only once is remembered")
    func history() {
        let none = AttemptHistory()
        #expect(none.after(apns(403, "ExpiredProviderToken")) == .refreshed)
        #expect(none.after(apns(400, "BadDeviceToken")) == .probed)
        #expect(none.after(apns(503, "Shutdown")) == .shutdown)
        #expect(none.after(apns(410, "Unregistered", timestamp: 1)) == .keptToken)
        #expect(none.after(apns(429, "TooManyRequests")) == none)
        #expect(none.after(apns(400, "IdleTimeout")) == none)
    }
}
