import Core
import Decisions
import EventLoop
import Foundation
import Redis
import Registry
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

@Suite(.serialized) struct PreferenceTests {
    private func job(_ id: String, _ rest: String = "", to recipient: String = "anna") -> String {
        #"{"id":"\#(id)","app":"shop","to":{"recipient":"\#(recipient)"},"title":"x","unread":1,"#
            + #""data":{"peal_job":"\#(id)"}\#(rest)}"#
    }

    private func prefer(_ rig: Rig, _ recipient: String, _ preferences: Preferences) throws {
        let session = try rig.openSession()
        defer { session.close() }
        try DeviceDirectory(session: session, app: "shop").setPreferences(preferences, of: recipient)
    }

    @Test func mutesSilenceTheirKindTopicOrThreadAndNothingElse() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try prefer(
            rig, "anna",
            Preferences(mutedKinds: ["offer", "a,b"], mutedTopics: ["news"], mutedThreads: ["cnv 1"]))
        let muted = [
            #","kind":"offer""#, #","kind":"a,b""#, #","topic":"news""#, #","thread":"cnv 1""#,
            #","kind":"other","thread":"cnv 1""#, #","kind":"off\u0065r""#,
        ]
        let heard = [
            "", #","kind":"news""#, #","topic":"offer""#, #","thread":"cnv 2""#, #","kind":"offers""#,
        ]
        for (number, rest) in muted.enumerated() {
            try rig.publish(job("m\(number)", rest), key: "shop/anna")
        }
        for (number, rest) in heard.enumerated() {
            try rig.publish(job("h\(number)", rest), key: "shop/anna")
        }
        // What nobody notices isn't silenced.
        try rig.publish(
            #"{"app":"shop","to":{"recipient":"anna"},"type":"background","kind":"offer","data":{"peal_job":"b"}}"#,
            key: "shop/anna")
        #expect(rig.wait { rig.outcome("muted") == 6 && rig.accepted == 6 })
        #expect(rig.sentJobs == ["b"] + (0..<5).map { "h\($0)" })
        #expect(try rig.unread(of: "anna") == 11)
    }

    @Test func quietHoursHoldUntilTheRecipientsOwnMorning() throws {
        let zones = try Files.makeTemporaryDirectory(prefix: "peal-zones")
        defer { Files.removeTree(zones) }
        let rig = try Rig(
            apps: Rig.shop("caps: {once: 1/1h}"), retryYAML: "registry: {zone_folder: \(zones)}")
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1), timeZone: "No/Where")
        try rig.register("ben", device: "old", .ios, token: Tokens.apns(2))
        try rig.register("ben", device: "phone", .ios, token: Tokens.apns(3), timeZone: "Early")
        try rig.register("carl", device: "phone", .ios, token: Tokens.apns(4))
        try prefer(rig, "anna", Preferences(quietHours: "06:00-07:00", timeZone: "Early"))
        try prefer(rig, "ben", Preferences(quietHours: "06:00-07:00"))
        try prefer(rig, "carl", Preferences(quietHours: "06:00-07:00", timeZone: "Late"))
        // The worker is at work before the night is short.
        try rig.publish(job("warm", to: "ben"), key: "shop/ben", lane: "urgent")
        #expect(rig.wait { rig.accepted == 2 })
        try TimeZoneFile.write(zones, "Late", sevenAfterMs: 1_800_000)
        let seven = try TimeZoneFile.write(zones, "Early", sevenAfterMs: 4000)
        try rig.publish(job("night", to: "ben"), key: "shop/ben")
        try rig.publish(job("once-1", #","kind":"once""#), key: "shop/anna")
        try rig.publish(job("once-2", #","kind":"once""#), key: "shop/anna")
        // What the night outlives ends at once, and what is urgent passes.
        try rig.publish(job("brief", #","ttl":600"#, to: "carl"), key: "shop/carl")
        try rig.publish(job("urgent", to: "carl"), key: "shop/carl", lane: "urgent")
        #expect(rig.wait { rig.outcome("expired") == 1 && rig.accepted >= 3 })
        // A cap is charged in the morning: the second one finds it used up.
        #expect(rig.wait(seconds: 60) { rig.accepted == 6 && rig.outcome("capped") == 1 })
        #expect(Clock.wallMs >= seven)
        #expect(
            rig.sentJobs.filter { !$0.hasPrefix("once") } == ["night", "night", "urgent", "warm", "warm"])
        #expect(rig.wait { ((try? rig.metric("peal_quiet_waits_total")) ?? 0) >= 3 })
        let events = try rig.outcomeEvents()
        let accepted = events.filter { $0["outcome"]?.string == "accepted" }
        #expect(accepted.count == 6 && accepted.allSatisfy { $0["attempts"]?.integer == 1 })
        #expect(events.first { $0["outcome"]?.string == "expired" }?["reason"]?.string == "quiet_hours")
        // Counted when they came, and once.
        for recipient in ["anna", "ben", "carl"] { #expect(try rig.unread(of: recipient) == 2) }
    }

    @Test func anUnknownZoneCountsAsUTC() throws {
        var zones = TimeZones(folder: "/usr/share/zoneinfo")
        #expect(zones.zone("Europe/Berlin").table?.offset(at: 1_790_000_000) == 7200)
        #expect(zones.zone("Europe/Berlin").isNew == false)
        for name in ["No/Where", "../../../etc/passwd", "", "Europe"] {
            let (table, isNew) = zones.zone(name)
            #expect(table == nil && isNew)
            #expect(!zones.zone(name).isNew)
        }
        var none = TimeZones(folder: "/nowhere")
        #expect(none.zone("Europe/Berlin").table == nil)
    }
}
