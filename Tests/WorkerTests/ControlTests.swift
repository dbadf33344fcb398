import Core
import Decisions
import EventLoop
import Redis
import Registry
import Foundation
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

/// The kill switch on a real worker.
@Suite(.serialized) struct ControlTests {
    static let apps = """
          shop:
            apns: {key_file: key.p8, key_id: SIMKEY0001, team_id: SIMTEAM001, topic: com.example.shop}
            fcm: {service_account_file: account.json}
          bank:
            apns: {key_file: key.p8, key_id: SIMKEY0001, team_id: SIMTEAM001, topic: com.example.bank}
        """

    private func store(_ rig: Rig) throws -> ControlStore {
        var options = RedisClientOptions.patient(rig.redis.endpoint)
        options.scripts = ControlStore.scripts
        return ControlStore(session: try RedisSession(options: options))
    }

    /// Writes an entry and waits until the worker's beat says that it obeys.
    private func set(_ entry: ControlEntry, _ store: ControlStore, _ rig: Rig) throws {
        let version = try store.set(entry)
        #expect(try rig.wait { try obey(version, store) })
    }

    private func obey(_ version: Int64, _ store: ControlStore) throws -> Bool {
        let pods = try store.pods()
        return !pods.isEmpty && pods.allSatisfy { $0.version >= version }
    }

    private func job(
        _ id: String, _ app: String, _ recipient: String, _ more: String = ""
    ) -> (key: String, json: String) {
        (
            "\(app)/\(recipient)",
            #"{"id":"\#(id)","app":"\#(app)","to":{"recipient":"\#(recipient)"},"title":"x","unread":1,"data":{"peal_job":"\#(id)"}\#(more)}"#
        )
    }

    private func register(_ rig: Rig, _ count: Int) throws {
        for number in 0..<count {
            try rig.register("r\(number)", device: "d", .ios, token: Tokens.apns(number))
            try rig.register("r\(number)", device: "d", .ios, token: Tokens.apns(9000 + number), app: "bank")
        }
    }

    private func requests(_ rig: Rig, _ prefix: String, _ count: Int) -> Int {
        (0..<count).reduce(0) { $0 + rig.simulator.record.requests(job: "\(prefix)\($1)").count }
    }

    @Test func aPausedAppsJobsAreKeptWhileAnotherAppGoesOnAndAllAreSentOnceAfterTheResume() throws {
        let rig = try Rig(apps: Self.apps)
        defer { rig.stop() }
        let store = try store(rig)
        try register(rig, 10)
        try set(ControlEntry(.app("shop"), .pause, atMs: Clock.wallMs, reason: "test"), store, rig)
        var jobs: [(key: String, json: String)] = []
        for number in 0..<40 {
            jobs.append(job("s\(number)", "shop", "r\(number % 10)"))
            jobs.append(job("b\(number)", "bank", "r\(number % 10)"))
        }
        try rig.publishMany(jobs)
        #expect(rig.wait { rig.accepted == 40 })
        #expect(requests(rig, "b", 40) == 40)
        #expect(requests(rig, "s", 40) == 0)
        #expect(try rig.unread(of: "r1") == 0)
        // Kept for several rounds in the retry topics.
        #expect(rig.wait { (try? paused(rig)) ?? 0 >= 80 })
        #expect(requests(rig, "s", 40) == 0)
        #expect(try store.remove(.app("shop")) != nil)
        #expect(rig.wait(seconds: 60) { rig.accepted == 80 })
        #expect(requests(rig, "s", 40) == 40)
        // A wait is no attempt, and what is kept was counted by nobody.
        let outcomes = try rig.read("peal.outcomes").map { String(decoding: $0.value, as: UTF8.self) }
        #expect(outcomes.count == 80)
        #expect(
            outcomes.allSatisfy { $0.contains(#""outcome":"accepted""#) && $0.contains(#""attempts":1,"#) })
        for number in 0..<10 { #expect(try rig.unread(of: "r\(number)") == 4) }
    }

    private func paused(_ rig: Rig) throws -> Int {
        try rig.metric("peal_jobs_paused_total")
    }

    @Test func aPausedProviderKeepsItsOwnDeliveriesOfAJobAndLetsTheOthersGo() throws {
        let rig = try Rig(apps: Self.apps)
        defer { rig.stop() }
        let store = try store(rig)
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2))
        try set(ControlEntry(.provider(.apns, app: nil), .pause, atMs: Clock.wallMs), store, rig)
        try rig.publishMany([job("a", "shop", "anna")])
        #expect(rig.wait { rig.accepted == 1 })
        #expect(rig.simulator.record.requests(token: Tokens.fcm(2)).count == 1)
        // It comes back, is kept back once more without asking Redis, and is owed to the phone alone.
        #expect(rig.wait { (try? paused(rig)) ?? 0 >= 1 })
        #expect(rig.simulator.record.requests(token: Tokens.apns(1)).isEmpty)
        #expect(try store.remove(.provider(.apns, app: nil)) != nil)
        #expect(rig.wait(seconds: 60) { rig.accepted == 2 })
        #expect(rig.simulator.record.requests(token: Tokens.apns(1)).map(\.badge) == [1])
        #expect(rig.simulator.record.count == 2)
        #expect(try rig.unread(of: "anna") == 1)
    }

    @Test func aPausedCampaignIsKeptAndACancelledOneEndsWithOneOutcomeEach() throws {
        let rig = try Rig(apps: Self.apps)
        defer { rig.stop() }
        let store = try store(rig)
        try register(rig, 10)
        try set(
            ControlEntry(.campaign(app: "shop", name: "spring \u{e9}"), .pause, atMs: Clock.wallMs), store,
            rig)
        let jobs = (0..<60).map {
            job("c\($0)", "shop", "r\($0 % 10)", $0 % 2 == 0 ? #","campaign":"spring \u00e9""# : "")
        }
        try rig.publishMany(jobs)
        #expect(rig.wait { rig.accepted == 30 })
        #expect(rig.wait { (try? paused(rig)) ?? 0 >= 30 })
        try set(
            ControlEntry(.campaign(app: "shop", name: "spring \u{e9}"), .cancel, atMs: Clock.wallMs), store,
            rig)
        #expect(rig.wait(seconds: 60) { rig.worker?.outcomes["cancelled"] == 30 })
        #expect(rig.accepted == 30)
        let events = try rig.read("peal.outcomes").map { String(decoding: $0.value, as: UTF8.self) }
        #expect(events.count == 60)
        #expect(events.filter { $0.contains(#""outcome":"cancelled""#) }.count == 30)
        #expect(rig.simulator.record.count == 30)
        // Redis' tallies say the same once they are flushed.
        #expect(try rig.wait { try rig.total("cancelled", app: "shop") == 30 })
        #expect(try rig.total("accepted", app: "shop") == 30)
    }

    @Test func aScheduledJobIsCancelledByItsIdAndGivesItsDedupKeyBack() throws {
        let rig = try Rig(apps: Self.apps)
        defer { rig.stop() }
        let store = try store(rig)
        try register(rig, 2)
        let soon = Timestamp.rfc3339(ms: Clock.wallMs + 4000)
        try rig.publishMany([
            job("later", "shop", "r0", #","send_at":"\#(soon)","dedup":"k""#),
            job("other", "shop", "r1", #","send_at":"\#(soon)""#),
        ])
        try set(ControlEntry(.job(app: "shop", id: "later"), .cancel, atMs: Clock.wallMs), store, rig)
        #expect(rig.wait { rig.worker?.outcomes["cancelled"] == 1 })
        #expect(rig.wait { rig.accepted == 1 })
        #expect(rig.simulator.record.requests(job: "other").count == 1)
        #expect(rig.simulator.record.requests(job: "later").isEmpty)
        try rig.publishMany([job("again", "shop", "r0", #","dedup":"k""#)])
        #expect(rig.wait { rig.accepted == 2 })
        #expect(try rig.unread(of: "r0") == 1)
    }

    @Test func whatReachesItsDeadlineDuringAPauseExpires() throws {
        let rig = try Rig(apps: Self.apps)
        defer { rig.stop() }
        let store = try store(rig)
        try register(rig, 2)
        try set(ControlEntry(.app("shop"), .pause, atMs: Clock.wallMs - 3_600_000), store, rig)
        try rig.publishMany([job("short", "shop", "r0", #","ttl":3"#), job("long", "shop", "r1")])
        // The pause is an hour old, so rounds take a minute: the deadline cuts the short one's.
        #expect(rig.wait(seconds: 30) { rig.worker?.outcomes["expired"] == 1 })
        #expect(rig.simulator.record.count == 0)
    }

    @Test func everyWorkerObeysAndAFieldWrittenByHandCountsToo() throws {
        let rig = try Rig(apps: Self.apps)
        defer { rig.stop() }
        let second = try ProcessTests.spawn(rig)
        defer {
            second.terminate()
            second.waitUntilExit()
        }
        let store = try store(rig)
        #expect(try rig.wait { try store.pods().count == 2 && obey(0, store) })
        try rig.redisCommand("HSET", "peal:control", "app:shop", "by hand")
        try rig.redisCommand("HINCRBY", "peal:control", "version", "1")
        #expect(try rig.wait { try obey(1, store) })
        #expect(try store.pods().count == 2)
        try register(rig, 4)
        try rig.publishMany((0..<20).map { job("h\($0)", "shop", "r\($0 % 4)") })
        #expect(rig.settledRequestCount() == 0)
        try rig.redisCommand("DEL", "peal:control")
        #expect(rig.wait(seconds: 60) { rig.simulator.record.count == 20 })
    }

    @Test func aSwitchThatCanNotBeReadStopsNobody() throws {
        let rig = try Rig(apps: Self.apps, startsWorker: false)
        defer { rig.stop() }
        try rig.redisCommand("SET", "peal:control", "not a hash")
        try rig.startWorker()
        try register(rig, 1)
        try rig.publishMany([job("a", "shop", "r0")])
        #expect(rig.wait { rig.accepted == 1 })
    }
}
