import Configuration
import Core
import Foundation
import Redis
import SimulatorKit
import Registry
import Testing

@testable import WorkerKit

@Suite(.serialized) struct RecipientCapTests {
    private func job(_ id: String, _ rest: String = #","kind":"news","unread":1"#, to: String = "anna")
        -> String
    {
        #"{"id":"\#(id)","app":"shop","to":{"recipient":"\#(to)"},"title":"x","data":{"peal_job":"\#(id)"}\#(rest)}"#
    }

    @Test func whatIsAboveTheCapEndsAsCappedAndOnlyWhatGoesOutIsCharged() throws {
        let rig = try Rig(apps: Rig.shop("caps: {news: 3/1h, default: 2/1h}"))
        defer { rig.stop() }
        // Nothing of this eats the cap: no device, muted, expired.
        for number in 0..<4 { try rig.publish(job("n\(number)"), key: "shop/anna") }
        #expect(rig.wait { rig.outcome("no_device") == 4 })
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.redisCommand("HSET", "peal:usr:{shop:anna}", "prefs", "muted=-1")
        for number in 0..<4 { try rig.publish(job("m\(number)"), key: "shop/anna") }
        #expect(rig.wait { rig.outcome("muted") == 4 })
        try rig.redisCommand("HDEL", "peal:usr:{shop:anna}", "prefs")
        for number in 0..<4 {
            try rig.publish(
                job("e\(number)", #","kind":"news","expires_at":"2020-01-01T00:00:00Z""#), key: "shop/anna")
        }
        #expect(rig.wait { rig.outcome("expired") == 4 })
        for number in 0..<10 { try rig.publish(job("c\(number)"), key: "shop/anna") }
        #expect(rig.wait { rig.outcome("capped") == 7 && rig.accepted == 3 })
        // Other classes, and what nobody sees.
        for number in 0..<3 { try rig.publish(job("d\(number)", ""), key: "shop/anna") }
        try rig.publish(job("t0", #","topic":"news""#), key: "shop/anna")
        for number in 0..<5 {
            try rig.publish(
                #"{"id":"b\#(number)","app":"shop","to":{"recipient":"anna"},"type":"badge","unread":0}"#,
                key: "shop/anna")
        }
        #expect(rig.wait { rig.outcome("capped") == 9 && rig.accepted == 10 })
        let sent = rig.sentJobs.filter { !$0.isEmpty }
        #expect(sent == ["c0", "c1", "c2", "d0", "d1"])
        // Counted once each, shown or not.
        #expect(try rig.unread(of: "anna") == 18)
    }

    @Test func aRedeliveryNeitherChargesAJobTwiceNorLetsACappedOneThrough() throws {
        let rig = try Rig(apps: Rig.shop("caps: {news: 3/1h}"))
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        for number in 0..<10 { try rig.publish(job("c\(number)"), key: "shop/anna") }
        #expect(rig.wait { rig.outcome("capped") == 7 && rig.accepted == 3 })
        // Every record once more, by a worker of another group.
        let other = try rig.startAnother { $0.worker.group = "again" }
        defer { other.stop() }
        #expect(rig.wait(seconds: 40) { other.outcomes["capped"] == 7 && other.outcomes["accepted"] == 3 })
        #expect(Set(rig.sentJobs) == ["c0", "c1", "c2"])
        try rig.publish(job("last"), key: "shop/anna")
        #expect(rig.wait { rig.outcome("capped") == 8 })
        #expect(try rig.unread(of: "anna") == 11)
    }

    @Test func whatACapDefersGoesOutLaterAndIsNoAttempt() throws {
        let rig = try Rig(apps: Rig.shop("caps: {news: 2/3s defer, slow: 1/1h defer}"))
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        for number in 0..<5 { try rig.publish(job("c\(number)"), key: "shop/anna") }
        // Too late when the cap lets it through: an outcome at once.
        for number in 0..<2 {
            try rig.publish(job("s\(number)", #","kind":"slow","ttl":60"#), key: "shop/anna")
        }
        #expect(rig.wait { rig.outcome("expired") == 1 })
        #expect(rig.wait(seconds: 40) { rig.accepted == 6 })
        #expect(rig.sentJobs == ["c0", "c1", "c2", "c3", "c4", "s0"])
        #expect(try rig.metric("peal_cap_waits_total") >= 3)
        #expect(try rig.unread(of: "anna") == 5)
        #expect(rig.outcome("capped") == 0)
        let events = try rig.outcomeEvents()
        #expect(
            events.filter { $0["outcome"]?.string == "accepted" }.allSatisfy { $0["attempts"]?.integer == 1 })
        #expect(events.contains { $0["outcome"]?.string == "expired" && $0["reason"]?.string == "capped" })
    }

    @Test func onlyTheNewestOfThoseThatWaitIsSent() throws {
        let rig = try Rig(apps: Rig.shop("caps: {news: 1/4s replace}"))
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        for number in 0..<5 { try rig.publish(job("c\(number)"), key: "shop/anna") }
        #expect(rig.wait(seconds: 40) { rig.accepted == 2 && rig.outcome("capped") == 3 })
        #expect(rig.sentJobs == ["c0", "c4"])
        let reasons = try rig.outcomeEvents().filter { $0["outcome"]?.string == "capped" }
        #expect(reasons.map { $0["reason"]?.string } == ["replaced", "replaced", "replaced"])
    }

    @Test func aCappedJobGivesItsDedupKeyBack() throws {
        let rig = try Rig(apps: Rig.shop("caps: {news: 1/1h}"))
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.publish(job("a"), key: "shop/anna")
        try rig.publish(job("b", #","kind":"news","dedup":"k""#), key: "shop/anna")
        #expect(rig.wait { rig.outcome("capped") == 1 })
        try rig.publish(job("c", #","kind":"other","dedup":"k""#), key: "shop/anna")
        #expect(rig.wait { rig.accepted == 2 })
        #expect(rig.sentJobs == ["a", "c"])
    }

    @Test func anAppWithoutLimitsAsksRedisForNothingMore() throws {
        let rig = try Rig(apps: Rig.shop() + "\n  other:\n    caps: {news: 1/1h}")
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.redisCommand("CONFIG", "RESETSTAT")
        for number in 0..<20 { try rig.publish(job("c\(number)", #","kind":"news""#), key: "shop/anna") }
        #expect(rig.wait { rig.accepted == 20 })
        let session = try rig.openSession()
        defer { session.close() }
        let text = try session.command("INFO", "commandstats").text ?? ""
        var calls: [String: Int] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":")
            guard parts.count == 2, parts[0].hasPrefix("cmdstat_") else { continue }
            let count = parts[1].split(separator: ",").first?.dropFirst("calls=".count) ?? ""
            calls[String(parts[0].dropFirst("cmdstat_".count))] = Int(count)
        }
        #expect(calls["hmget"] ?? 0 >= 20)
        // The devices, and the kill switch's version.
        #expect(calls["hget"] ?? 0 >= 20)
        // The list of apps is written now and then, whatever is sent.
        #expect(calls["zadd"] ?? 0 < 20)
        for name in ["zrem", "zscore", "zcard", "hdel", "pexpireat"] {
            #expect(calls[name] == nil, "\(name)")
        }
    }
}
