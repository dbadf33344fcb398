import Core
import EventLoop
import Foundation
import Kafka
import Redis
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

@Suite(.serialized) struct DeliveryTests {
    @Test func aJobReachesEveryDeviceOfItsRecipientAndCountsOnce() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2))
        try rig.publish(
            #"{"id":"01J9ZK3V8Q7M4X2C6B5N1A0D9F","app":"shop","to":{"recipient":"anna"},"title":"Hi","body":"There","unread":1,"data":{"peal_job":"j1"}}"#,
            key: "shop/anna")
        #expect(rig.wait { rig.simulator.record.count >= 2 })
        let requests = rig.simulator.record.requests(job: "j1")
        #expect(requests.map(\.status) == [200, 200])
        #expect(Set(requests.map(\.token)) == [Tokens.apns(1), Tokens.fcm(2)])
        #expect(requests.allSatisfy { $0.badge == 1 })
        #expect(try rig.unread(of: "anna") == 1)
        #expect(rig.wait { rig.accepted == 2 })
        let outcomes = try rig.read("peal.outcomes")
        #expect(outcomes.count == 2)
        #expect(outcomes.allSatisfy { $0.key == "shop/anna" })
    }

    @Test func aRecipientsJobsGoOutInTheirOrderWithRisingBadges() throws {
        let rig = try Rig()
        defer { rig.stop() }
        for person in 0..<5 {
            try rig.register("p\(person)", device: "phone", .ios, token: Tokens.apns(100 + person))
        }
        let jobs = (0..<100).map { number in
            (
                key: "shop/p\(number % 5)",
                json:
                    #"{"id":"o-\#(number)","app":"shop","to":{"recipient":"p\#(number % 5)"},"title":"\#(number)","unread":1}"#
            )
        }
        try rig.publishMany(jobs)
        #expect(rig.wait { rig.simulator.record.count >= 100 })
        for person in 0..<5 {
            let badges = rig.simulator.record.requests(token: Tokens.apns(100 + person)).map {
                $0.badge ?? -1
            }
            #expect(badges == (1...20).map { Int64($0) })
        }
    }

    @Test func whatCanNotBeSentIsInTheDeadLettersWithItsReason() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        var random = SystemRandomNumberGenerator()
        let noise = (0..<900_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let long = String(repeating: "x", count: 20_000)
        let good = #"{"app":"shop","to":{"recipient":"anna"},"title":"fine"}"#
        let bad: [(key: String?, value: [UInt8]?, reason: String)] = [
            ("shop/anna", Array("{not json".utf8), "malformed_job"),
            (
                "nobody/anna", Array(#"{"app":"nobody","to":{"recipient":"anna"},"title":"x"}"#.utf8),
                "unknown_app"
            ),
            (
                "shop/anna", Array(#"{"app":"shop","to":{"recipient":"anna"},"titel":"x"}"#.utf8),
                "malformed_job"
            ),
            (
                "shop/anna", Array(#"{"app":"shop","to":{"recipient":"anna"},"body":"\#(long)"}"#.utf8),
                "oversize"
            ),
            (
                "shop/anna",
                Array(
                    #"{"app":"shop","to":{"recipient":"anna"},"title":"x","send_at":"9999-12-31T00:00:00Z"}"#
                        .utf8),
                "malformed_job"
            ),
            ("shop/anna", nil, "malformed_job"),
            (nil, Array(good.utf8), "malformed_job"),
            ("shop/anna", noise, "malformed_job"),
            (
                "shop/anna",
                Array(#"{"app":"shop","to":{"recipient":"anna"},"type":"background","title":"x"}"#.utf8),
                "contradictory_job"
            ),
        ]
        for item in bad { try rig.publish(bytes: item.value, key: item.key.map { Array($0.utf8) }) }
        try rig.publish(good, key: "shop/anna")
        #expect(rig.wait { rig.accepted == 1 })
        #expect(
            rig.wait {
                (rig.worker?.outcomes["dead"] ?? 0) + (rig.worker?.outcomes["rejected"] ?? 0)
                    == UInt64(bad.count)
            })
        let letters = try rig.read("peal.dead")
        #expect(letters.count == bad.count)
        for item in bad {
            let match = letters.first { $0.value == item.value ?? [] && $0.key == item.key ?? "" }
            #expect(match?.headers["peal-reason"] == item.reason)
            #expect(match?.headers["peal-detail"]?.isEmpty == false)
            #expect(match?.headers["peal-origin"]?.hasPrefix("peal.jobs.normal/") == true)
        }
        // The sentence names the field and never the content.
        let unknown = letters.first { String(decoding: $0.value, as: UTF8.self).contains("titel") }
        #expect(unknown?.headers["peal-detail"]?.contains("titel") == true)
    }

    @Test func deadTokensAreRemovedUnlessTheyWereRegisteredSince() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let now = Clock.wallMs
        // 410 with a timestamp one hour back: "4100", always, 0x0e10 seconds.
        let gone = "fa11fa11" + "4100" + "00" + "0e10" + String(repeating: "b", count: 46)
        try rig.register("old", device: "phone", .ios, token: gone, at: now - 7_200_000)
        try rig.register("new", device: "phone", .ios, token: gone.dropLast() + "c", at: now - 60_000)
        try rig.register(
            "droid", device: "phone", .android, token: Tokens.fcm(5) + "~UNREGISTERED", at: now - 60_000)
        for name in ["old", "new", "droid"] {
            try rig.publish(#"{"app":"shop","to":{"recipient":"\#(name)"},"title":"x"}"#, key: "shop/\(name)")
        }
        #expect(rig.wait { (try? rig.devices(of: "old")) == [] })
        #expect(rig.wait { (try? rig.devices(of: "droid")) == [] })
        #expect(try rig.devices(of: "new") == ["phone"])
        #expect(rig.wait { rig.worker?.outcomes["invalid_token"] == 2 })
    }

    @Test func aFailedDeliveryComesBackThroughTheRetryTopicUnderTheSameID() throws {
        let rig = try Rig(providers: "", retryYAML: "retry: {delays: {server: 1s, apns_server: 1s}}")
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        // The tablet fails once and then behaves.
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        try rig.publish(
            #"{"id":"again","app":"shop","to":{"recipient":"anna"},"title":"x","unread":1,"data":{"peal_job":"again"}}"#,
            key: "shop/anna")
        #expect(rig.wait(seconds: 30) { rig.accepted == 2 })
        let requests = rig.simulator.record.requests(job: "again")
        #expect(requests.count == 3)
        #expect(requests.count { $0.status == 503 } == 1)
        // One answer is counted once, although the delivery went through a retry topic.
        let isCountedOnce = rig.wait {
            let lines = ((try? rig.probe("/metrics")) ?? "").split(separator: "\n")
            return lines.contains { $0.hasPrefix("peal_answers_total") && $0.hasSuffix("} 1") }
        }
        #expect(isCountedOnce)
        #expect(requests.count { $0.token == Tokens.apns(1) } == 1)
        #expect(requests.allSatisfy { $0.badge == 1 })
        #expect(try rig.unread(of: "anna") == 1)
    }

    @Test func aDedupKeyIsDeliveredOnceAndAnAppWithoutCredentialsPrints() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("bert", device: "phone", .ios, token: Tokens.apns(2), app: "bare")
        for number in 0..<3 {
            try rig.publish(
                #"{"id":"d\#(number)","app":"shop","to":{"recipient":"anna"},"title":"x","dedup":"once","unread":1}"#,
                key: "shop/anna")
        }
        try rig.publish(#"{"app":"bare","to":{"recipient":"bert"},"title":"printed"}"#, key: "bare/bert")
        try rig.publish(#"{"app":"shop","to":{"recipient":"nobody"},"title":"x"}"#, key: "shop/nobody")
        try rig.publish(
            #"{"app":"shop","to":{"recipient":"anna"},"title":"x","expires_at":"2020-01-01T00:00:00Z"}"#,
            key: "shop/anna")
        #expect(rig.wait { rig.worker?.outcomes["duplicate"] == 2 })
        #expect(rig.wait { rig.worker?.outcomes["no_device"] == 1 })
        #expect(rig.wait { rig.worker?.outcomes["expired"] == 1 })
        #expect(rig.wait { rig.accepted == 2 })
        #expect(rig.simulator.record.count == 1)
        #expect(try rig.unread(of: "anna") == 1)
    }

    @Test func jobsWaitWhileRedisHangsAndGoOnByThemselves() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.publish(
            #"{"id":"a","app":"shop","to":{"recipient":"anna"},"title":"x","unread":1}"#, key: "shop/anna")
        #expect(rig.wait { rig.accepted == 1 })
        rig.redis.suspend()
        for number in 0..<50 {
            try rig.publish(
                #"{"id":"h\#(number)","app":"shop","to":{"recipient":"anna"},"title":"x","unread":1}"#,
                key: "shop/anna")
        }
        #expect(rig.wait { ((try? rig.probe("/readyz")) ?? "").contains("Redis") })
        #expect(try rig.probe("/livez") == "ok")
        #expect(rig.accepted == 1)
        rig.redis.resume()
        #expect(rig.wait(seconds: 30) { rig.accepted == 51 })
        #expect(try rig.unread(of: "anna") == 51)
        #expect(rig.wait { (try? rig.probe("/readyz")) == "ok" })
        let badges = rig.simulator.record.requests(token: Tokens.apns(1)).map { $0.badge ?? -1 }
        #expect(badges == (1...51).map { Int64($0) })
    }

    @Test func aRedisThatForgetsItsScriptsHoldsNoJobUp() throws {
        let rig = try Rig()
        defer { rig.stop() }
        for number in 0..<20 {
            try rig.register("r\(number)", device: "phone", .ios, token: Tokens.apns(number))
        }
        for round in 0..<5 {
            // Many recipients at once, so that several commands are under way when the first is refused.
            try rig.redisCommand("SCRIPT", "FLUSH")
            try rig.publishMany(
                (0..<20).map {
                    (
                        "shop/r\($0)",
                        #"{"id":"\#(round)-\#($0)","app":"shop","to":{"recipient":"r\#($0)"},"title":"x","unread":1}"#
                    )
                })
            #expect(rig.wait { rig.accepted == UInt64(20 * (round + 1)) })
        }
        #expect(rig.simulator.record.count == 100)
        #expect(try rig.unread(of: "r0") == 5)
    }

    @Test func aFullRedisHoldsJobsSaysSoAndIsNotAskedWithoutEnd() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        #expect(rig.wait { (try? rig.probe("/readyz")) == "ok" })
        try rig.redisCommand("CONFIG", "SET", "maxmemory", "1")
        for number in 0..<20 {
            try rig.publish(
                #"{"id":"f\#(number)","app":"shop","to":{"recipient":"anna"},"title":"x","unread":1}"#,
                key: "shop/anna")
        }
        #expect(rig.wait { ((try? rig.probe("/readyz")) ?? "").contains("Redis refuses") })
        #expect(rig.accepted == 0)
        let asked = try rig.probe("/metrics").split(separator: "\n")
            .first { $0.hasPrefix("peal_redis_scripts_total ") }
            .flatMap { Int($0.split(separator: " ").last ?? "") }
        #expect(try #require(asked) < 500)
        try rig.redisCommand("CONFIG", "SET", "maxmemory", "0")
        #expect(rig.wait { rig.accepted == 20 })
        #expect(try rig.unread(of: "anna") == 20)
        #expect(rig.wait { (try? rig.probe("/readyz")) == "ok" })
    }

    @Test func aBrokerThatIsAwayIsSaidAndJobsGoOnWhenItIsBack() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        let job = #"{"app":"shop","to":{"recipient":"anna"},"title":"x","unread":1}"#
        try rig.publish(job, key: "shop/anna")
        #expect(rig.wait { rig.accepted == 1 })
        rig.broker.setAll(isUp: false)
        #expect(rig.wait { ((try? rig.probe("/readyz")) ?? "").contains("Kafka") })
        #expect(try rig.probe("/livez") == "ok")
        rig.broker.setAll(isUp: true)
        try rig.publish(job, key: "shop/anna")
        #expect(rig.wait(seconds: 40) { rig.accepted == 2 })
        #expect(rig.wait(seconds: 40) { (try? rig.probe("/readyz")) == "ok" })
        #expect(try rig.unread(of: "anna") == 2)
    }

    @Test func aStopUnderLoadFinishesWhatItTookAndRepeatsNothing() throws {
        let rig = try Rig(simulated: { $0.delayMs = 20 })
        defer { rig.stop() }
        let jobs = (0..<4000).map { number in
            (
                key: "shop/t\(number)",
                json:
                    #"{"id":"s-\#(number)","app":"shop","to":{"token":"\#(Tokens.apns(number))","platform":"ios"},"title":"x","data":{"peal_job":"s-\#(number)"}}"#
            )
        }
        try rig.publishMany(jobs)
        #expect(rig.wait { rig.simulator.record.count >= 500 })
        rig.stopWorker()
        try rig.startWorker()
        #expect(rig.wait(seconds: 40) { rig.simulator.record.count >= 4000 })
        #expect(rig.simulator.record.summary().jobs == 4000)
        #expect(rig.simulator.record.summary().duplicates == 0)
    }
}
