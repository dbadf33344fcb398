import Core
import Testing

@testable import SimulatorKit

@Suite("Speaking tokens")
struct TokenDirectiveTests {
    private func apns(_ code: String, times: String = "00", parameter: String = "0000") -> TokenDirective? {
        bytes("fa11fa11" + code + times + parameter + "0123456789abcdef") { TokenDirective.apns($0) }
    }

    private func fcm(_ tail: String) -> TokenDirective? {
        bytes("cX1:APA91b_x-" + tail) { TokenDirective.fcm($0) }
    }

    @Test("Every code of the table gives its reason and status")
    func codes() throws {
        for row in TokenDirective.apnsCodes {
            let text = String(row.code, radix: 16)
            let asked = try #require(apns(String(repeating: "0", count: 4 - text.count) + text))
            #expect(asked.answer.status == row.reason.status)
            #expect(asked.answer.reason == row.reason.rawValue)
            #expect(Int(asked.answer.status) == Int(text.prefix(3)))
        }
    }

    @Test("Reasons of device pushes all have a code")
    func complete() {
        let outside: Set<APNsReason> = [
            .missingPushType, .featureNotEnabled, .missingChannelID, .badChannelID, .channelNotRegistered,
            .badRequestParams, .cannotCreateChannelConfig,
        ]
        let coded = Set(TokenDirective.apnsCodes.map(\.reason))
        #expect(coded.union(outside) == Set(APNsReason.allCases))
    }

    @Test("Special bodies and what happens on the wire")
    func specials() throws {
        #expect(apns("400e")?.answer.reason == 255)
        #expect(apns("4102")?.answer.withoutTimestamp == true)
        #expect(apns("5020")?.answer.body == .html)
        #expect(apns("5033")?.answer.body == .truncated)
        #expect(apns("5040")?.answer.body == .empty)
        #expect(apns("0001")?.answer.action == .swallow)
        #expect(apns("0002")?.answer.errorCode == 2)
        #expect(apns("0003")?.answer.errorCode == 7)
        #expect(apns("0004")?.answer.action == .kill)
        #expect(apns("0005")?.answer.action == .closeTLS)
        #expect(apns("0006")?.answer.lastStream == .previous)
        #expect(apns("0007")?.answer.lastStream == .this)
        #expect(apns("0009")?.answer.delivered == true)
        #expect(apns("000a")?.answer.action == .kill)
        #expect(apns("000b")?.answer.action == .swallow)
        #expect(apns("9999") == nil)
    }

    @Test("Times and parameter") func numbers() {
        #expect(apns("5030", times: "02")?.times == 2)
        #expect(apns("5030", parameter: "001e")?.answer.retryAfter == 30)
        #expect(apns("4100", parameter: "0e10")?.answer.ageSeconds == 3600)
        #expect(apns("0008", parameter: "00fa")?.answer.delayMs == 250)
        #expect(fcm("~UNAVAILABLE*2@30")?.times == 2)
        #expect(fcm("~UNAVAILABLE*2@30")?.answer.retryAfter == 30)
        #expect(fcm("~DELAY@250")?.answer.delayMs == 250)
        #expect(fcm("~DELAY@250")?.answer.isAccepted == true)
    }

    @Test("Every FCM error and every event on the wire can be asked for")
    func errors() throws {
        for error in FCMError.allCases {
            let asked = try #require(fcm("~" + error.name))
            #expect(asked.answer.status == error.status)
            #expect(asked.answer.reason == error.rawValue)
        }
        for row in TokenDirective.wireNames { #expect(fcm("~" + row.name) != nil) }
        let wrapped = try #require(fcm("~APNS_Unregistered"))
        #expect(wrapped.answer.status == 400)
        #expect(wrapped.answer.apnsReason == APNsReason.unregistered.rawValue)
    }

    @Test(
        "Ordinary tokens ask for nothing",
        arguments: ["abc", "~", "~NONSENSE", "~UNREGISTERED ", "x~unregistered"])
    func ordinary(_ tail: String) { #expect(fcm(tail) == nil) }

    @Test(
        "Ordinary APNs tokens ask for nothing",
        arguments: ["fa11fa11", "fa11fa1141", "fa11fa12410000000000", "fa11fa11zz0000000000"])
    func ordinaryAPNs(_ token: String) { #expect(bytes(token) { TokenDirective.apns($0) } == nil) }

    @Test("A token that asks twice is answered twice, then accepted, and the record says so")
    func counted() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        draft.path = "/3/device/fa11fa115030020000aa"
        for round in 0..<4 {
            let answer = fixture.answer(draft)
            #expect(answer.status == (round < 2 ? 503 : 200))
            #expect(fixture.row.byFault == (round < 2))
            #expect(fixture.row.verdict == 0)
        }
    }

    @Test("A wrong request is told so, whatever its token asks") func rulesFirst() throws {
        let fixture = try RuleFixture()
        var draft = try fixture.draft()
        draft.path = "/3/device/fa11fa11503000000000"
        draft.topic = ""
        #expect(fixture.reason(draft) == .missingTopic)
    }
}
