import Core
import Foundation
import Redis
import SimulatorKit
import Registry
import RetryKit
import Testing

@testable import WorkerKit

@Suite(.serialized) struct DedupOutcomeTests {
    private func job(
        _ marker: String, _ rest: String = #","dedup":"k""#, id: String? = nil, to: String = "anna"
    )
        -> String
    {
        #"{"id":"\#(id ?? marker)","app":"shop","to":{"recipient":"\#(to)"},"title":"x","unread":1,"data":{"peal_job":"\#(marker)"}\#(rest)}"#
    }

    @Test(arguments: ["key", "id"])
    func aFailedFirstTryNeverSwallowsTheSecond(by: String) throws {
        let rig = try Rig(apps: Rig.shop(by == "id" ? "dedup_ids: 1h" : "title: Shop"))
        defer { rig.stop() }
        let rest = by == "id" ? "" : #","dedup":"k""#
        let id = by == "id" ? "same" : nil
        // No device, then refused for good, then accepted; after that it is a duplicate.
        try rig.publish(job("a", rest, id: id), key: "shop/anna")
        #expect(rig.wait { rig.outcome("no_device") == 1 })
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~BAD_FIELD*1")
        try rig.publish(job("b", rest, id: id), key: "shop/anna")
        #expect(rig.wait { rig.outcome("rejected") == 1 })
        try rig.publish(job("c", rest, id: id), key: "shop/anna")
        #expect(rig.wait { rig.accepted == 1 })
        try rig.publish(job("d", rest, id: id), key: "shop/anna")
        #expect(rig.wait { rig.outcome("duplicate") == 1 })
        #expect(rig.sentJobs == ["c"])
        // The duplicate isn't counted; the others are, each once.
        #expect(try rig.unread(of: "anna") == 3)
    }

    @Test(arguments: ["key", "id"])
    func aDuplicateOfAJobUnderWayWaitsForItsOutcome(by: String) throws {
        let rig = try Rig(
            apps: Rig.shop(by == "id" ? "dedup_ids: 1h" : "title: Shop"),
            retryYAML: "retry: {delays: {server: 2s}}")
        defer { rig.stop() }
        let rest = by == "id" ? "" : #","dedup":"k""#
        let id = by == "id" ? "same" : nil
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        try rig.publish(job("a", rest, id: id), key: "shop/anna")
        #expect(rig.wait { rig.simulator.record.count == 1 })
        try rig.publish(job("b", rest, id: id), key: "shop/anna")
        #expect(rig.wait(seconds: 40) { rig.accepted == 1 && rig.outcome("duplicate") == 1 })
        #expect(rig.sentJobs == ["a"])
        #expect(try rig.metric("peal_duplicate_waits_total") >= 1)
        #expect(try rig.unread(of: "anna") == 1)
    }

    @Test func aDuplicateGoesOutWhenTheJobItWaitedForFails() throws {
        let rig = try Rig(apps: Rig.shop("dedup_ids: 1h"), retryYAML: "retry: {delays: {server: 2s}}")
        defer { rig.stop() }
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        // Everything is connected before the clock runs.
        try rig.register("bert", device: "tablet", .android, token: Tokens.fcm(3))
        try rig.publish(job("w", "", to: "bert"), key: "shop/bert")
        #expect(rig.wait { rig.accepted == 1 })
        // Its second attempt comes after its deadline.
        try rig.publish(job("a", #","dedup":"k","ttl":4"#, id: "same"), key: "shop/anna")
        #expect(rig.wait { rig.simulator.record.count == 2 })
        rig.retry?.stop()
        try rig.publish(job("b", id: "same"), key: "shop/anna")
        #expect(rig.wait { ((try? rig.metric("peal_duplicate_waits_total")) ?? 0) >= 1 })
        usleep(4_500_000)
        try rig.startRetry()
        #expect(rig.wait(seconds: 40) { rig.outcome("expired") == 1 && rig.accepted == 2 })
        #expect(rig.sentJobs == ["b", "w"])
        #expect(try rig.unread(of: "anna") == 2)
    }

    @Test(arguments: ["key", "id"])
    func aClaimThatRedisRefusesToSettleIsSettledLater(by: String) throws {
        let rig = try Rig(
            apps: Rig.shop(by == "id" ? "dedup_ids: 1h" : "title: Shop"), simulated: { $0.delayMs = 1500 })
        defer { rig.stop() }
        let rest = by == "id" ? "" : #","dedup":"k""#
        let id = by == "id" ? "same" : nil
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2))
        try rig.publish(job("a", rest, id: id), key: "shop/anna")
        #expect(rig.wait { ((try? rig.metric("peal_deliveries_open")) ?? 0) == 1 })
        // Full when the answer comes: the claim can't be marked, nor can anything be counted.
        try rig.redisCommand("CONFIG", "SET", "maxmemory", "1")
        #expect(rig.wait { rig.accepted == 1 })
        usleep(2_500_000)
        #expect(try rig.metric("peal_jobs_open") == 1)
        try rig.redisCommand("CONFIG", "SET", "maxmemory", "0")
        #expect(rig.wait { ((try? rig.metric("peal_jobs_open")) ?? 1) == 0 })
        // The next one is a duplicate at once, instead of waiting until the claim runs out.
        try rig.publish(job("b", rest, id: id), key: "shop/anna")
        #expect(rig.wait { rig.outcome("duplicate") == 1 })
        #expect(rig.sentJobs == ["a"])
        #expect(try rig.wait { try rig.total("accepted", app: "shop") == 1 })
    }

    @Test func aKeyIsDoneOnceOneDeviceHasGotIt() throws {
        let rig = try Rig(retryYAML: "retry: {delays: {server: 1s}}")
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE")
        try rig.publish(job("a", #","dedup":"k","ttl":5"#), key: "shop/anna")
        #expect(rig.wait(seconds: 40) { rig.accepted == 1 && rig.outcome("expired") == 1 })
        try rig.publish(job("b"), key: "shop/anna")
        #expect(rig.wait { rig.outcome("duplicate") == 1 })
        #expect(rig.sentJobs == ["a"])
    }

    @Test func anIDIsItsRecipientsAndARedisThatForgotDeliversAgain() throws {
        let rig = try Rig(apps: Rig.shop("dedup_ids: 1h"))
        defer { rig.stop() }
        for (number, name) in ["anna", "bert"].enumerated() {
            try rig.register(name, device: "phone", .ios, token: Tokens.apns(number))
            try rig.publish(job(name, "", id: "same", to: name), key: "shop/\(name)")
        }
        // A job that names a token has an id as well.
        let direct =
            #"{"id":"same","app":"shop","to":{"token":"\#(Tokens.apns(9))","platform":"ios"},"title":"x","data":{"peal_job":"t"}}"#
        for _ in 0..<2 { try rig.publish(direct, key: "shop/\(Tokens.apns(9))") }
        #expect(rig.wait { rig.accepted == 3 && rig.outcome("duplicate") == 1 })
        #expect(rig.sentJobs == ["anna", "bert", "t"])
        let session = try rig.openSession()
        defer { session.close() }
        for key in try session.command("KEYS", "peal:ids:*").array {
            try session.command("DEL", try #require(key.text))
        }
        try rig.publish(job("anna", "", id: "same"), key: "shop/anna")
        #expect(rig.wait { rig.accepted == 4 })
    }
}
