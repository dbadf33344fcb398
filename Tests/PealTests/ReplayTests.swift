import Core
import Decisions
import EventLoop
import Redis
import Registry
import SimulatorKit
import Testing

@testable import PealKit

/// `peal dead replay` with a real worker behind it: what is replayed arrives once, where it is owed, and
/// counts as it should.
@Suite(.serialized) struct ReplayTests {
    private static let id = "01J9ZK3V8Q7M4X2C6B5N1A0D9F"

    @Test func aReplayedLetterGoesOnceToTheDeviceThatIsOwedAndIsNotCountedAgain() throws {
        let rig = try ToolRig()
        defer { rig.stop() }
        try rig.register("anna", "phone", .android, token: ToolTokens.fcm())
        try rig.register("anna", "watch", .ios, token: ToolTokens.refusedOnce)
        try rig.startServices()
        try rig.publish(
            #"{"id":"\#(Self.id)","app":"shop","to":{"recipient":"anna"},"title":"Hi","unread":1,"data":{"peal_job":"j"}}"#,
            key: "shop/anna", headers: ["traceparent": "00-ab-cd-01"])
        #expect(rig.wait { rig.outcomes("accepted") == 1 && rig.outcomes("rejected") == 1 })
        #expect(rig.wait { (try? rig.letters().count) == 1 })
        let letter = try #require(try rig.letters("--app", "shop", "--id", Self.id).first)
        #expect(letter.reason == "apns_bad_priority")
        #expect(letter.devices == "watch")
        #expect(try rig.unread("anna") == 1)

        #expect(try rig.replay("--app", "shop", "--dry-run") == [.replay: 1])
        #expect(rig.simulator.record.requests(job: "j").count == 2)
        #expect(try rig.replay("--app", "shop") == [.replay: 1])
        #expect(rig.wait { rig.outcomes("accepted") == 2 })
        var requests = rig.simulator.record.requests(job: "j")
        #expect(requests.count { $0.token == ToolTokens.fcm() } == 1)
        #expect(requests.filter { $0.token == ToolTokens.refusedOnce }.map(\.status) == [400, 200])
        #expect(requests.allSatisfy { $0.badge == 1 })
        #expect(try rig.unread("anna") == 1)

        // Begun again, it does nothing; with Redis's memory of it gone, the worker drops the second copy.
        #expect(try rig.replay("--app", "shop") == [.already: 1])
        for key in try rig.session.command("KEYS", "peal:replayed:*").array.compactMap(\.text) {
            try rig.session.command("DEL", key)
        }
        #expect(try rig.replay("--app", "shop") == [.replay: 1])
        let report = try rig.trace(Self.id, "--to-the-end")
        #expect(report.story.runs.count == 2)
        // A job behind it in the same queue shows that the copy's turn has come and gone.
        try rig.publish(
            #"{"app":"shop","to":{"recipient":"anna"},"title":"Next","data":{"peal_job":"next"}}"#,
            key: "shop/anna")
        #expect(rig.wait { rig.outcomes("accepted") == 4 })
        #expect(rig.simulator.record.requests(job: "j").count == 3)
        #expect(try rig.replay("--app", "shop", "--again") == [.replay: 1])
        #expect(rig.wait { rig.outcomes("accepted") == 5 })
        requests = rig.simulator.record.requests(job: "j")
        #expect(requests.filter { $0.token == ToolTokens.refusedOnce }.map(\.status) == [400, 200, 200])
        #expect(try rig.unread("anna") == 1)
    }

    @Test func whatABadDeployBuriedIsDeliveredAndCountedWhenItIsReplayed() throws {
        let rig = try ToolRig()
        defer { rig.stop() }
        for number in 0..<40 {
            try rig.register(
                "r\(number)", "phone", .ios, token: ToolTokens.good + "\(100 + number)aa".suffix(4),
                app: "late")
        }
        try rig.startServices(withoutApp: "late")
        func job(_ number: Int, _ rest: String = "") -> String {
            #"{"id":"bad-\#(number)","app":"late","to":{"recipient":"r\#(number)"},"title":"x","unread":1\#(rest)}"#
        }
        for number in 0..<37 { try rig.publish(job(number), key: "late/r\(number)") }
        try rig.publish(job(37, #","expires_at":"2026-01-01T00:00:00Z""#), key: "late/r37")
        try rig.publish(job(38), key: "late/r38")
        try rig.publish(job(39), key: "late/r39")
        try rig.publish(#"{"app":"late","to":{"recipient":"r0"},"titel":"x"}"#, key: "late/r0")
        try rig.publish(
            #"{"id":"gone","app":"late","to":{"recipient":"gone"},"title":"x"}"#, key: "late/gone")
        try rig.publish(#"{"app":"none","to":{"recipient":"r0"},"title":"x"}"#, key: "none/r0")
        // A later hop, whose watch has had it: it was counted, and the phone alone is owed.
        try rig.register("hop", "phone", .ios, token: ToolTokens.good, app: "late")
        try rig.register("hop", "watch", .ios, token: String(repeating: "c", count: 64), app: "late")
        try rig.publish(
            #"{"id":"hop","app":"late","to":{"recipient":"hop"},"title":"x","unread":1}"#, key: "late/hop",
            headers: [
                "peal-origin": "peal.jobs.normal/0/4711", "peal-attempt": "1", "peal-devices": "phone",
            ])
        #expect(rig.wait { rig.outcomes("dead") == 44 })
        #expect(try rig.letters("--recipient", "hop").first?.devices == "phone")
        try rig.session.command("HSET", "peal:usr:{late:r38}", "prefs", "muted=-1")
        #expect(try rig.unread("r0", app: "late") == 0)
        rig.stopWorker()
        try rig.startServices()

        let summary = try DeadCommand.read(try rig.order("list", "--summary"), rig.access(), limit: 0)
        #expect(summary.counts[.init(app: "late", reason: "unknown_app")]?.letters == 42)
        #expect(summary.counts[.init(app: "late", reason: "malformed_job")]?.letters == 1)
        // In two steps, as after a stop.
        #expect(try rig.replay("--all", "--limit", "10")[.replay] == 10)
        let rest = try rig.replay("--all", "--rate", "1000")
        #expect(
            rest == [
                .already: 10, .replay: 29, .expired: 1, .muted: 1, .noDevice: 1, .unreadable: 1,
                .unknownApp: 1,
            ])
        #expect(rig.wait { rig.outcomes("accepted") == 39 })
        #expect(try rig.unread("hop", app: "late") == 0)
        for number in 0..<37 { #expect(try rig.unread("r\(number)", app: "late") == 1) }
        #expect(try rig.unread("r38", app: "late") == 0)
        #expect(try rig.replay("--all")[.replay] == nil)
    }
}
