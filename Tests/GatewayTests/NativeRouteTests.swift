import Core
import Foundation
import Registry
import Testing

@testable import GatewayKit

@Suite struct NativeRouteTests {
    private let rig: HandlerRig
    private static let apple = String(repeating: "aB", count: 32)

    init() throws { rig = try HandlerRig() }

    private func put(_ device: String, _ body: String, app: String = "shop") throws -> HandlerRig.Outcome {
        try rig.call("PUT", "/v1/apps/\(app)/recipients/user%2F1/devices/\(device)", body)
    }

    // MARK: Devices

    @Test func aDeviceIsRegisteredListedAndRemoved() throws {
        let made = try put(
            "phone",
            #"{"platform":"ios","token":"\#(Self.apple)","kind":"voip","locale":"en-GB","time_zone":"Europe/London","app_version":"4.1","alerts_allowed":false}"#
        )
        #expect(made.status == 200)
        #expect(made.body["token"]?.string == "abababab")
        #expect(made.body["environment"]?.string == "production")
        let record = try #require(try rig.devices(of: "user/1", app: "shop")["phone"])
        #expect(record.token == Self.apple.lowercased())
        #expect(record.kind == .voip)
        #expect(record.isSilenced)
        #expect(record.locale == "en-GB")
        #expect(record.registeredAtMs == HandlerRig.nowMs)
        let list = try rig.call("GET", "/v1/apps/shop/recipients/user%2F1/devices")
        #expect(list.body["devices"]?.array?.count == 1)
        #expect(list.body["devices"]?.array?.first == made.body)
        #expect(!list.body.text.contains(Self.apple.lowercased()))
        let gone = try rig.call("DELETE", "/v1/apps/shop/recipients/user%2F1/devices/phone")
        #expect(gone.body["removed"]?.bool == true)
        let again = try rig.call("DELETE", "/v1/apps/shop/recipients/user%2F1/devices/phone")
        #expect(again.body["removed"]?.bool == false)
        #expect(try rig.devices(of: "user/1", app: "shop").isEmpty)
    }

    @Test(arguments: [
        ("abcdefghijklmnopqrst", "abcdefgh"), ("abcdefgh", "abcd"), ("a", ""), ("é", ""),
        // One letter with a thousand marks is one character to a reader, and would be the whole token.
        ("a" + String(repeating: "\u{301}", count: 1000), "a" + String(repeating: "\u{301}", count: 7)),
    ])
    func aTokenIsNeverToldAsAWhole(token: String, shown: String) {
        #expect(Array(DeviceFields.shortened(token).utf8) == Array(shown.utf8))
    }

    @Test func theEnvironmentIsTheAppsUnlessTheClientSays() throws {
        for (app, body, isSandbox) in [
            ("shop", "", false), ("sandboxed", "", true), ("shop", #","environment":"sandbox""#, true),
            ("sandboxed", #","environment":"production""#, false),
        ] {
            _ = try put("p", #"{"platform":"ios","token":"\#(Self.apple)"\#(body)}"#, app: app)
            #expect(try rig.devices(of: "user/1", app: app)["p"]?.isSandbox == isSandbox)
        }
    }

    @Test(arguments: [
        ("{}", "platform"), (#"{"platform":"ios"}"#, "token"),
        (#"{"platform":"palm","token":"a"}"#, "platform"),
        (#"{"platform":"ios","token":"zz"}"#, "token"), (#"{"platform":"ios","token":"abc"}"#, "token"),
        (#"{"platform":"android","token":"t","environment":"sandbox"}"#, "environment"),
        (#"{"platform":"android","token":"t","kind":"voip"}"#, "kind"),
        (#"{"platform":"android","token":"t","tokne":"x"}"#, "tokne"),
        (#"{"platform":"android","token":""}"#, "token"),
        (#"{"platform":"android","token":"t","alerts_allowed":"no"}"#, "alerts_allowed"),
    ])
    func aBadRegistrationIsRefusedByItsField(body: String, field: String) throws {
        let outcome = try put("phone", body)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
    }

    @Test func aBadNameIsRefused() throws {
        let good = #"{"platform":"android","token":"t"}"#
        #expect(try put("a%20b", good).field == "device")
        #expect(try put(String(repeating: "a", count: 65), good).field == "device")
        let long = String(repeating: "r", count: 257)
        let path = "/v1/apps/shop/recipients/\(long)/devices"
        #expect(try rig.call("GET", path).field == "recipient")
        #expect(try rig.call("GET", "/v1/apps/nowhere/recipients/r/devices").status == 404)
    }

    // MARK: Reads

    private func read(_ body: String) throws -> HandlerRig.Outcome {
        try rig.call("POST", "/v1/apps/shop/recipients/r/read", body)
    }

    @Test func aReadChangesTheCounterAndTellsTheOtherDevicesOnce() throws {
        let directory = DeviceDirectory(session: rig.session, app: "shop")
        _ = try directory.setUnread(9, of: "r")
        let first = try read(#"{"add":-2,"device":"phone"}"#)
        #expect(first.status == 200)
        #expect(first.body["unread"]?.integer == 7)
        let job = try #require(first.jobs.first)
        #expect(job["type"]?.string == "badge")
        #expect(job["to"]?["recipient"]?.string == "r")
        #expect(job["to"]?["except"] == .array([.string("phone")]))
        // The push of the first one is under way and tells of this one too.
        let second = try read(#"{"set":3,"as_of_ms":1700000000000,"device":"phone"}"#)
        #expect(second.body["unread"]?.integer == 3)
        #expect(second.jobs.isEmpty)
        // An older statement changes nothing, another device's read needs a push of its own.
        let late = try read(#"{"set":8,"as_of_ms":1600000000000,"device":"pad"}"#)
        #expect(late.body["unread"]?.integer == 3)
        #expect(late.jobs.first?["to"]?["except"] == .array([.string("pad")]))
        #expect(try read(#"{"clear":true}"#).body["unread"]?.integer == 0)
        #expect(try rig.call("GET", "/v1/apps/shop/recipients/r/unread").body["unread"]?.integer == 0)
    }

    @Test func aPushThatKafkaDidNotTakeIsTheNextReadsToPublish() throws {
        rig.refusesJobs = true
        _ = try read(#"{"set":3,"device":"phone"}"#)
        rig.refusesJobs = false
        #expect(try read(#"{"set":2,"device":"phone"}"#).jobs.count == 1)
        #expect(try read(#"{"set":1,"device":"phone"}"#).jobs.isEmpty)
    }

    @Test(arguments: [
        ("{}", "set"), (#"{"set":1,"add":1}"#, "set"), (#"{"set":-1}"#, "set"), (#"{"add":0.5}"#, "add"),
        (#"{"clear":false}"#, "clear"), (#"{"add":1,"as_of_ms":5}"#, "as_of_ms"),
        (#"{"clear":true,"device":"a b"}"#, "device"), (#"{"clear":true,"count":1}"#, "count"),
    ])
    func aBadReadIsRefused(body: String, field: String) throws {
        let outcome = try read(body)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
    }

    // MARK: Topics

    @Test func topicsAreFollowedAndLeft() throws {
        let path = "/v1/apps/shop/recipients/r/topics"
        #expect(try rig.call("PUT", path + "/a%2Fb").body["subscribed"]?.bool == true)
        #expect(try rig.call("PUT", path + "/news").status == 200)
        #expect(try rig.call("GET", path).body["topics"] == .array([.string("a/b"), .string("news")]))
        #expect(try rig.call("DELETE", path + "/a%2Fb").body["subscribed"]?.bool == false)
        #expect(try rig.call("GET", path).body["topics"] == .array([.string("news")]))
        for bad in ["*", "@alerts", "a%00b", String(repeating: "t", count: 257)] {
            #expect(try rig.call("PUT", "\(path)/\(bad)").field == "topic")
        }
    }

    @Test func tooManyTopicsAreAConflict() throws {
        let index = SubscriberIndex(session: rig.session, app: "shop")
        for number in 0..<SubscriberIndex.topicsMax { try index.subscribe("r", "t\(number)") }
        #expect(try rig.call("PUT", "/v1/apps/shop/recipients/r/topics/more").status == 409)
    }
}

@Suite struct PreferenceAndThreadTests {
    private let rig: HandlerRig
    private let path = "/v1/apps/chat/recipients/r/preferences"

    init() throws { rig = try HandlerRig() }

    @Test func preferencesAreReplacedAsAWhole() throws {
        let none = try rig.call("GET", path)
        #expect(none.body["push"]?.bool == true)
        let text =
            #"{"push":true,"muted_until_ms":1900000000000,"muted_kinds":["a,b","c"],"#
            + #""muted_topics":["news"],"muted_threads":["cnv_1"],"#
            + #""quiet_hours":{"from":"22:00","to":"07:00","time_zone":"Europe/Berlin"},"locale":"de-DE"}"#
        let put = try rig.call("PUT", path, text)
        #expect(put.status == 200)
        #expect(sameJSON(put.body, try JSONValue.parse(text: text)))
        #expect(sameJSON(try rig.call("GET", path).body, put.body))
        #expect(try rig.call("PUT", path, #"{"push":false}"#).body["push"]?.bool == false)
        #expect(try rig.call("GET", path).body["push"]?.bool == false)
        _ = try rig.call("PUT", path, "{}")
        #expect(sameJSON(try rig.call("GET", path).body, none.body))
    }

    @Test(arguments: [
        (#"{"push":1}"#, "push"), (#"{"push":false,"muted_until_ms":5}"#, "muted_until_ms"),
        (#"{"muted_kinds":"a"}"#, "muted_kinds"), (#"{"quiet_hours":{}}"#, "quiet_hours.from"),
        (#"{"quiet_hours":{"from":"22:00"}}"#, "quiet_hours.to"),
        (#"{"quiet_hours":{"from":"25:00","to":"07:00"}}"#, "quiet_hours.from"),
        (#"{"quiet_hours":{"from":"00:00","to":"7:00"}}"#, "quiet_hours.to"),
        (#"{"quiet_hours":{"from":"22:00-","to":"22:00"}}"#, "quiet_hours.from"),
        (#"{"quiet_hours":{"from":"22:00","to":"22:00"}}"#, "quiet_hours.to"),
        (#"{"quiet_hours":{"from":"22:00","to":"07:00","time_zone":"../etc"}}"#, "quiet_hours.time_zone"),
        (#"{"locale":"d e"}"#, "locale"), (#"{"zone":"x"}"#, "zone"),
    ])
    func badPreferencesAreRefused(body: String, field: String) throws {
        let outcome = try rig.call("PUT", path, body)
        #expect(outcome.status == 400)
        #expect(outcome.field == field)
    }

    @Test func aThreadIsReadByItself() throws {
        let read = "/v1/apps/chat/recipients/r/read"
        // Workers count threads; nothing here has been counted, so reading one changes nothing.
        _ = try rig.call("POST", read, #"{"set":5}"#)
        let one = try rig.call("POST", read, #"{"clear":true,"thread":"cnv_1"}"#)
        #expect(one.status == 200)
        #expect(one.body["unread"]?.integer == 5)
        #expect(try rig.call("POST", read, #"{"add":1,"thread":"cnv_1"}"#).field == "thread")
        #expect(
            try rig.call("POST", read, #"{"set":1,"thread":"cnv_1","as_of_ms":5}"#).field == "as_of_ms")
    }
}
