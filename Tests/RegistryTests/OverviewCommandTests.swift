import Core
import EventLoop
import Glibc
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct OverviewCommandTests {
    private func count(_ shelf: Shelf, _ campaign: String, nowMs: Int64, _ accepted: Int64) throws -> Int64? {
        try shelf.session.run {
            OverviewCommands.count(
                app: "shop", campaign: campaign, [("accepted", accepted), ("dead", 1)], nowMs: nowMs,
                into: &$0)
        }.integer
    }

    @Test func campaignsAddUp() throws {
        let shelf = try Shelf()
        #expect(try count(shelf, "spring", nowMs: 10, 3) == 1)
        #expect(try count(shelf, "spring", nowMs: 20, 4) == 1)
        let fields = try shelf.session.command("HGETALL", "peal:campaign:{shop}:spring").pairs
        #expect(
            Dictionary(uniqueKeysWithValues: fields.map { ($0.key, $0.value.integer) }) == [
                "accepted": 7, "dead": 2, "first_ms": 10, "last_ms": 20,
            ])
        #expect(try shelf.session.command("ZSCORE", "peal:campaigns:{shop}", "spring").text == "20")
        for key in ["peal:campaign:{shop}:spring", "peal:campaigns:{shop}"] {
            let ttl = try #require(try shelf.session.command("TTL", key).integer)
            #expect(ttl > 604_000 && ttl <= 604_800)
        }
    }

    @Test func oneCampaignTooManyIsNotCountedUntilAnOldOneMakesRoom() throws {
        let shelf = try Shelf()
        let now = OverviewCommands.memoryMs * 2
        let names = (0..<OverviewCommands.campaignsMax).map { "c\($0)" }
        try shelf.session.command(
            ["ZADD", "peal:campaigns:{shop}"] + names.flatMap { ["\(now)", $0] })
        #expect(try count(shelf, "one more", nowMs: now, 1) == 0)
        #expect(try shelf.session.command("EXISTS", "peal:campaign:{shop}:one more").integer == 0)
        #expect(try count(shelf, "c5", nowMs: now, 1) == 1)
        try shelf.session.command("ZADD", "peal:campaigns:{shop}", "1", "c7")
        #expect(try count(shelf, "one more", nowMs: now, 1) == 1)
        #expect(try shelf.session.command("ZSCORE", "peal:campaigns:{shop}", "c7") == .null)
    }

    @Test func appsAreKnownAndForgotten() throws {
        let shelf = try Shelf()
        let now = OverviewCommands.memoryMs * 3
        try shelf.session.run { OverviewCommands.know(apps: ["old"], nowMs: 5, into: &$0) }
        try shelf.session.run { OverviewCommands.know(apps: ["shop", "bank"], nowMs: now, into: &$0) }
        try shelf.session.run { OverviewCommands.forgetApps(nowMs: now, into: &$0) }
        let apps = try shelf.session.command("ZRANGE", "peal:apps", "0", "-1").array.map(\.text)
        #expect(apps == ["bank", "shop"])
    }

    @Test func aListOfBroadcastsKeepsTheLatest() throws {
        let shelf = try Shelf()
        for number in 0..<OverviewCommands.broadcastsMax + 5 {
            try shelf.session.run {
                OverviewCommands.list(broadcast: "b\(number)", app: "shop", nowMs: number, into: &$0)
            }
            try shelf.session.run { OverviewCommands.trimBroadcasts(app: "shop", into: &$0) }
        }
        try shelf.session.run {
            OverviewCommands.list(broadcast: "b100", app: "shop", nowMs: 9_999, into: &$0)
        }
        #expect(
            try shelf.session.command("ZCARD", "peal:casts:{shop}").integer == OverviewCommands.broadcastsMax)
        #expect(try shelf.session.command("ZSCORE", "peal:casts:{shop}", "b4") == .null)
        #expect(try shelf.session.command("ZSCORE", "peal:casts:{shop}", "b100").text == "100")
    }

    @Test func readsAreCounted() throws {
        let shelf = try Shelf()
        _ = try shelf.directory.addUnread(5, of: "r")
        _ = try shelf.directory.read(.add(-2), of: "r", device: "d", claimMs: 10)
        _ = try shelf.directory.read(.set(7, asOfMs: 0), of: "r", device: "d", claimMs: 10)
        _ = try shelf.directory.read(.set(0, asOfMs: 0), of: "r", device: "d", claimMs: 10)
        // Nothing is left to clear.
        _ = try shelf.directory.read(.add(-9), of: "r", device: "d", claimMs: 10)
        for app in ["shop", "*"] {
            let key = "peal:total:{\(app)}"
            #expect(try shelf.session.command("HGET", key, "unread_added").integer == 4)
            #expect(try shelf.session.command("HGET", key, "unread_cleared").integer == 9)
        }
    }
}

@Suite struct PodBeaconTests {
    @Test func aLineIsThereWhileThePodLives() throws {
        let server = try RedisServer()
        let session = try server.session()
        let beats = Locked(0)
        let beacon = PodBeacon(name: "pod/1", redis: .patient(server.endpoint)) {
            beats.withLock { $0 += 1 }
            var line = PodLine(role: "retry", startedMs: 7, ready: "say \"what\"")
            line.set("depth", [("1s", 3), ("1m", 0)])
            line.set("held", 2)
            line.set("rate", tenths: 12.34)
            line.set("lanes", ["a", "b"])
            return line.end()
        }
        func line() throws -> JSONValue? {
            try session.command("HGET", "peal:pods", "pod/1").text.map { try JSONValue.parse(text: $0) }
        }
        let end = Clock.monotonicMs + 30_000
        while try line() == nil || beats.withLock({ $0 }) < 3, Clock.monotonicMs < end { usleep(5_000) }
        let found = try #require(try line())
        #expect(found["role"]?.string == "retry")
        #expect(found["version"]?.string == Version.current)
        #expect(found["started_ms"]?.integer == 7)
        #expect(abs((found["beat_ms"]?.integer ?? 0) - Clock.wallMs) < 60_000)
        #expect((found["rss_bytes"]?.integer ?? 0) > 1 << 20)
        #expect(found["ready"]?.string == "say \"what\"")
        #expect(found["depth"]?["1s"]?.integer == 3)
        #expect(found["held"]?.integer == 2)
        #expect(found["rate"]?.text == "12.3")
        #expect(found["lanes"]?.array?.count == 2)
        beacon.stop()
        #expect(try line() == nil)
    }

    @Test func aRedisThatIsAwayHoldsNothingUp() throws {
        let server = try RedisServer()
        server.stop()
        var options = RedisClientOptions(endpoint: server.endpoint)
        options.timeoutMs = 200
        let beats = Locked(0)
        let beacon = PodBeacon(name: "pod/1", redis: options) {
            beats.withLock { $0 += 1 }
            return Array("{}".utf8)
        }
        let end = Clock.monotonicMs + 30_000
        while beats.withLock({ $0 }) < 2, Clock.monotonicMs < end { usleep(5_000) }
        #expect(beats.withLock { $0 } >= 2)
        beacon.stop()
    }
}

@Suite struct RecentTests {
    @Test func aRateLooksBackThreeSeconds() {
        var rate = RecentRate()
        #expect(rate.take(1_000, nowMs: 10_000) == 0)
        #expect(rate.take(1_100, nowMs: 11_000) == 100)
        // Out of turn: counts as the same moment.
        #expect(rate.take(1_150, nowMs: 11_100) > 0)
        #expect(rate.take(1_200, nowMs: 12_000) == 100)
        #expect(rate.take(1_200, nowMs: 13_000) > 0)
        for second in 14...20 { _ = rate.take(1_200, nowMs: UInt64(second) * 1_000) }
        #expect(rate.take(1_200, nowMs: 21_000) == 0)
        // A count that falls was begun anew.
        #expect(rate.take(3, nowMs: 22_000) == 0)
    }

    @Test func quantilesForgetWhatIsOld() {
        var all = Histogram()
        var recent = RecentHistogram()
        for _ in 0..<100 { all.record(5) }
        #expect(recent.take(all, nowMs: 1_000).total == 100)
        all.record(1_000)
        let second = recent.take(all, nowMs: 2_000)
        #expect(second.total == 1 && second.quantile(0.5) >= 1_000)
        #expect(recent.take(all, nowMs: 2_100).total == 1)
        for tick in 3...11 { _ = recent.take(all, nowMs: UInt64(tick) * 1_000) }
        #expect(recent.take(all, nowMs: 12_000).total == 0)
    }
}
