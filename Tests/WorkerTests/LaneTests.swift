import Core
import EventLoop
import Foundation
import SimulatorKit
import Testing

@testable import WorkerKit

@Suite(.serialized) struct LaneTests {
    private func job(_ id: String, _ number: Int) -> (key: String, json: String) {
        (
            "shop/t\(number)",
            #"{"id":"\#(id)","app":"shop","to":{"token":"\#(Tokens.apns(number))","platform":"ios"},"title":"x","data":{"peal_job":"\#(id)"}}"#
        )
    }

    @Test func urgentJobsPassALongBacklogOfBulkJobs() throws {
        let bulk = 30_000
        let rig = try Rig(
            partitions: 8, worker: "  in_flight: 128", startsWorker: false, simulated: { $0.delayMs = 40 })
        defer { rig.stop() }
        try rig.publishMany((0..<bulk).map { job("b\($0)", $0) }, lane: "bulk")
        try rig.startWorker()
        #expect(rig.wait(seconds: 60) { rig.simulator.record.count > 500 })
        // Ten a second.
        var published: [Int] = []
        for number in 0..<30 {
            published.append(rig.simulator.record.count)
            let urgent = job("u\(number)", 100_000 + number)
            try rig.publish(urgent.json, key: urgent.key, lane: "urgent")
            usleep(100_000)
        }
        #expect(
            rig.wait(seconds: 30) {
                (0..<30).allSatisfy { !rig.simulator.record.requests(job: "u\($0)").isEmpty }
            })
        var overtaken = 0
        for (number, before) in published.enumerated() {
            let request = try #require(rig.simulator.record.requests(job: "u\(number)").first)
            #expect(request.status == 200)
            overtaken = max(overtaken, request.index - before)
        }
        // What was in flight already, several times over; waiting its turn it would have been some 20,000.
        #expect(overtaken < 4000)
        #expect(rig.simulator.record.count < bulk)
    }
}
