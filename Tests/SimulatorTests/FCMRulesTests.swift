import Core
import Security
import Testing

@testable import SimulatorKit

@Suite("FCM rules")
struct FCMRulesTests {
    private func answer(_ message: String) throws -> Answer {
        let fixture = try RuleFixture()
        return fixture.answer(try fixture.message(message), on: fixture.fcm)
    }

    @Test(
        "Good messages are accepted",
        arguments: [
            "{\"token\":\"abc:APA91b\",\"notification\":{\"title\":\"a\",\"body\":\"b\",\"image\":\"https://e.org/a.png\"}}",
            "{\"token\":\"t\",\"data\":{\"a\":\"1\",\"nested\":\"{}\"}}",
            "{\"fid\":\"cX1abcdefghijklmnopqrs\",\"data\":{}}",
            "{\"topic\":\"news-1_.~%\",\"notification\":{\"title\":\"x\"}}",
            "{\"condition\":\"'a' in topics || 'b' in topics\",\"notification\":{\"title\":\"x\"}}",
            "{\"token\":\"t\",\"android\":{\"priority\":\"HIGH\",\"ttl\":\"2419200s\",\"collapse_key\":\"k\"}}",
            "{\"token\":\"t\",\"android\":{\"priority\":\"normal\",\"ttl\":\"3.5s\",\"collapseKey\":\"k\"}}",
            "{\"token\":\"t\",\"android\":{\"notification\":{\"title\":\"a\",\"channel_id\":\"c\",\"color\":\"#aBcDeF\"}}}",
            "{\"token\":\"t\",\"android\":{\"notification\":{\"notificationCount\":3,\"sticky\":true,\"visibility\":\"PUBLIC\"}}}",
            "{\"token\":\"t\",\"webpush\":{\"headers\":{\"TTL\":\"1\"},\"notification\":{\"title\":\"x\",\"renotify\":true}}}",
            "{\"token\":\"t\",\"data\":{\"a\":\"b\"},\"apns\":{\"headers\":{\"apns-priority\":\"5\"},\"payload\":{\"aps\":{}}}}",
            "{\"token\":\"t\",\"apns\":{\"headers\":{\"apns-priority\":\"10\"},\"payload\":{\"aps\":{\"alert\":\"x\"}}}}",
            "{\"token\":\"t\",\"fcm_options\":{\"analytics_label\":\"l\"},\"topic\":null}",
            "{\"token\":\"t\",\"fcmOptions\":{\"analyticsLabel\":\"l\"}}",
        ])
    func good(_ message: String) throws {
        let answer = try answer(message)
        #expect(answer.isAccepted)
        #expect(answer.delivered)
    }

    @Test(
        "A broken rule names its field",
        arguments: [
            ("{}", FCMField.target), ("{\"token\":\"t\",\"topic\":\"x\"}", .target),
            ("{\"token\":\"t\",\"data\":{\"a\":1}}", .data), ("{\"token\":\"t\",\"data\":[]}", .data),
            ("{\"token\":\"t\",\"data\":{\"from\":\"x\"}}", .dataReserved),
            ("{\"token\":\"t\",\"data\":{\"message_type\":\"x\"}}", .dataReserved),
            ("{\"token\":\"t\",\"data\":{\"google.x\":\"x\"}}", .dataReserved),
            ("{\"token\":\"t\",\"data\":{\"gcm.notification.x\":\"x\"}}", .dataReserved),
            ("{\"token\":\"t\",\"notification\":\"x\"}", .notification),
            ("{\"token\":\"t\",\"notification\":{\"title\":1}}", .notification),
            ("{\"token\":\"t\",\"notification\":{\"titel\":\"x\"}}", .notification),
            ("{\"topic\":\"/topics/x\"}", .topic), ("{\"topic\":\"\"}", .topic),
            ("{\"condition\":\"\"}", .condition),
            ("{\"token\":\"t\",\"android\":{\"ttl\":\"60\"}}", .androidTTL),
            ("{\"token\":\"t\",\"android\":{\"ttl\":60}}", .androidTTL),
            ("{\"token\":\"t\",\"android\":{\"ttl\":\"2419201s\"}}", .androidTTL),
            ("{\"token\":\"t\",\"android\":{\"ttl\":\"-1s\"}}", .androidTTL),
            ("{\"token\":\"t\",\"android\":{\"priority\":\"URGENT\"}}", .androidPriority),
            ("{\"token\":\"t\",\"android\":{\"collapse_key\":7}}", .android),
            ("{\"token\":\"t\",\"android\":{\"direct_boot_ok\":\"yes\"}}", .android),
            ("{\"token\":\"t\",\"android\":{\"notification\":{\"color\":\"red\"}}}", .androidNotification),
            ("{\"token\":\"t\",\"android\":{\"notification\":{\"nonsense\":\"x\"}}}", .androidNotification),
            (
                "{\"token\":\"t\",\"android\":{\"notification\":{\"notification_count\":-1}}}",
                .androidNotification
            ),
            (
                "{\"token\":\"t\",\"android\":{\"notification\":{\"visibility\":\"SHY\"}}}",
                .androidNotification
            ),
            ("{\"token\":\"t\",\"android\":{\"nonsense\":1}}", .unknown),
            ("{\"token\":\"t\",\"nonsense\":1}", .unknown),
            ("{\"token\":\"t\",\"webpush\":{\"data\":{\"a\":1}}}", .webpush),
            ("{\"token\":\"t\",\"webpush\":{\"notification\":3}}", .webpush),
            ("{\"token\":\"t\",\"apns\":{\"headers\":{\"apns-priority\":5}}}", .apnsHeaders),
            ("{\"token\":\"t\",\"apns\":{\"payload\":[]}}", .apnsPayload),
            (
                "{\"token\":\"t\",\"data\":{\"a\":\"b\"},\"apns\":{\"headers\":{\"apns-priority\":\"10\"}}}",
                .apnsPriority
            ),
            ("{\"token\":\"t\",\"fcm_options\":{\"analytics_label\":3}}", .fcmOptions),
        ])
    func violations(_ message: String, _ field: FCMField) throws {
        let answer = try answer(message)
        #expect(answer.status == 400)
        #expect(FCMError(rawValue: answer.reason) == .badField)
        #expect(answer.field == field)
        let json = try JSONValue.parse(text: String(decoding: FCMError.render(answer), as: UTF8.self))
        let detail = try #require(json["error"]?["details"]?.array?.first)
        #expect(detail["fieldViolations"]?.array?.first?["field"]?.string == field.path)
    }

    @Test("A malformed token is complained about as the token", arguments: ["", "a b", "x\\n", "\\u0007"])
    func badToken(_ token: String) throws {
        #expect(FCMError(rawValue: try answer("{\"token\":\"\(token)\"}").reason) == .badToken)
    }

    @Test("A token may have 4096 bytes and no more") func tokenLength() throws {
        #expect(try answer("{\"token\":\"\(String(repeating: "a", count: 4096))\"}").isAccepted)
        let long = try answer("{\"token\":\"\(String(repeating: "a", count: 4097))\"}")
        #expect(FCMError(rawValue: long.reason) == .badToken)
    }

    @Test("4096 bytes of payload for a token, 2048 for a topic") func sizes() throws {
        func data(_ size: Int) -> String { "\"data\":{\"k\":\"\(String(repeating: "x", count: size - 1))\"}" }
        #expect(try answer("{\"token\":\"t\",\(data(4096))}").isAccepted)
        #expect(FCMError(rawValue: try answer("{\"token\":\"t\",\(data(4097))}").reason) == .invalidArgument)
        #expect(try answer("{\"topic\":\"t\",\(data(2048))}").isAccepted)
        #expect(FCMError(rawValue: try answer("{\"topic\":\"t\",\(data(2049))}").reason) == .invalidArgument)
    }

    @Test(
        "A body that is no request",
        arguments: ["", "x", "[]", "{\"message\":", "{\"message\":{\"token\":\"t\"}} x"])
    func badBody(_ body: String) throws {
        let fixture = try RuleFixture()
        var draft = try fixture.message("{}")
        draft.body = body
        #expect(fixture.error(fixture.answer(draft, on: fixture.fcm)) == .badBody)
    }

    @Test("A body without a message object names the message", arguments: ["{}", "{\"message\":3}"])
    func noMessage(_ body: String) throws {
        let fixture = try RuleFixture()
        var draft = try fixture.message("{}")
        draft.body = body
        #expect(fixture.answer(draft, on: fixture.fcm).field == .message)
    }

    @Test("Paths and methods") func paths() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.message("{\"token\":\"t\"}")
        draft.method = "GET"
        #expect(fixture.error(fixture.answer(draft, on: fixture.fcm)) == .methodNotAllowed)
        draft.method = "POST"
        for path in [
            "/fcm/send", "/v1/projects//messages:send", "/v1/projects/a/b/messages:send", "/v1/projects/a",
        ] {
            draft.path = path
            let answer = fixture.answer(draft, on: fixture.fcm)
            #expect(fixture.error(answer) == .notFoundPage)
            #expect(answer.body == .html)
        }
        draft.path = "/v1/projects/unknown/messages:send"
        let unknown = fixture.answer(draft, on: fixture.fcm)
        #expect(fixture.error(unknown) == .notFound)
        #expect(!String(decoding: FCMError.render(unknown), as: UTF8.self).contains("FcmError"))
    }

    @Test("The bearer: missing, unknown, expired, revoked") func bearer() throws {
        let fixture = try RuleFixture()
        let good = try fixture.message("{\"token\":\"t\"}")
        var draft = good
        for header in ["", "Bearer ", "Bearer nonsense", "Basic abc"] {
            draft.authorization = header
            #expect(fixture.error(fixture.answer(draft, on: fixture.fcm)) == .unauthenticated)
        }
        #expect(fixture.answer(good, on: fixture.fcm).isAccepted)
        let later = RuleFixture.nowMs + 3_600_000
        #expect(fixture.error(fixture.answer(good, on: fixture.fcm, nowMs: later)) == .unauthenticated)
        #expect(fixture.answer(good, on: fixture.fcm).isAccepted)
        fixture.judge.oauth.revokeAll()
        #expect(fixture.error(fixture.answer(good, on: fixture.fcm)) == .unauthenticated)
    }

    @Test("The token of another project is forbidden here") func otherProject() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.message("{\"token\":\"t\"}")
        fixture.judge.oauth.accounts.append(
            ServiceAccount(
                email: "x@other", keyID: "k", projectID: "other",
                publicKey: try fixture.keys.account.publicKey()))
        draft.path = "/v1/projects/other/messages:send"
        #expect(fixture.error(fixture.answer(draft, on: fixture.fcm)) == .permissionDenied)
    }

    @Test("Listed tokens: of another project, unregistered, unknown") func devices() throws {
        let fixture = try RuleFixture()
        let listings = [
            DeviceListing(token: "t1", topic: "other-project"),
            DeviceListing(token: "t2", unregisteredAtMs: 1),
            DeviceListing(token: "t3", topic: RuleFixture.project),
        ]
        for listing in listings {
            _ = fixture.judge.devices.set(tokenHash: Hash64.of(text: listing.token), listing.device)
        }
        func error(_ token: String) throws -> FCMError? {
            fixture.error(fixture.answer(try fixture.message("{\"token\":\"\(token)\"}"), on: fixture.fcm))
        }
        #expect(try error("t1") == .senderIDMismatch)
        #expect(try error("t2") == .unregistered)
        #expect(try error("t3") == FCMError.none)
        #expect(try error("t4") == FCMError.none)
        fixture.judge.devices.refusesUnknown = true
        #expect(try error("t4") == .unregistered)
    }

    @Test("What the record keeps of a message") func kept() throws {
        let fixture = try RuleFixture()
        let message =
            "{\"token\":\"tok\",\"data\":{\"peal_job\":\"J7\",\"unread\":\"12\"},\"android\":{\"priority\":\"high\",\"ttl\":\"60s\"}}"
        #expect(fixture.answer(try fixture.message(message), on: fixture.fcm).isAccepted)
        #expect(fixture.row.badge == 12)
        #expect(fixture.row.priority == 10)
        #expect(fixture.row.expiration == 60)
        #expect(fixture.row.jobCount == 2)
        #expect(fixture.row.tokenCount == 3)
    }

    @Test("Every error renders as JSON with its status, and has a name that leads back to it")
    func rendering() throws {
        for error in FCMError.allCases where error != .none {
            #expect(FCMError.named(error.name) == error)
            let text = String(decoding: FCMError.render(.fcm(error)), as: UTF8.self)
            let json = try JSONValue.parse(text: text)
            #expect(json["error"]?["code"]?.integer == Int64(error.status))
            let codes = (json["error"]?["details"]?.array ?? []).compactMap { $0["errorCode"]?.string }
            #expect(codes == (error.errorCode.map { [$0] } ?? []))
        }
    }
}

@Suite("Token endpoint")
struct OAuthTests {
    @Test("A good assertion buys a token for an hour") func good() throws {
        let fixture = try RuleFixture()
        let (status, json) = fixture.exchange(try fixture.assertion())
        #expect(status == 200)
        #expect(json?["token_type"]?.string == "Bearer")
        #expect(json?["expires_in"]?.integer == 3600)
        #expect(fixture.judge.oauth.granted == 1)
    }

    @Test("The cloud-platform scope will do") func wideScope() throws {
        let fixture = try RuleFixture()
        let form = try fixture.assertion(scope: "x https://www.googleapis.com/auth/cloud-platform")
        #expect(fixture.exchange(form).status == 200)
    }

    @Test("Refusals carry OAuth's error words") func refusals() throws {
        let fixture = try RuleFixture()
        func error(_ form: String) -> String? {
            let (status, json) = fixture.exchange(form)
            #expect(status == 400)
            return json?["error"]?.string
        }
        #expect(error("grant_type=password") == "unsupported_grant_type")
        #expect(error("") == "unsupported_grant_type")
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        #expect(error(grant) == "invalid_request")
        #expect(error(grant + "&assertion=a.b.c") == "invalid_request")
        #expect(error(try fixture.assertion(email: "nobody@example.org")) == "invalid_grant")
        #expect(error(try fixture.assertion(keyID: "other")) == "invalid_grant")
        #expect(error(try fixture.assertion(key: fixture.keys.stranger)) == "invalid_grant")
        #expect(error(try fixture.assertion(audience: "https://example.org/token")) == "invalid_grant")
        #expect(error(try fixture.assertion(issuedAtS: RuleFixture.nowS - 4000)) == "invalid_grant")
        #expect(error(try fixture.assertion(issuedAtS: RuleFixture.nowS + 4000)) == "invalid_grant")
        #expect(
            error(try fixture.assertion(scope: "https://www.googleapis.com/auth/drive")) == "invalid_scope")
        #expect(fixture.judge.oauth.granted == 0)
    }

    @Test("Form fields are decoded") func form() {
        let fields = bytes("a=1%2B2&b=x+y&c&d=%zz&e=%4") { OAuthServer.form($0) }
        #expect(fields == ["a": "1+2", "b": "x y", "c": "", "d": "%zz", "e": "%4"])
    }
}
