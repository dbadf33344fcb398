import Configuration
import Core
import EventLoop
import Foundation
import Kafka
import Redis
import SimulatorKit
import ProducerKit
import Registry
import Testing

@testable import WorkerKit

@Suite(.serialized) struct BadgeTests {
    /// A reproducible source of choices.
    private struct Choices: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            return Hash64.mix(state, 0xA076_1D64_78BD_642F)
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func badgesFollowAModelThroughRetriesReadsAndRedeliveries(seed: UInt64) throws {
        let rig = try Rig(retryYAML: "retry: {delays: {server: 1s}}")
        defer { rig.stop() }
        var choices = Choices(state: seed)
        let people = (0..<4).map { "p\(seed)-\($0)" }
        for (number, name) in people.enumerated() {
            try rig.register(name, device: "phone", .ios, token: Tokens.apns(number))
            try rig.register(name, device: "tablet", .android, token: Tokens.fcm(number) + "~UNAVAILABLE*2")
        }
        let session = try rig.openSession()
        defer { session.close() }
        let directory = DeviceDirectory(session: session, app: "shop")
        var model = [Int64](repeating: 0, count: people.count)
        // What each phone has to see, in this order.
        var badges = [[Int64]](repeating: [], count: people.count)
        var expected: UInt64 = 0
        for round in 0..<6 {
            var jobs: [(key: String, json: String)] = []
            for number in 0..<12 {
                let person = Int.random(in: 0..<people.count, using: &choices)
                let unread = Int64.random(in: 0...3, using: &choices)
                model[person] += unread
                badges[person].append(model[person])
                jobs.append(
                    (
                        "shop/\(people[person])",
                        #"{"id":"\#(round)-\#(number)","app":"shop","to":{"recipient":"\#(people[person])"},"title":"x","unread":\#(unread)}"#
                    ))
            }
            try rig.publishMany(jobs)
            expected += UInt64(jobs.count * 2)
            #expect(rig.wait(seconds: 60) { rig.accepted == expected })
            for person in people.indices {
                switch Int.random(in: 0..<4, using: &choices) {
                case 0:
                    let delta = Int64.random(in: 1...4, using: &choices)
                    model[person] = max(0, model[person] - delta)
                    #expect(try directory.addUnread(-delta, of: people[person]) == model[person])
                case 1:
                    model[person] = Int64.random(in: 0...2, using: &choices)
                    #expect(try directory.setUnread(model[person], of: people[person]) == model[person])
                default: break
                }
            }
        }
        for person in people.indices {
            let seen = rig.simulator.record.requests(token: Tokens.apns(person)).map { $0.badge ?? -1 }
            #expect(seen == badges[person], "seed \(seed)")
            #expect(try rig.unread(of: people[person]) == model[person], "seed \(seed)")
        }
        // Every record once more, by two workers of another group: nothing is counted twice.
        let others = try (0..<2).map { _ in try rig.startAnother { $0.worker.group = "again" } }
        defer { for other in others { other.stop() } }
        let isAllAgain = rig.wait(seconds: 60) {
            others.reduce(0) { $0 + ($1.outcomes["accepted"] ?? 0) } >= expected
        }
        #expect(isAllAgain)
        for person in people.indices {
            #expect(try rig.unread(of: people[person]) == model[person], "seed \(seed)")
        }
    }

    @Test func tenReadsInASecondGiveOnePushToEachOtherDevice() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("anna", device: "pad", .ios, token: Tokens.apns(2))
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(3))
        let session = try rig.openSession()
        defer { session.close() }
        let directory = DeviceDirectory(session: session, app: "shop")
        try directory.addUnread(20, of: "anna")
        var kafka = SendSettings()
        kafka.brokers = rig.broker.bootstrapServers
        kafka.tiers = rig.settings.topics.retryTiers
        let publisher = try #require(ReadPublisher(session: session, kafka: kafka))
        defer { publisher.close() }
        func read(_ change: UnreadChange) throws -> DeviceDirectory.ReadAnswer {
            try publisher.read(
                change, app: "shop", recipient: "anna", device: "phone", nowMs: Clock.wallMs)
        }
        // The first read connects the producer. After that the reads are quick.
        #expect(try read(.add(-1)).isOurs)
        #expect(rig.wait { rig.accepted == 2 })
        let before = rig.simulator.record.count
        let startMs = Clock.monotonicMs
        let published = try (0..<10).filter { _ in try read(.add(-1)).isOurs }.count
        // One a second, and one that had begun.
        #expect(published >= 1 && published <= 1 + Int((Clock.monotonicMs - startMs) / 1000))
        let isTold = rig.wait { rig.simulator.record.requests(token: Tokens.apns(2)).last?.badge == 9 }
        #expect(isTold)
        #expect(rig.wait { rig.accepted == UInt64(2 + 2 * published) })
        #expect(rig.simulator.record.count - before == 2 * published)
        #expect(rig.simulator.record.requests(token: Tokens.apns(1)).isEmpty)
        let push = try #require(rig.simulator.record.requests(token: Tokens.apns(2)).last)
        #expect(String(decoding: push.body, as: UTF8.self).contains(#""badge":9"#))
        #expect(!String(decoding: push.body, as: UTF8.self).contains("alert"))
        // The claim went when the worker took the push up: the next read is told as well.
        #expect(try read(.set(0, asOfMs: 0)).isOurs)
        #expect(rig.wait { rig.simulator.record.requests(token: Tokens.apns(2)).last?.badge == 0 })
        #expect(try rig.unread(of: "anna") == 0)
    }
}
