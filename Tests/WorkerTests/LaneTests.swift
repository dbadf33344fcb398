import Core
import EventLoop
import Foundation
import SimulatorKit
import Testing

@testable import WorkerKit

@Suite(.serialized) struct LaneTests {
    private func job(_ id: String, _ number: Int, _ platform: String) -> (key: String, json: String) {
        let token = platform == "ios" ? Tokens.apns(number) : Tokens.fcm(number)
        return (
            "shop/t\(number)",
            #"{"id":"\#(id)","app":"shop","to":{"token":"\#(token)","platform":"\#(platform)"},"title":"x","data":{"peal_job":"\#(id)"}}"#
        )
    }

    /// Publishes thirty urgent jobs, ten a second, while the bulk jobs are under way.
    /// - Returns: the most requests that were made between the publication of one and its own request.
    private func overtaken(_ rig: Rig, bulk: Int, _ platform: String) throws -> Int {
        #expect(rig.wait(seconds: 60) { rig.simulator.record.count > 500 })
        var published: [Int] = []
        for number in 0..<30 {
            published.append(rig.simulator.record.count)
            let urgent = job("u\(number)", 100_000 + number, platform)
            try rig.publish(urgent.json, key: urgent.key, lane: "urgent")
            usleep(100_000)
        }
        #expect(
            rig.wait(seconds: 30) {
                (0..<30).allSatisfy { !rig.simulator.record.requests(job: "u\($0)").isEmpty }
            })
        #expect(rig.simulator.record.count < bulk)
        var most = 0
        for (number, before) in published.enumerated() {
            let request = try #require(rig.simulator.record.requests(job: "u\(number)").first)
            #expect(request.status == 200)
            most = max(most, request.index - before)
        }
        return most
    }

    @Test func urgentJobsPassALongBacklogOfBulkJobs() throws {
        let bulk = 30_000
        let rig = try Rig(
            partitions: 8, apps: ControlTests.apps, worker: "  in_flight: 128", startsWorker: false,
            simulated: { $0.delayMs = 40 })
        defer { rig.stop() }
        try rig.publishMany((0..<bulk).map { job("b\($0)", $0, "ios") }, lane: "bulk")
        try rig.startWorker()
        // What was in flight already, many times over; waiting its turn it would have been some 20,000.
        #expect(try overtaken(rig, bulk: bulk, "ios") < 4000)
    }

    @Test func urgentJobsPassWhatWaitsInTheWorkerForASlowProvider() throws {
        // About 1,250 requests a second; the bulk lane hands the shards several times as many at once.
        let bulk = 20_000
        let rig = try Rig(
            partitions: 8, apps: ControlTests.apps, providers: "    streams_max: 25\n    connections_max: 1",
            startsWorker: false, simulated: { $0.delayMs = 40 })
        defer { rig.stop() }
        try rig.publishMany((0..<bulk).map { job("b\($0)", $0, "android") }, lane: "bulk")
        try rig.startWorker()
        // Waiting its turn behind what the shards hold it would be some 15,000.
        #expect(try overtaken(rig, bulk: bulk, "android") < 6000)
    }
}
