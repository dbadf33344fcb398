import Core
import Foundation
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

@Suite(.serialized) struct CollapseTests {
    private static let retry = "retry: {delays: {server: 1s, apns_server: 1s}}"

    private func job(_ id: String, _ target: String, collapse: String) -> String {
        #"{"id":"\#(id)","app":"shop","to":\#(target),"title":"x","collapse":"\#(collapse)","data":{"peal_job":"\#(id)"}}"#
    }

    /// Publishes an older job whose first attempt fails, and a newer one before it comes back.
    private func race(target: String, key: String, newerCollapse: String) throws -> (
        older: [Int], newer: [Int], events: [String]
    ) {
        let rig = try Rig(retryYAML: Self.retry)
        defer { rig.stop() }
        try rig.register("anna", device: "pixel", .android, token: Tokens.fcm(1) + "~UNAVAILABLE*1")
        try rig.publish(job("older", target, collapse: "score"), key: key)
        #expect(rig.wait { rig.simulator.record.requests(job: "older").count == 1 })
        try rig.publish(job("newer", target, collapse: newerCollapse), key: key)
        #expect(rig.wait { rig.simulator.record.requests(job: "newer").count == 1 })
        let sum = { (rig.worker?.outcomes["accepted"] ?? 0) + (rig.worker?.outcomes["expired"] ?? 0) }
        #expect(rig.wait(seconds: 40) { sum() == 2 })
        let events = try rig.read("peal.outcomes").map { String(decoding: $0.value, as: UTF8.self) }
        return (
            rig.simulator.record.requests(job: "older").map { Int($0.status) },
            rig.simulator.record.requests(job: "newer").map { Int($0.status) }, events
        )
    }

    private let recipient = #"{"recipient":"anna"}"#
    private let token = #"{"token":"\#(Tokens.fcm(7))~UNAVAILABLE*1","platform":"android"}"#

    @Test func aRetriedJobDoesNotReplaceANewerOneOfItsCollapseID() throws {
        for target in [recipient, token] {
            let seen = try race(
                target: target, key: target == recipient ? "shop/anna" : "shop/t", newerCollapse: "score")
            #expect(seen.older == [503])
            #expect(seen.newer == [200])
            let superseded = seen.events.filter { $0.contains(#""reason":"superseded""#) }
            #expect(superseded.count == 1)
            #expect(superseded.allSatisfy { $0.contains(#""job":"older""#) && $0.contains("expired") })
            #expect(seen.events.count == 2)
        }
    }

    @Test func aJobOfAnotherCollapseIDStandsInNobodysWay() throws {
        let seen = try race(target: recipient, key: "shop/anna", newerCollapse: "weather")
        #expect(seen.older == [503, 200])
        #expect(seen.newer == [200])
    }

    @Test func aMarkThatRedisRefusesIsLeftLater() throws {
        let rig = try Rig(
            retryYAML: "retry: {delays: {server: 8s, apns_server: 8s}}", simulated: { $0.delayMs = 1500 })
        defer { rig.stop() }
        try rig.register("anna", device: "pixel", .android, token: Tokens.fcm(1) + "~UNAVAILABLE*1")
        try rig.publish(job("older", recipient, collapse: "score"), key: "shop/anna")
        #expect(rig.wait { ((try? rig.metric("peal_deliveries_open")) ?? 0) == 1 })
        // Full when the first attempt fails: the mark can't be written then.
        try rig.redisCommand("CONFIG", "SET", "maxmemory", "1")
        #expect(rig.wait { ((try? rig.metric("peal_deliveries_retried_total")) ?? 0) == 1 })
        #expect(rig.wait { ((try? rig.metric("peal_jobs_open")) ?? 0) == 1 })
        try rig.redisCommand("CONFIG", "SET", "maxmemory", "0")
        #expect(rig.wait { ((try? rig.metric("peal_jobs_open")) ?? 1) == 0 })
        try rig.publish(job("newer", recipient, collapse: "score"), key: "shop/anna")
        #expect(rig.wait(seconds: 40) { rig.accepted == 1 && rig.worker?.outcomes["expired"] == 1 })
        #expect(rig.simulator.record.requests(job: "older").map { Int($0.status) } == [503])
        #expect(rig.simulator.record.requests(job: "newer").map { Int($0.status) } == [200])
    }

    @Test func positionsAreComparedWithinOneLifeOfATopic() {
        func place(_ partition: Int32, _ offset: Int64, _ ms: Int64) -> JobPosition {
            JobPosition(lane: 0, topicHash: 7, partition: partition, offset: offset, timestampMs: ms)
        }
        let now: Int64 = 1_800_000_000_000
        #expect(place(0, 6, now).isNewer(than: place(0, 5, now)))
        #expect(!place(0, 5, now).isNewer(than: place(0, 6, now)))
        #expect(!place(0, 5, now).isNewer(than: place(0, 5, now)))
        // Producers' clocks differ by a little; a new life of the topic begins again below.
        #expect(place(0, 6, now - 1000).isNewer(than: place(0, 5, now)))
        #expect(place(0, 5, now + 7_200_000).isNewer(than: place(0, 6, now)))
        #expect(!place(0, 6, now).isNewer(than: place(0, 5, now + 7_200_000)))
        #expect(place(1, 5, now + 1).isNewer(than: place(0, 9, now)))
        for text in ["", "1", "1.2.3", "x.0007.1.2", "0.zzzz.1.2", "0.0007.1.2.3"] {
            let parsed = Array(text.utf8).withUnsafeBytes { JobPosition(identity: $0, lane: 0) }
            #expect(parsed == nil)
        }
    }
}
