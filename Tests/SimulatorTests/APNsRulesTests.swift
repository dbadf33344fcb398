import Core
import Testing

@testable import SimulatorKit

@Suite("APNs rules")
struct APNsRulesTests {
    private func expect(
        _ wanted: APNsReason, _ change: (inout Draft) -> Void, line: Int = #line
    ) throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        change(&draft)
        let answer = fixture.answer(draft)
        let location = SourceLocation(fileID: #fileID, filePath: #filePath, line: line, column: 1)
        #expect(APNsReason(rawValue: answer.reason) == wanted, sourceLocation: location)
        #expect(answer.status == wanted.status, sourceLocation: location)
        #expect(fixture.row.verdict == wanted.rawValue, sourceLocation: location)
        #expect(answer.delivered == (wanted == .none), sourceLocation: location)
    }

    @Test("A good request is accepted") func good() throws { try expect(.none) { _ in } }

    @Test("MethodNotAllowed") func method() throws { try expect(.methodNotAllowed) { $0.method = "GET" } }

    @Test("BadPath") func path() throws {
        try expect(.badPath) { $0.path = "/4/device/abcd" }
        try expect(.badPath) { $0.path = "/3/device/abcd/ef" }
    }

    @Test("MissingDeviceToken") func missingToken() throws {
        try expect(.missingDeviceToken) { $0.path = "/3/device/" }
        try expect(.missingDeviceToken) { $0.path = "/3/device" }
    }

    @Test("BadDeviceToken", arguments: ["abc", "ab", "zz" + String(repeating: "a", count: 62), "abcd-"])
    func badToken(_ token: String) throws {
        try expect(.badDeviceToken) { $0.path = "/3/device/" + token }
    }

    @Test("Tokens of 2 to 200 bytes in either case are accepted", arguments: [4, 64, 108, 160, 400])
    func tokenLengths(_ digits: Int) throws {
        try expect(.none) { $0.path = "/3/device/" + String(repeating: "aB", count: digits / 2) }
        if digits == 400 {
            try expect(.badDeviceToken) { $0.path = "/3/device/" + String(repeating: "ab", count: 201) }
        }
    }

    @Test("DuplicateHeaders") func duplicates() throws {
        try expect(.duplicateHeaders) { $0.hasDuplicates = true }
    }

    @Test(
        "BadMessageId",
        arguments: [
            "01234567-89AB-CDEF-0123-456789ABCDEF", "0123456789abcdef0123456789abcdef", "x",
            "01234567-89ab-cdef-0123-456789abcdeg",
        ])
    func badID(_ id: String) throws { try expect(.badMessageID) { $0.apnsID = id } }

    @Test("A request without apns-id is accepted") func noID() throws { try expect(.none) { $0.apnsID = "" } }

    @Test("BadExpirationDate", arguments: ["soon", "-1", "1.5", "99999999999999999999"])
    func expiration(_ text: String) throws { try expect(.badExpirationDate) { $0.expiration = text } }

    @Test("An expiration of 0 and one in the future are accepted", arguments: ["0", "1800003600"])
    func goodExpiration(_ text: String) throws { try expect(.none) { $0.expiration = text } }

    @Test("BadPriority", arguments: ["0", "7", "11", "high"])
    func priority(_ text: String) throws { try expect(.badPriority) { $0.priority = text } }

    @Test("Priorities 1, 5, 10 and none are accepted", arguments: ["1", "5", "10", ""])
    func goodPriority(_ text: String) throws { try expect(.none) { $0.priority = text } }

    @Test("InvalidPushType") func pushType() throws { try expect(.invalidPushType) { $0.pushType = "loud" } }

    @Test("MissingTopic") func missingTopic() throws { try expect(.missingTopic) { $0.topic = "" } }

    @Test("BadTopic") func badTopic() throws {
        try expect(.badTopic) { $0.topic = "com example" }
        try expect(.badTopic) { $0.topic = String(repeating: "a", count: 256) }
        try expect(.badTopic) { $0.pushType = "voip" }
    }

    @Test("BadCollapseId counts bytes") func collapse() throws {
        try expect(.none) { $0.collapseID = String(repeating: "a", count: 64) }
        try expect(.badCollapseID) { $0.collapseID = String(repeating: "a", count: 65) }
        try expect(.badCollapseID) { $0.collapseID = String(repeating: "ä", count: 33) }
    }

    @Test("PayloadEmpty") func empty() throws { try expect(.payloadEmpty) { $0.body = "" } }

    @Test("PayloadTooLarge begins at 4097 bytes, for VoIP at 5121") func large() throws {
        func body(_ size: Int) -> String {
            let frame = "{\"aps\":{\"alert\":\"\"}}"
            return "{\"aps\":{\"alert\":\"" + String(repeating: "x", count: size - frame.utf8.count) + "\"}}"
        }
        try expect(.none) { $0.body = body(4096) }
        try expect(.payloadTooLarge) { $0.body = body(4097) }
        func voip(_ draft: inout Draft, _ size: Int) {
            draft.pushType = "voip"
            draft.topic = "com.example.app.voip"
            draft.body = body(size)
        }
        try expect(.none) { voip(&$0, 5120) }
        try expect(.payloadTooLarge) { voip(&$0, 5121) }
    }

    @Test(
        "BadRequestPayload",
        arguments: ["hello", "[]", "{\"aps\":{}", "{\"a\":1}", "{\"aps\":{\"badge\":-1}}", "{\"aps\":3}"])
    func payload(_ body: String) throws { try expect(.badRequestPayload) { $0.body = body } }

    @Test("A background push wants priority 5 and nothing to show") func background() throws {
        func quiet(_ draft: inout Draft) {
            draft.pushType = "background"
            draft.priority = "5"
            draft.body = "{\"aps\":{\"content-available\":1},\"x\":1}"
        }
        try expect(.none) { quiet(&$0) }
        try expect(.badPriority) {
            quiet(&$0)
            $0.priority = "10"
        }
        try expect(.invalidPushType) {
            quiet(&$0)
            $0.body = "{\"aps\":{\"content-available\":1,\"alert\":\"x\"}}"
        }
        try expect(.invalidPushType) {
            quiet(&$0)
            $0.body = "{\"aps\":{}}"
        }
    }

    @Test("Live Activities, push to talk, widgets and MDM have rules of their own") func specialTypes() throws
    {
        func activity(_ draft: inout Draft, _ aps: String) {
            draft.pushType = "liveactivity"
            draft.topic = "com.example.app.push-type.liveactivity"
            draft.body = "{\"aps\":\(aps)}"
        }
        try expect(.none) { activity(&$0, "{\"event\":\"update\",\"timestamp\":1,\"content-state\":{}}") }
        try expect(.invalidPushType) { activity(&$0, "{\"event\":\"update\"}") }
        try expect(.badPriority) {
            activity(&$0, "{}")
            $0.priority = "1"
        }
        func talk(_ draft: inout Draft, priority: String, expiration: String) {
            draft.pushType = "pushtotalk"
            draft.topic = "com.example.app.voip-ptt"
            draft.priority = priority
            draft.expiration = expiration
        }
        try expect(.none) { talk(&$0, priority: "10", expiration: "0") }
        try expect(.badPriority) { talk(&$0, priority: "5", expiration: "0") }
        try expect(.badExpirationDate) { talk(&$0, priority: "10", expiration: "1800000000") }
        func widget(_ draft: inout Draft, _ aps: String) {
            draft.pushType = "widgets"
            draft.topic = "com.example.app.push-type.widgets"
            draft.body = "{\"aps\":\(aps)}"
        }
        try expect(.none) { widget(&$0, "{\"content-changed\":true}") }
        try expect(.invalidPushType) { widget(&$0, "{\"content-changed\":1}") }
        try expect(.none) {
            $0.pushType = "mdm"
            $0.body = "{\"mdm\":\"magic\"}"
        }
        try expect(.invalidPushType) { $0.pushType = "mdm" }
    }

    @Test("Every byte at every place of a token is judged as a hexadecimal digit or not")
    func tokenBytes() {
        for length in [8, 12, 16] {
            for place in 0..<length {
                for value in UInt8.min...UInt8.max {
                    var token = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                    token[place] = value
                    let isToken = token.withUnsafeBytes { APNsRules.isToken(Bytes($0)) }
                    #expect(isToken == (Hex.value(value) != nil))
                }
            }
        }
    }

    @Test("Each push type is known by its name and wants its suffix", arguments: APNsPushType.allCases)
    func suffixes(_ type: APNsPushType) {
        guard type != .none else { return }
        #expect(bytes("\(type)") { APNsPushType.named($0) } == type)
        #expect(bytes("\(type)x") { APNsPushType.named($0) } == nil)
        let topic = "com.example.app" + type.topicSuffix.description
        #expect(bytes(topic) { APNsRules.bundleID($0, type: type).text } == "com.example.app")
    }

    @Test("TopicDisallowed") func disallowed() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        draft.authorization = try fixture.bearer(key: 4)
        #expect(fixture.reason(draft) == .topicDisallowed)
        draft.topic = "com.example.allowed"
        #expect(fixture.reason(draft) == APNsReason.none)
        draft.topic = "com.example.allowed.voip"
        draft.pushType = "voip"
        #expect(fixture.reason(draft) == APNsReason.none)
    }

    @Test("Listed tokens: wrong environment, wrong topic, unregistered with its time") func devices() throws {
        let fixture = try RuleFixture()
        func set(
            _ token: String, topic: String? = nil, _ environment: PushEnvironment? = nil, at: Int64? = nil
        ) {
            let listing = DeviceListing(
                token: token, topic: topic, environment: environment, unregisteredAtMs: at)
            _ = fixture.judge.devices.set(tokenHash: Hash64.of(text: token), listing.device)
        }
        set("aa01", .sandbox)
        set("aa02", topic: "com.example.other")
        set("aa03", at: 1_700_000_000_123)
        var draft = try fixture.draft()
        draft.path = "/3/device/aa01"
        #expect(fixture.reason(draft) == .badDeviceToken)
        #expect(fixture.reason(draft, on: fixture.sandbox) == APNsReason.none)
        draft.path = "/3/device/aa02"
        #expect(fixture.reason(draft) == .deviceTokenNotForTopic)
        draft.path = "/3/device/aa03"
        let answer = fixture.answer(draft)
        #expect(answer.status == 410)
        #expect(answer.timestampMs == 1_700_000_000_123)
        draft.path = "/3/device/aa04"
        #expect(fixture.reason(draft) == APNsReason.none)
        fixture.judge.devices.refusesUnknown = true
        #expect(fixture.reason(draft) == .badDeviceToken)
    }

    @Test("Every documented reason has a name that leads back to it and a status of its class")
    func names() {
        for reason in APNsReason.allCases where reason != .none {
            #expect(APNsReason.named(reason.name) == reason)
            #expect(reason.status >= 400 && reason.status < 600)
        }
        #expect(APNsReason.badCollapseID.name == "BadCollapseId")
        #expect(APNsReason.unregistered.name == "Unregistered")
        #expect(APNsReason.tooManyProviderTokenUpdates.name == "TooManyProviderTokenUpdates")
        #expect(APNsReason.named("Nonsense") == nil)
    }
}
