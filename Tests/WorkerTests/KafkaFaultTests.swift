import Core
import EventLoop
import Foundation
import Kafka
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

/// What a broker may do to a worker under load. Whatever it is: every job has one outcome and the counter is
/// exact.
@Suite(.serialized) struct KafkaFaultTests {
    private static let people = 40
    private static let each = 25

    /// Publishes a thousand jobs for forty people in two halves, with the fault between them.
    private func run(brokers: Int = 1, mayRepeat: Bool = false, _ fault: (Rig) throws -> Void) throws {
        let rig = try Rig(brokers: brokers, simulated: { $0.delayMs = 5 })
        defer { rig.stop() }
        for person in 0..<Self.people {
            try rig.register("p\(person)", device: "phone", .ios, token: Tokens.apns(person))
        }
        let jobs = (0..<Self.people * Self.each).map { number in
            (
                key: "shop/p\(number % Self.people)",
                json:
                    #"{"id":"k-\#(number)","app":"shop","to":{"recipient":"p\#(number % Self.people)"},"title":"x","unread":1,"data":{"peal_job":"k-\#(number)"}}"#
            )
        }
        try rig.publishMany(Array(jobs.prefix(jobs.count / 2)))
        #expect(rig.wait(seconds: 40) { rig.simulator.record.count >= 100 })
        try fault(rig)
        try rig.publishMany(Array(jobs.suffix(jobs.count / 2)))
        #expect(rig.wait(seconds: 90) { rig.simulator.record.summary().jobs == jobs.count })
        for person in 0..<Self.people {
            #expect(try rig.unread(of: "p\(person)") == Int64(Self.each))
        }
        if !mayRepeat { #expect(rig.simulator.record.summary().duplicates == 0) }
        var events: [String] = []
        #expect(
            try rig.wait(seconds: 60) {
                events = try rig.read("peal.outcomes").map { String(decoding: $0.value, as: UTF8.self) }
                return Set(events.compactMap(Self.jobName)).count == jobs.count
            })
        if !mayRepeat { #expect(events.count == jobs.count) }
        #expect(try rig.read("peal.dead").isEmpty)
    }

    private static func jobName(_ event: String) -> String? {
        guard let start = event.range(of: #""job":""#) else { return nil }
        return String(event[start.upperBound...].prefix { $0 != "\"" })
    }

    @Test(arguments: [KafkaErrorCode.coordinatorNotAvailable, .transport])
    func aCommitThatFailsIsMadeAgain(code: KafkaErrorCode) throws {
        try run { $0.broker.failNext(.offsetCommit, with: Array(repeating: code, count: 5)) }
    }

    @Test(arguments: [KafkaErrorCode.notLeader, .transport])
    func anOutcomeThatTheBrokerRefusesIsProducedAgain(code: KafkaErrorCode) throws {
        try run { $0.broker.failNext(.produce, with: Array(repeating: code, count: 10)) }
    }

    @Test(arguments: [KafkaErrorCode.notLeader, .unknownTopicOrPartition])
    func aFetchThatFailsIsMadeAgain(code: KafkaErrorCode) throws {
        try run { $0.broker.failNext(.fetch, with: Array(repeating: code, count: 10)) }
    }

    @Test func aCoordinatorThatMovesCostsNothing() throws {
        try run(brokers: 3) { rig in
            for broker in [2, 3, 1, 2] as [Int32] {
                for lane in Rig.lanes {
                    rig.broker.setCoordinator(group: "peal-worker.\(lane)", broker: broker)
                }
                usleep(300_000)
            }
        }
    }

    @Test func aPartitionWithoutALeaderWaits() throws {
        try run(brokers: 3) { rig in
            for partition in 0..<4 as Range<Int32> {
                rig.broker.setLeader(topic: "peal.jobs.normal", partition: partition, broker: nil)
            }
            usleep(2_000_000)
            for partition in 0..<4 as Range<Int32> {
                rig.broker.setLeader(
                    topic: "peal.jobs.normal", partition: partition, broker: partition % 3 + 1)
            }
        }
    }

    @Test func aGroupThatForgetsItsMemberIsJoinedAgain() throws {
        // What was in flight when the membership was lost may come again; nothing else may.
        try run(mayRepeat: true) {
            $0.broker.failNext(.heartbeat, with: Array(repeating: .unknownMember, count: 6))
            usleep(3_000_000)
        }
    }

    @Test func aSlowBrokerIsWaitedFor() throws {
        try run { rig in
            rig.broker.setRoundTrip(ms: 700)
            usleep(3_000_000)
            rig.broker.setRoundTrip(ms: 0)
        }
    }
}
