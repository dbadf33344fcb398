import Decisions
import Foundation
import Redis
import Registry
import TestSupport
import Testing

@testable import Overview

/// A server of the test's own, what writes to it and the reader under test.
struct ReaderRig {
    let server: RedisServer
    let session: RedisSession
    let reader: OverviewReader

    init() throws {
        server = try RedisServer()
        session = try server.session()
        reader = OverviewReader(session: session, deadlineMs: 60_000)
    }

    func nowMs() throws -> Int64 { try ControlStore(session: session).nowMs() }

    func set(_ key: String, _ fields: [String: String]) throws {
        try session.command(["HSET", key] + fields.flatMap { [$0.key, $0.value] })
    }

    func know(apps: String..., atMs: Int64 = 1) throws {
        for app in apps { try session.command("ZADD", RegistryKeys.apps, "\(atMs)", app) }
    }
}

@Suite struct OverviewReaderTests {
    @Test func anEmptyRedisIsAnEmptyOverview() throws {
        let rig = try ReaderRig()
        let overview = try rig.reader.read(minutes: 3)
        #expect(overview.minutes.count == 3)
        #expect(overview.minutes.last?.minute == overview.nowMs / 60_000)
        #expect(overview.pods.isEmpty && overview.apps.isEmpty && overview.notes.isEmpty)
        #expect(overview.totals == Overview.Counts())
    }

    @Test func countersComeByMinuteInTotalAndByApp() throws {
        let rig = try ReaderRig()
        try rig.know(apps: "shop", "bank")
        let minute = try rig.nowMs() / 60_000
        for (app, accepted) in [("shop", "7"), ("bank", "1"), ("*", "8")] {
            try rig.set("peal:stat:{\(app)}:\(minute - 1)", ["accepted": accepted, "latency:25": accepted])
            try rig.set("peal:total:{\(app)}", ["accepted": accepted, "jobs": "9", "lane:bulk": "4"])
        }
        try rig.set("peal:stat:{shop}:\(minute)", ["failed": "2", "reason:expired": "2", "lane:urgent": "1"])
        let all = try rig.reader.read(minutes: 5)
        #expect(all.sum(lastMinutes: 5)[.accepted] == 8)
        #expect(all.totals[.bulk] == 4)
        #expect(all.apps.map(\.name) == ["shop", "bank"])
        #expect(all.apps.first?.recent[.accepted] == 7)
        #expect(all.apps.first?.recent[.failed] == 2)
        #expect(all.apps.last?.totals[.jobs] == 9)
        let shop = try rig.reader.read(app: "shop", minutes: 5)
        #expect(shop.sum(lastMinutes: 5).reasons == ["expired": 2])
        #expect(shop.sum(lastMinutes: 5).latency[1] == 7)
        #expect(shop.sum(lastMinutes: 5)[.urgent] == 1)
    }

    @Test func junkLeavesTheRestReadable() throws {
        let rig = try ReaderRig()
        try rig.know(apps: "shop", "*", String(repeating: "x", count: 900))
        let now = try rig.nowMs()
        let minute = now / 60_000
        try rig.set(
            "peal:stat:{*}:\(minute)",
            [
                "accepted": "12", "failed": "-3", "jobs": "many", "new_field": "1",
                "sent": "99999999999999999999",
            ])
        try rig.session.command("SET", "peal:total:{*}", "a string")
        let old = #"{"role":"worker","lanes":["bulk"],"in_flight":3,"lag":41,"beat_ms":\#(now)}"#
        try rig.set(
            "peal:pods",
            [
                "old:1": old, "junk": "{", "list": "[1]", "norole": #"{"beat_ms":1}"#, "": "null",
                "odd:2": #"{"role":"worker","beat_ms":\#(now),"lanes":7,"rate":"fast","p50_ms":-4}"#,
                "new:3": #"{"role":"oracle","beat_ms":\#(now),"future":{"a":[1]}}"#,
            ])
        try rig.set("peal:control", ["version": "x", "app:shop": "stop", "planet:mars": "{}"])
        try rig.session.command("ZADD", "peal:campaigns:{shop}", "1e14", "spring", "5", "gone")
        try rig.set("peal:campaign:{shop}:spring", ["accepted": "3", "first_ms": "x", "rejected": "-1"])
        try rig.session.command("ZADD", "peal:casts:{shop}", "1", "b-1")
        try rig.set("peal:cast:{shop:b-1}", ["state": "dreaming"])
        let overview = try rig.reader.read(minutes: 2)
        #expect(overview.sum(lastMinutes: 2)[.accepted] == 12)
        #expect(overview.sum(lastMinutes: 2)[.failed] == 0)
        #expect(overview.pods.map(\.name) == ["new:3", "odd:2", "old:1"])
        #expect(overview.workers.map(\.facts.lag) == [0, 41])
        #expect(overview.orders.map(\.subject) == [.app("shop")])
        #expect(overview.apps.map(\.name) == ["shop"])
        #expect(overview.campaigns.map(\.name) == ["spring"])
        #expect(overview.campaigns.first?.outcomes == [.accepted: 3])
        #expect(overview.broadcasts.isEmpty)
        #expect(
            overview.notes == [
                "4 lines of peal:pods can't be read and are left out.",
                "peal:total can't be read with this Redis user, or holds something else.",
            ])
    }

    @Test func tooManyPodsAreNotRead() throws {
        let rig = try ReaderRig()
        for start in stride(from: 0, to: Int(OverviewReader.podsMax) + 1, by: 1000) {
            try rig.session.command(
                ["HSET", "peal:pods"] + (start..<start + 1001).flatMap { ["p\($0)", "{}"] })
        }
        let overview = try rig.reader.read(minutes: 1)
        #expect(overview.pods.isEmpty)
        #expect(overview.notes.first?.hasPrefix("peal:pods has 6001 lines and is not read") == true)
    }

    @Test func minutesThatAreOverAreAskedForOnce() throws {
        let rig = try ReaderRig()
        let minute = try rig.nowMs() / 60_000
        try rig.set("peal:stat:{*}:\(minute - 30)", ["accepted": "5"])
        try rig.set("peal:stat:{*}:\(minute)", ["accepted": "1"])
        #expect(try rig.reader.read(minutes: 60).sum(lastMinutes: 60)[.accepted] == 6)
        try rig.session.command("CONFIG", "RESETSTAT")
        try rig.set("peal:stat:{*}:\(minute)", ["accepted": "3"])
        #expect(try rig.reader.read(minutes: 60).sum(lastMinutes: 60)[.accepted] == 8)
        let statistics = try rig.session.command("INFO", "commandstats").text ?? ""
        let line = statistics.split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_hgetall:") }
        let calls = line?.split(separator: ",").first?.split(separator: "=").last.flatMap { Int($0) }
        // The totals and the last minutes; one more when a minute ended in between.
        #expect(try #require(calls) <= 6)
    }

    @Test func aRedisThatLostItsDataIsReadAnew() throws {
        let rig = try ReaderRig()
        let minute = try rig.nowMs() / 60_000
        try rig.set("peal:stat:{*}:\(minute - 30)", ["accepted": "5"])
        try rig.set("peal:total:{*}", ["jobs": "5"])
        #expect(try rig.reader.read(minutes: 60).sum(lastMinutes: 60)[.accepted] == 5)
        try rig.session.command("FLUSHALL")
        #expect(try rig.reader.read(minutes: 60).sum(lastMinutes: 60)[.accepted] == 0)
    }

    @Test func campaignsAndBroadcastsComeLatestFirst() throws {
        let rig = try ReaderRig()
        try rig.know(apps: "shop", "bank")
        try rig.session.command("ZADD", "peal:campaigns:{shop}", "10", "old", "30", "new")
        try rig.session.command("ZADD", "peal:campaigns:{bank}", "20", "middle")
        for key in ["{shop}:old", "{shop}:new", "{bank}:middle"] {
            try rig.set(
                "peal:campaign:\(key)", ["accepted": "2", "dead": "1", "first_ms": "3", "last_ms": "4"])
        }
        try rig.session.command("ZADD", "peal:casts:{shop}", "10", "b-1")
        try rig.set(
            "peal:cast:{shop:b-1}",
            [
                "state": "running", "audience": "all", "campaign": "new", "n": "40", "parts": "8",
                "done": "2",
                "started_ms": "9",
            ])
        try rig.set("peal:control", ["campaign:shop:new": "wrong price"])
        let overview = try rig.reader.read()
        #expect(overview.campaigns.map(\.name) == ["new", "middle", "old"])
        #expect(overview.campaigns.first?.deliveries == 3)
        #expect(overview.broadcasts.first?.status.state == .paused)
        #expect(overview.broadcasts.first?.status.recipients == 40)
        #expect(try rig.reader.read(app: "bank").campaigns.map(\.name) == ["middle"])
    }

    @Test func aRedisThatIsAwayIsAnErrorThatSaysSo() throws {
        let rig = try ReaderRig()
        rig.server.stop()
        var options = RedisClientOptions(endpoint: rig.server.endpoint)
        options.timeoutMs = 300
        let reader = OverviewReader(session: try RedisSession(options: options))
        let failure = #expect(throws: RedisFailure.self) { try reader.read() }
        #expect(failure?.code.isOutage == true)
    }

    @Test func aRedisThatHangsEndsWithTheDeadline() throws {
        let rig = try ReaderRig()
        var options = RedisClientOptions(endpoint: rig.server.endpoint)
        options.timeoutMs = 200
        let reader = OverviewReader(session: try RedisSession(options: options))
        _ = try reader.read()
        try rig.session.command("CLIENT", "PAUSE", "100000", "ALL")
        let failure = #expect(throws: RedisFailure.self) { try reader.read() }
        #expect(failure?.code == .timedOut)
    }

    @Test func theDashboardsUserMayReadAllOfIt() throws {
        let rig = try ReaderRig()
        try rig.know(apps: "shop")
        let text = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../docs/redis-keys.md"), encoding: .utf8)
        let line = try #require(
            text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("ACL SETUSER dashboards") })
        try rig.session.command(line.split(separator: " ").map(String.init))
        let session = try rig.server.session()
        try session.command("AUTH", "dashboards", "password")
        let overview = try OverviewReader(session: session, deadlineMs: 60_000).read(minutes: 2)
        #expect(overview.notes.isEmpty)
        #expect(overview.apps.map(\.name) == ["shop"])
    }
}
