import BroadcastKit
import Core
import EventLoop
import Kafka
import Redis
import Registry
import TestSupport
import Testing

/// Redis goes away in the middle of an expansion and comes back with its data.
@Suite(.serialized) struct RedisTroubleTests {
    enum Trouble: CaseIterable {
        case killed
        case hung

        func begin(_ redis: RedisServer) {
            switch self {
            case .killed: redis.kill()
            case .hung: redis.suspend()
            }
        }

        func end(_ redis: RedisServer) throws {
            switch self {
            case .killed: try redis.start()
            case .hung: redis.resume()
            }
        }
    }

    private static let count = 12_000
    private static let job = #"{"app":"shop","to":{"topic":"news"},"id":"sale","title":"Hi"}"#

    private func startSlowly(_ fixture: BroadcastFixture) throws -> ExpandService {
        try fixture.start {
            $0.recipientsMax = 1_024
            $0.partsActive = 2
        }
    }

    /// Begins a broadcast and the trouble in the middle of it; returns once the stage has felt it.
    private func begin(_ trouble: Trouble, _ fixture: BroadcastFixture) throws -> ExpandService {
        try fixture.follow("news", count: Self.count)
        let service = try startSlowly(fixture)
        fixture.broker.setRoundTrip(ms: 100)
        try fixture.publish(fixture.names.broadcasts, Self.job)
        #expect(try fixture.wait { try fixture.status("sale")?.recipients ?? 0 >= 1_000 })
        trouble.begin(fixture.redis)
        #expect(fixture.wait { !service.snapshot.isRedisReady })
        fixture.broker.setRoundTrip(ms: 0)
        // What was read before the trouble is all that gets out.
        #expect(fixture.wait { service.snapshot.inFlight == 0 })
        #expect(service.snapshot.recipients < UInt64(Self.count))
        return service
    }

    private func check(_ records: [BulkRecord]) {
        #expect(Set(records.map(\.key)).count == Self.count)
        // Copies are the same to the byte, which is what workers tell them by.
        #expect(
            Set(records.map { "\($0.key) \($0.value) \($0.headers["peal-origin"] ?? "")" }).count
                == Self.count)
    }

    @Test(arguments: Trouble.allCases)
    func theExpansionWaitsAndGoesOnWhereItWas(trouble: Trouble) throws {
        let fixture = try BroadcastFixture(persistence: .appendOnly)
        defer { fixture.stop() }
        let service = try begin(trouble, fixture)
        try trouble.end(fixture.redis)
        #expect(try fixture.wait(for: .done, of: "sale"))
        let status = try #require(try fixture.status("sale"))
        #expect(status.recipients == Int64(Self.count) && status.partsDone == 64)
        service.stop()
        // Nothing was forgotten in the stage, so nothing is written again.
        let records = try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: Self.count)
        #expect(records.count == Self.count)
        check(records)
        #expect(try fixture.committed(fixture.names.broadcastParts) == 64)
    }

    @Test(arguments: Trouble.allCases)
    func aStageThatDiesMeanwhileIsFollowedByOneThatWritesEveryoneAJob(trouble: Trouble) throws {
        let fixture = try BroadcastFixture(persistence: .appendOnly)
        defer { fixture.stop() }
        let service = try begin(trouble, fixture)
        service.abandon()
        // The next one starts while Redis is still away, and begins nothing.
        let next = try startSlowly(fixture)
        #expect(fixture.wait { next.snapshot.isMember })
        #expect(next.snapshot.recipients == 0)
        try trouble.end(fixture.redis)
        #expect(try fixture.wait(for: .done, of: "sale"))
        let status = try #require(try fixture.status("sale"))
        #expect(status.recipients == Int64(Self.count) && status.partsDone == 64)
        next.stop()
        let records = try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: Self.count)
        check(records)
        // Only what was not stored was written again.
        #expect(records.count <= Self.count + 1_024)
        #expect(try fixture.committed(fixture.names.broadcastParts) == 64)
    }

    /// A read that Redis refuses is not one that found nobody.
    @Test func aPageThatRedisRefusesToReadIsReadAgain() throws {
        let fixture = try BroadcastFixture()
        defer { fixture.stop() }
        try fixture.follow("news", count: 200)
        let key = RegistryKeys.subscribers(
            app: "shop", topic: "news", shard: SubscriberIndex.shard(of: "user-7"))
        _ = try fixture.session.command("RENAME", key, key + ":aside")
        _ = try fixture.session.command("SET", key, "not a hash")
        let service = try fixture.start()
        try fixture.publish(fixture.names.broadcasts, Self.job)
        #expect(fixture.wait { service.snapshot.redisFailures >= 2 })
        #expect(try fixture.status("sale")?.state != .done)
        _ = try fixture.session.command("DEL", key)
        _ = try fixture.session.command("RENAME", key + ":aside", key)
        #expect(try fixture.wait(for: .done, of: "sale"))
        #expect(try fixture.status("sale")?.recipients == 200)
        service.stop()
        let records = try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: 200)
        #expect(records.count == 200 && Set(records.map(\.key)).count == 200)
    }
}
