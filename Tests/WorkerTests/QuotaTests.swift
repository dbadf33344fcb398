import Core
import EventLoop
import Foundation
import Redis
import SimulatorKit
import Testing

@testable import WorkerKit

@Suite(.serialized) struct ProviderQuotaTests {
    private func jobs(_ count: Int, platform: String, _ rest: String = "", token: (Int) -> String) -> [(
        key: String, json: String
    )] {
        (0..<count).map {
            (
                "shop/\(token($0))",
                #"{"id":"q\#($0)","app":"shop","to":{"token":"\#(token($0))","platform":"\#(platform)"},"title":"x","data":{"peal_job":"q\#($0)"}\#(rest)}"#
            )
        }
    }

    @Test func noSecondBringsMoreThanTheQuotaItsBurstAndTheLeases() throws {
        let rig = try Rig(apps: Rig.shop("quota: {apns: 200/s}"))
        defer { rig.stop() }
        let other = try rig.startAnother()
        defer { other.stop() }
        // Both have their half of the partitions: a rebalance in between would repeat what is under way.
        let isShared = rig.wait(seconds: 40) {
            ((try? rig.probe("/metrics")) ?? "").contains("peal_consumer_partitions{lane=\"normal\"} 2\n")
        }
        try #require(isShared)
        try rig.publishMany(jobs(1000, platform: "ios") { Tokens.apns($0) })
        #expect(rig.wait(seconds: 60) { rig.simulator.record.count >= 1000 })
        var arrivals: [Int64] = []
        rig.simulator.record.forEach { arrivals.append($0.arrivalMs) }
        arrivals.sort()
        var most = 0
        var first = 0
        for last in arrivals.indices {
            while arrivals[last] - arrivals[first] >= 1000 { first += 1 }
            most = max(most, last - first + 1)
        }
        // 200 a second, 50 saved up, 20 leased by each of four shards; a machine that stops for half a second
        // lets what was sent before arrive late.
        #expect(most <= 200 + 50 + 80 + 100, "\(most) in one second")
        #expect(rig.simulator.record.summary().duplicates == 0)
        #expect(arrivals.count == 1000)
        #expect((arrivals.last ?? 0) - (arrivals.first ?? 0) >= 3000)
    }

    @Test func whatFindsNoTokenIsPutOffWithoutAnAttemptAndAllGetsThere() throws {
        let rig = try Rig(apps: Rig.shop("quota: {apns: 20/s}"))
        defer { rig.stop() }
        try rig.publishMany(jobs(120, platform: "ios") { Tokens.apns($0) })
        #expect(rig.wait(seconds: 60) { rig.accepted == 120 })
        #expect(try rig.metric("peal_quota_put_off_total") > 0)
        #expect(try rig.metric("peal_quota_tokens_total") >= 120)
        #expect(rig.simulator.record.count == 120)
        let events = try rig.outcomeEvents()
        #expect(events.count == 120)
        #expect(events.allSatisfy { $0["attempts"]?.integer == 1 })
    }

    @Test func aProviderThatRefusesForItsQuotaSlowsAllAndRecovers() throws {
        let rig = try Rig(
            apps: Rig.shop("quota: {fcm: 400/s}"), retryYAML: "retry: {delays: {quota: 1s}}")
        defer { rig.stop() }
        try rig.simulator.setFaults(
            #"{"rules":[{"provider":"fcm","first":1,"answer":{"error":"QUOTA_EXCEEDED","retry_after":1}}]}"#)
        try rig.publishMany(jobs(1, platform: "android") { Tokens.fcm($0) })
        let refused = rig.wait { ((try? rig.metric("peal_quota_refusals_total")) ?? 0) == 1 }
        #expect(refused)
        let session = try rig.openSession()
        defer { session.close() }
        #expect(rig.wait { (try? session.command("HGET", "peal:rate:{shop}:fcm", "b").text) == "0.000" })
        try rig.publishMany(jobs(60, platform: "android") { Tokens.fcm(100 + $0) })
        #expect(rig.wait(seconds: 60) { rig.accepted == 61 })
        // It is on its way up from nothing to the whole rate.
        let until = try #require(try session.command("HGET", "peal:rate:{shop}:fcm", "u").text)
        #expect(Int64(until) ?? 0 > 0)
        #expect(try rig.metric("peal_quota_tokens_total") >= 61)
    }

    @Test func whatWaitsForATokenIsPutOffWhenRedisHangs() throws {
        let rig = try Rig(apps: Rig.shop("quota: {apns: 16/s}"))
        defer { rig.stop() }
        try rig.publishMany(jobs(40, platform: "ios") { Tokens.apns($0) })
        #expect(rig.wait { ((try? rig.metric("peal_quota_waits_total")) ?? 0) > 0 })
        rig.redis.suspend()
        #expect(rig.wait { ((try? rig.metric("peal_quota_waiting")) ?? 1) == 0 })
        rig.redis.resume()
        #expect(rig.wait(seconds: 60) { rig.accepted == 40 })
        #expect(rig.simulator.record.summary().duplicates == 0)
    }
}
