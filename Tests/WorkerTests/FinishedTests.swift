import Core
import EventLoop
import Foundation
import Redis
import SimulatorKit
import Testing

@testable import WorkerKit

/// What a successor skips, and what a worker that stood still must not do: with processes, on a real broker's
/// protocol and a real redis-server.
@Suite(.serialized) struct FinishedTests {
    private func job(_ number: Int, prefix: String) -> (key: String, json: String) {
        let token = Tokens.apns(number)
        let id = "\(prefix)-\(number)"
        return (
            key: "shop/t\(number)",
            json:
                #"{"id":"\#(id)","app":"shop","to":{"token":"\#(token)","platform":"ios"},"title":"x","data":{"peal_job":"\#(id)"}}"#
        )
    }

    private func bits(_ rig: Rig) throws -> Int {
        var sum = 0
        for partition in 0..<4 {
            let key = "peal:done:peal-worker.normal:peal.jobs.normal:\(partition):0"
            sum += Int(try rig.redisInteger("BITCOUNT", key, "16", "-1"))
        }
        return sum
    }

    @Test func aSuccessorSkipsWhatWasFinishedAboveTheCommit() throws {
        // No commit for ten seconds: whatever is not repeated was skipped because of Redis.
        let rig = try Rig(startsWorker: false, commitInterval: "10s")
        defer { rig.stop() }
        let first = try ProcessTests.spawn(rig)
        try rig.publishMany((0..<2000).map { job($0, prefix: "a") })
        #expect(rig.wait(seconds: 40) { rig.simulator.record.count >= 2000 })
        #expect(try rig.wait { try bits(rig) == 2000 })
        kill(first.processIdentifier, SIGKILL)
        first.waitUntilExit()
        try rig.startWorker()
        try rig.publishMany((0..<100).map { job($0, prefix: "b") })
        #expect(rig.wait(seconds: 60) { rig.simulator.record.count >= 2100 })
        #expect(rig.simulator.record.summary().duplicates == 0)
        #expect(rig.simulator.record.count == 2100)
        let line = "peal_lane_skipped_total{lane=\"normal\"} 2000"
        #expect(rig.wait { ((try? rig.probe("/metrics")) ?? "").contains(line) })
    }

    @Test func anotherLifeOfTheTopicIsNotSkipped() throws {
        let rig = try Rig(commitInterval: "10s")
        defer { rig.stop() }
        try rig.publishMany((0..<200).map { job($0, prefix: "a") })
        #expect(try rig.wait { try bits(rig) == 200 })
        rig.stopWorker()
        // The broker begins anew beside a Redis that didn't: the same offsets hold other jobs.
        let other = try Rig(startsWorker: false, commitInterval: "10s", redis: rig.redis)
        defer { other.stop() }
        try other.publishMany((0..<200).map { job($0, prefix: "b") })
        try other.startWorker()
        #expect(other.wait(seconds: 40) { other.simulator.record.count >= 200 })
        #expect(other.simulator.record.summary().jobs == 200)
        #expect(try other.wait { try bits(other) == 200 })
    }

    @Test func redisThatLostItsDataGetsItAgain() throws {
        let rig = try Rig(commitInterval: "10s")
        defer { rig.stop() }
        try rig.publishMany((0..<300).map { job($0, prefix: "a") })
        #expect(try rig.wait { try bits(rig) == 300 })
        try rig.redisCommand("FLUSHALL")
        // A write that carries only what changed must not pass for the whole.
        try rig.redisCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        #expect(try rig.wait(seconds: 30) { try bits(rig) == 300 })
    }

    @Test func withoutRedisRecordsWaitUntilItIsKnownWhatIsFinished() throws {
        let rig = try Rig(startsWorker: false, commitInterval: "10s")
        defer { rig.stop() }
        try rig.publishMany((0..<50).map { job($0, prefix: "a") })
        rig.redis.suspend()
        try rig.startWorker()
        #expect(rig.wait(seconds: 40) { ((try? rig.probe("/readyz")) ?? "").contains("Redis") })
        usleep(2_000_000)
        #expect(rig.simulator.record.count == 0)
        rig.redis.resume()
        #expect(rig.wait(seconds: 40) { rig.simulator.record.count >= 50 })
        #expect(rig.simulator.record.summary().duplicates == 0)
    }

    @Test func aRebalanceUnderLoadRepeatsNothing() throws {
        let rig = try Rig(startsWorker: false, simulated: { $0.delayMs = 10 })
        defer { rig.stop() }
        let first = try ProcessTests.spawn(rig)
        defer { first.terminate() }
        try rig.publishMany((0..<3000).map { job($0, prefix: "a") })
        #expect(rig.wait(seconds: 40) { rig.simulator.record.count >= 500 })
        let second = try ProcessTests.spawn(rig)
        // Jobs flow while the group changes, twice.
        var sent = 0
        for round in 0..<30 {
            try rig.publishMany((0..<200).map { job(round * 200 + $0, prefix: "b") })
            sent += 200
            usleep(300_000)
        }
        second.terminate()
        #expect(rig.wait(seconds: 30) { !second.isRunning })
        #expect(second.terminationStatus == 0)
        #expect(rig.wait(seconds: 60) { rig.simulator.record.summary().jobs == 3000 + sent })
        #expect(rig.settledRequestCount() == 3000 + sent)
        #expect(rig.simulator.record.summary().duplicates == 0)
    }

    @Test func aWorkerThatWasStoppedPastItsSessionSendsNothingThatItHadQueued() throws {
        let rig = try Rig(startsWorker: false, simulated: { $0.delayMs = 200 })
        defer { rig.stop() }
        let first = try ProcessTests.spawn(rig)
        #expect(
            rig.wait(seconds: 40) {
                (try? rig.publishMany((0..<1).map { job($0, prefix: "warm") })) != nil
                    && rig.simulator.record.count >= 1
            })
        try rig.publishMany((0..<9000).map { job($0, prefix: "z") })
        #expect(rig.wait { rig.simulator.record.count >= 1500 })
        kill(first.processIdentifier, SIGSTOP)
        // A second worker takes the partitions over when the first one's session has ended.
        let second = try ProcessTests.spawn(rig)
        defer { second.terminate() }
        #expect(rig.wait(seconds: 90) { rig.simulator.record.summary().jobs == 9001 })
        usleep(3_000_000)
        let before = rig.settledRequestCount()
        kill(first.processIdentifier, SIGCONT)
        usleep(4_000_000)
        // Only what was written to a socket before the stop may still arrive.
        #expect(rig.settledRequestCount() - before <= 64)
        first.terminate()
        #expect(rig.wait(seconds: 40) { !first.isRunning })
        #expect(first.terminationStatus == 0)
    }
}
