import Core
import Decisions
import EventLoop
import Foundation
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

/// What goes wrong with one app or provider stays with it.
@Suite(.serialized) struct IsolationTests {
    private static let fourApps = ["a", "b", "c", "d"].map {
        """
          \($0):
            apns: {key_file: key.p8, key_id: SIMKEY0001, team_id: SIMTEAM001, topic: com.example.\($0)}
        """
    }.joined(separator: "\n")

    private static let twoProviders = """
          shop:
            apns: {key_file: key.p8, key_id: SIMKEY0001, team_id: SIMTEAM001, topic: com.example.shop}
          droid:
            fcm: {service_account_file: account.json}
        """

    private func job(
        _ number: Int, _ app: String, platform: String, recipient: String? = nil
    ) -> (key: String, json: String) {
        let token = platform == "ios" ? Tokens.apns(number) : Tokens.fcm(number)
        return (
            "\(app)/\(recipient ?? "t\(number)")",
            #"{"id":"\#(app)-\#(number)","app":"\#(app)","to":{"token":"\#(token)","platform":"\#(platform)"},"title":"x","data":{"peal_job":"\#(app)-\#(number)"}}"#
        )
    }

    /// Requests that were answered with an acceptance, by app.
    private func finished(_ rig: Rig, _ apps: [String]) -> Int {
        var count = 0
        rig.simulator.record.forEach { request in
            if request.status == 200, apps.contains(where: { request.job.hasPrefix($0 + "-") }) { count += 1 }
        }
        return count
    }

    /// `recipients` is how many each app has: with few of them the jobs stand in queues behind each other.
    @Test(arguments: [200, 3]) func anAppWhoseProviderNeverAnswersLeavesTheOthersTheirRoom(recipients: Int)
        throws
    {
        let rig = try Rig(apps: Self.fourApps, worker: "  in_flight: 64")
        defer { rig.stop() }
        try rig.simulator.setFaults(
            #"{"rules":[{"topic":"com.example.a","answer":{"action":"swallow"}}]}"#)
        var jobs: [(key: String, json: String)] = []
        for number in 0..<200 {
            for (place, app) in ["a", "b", "c", "d"].enumerated() {
                jobs.append(
                    job(number * 4 + place, app, platform: "ios", recipient: "r\(number % recipients)"))
            }
        }
        try rig.publishMany(jobs)
        #expect(rig.wait(seconds: 12) { finished(rig, ["b", "c", "d"]) >= 540 })
        #expect(finished(rig, ["a"]) == 0)
        #expect(rig.wait { (try? rig.metric("peal_share_waits_total")) ?? 0 > 0 })
        // Nothing of it was lost: with its provider back, all of it arrives.
        rig.simulator.clearFaults()
        #expect(rig.wait(seconds: 120) { rig.accepted == 800 })
        #expect(rig.wait { (try? rig.metric("peal_apps_stuck")) == 0 })
    }

    @Test func aProviderThatNeverAnswersSeveralAppsLeavesTheOtherProviderItsRoom() throws {
        let apps = Self.twoProviders + "\n  tab:\n    fcm: {service_account_file: account.json}"
        let rig = try Rig(apps: apps, worker: "  in_flight: 64")
        defer { rig.stop() }
        try rig.simulator.setFaults(#"{"rules":[{"provider":"fcm","answer":{"action":"swallow"}}]}"#)
        var jobs: [(key: String, json: String)] = []
        for number in 0..<200 {
            jobs.append(job(number, "droid", platform: "android"))
            jobs.append(job(number, "tab", platform: "android"))
            jobs.append(job(number, "shop", platform: "ios"))
        }
        try rig.publishMany(jobs)
        #expect(rig.wait(seconds: 12) { finished(rig, ["shop"]) >= 180 })
        #expect(finished(rig, ["droid", "tab"]) == 0)
    }

    @Test func aFailingProviderIsLeftAloneTriedNowAndThenAndUsedAgain() throws {
        let rig = try Rig(
            apps: Self.twoProviders, worker: "  in_flight: 64",
            providers: "  circuit: {window: 5s, calls_min: 20, open: 1s, open_max: 2s, probes: 3}",
            retryYAML: "retry: {delays: {server: 1s}}")
        defer { rig.stop() }
        #expect(rig.wait { (try? rig.probe("/readyz")) == "ok" })
        try rig.simulator.setFaults(#"{"rules":[{"provider":"fcm","answer":{"error":"UNAVAILABLE"}}]}"#)
        try rig.publishMany((0..<1500).map { job($0, "droid", platform: "android") })
        #expect(rig.wait { (try? rig.metric("peal_circuit_openings_total")) ?? 0 >= 2 })
        #expect(rig.wait { (try? rig.metric("peal_circuit_waits_total")) ?? 0 >= 1300 })
        // What was under way when it opened, and some tries since; the rest has not touched the provider.
        #expect(rig.simulator.record.count < 700)
        #expect(try rig.probe("/readyz").hasPrefix("ok, but the circuit of fcm"))
        #expect(try rig.probe("/livez") == "ok")
        // The other provider does not notice.
        try rig.publishMany((0..<300).map { job($0, "shop", platform: "ios") })
        #expect(rig.wait { finished(rig, ["shop"]) == 300 })
        rig.simulator.clearFaults()
        #expect(rig.wait(seconds: 120) { rig.accepted == 1800 })
        #expect(rig.wait { (try? rig.probe("/readyz")) == "ok" })
        // A wait is no attempt: the events count exactly the requests.
        let attempts = try rig.read("peal.outcomes").reduce(0) { sum, record in
            let text = String(decoding: record.value, as: UTF8.self)
            return sum + (text.firstMatch(of: /"attempts":(\d+)/).flatMap { Int($0.1) } ?? 0)
        }
        #expect(attempts == rig.simulator.record.count)
    }

    @Test func aRefusedCredentialHoldsItsOwnRouteAndItsJobsAreKept() throws {
        let rig = try Rig(apps: Self.twoProviders)
        defer { rig.stop() }
        try rig.simulator.setFaults(
            #"{"rules":[{"provider":"apns","answer":{"reason":"InvalidProviderToken"}}]}"#)
        try rig.publishMany((0..<200).map { job($0, "shop", platform: "ios") })
        #expect(rig.wait { (try? rig.metric("peal_route_paused")) ?? 0 >= 1 })
        try rig.publishMany((0..<200).map { job($0, "droid", platform: "android") })
        #expect(rig.wait { finished(rig, ["droid"]) == 200 })
        #expect(finished(rig, ["shop"]) == 0)
        let refused = rig.settledRequestCount()
        rig.simulator.clearFaults()
        #expect(rig.wait(seconds: 150) { rig.accepted == 400 })
        #expect(finished(rig, ["shop"]) == 200)
        #expect(rig.simulator.record.count >= refused)
        #expect(rig.worker?.outcomes["dead"] == 0)
        #expect(rig.worker?.outcomes["rejected"] == 0)
    }

    @Test func aWrongTopicRemovesNotOneTokenAndASingleBadOneIsRemoved() throws {
        let rig = try Rig()
        defer { rig.stop() }
        for number in 0..<2000 {
            try rig.register("r\(number)", device: "phone", .ios, token: Tokens.apns(10_000 + number))
        }
        func jobs(_ range: Range<Int>) -> [(key: String, json: String)] {
            range.map {
                ("shop/r\($0)", #"{"id":"j\#($0)","app":"shop","to":{"recipient":"r\#($0)"},"title":"x"}"#)
            }
        }
        // One bad token among good ones.
        try rig.simulator.setFaults(
            #"{"rules":[{"token":"\#(Tokens.apns(10_007))","answer":{"reason":"DeviceTokenNotForTopic"}}]}"#)
        try rig.publishMany(jobs(0..<400))
        #expect(rig.wait { rig.accepted == 399 })
        #expect(rig.wait { (try? rig.metric("peal_tokens_removed_total")) == 1 })
        #expect(try rig.devices(of: "r7").isEmpty)
        // All of them.
        try rig.simulator.setFaults(
            #"{"rules":[{"provider":"apns","answer":{"reason":"DeviceTokenNotForTopic"}}]}"#)
        try rig.publishMany(jobs(0..<2000))
        #expect(rig.wait(seconds: 40) { rig.worker?.outcomes["invalid_token"] == 2000 })
        #expect(rig.wait { (try? rig.metric("peal_tokens_suspect")) == 0 })
        #expect(try rig.metric("peal_tokens_spared_total") > 0)
        #expect(try rig.metric("peal_tokens_removed_total") == 1)
        var left = 0
        for number in 0..<2000 where try !rig.devices(of: "r\(number)").isEmpty { left += 1 }
        #expect(left == 1999)
    }
}
