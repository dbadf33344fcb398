import Core
import EventLoop
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct QuotaTests {
    private static let key = "peal:rate:{shop}:fcm"

    private func take(
        _ shelf: Shelf, _ wanted: Int64, of lessee: String = "a", perSecond: Int64 = 1, capacity: Int64 = 100
    ) throws -> (given: Int64, waitMs: Int64, lessees: Int64, pace: Int64) {
        let reply = try shelf.session.run {
            RegistryCommands.takeTokens(
                app: "shop", provider: "fcm", perThousandSeconds: perSecond * 1000, capacity: capacity,
                wanted: wanted, lessee: lessee, into: &$0)
        }.array.compactMap(\.integer)
        try #require(reply.count == 4)
        return (reply[0], reply[1], reply[2], reply[3])
    }

    private func slow(_ shelf: Shelf, waitMs: Int64) throws -> Int64? {
        try shelf.session.run {
            RegistryCommands.slowQuota(app: "shop", provider: "fcm", waitMs: waitMs, into: &$0)
        }.integer
    }

    private func now(_ shelf: Shelf) throws -> Int64 {
        let parts = try shelf.session.command("TIME").array.compactMap { $0.text.flatMap { Int64($0) } }
        return parts[0] * 1000 + parts[1] / 1000
    }

    @Test func leasesNoMoreThanTheBucketHolds() throws {
        let shelf = try Shelf()
        #expect(try take(shelf, 60) == (60, 0, 1, 1000))
        // A slow machine may see a token or two come back.
        let rest = try take(shelf, 60)
        #expect((40...45).contains(rest.given))
        #expect(rest.waitMs > 0)
        let none = try take(shelf, 1_000)
        #expect(none.given <= 5)
    }

    @Test func fillsAtItsRateUpToItsSize() throws {
        let shelf = try Shelf()
        let moment = try now(shelf)
        try shelf.session.command("HSET", Self.key, "k", "0", "t", "\(moment - 10_000)")
        // Ten seconds at three a second; a slow machine adds a little.
        #expect((30...45).contains(try take(shelf, 90, perSecond: 3).given))
        try shelf.session.command("HSET", Self.key, "k", "0", "t", "\(moment - 3_600_000)")
        #expect(try take(shelf, 200, perSecond: 3).given == 100)
    }

    @Test func aGreedyLesseeLeavesTheOthersTheirPart() throws {
        let shelf = try Shelf()
        let moment = try now(shelf)
        // Two others want more than there is; they have asked just now.
        for name in ["b", "c"] {
            try shelf.session.command("HSET", Self.key, "l:\(name)", "\(moment) 1000 \(moment) 0")
        }
        #expect(try take(shelf, 1000).given == 33)
        #expect(try take(shelf, 1000, of: "b").given == 33)
        // Asking again before the last one doesn't take its part away.
        #expect(try take(shelf, 1000).given <= 1)
        let last = try take(shelf, 1000, of: "c")
        #expect((31...34).contains(last.given) && last.lessees == 3)
    }

    @Test func whatTheOthersDoNotWantIsNotKeptFromWhoDoes() throws {
        let shelf = try Shelf()
        let moment = try now(shelf)
        try shelf.session.command("HSET", Self.key, "l:b", "\(moment) 5 \(moment) 0")
        #expect(try take(shelf, 1000).given == 95)
        // Who hasn't asked for half a second is forgotten.
        try shelf.session.command("DEL", Self.key)
        try shelf.session.command("HSET", Self.key, "l:b", "\(moment - 600) 1000 \(moment - 600) 0")
        let all = try take(shelf, 1000)
        #expect(all.given == 100 && all.lessees == 1)
        #expect(try shelf.session.command("HEXISTS", Self.key, "l:b").integer == 0)
    }

    @Test func whoHasWaitedLongestGetsTheLastToken() throws {
        let shelf = try Shelf()
        let moment = try now(shelf)
        try shelf.session.command("HSET", Self.key, "k", "1", "t", "\(moment)")
        try shelf.session.command("HSET", Self.key, "l:a", "\(moment) 9 \(moment - 50) 3")
        try shelf.session.command("HSET", Self.key, "l:b", "\(moment) 9 \(moment - 90) 3")
        #expect(try take(shelf, 9, of: "a", capacity: 1).given == 0)
        #expect(try take(shelf, 9, of: "b", capacity: 1).given == 1)
    }

    @Test func aRefusalWithAWaitStopsEverythingAndThenRampsUp() throws {
        let shelf = try Shelf()
        _ = try take(shelf, 1, perSecond: 1000)
        #expect(try slow(shelf, waitMs: 30_000) == 1)
        let closed = try take(shelf, 10, perSecond: 1000)
        #expect(closed.given == 0 && closed.waitMs > 20_000 && closed.waitMs <= 30_000)
        // As time goes on: half a minute after the wait half the rate, a minute after it the whole.
        let moment = try now(shelf)
        for (sinceMs, low, high) in [
            (0, 10_000, 60_000), (30_000, 500_000, 560_000), (60_000, 1_000_000, 1_000_000),
        ] as [(Int64, Int64, Int64)] {
            try shelf.session.command(
                "HSET", Self.key, "u", "\(moment - sinceMs)", "k", "0", "t", "\(moment)")
            let pace = try take(shelf, 1, perSecond: 1000).pace
            #expect(pace >= low && pace <= high, "\(sinceMs) ms after the wait: \(pace)")
        }
    }

    @Test func nothingIsSavedUpForTheTimeAfterAWait() throws {
        let shelf = try Shelf()
        #expect(try slow(shelf, waitMs: 10_000) == 1)
        let moment = try now(shelf)
        try shelf.session.command(
            "HSET", Self.key, "u", "\(moment - 600)", "t", "\(moment - 10_600)")
        // Less than a second at a hundredth of the rate, not eleven at the whole.
        #expect(try take(shelf, 1000, perSecond: 1000, capacity: 250).given <= 30)
    }

    @Test func aRefusalWithoutAWaitHalvesTheRateAtMostOnceASecond() throws {
        let shelf = try Shelf()
        _ = try take(shelf, 1, perSecond: 1000)
        #expect(try slow(shelf, waitMs: 0) == 1)
        let pace = try take(shelf, 1, perSecond: 1000).pace
        #expect(pace >= 500_000 && pace < 700_000)
        let moment = try now(shelf)
        try shelf.session.command("HSET", Self.key, "u", "\(moment)")
        #expect(try slow(shelf, waitMs: 0) == 0)
        // A wait that is under way isn't shortened.
        #expect(try slow(shelf, waitMs: 60_000) == 1)
        #expect(try slow(shelf, waitMs: 1_000) == 1)
        #expect(try take(shelf, 1, perSecond: 1000).waitMs > 50_000)
    }

    @Test func anUnusedBucketGoesByItself() throws {
        let shelf = try Shelf()
        _ = try take(shelf, 1)
        let ttl = try shelf.session.command("PTTL", Self.key).integer ?? 0
        #expect(ttl > 60_000 && ttl <= 120_000)
    }
}

@Suite struct ReadTests {
    @Test func tenReadsOfADeviceShareOnePush() throws {
        let shelf = try Shelf()
        let directory = shelf.directory
        try directory.addUnread(20, of: "r")
        for number in 1...10 {
            let answer = try directory.read(.add(-1), of: "r", device: "phone", claimMs: 60_000)
            #expect(answer.unread == Int64(20 - number))
            #expect(answer.isOurs == (number == 1))
        }
        // Another device's read has to reach the first device, which its own push leaves out.
        #expect(try directory.read(.add(-1), of: "r", device: "tablet", claimMs: 60_000).isOurs)
        try directory.giveBackSync(of: "r", device: "phone")
        #expect(try directory.read(.set(3, asOfMs: 0), of: "r", device: "phone", claimMs: 60_000).isOurs)
        #expect(try directory.unread(of: "r") == 3)
        let ttl = try shelf.session.command("PTTL", "peal:sync:{shop:r}:phone").integer ?? 0
        #expect(ttl > 0 && ttl <= 60_000)
    }

    @Test func aReadObeysTheClientsTimeAndTheBounds() throws {
        let shelf = try Shelf()
        let directory = shelf.directory
        func read(_ change: UnreadChange) throws -> Int64 {
            try directory.read(change, of: "r", device: "", claimMs: 1000).unread
        }
        #expect(try read(.set(7, asOfMs: 1000)) == 7)
        #expect(try read(.set(3, asOfMs: 999)) == 7)
        #expect(try read(.set(2, asOfMs: 1000)) == 2)
        #expect(try read(.add(-9)) == 0)
        #expect(try read(.add(4)) == 4)
        #expect(try read(.set(1, asOfMs: 0)) == 1)
        #expect(try directory.setUnread(5, asOfMs: 999, of: "r") == 1)
    }
}
