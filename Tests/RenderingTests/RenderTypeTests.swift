import Core
import Jobs
import Testing

@testable import Rendering

@Suite struct RenderTypeTests {
    static let plain = RenderSettings(bundleID: "com.shop")

    static let heads:
        [(members: String, body: String, type: JobType, priority: UInt8, expiration: Int64?, topic: String)] =
            [
                (#""body":"b""#, #"{"aps":{"alert":{"body":"b"}}}"#, .alert, 10, nil, "com.shop"),
                (
                    #""body":"b","priority":"low""#, #"{"aps":{"alert":{"body":"b"}}}"#, .alert, 1, nil,
                    "com.shop"
                ),
                (
                    #""data":{"a":1}"#, #"{"aps":{"content-available":1},"a":1}"#, .background, 5, nil,
                    "com.shop"
                ),
                (#""type":"badge""#, #"{"aps":{"badge":3}}"#, .alert, 5, nil, "com.shop"),
                (
                    #""type":"voip","data":{"call":"1"}"#, #"{"aps":{"badge":3},"call":"1"}"#, .voip, 10, 0,
                    "com.shop.voip"
                ),
                (
                    #""type":"complication""#, #"{"aps":{"badge":3}}"#, .complication, 10, nil,
                    "com.shop.complication"
                ),
                (
                    #""type":"fileprovider""#, #"{"aps":{"badge":3}}"#, .fileprovider, 5, nil,
                    "com.shop.pushkit.fileprovider"
                ),
                (
                    #""type":"location""#, #"{"aps":{"badge":3}}"#, .location, 5, nil,
                    "com.shop.location-query"
                ),
                (
                    #""type":"liveactivity","apns":{"payload":{"aps":{"event":"end","timestamp":1,"badge":null}}}"#,
                    #"{"aps":{"event":"end","timestamp":1}}"#, .liveactivity, 10, nil,
                    "com.shop.push-type.liveactivity"
                ),
                (#""type":"pushtotalk""#, #"{"aps":{"badge":3}}"#, .pushtotalk, 10, 0, "com.shop.voip-ptt"),
                (
                    #""type":"widgets""#, #"{"aps":{"badge":3,"content-changed":true}}"#, .widgets, 5, nil,
                    "com.shop.push-type.widgets"
                ),
                (
                    #""type":"controls""#, #"{"aps":{"badge":3,"content-changed":true}}"#, .controls, 5, nil,
                    "com.shop.push-type.controls"
                ),
                (
                    #""type":"mdm","apns":{"payload":{"mdm":"magic"},"headers":{"apns-topic":"com.apple.mgmt.x"}}"#,
                    #"{"mdm":"magic"}"#, .mdm, 10, nil, "com.apple.mgmt.x"
                ),
            ]

    @Test(arguments: heads)
    func `Each type has its body, push type, priority, expiration and topic`(
        members: String, body: String, type: JobType, priority: UInt8, expiration: Int64?, topic: String
    ) throws {
        let badge: Int64? = members.contains("\"body\"") ? nil : 3
        let out = try apns(job(members), Self.plain, badge: badge)
        #expect(out.body == body)
        #expect(
            out.head
                == HeadCopy(
                    result: .ok, pushType: type, priority: priority, expiration: expiration, collapseID: nil,
                    topic: topic))
    }

    @Test func `The expiration is absolute on APNs and what remains on FCM`() throws {
        let text = job(#""body":"b","ttl":60"#)
        #expect(try apns(text, Self.plain, expiresAtMs: now + 59_999).head.expiration == now / 1000 + 59)
        for (left, ttl) in [
            (59_999, "59s"), (0, "0s"), (-5000, "0s"), (2_419_200_000, "2419200s"),
            (9_999_999_999, "2419200s"),
        ] as [(Int64, String)] {
            #expect(
                try fcm(text, Self.plain, expiresAtMs: now + left).body.contains(
                    "\"android\":{\"priority\":\"HIGH\",\"ttl\":\"\(ttl)\"}"))
        }
        let immediate = job(#""body":"b","ttl":0"#)
        #expect(try apns(immediate, Self.plain, expiresAtMs: now + 60_000).head.expiration == 0)
        #expect(try fcm(immediate, Self.plain, expiresAtMs: now + 60_000).body.contains("\"ttl\":\"0s\""))
        #expect(try fcm(text, Self.plain, expiresAtMs: .max).body.contains("\"ttl\":\"2419200s\""))
    }

    @Test func `The job's own headers win`() throws {
        let text = job(
            #""body":"b","collapse":"c","apns":{"headers":{"apns-topic":"com.other.ext","apns-priority":"1","#
                + #""apns-push-type":"controls","apns-expiration":"123","apns-collapse-id":"d\u00e9"}}"#)
        #expect(
            try apns(text, Self.plain, expiresAtMs: now).head
                == HeadCopy(
                    result: .ok, pushType: .controls, priority: 1, expiration: 123, collapseID: "dé",
                    topic: "com.other.ext"))
        #expect(try apns(job(#""body":"b","collapse":"c""#), Self.plain).head.collapseID == "c")
    }

    @Test func `A negative badge is never sent`() throws {
        #expect(try apns(job(#""body":"b""#), Self.plain, badge: -4).body.contains("\"badge\":0"))
        #expect(try fcm(job(#""body":"b""#), Self.plain, badge: -4).body.contains("\"notification_count\":0"))
        #expect(
            try fcm(job(#""body":"b""#), Self.plain, badge: .max).body.contains(
                "\"notification_count\":2147483647"))
    }

    @Test func `Android gets a badge as data and no Apple types`() throws {
        let badge = try fcm(job(#""type":"badge""#), Self.plain, badge: 3)
        #expect(
            badge.body
                == #"{"message":{"token":"TOKEN","data":{"unread":"3"},"android":{"priority":"NORMAL"}}}"#)
        for type in ["voip", "widgets", "pushtotalk"] {
            let out = try fcm(job("\"type\":\"\(type)\""), Self.plain)
            #expect(out.head == .notForPlatform)
            #expect(out.body.isEmpty)
        }
        let appleOnly = try fcm(job(#""apns":{"payload":{"aps":{"alert":"x"}}}"#), Self.plain)
        #expect(appleOnly.head == .notForPlatform)
    }

    @Test func `A critical alert's name is Android's sound`() throws {
        let text = job(#""body":"b","sound":{"critical":1,"name":"alarm.caf","volume":1}"#)
        #expect(
            try apns(text, Self.plain).body
                == #"{"aps":{"alert":{"body":"b"},"sound":{"critical":1,"name":"alarm.caf","volume":1}}}"#)
        #expect(try fcm(text, Self.plain).body.contains(#""notification":{"sound":"alarm.caf"}"#))
    }

    @Test func `The app's defaults fill in`() throws {
        var settings = Self.plain
        settings.defaultSound = "chime"
        settings.androidChannel = "general"
        #expect(
            try apns(job(#""body":"b""#), settings).body == #"{"aps":{"alert":{"body":"b"},"sound":"chime"}}"#
        )
        #expect(
            try fcm(job(#""body":"b""#), settings).body.contains(
                #""notification":{"sound":"chime","channel_id":"general"}"#))
        #expect(try apns(job(#""data":{"a":1}"#), settings).body == #"{"aps":{"content-available":1},"a":1}"#)
    }

    @Test func `An iPhone behind FCM gets the APNs payload`() throws {
        let text = job(#""title":"t","body":"b","image":"https://e.com/i","collapse":"c","data":{"a":1}"#)
        #expect(
            try fcm(text, Self.plain, platform: .ios, badge: 2, expiresAtMs: now).body
                == #"{"message":{"token":"TOKEN","apns":{"headers":{"apns-priority":"10","apns-push-type":"alert","#
                + #""apns-expiration":"1800000000","apns-collapse-id":"c"},"payload":{"aps":{"alert":{"title":"t","#
                + #""body":"b"},"badge":2,"mutable-content":1},"image":"https://e.com/i","a":1},"#
                + #""fcm_options":{"image":"https://e.com/i"}}}}"#)
    }

    @Test func `A browser behind FCM gets web push headers and a link`() throws {
        let text = job(#""body":"b","url":"https://e.com/x","priority":"normal""#)
        #expect(
            try fcm(text, Self.plain, platform: .web, expiresAtMs: now + 5000).body
                == #"{"message":{"token":"TOKEN","notification":{"body":"b"},"data":{"url":"https://e.com/x"},"#
                + #""webpush":{"headers":{"Urgency":"normal","TTL":"5"},"fcm_options":{"link":"https://e.com/x"}}}}"#
        )
        let relative = try fcm(job(#""body":"b","url":"/x""#), Self.plain, platform: .web).body
        #expect(!relative.contains("fcm_options"))
    }

    @Test func `The target is named by its kind and escaped`() throws {
        let text = job(#""body":"b""#)
        #expect(try fcm(text, Self.plain, kind: .fid, token: "f").body.hasPrefix(#"{"message":{"fid":"f","#))
        #expect(
            try fcm(text, Self.plain, kind: .topic, token: "n").body.hasPrefix(#"{"message":{"topic":"n","#))
        #expect(try fcm(text, Self.plain, token: "a\"b\\").body.hasPrefix(#"{"message":{"token":"a\"b\\","#))
    }
}
