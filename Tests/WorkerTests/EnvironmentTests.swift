import Core
import EventLoop
import Foundation
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

/// Tokens of the other APNs environment, and tokens of none.
@Suite(.serialized) struct EnvironmentTests {
    private func send(_ rig: Rig, _ id: String, to recipient: String = "anna") throws {
        try rig.publish(
            #"{"id":"\#(id)","app":"shop","to":{"recipient":"\#(recipient)"},"title":"x","data":{"peal_job":"\#(id)"}}"#,
            key: "shop/\(recipient)")
    }

    private func metric(_ rig: Rig, _ name: String) -> Int? {
        let lines = ((try? rig.probe("/metrics")) ?? "").split(separator: "\n")
        return lines.first { $0.hasPrefix(name + " ") }.flatMap { Int($0.split(separator: " ").last ?? "") }
    }

    private func isSandbox(_ rig: Rig, _ recipient: String) throws -> Bool? {
        try rig.record(of: recipient, device: "phone")?.isSandbox
    }

    @Test(arguments: [false, true])
    func aTokenOfTheOtherEnvironmentIsDeliveredThereAndItsRecordIsCorrected(isSandbox: Bool) throws {
        let rig = try Rig()
        defer { rig.stop() }
        let token = Tokens.apns(7)
        rig.simulator.setDevices([
            DeviceListing(token: token, environment: isSandbox ? .sandbox : .production)
        ])
        try rig.register("anna", device: "phone", .ios, token: token, sandbox: !isSandbox)
        try send(rig, "first")
        #expect(rig.wait { rig.accepted == 1 })
        let first = rig.simulator.record.requests(job: "first")
        #expect(first.map(\.status) == [400, 200])
        #expect(Set(first.map(\.id)).count == 1)
        #expect(rig.wait { (try? self.isSandbox(rig, "anna")) == isSandbox })
        // The next one goes to the right environment at once.
        try send(rig, "second")
        #expect(rig.wait { rig.accepted == 2 })
        let second = rig.simulator.record.requests(job: "second")
        #expect(second.map(\.status) == [200])
        #expect(second.first?.environment == (isSandbox ? .sandbox : .production))
        #expect(rig.wait { metric(rig, "peal_environments_corrected_total") == 1 })
        #expect(metric(rig, "peal_environment_probes_total") == 1)
        #expect(try rig.devices(of: "anna") == ["phone"])
    }

    @Test func aTokenThatBothEnvironmentsRefuseIsRemoved() throws {
        let rig = try Rig(simulated: { $0.refusesUnknownTokens = true })
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(8))
        try send(rig, "bad")
        #expect(rig.wait { rig.worker?.outcomes["invalid_token"] == 1 })
        #expect(rig.wait { (try? rig.devices(of: "anna")) == [] })
        let requests = rig.simulator.record.requests(job: "bad")
        #expect(requests.map(\.status) == [400, 400])
        #expect(Set(requests.map(\.environment)) == [.production, .sandbox])
    }

    @Test func aJobThatNamesItsTokenIsDeliveredInTheOtherEnvironmentWithoutARegistry() throws {
        let rig = try Rig()
        defer { rig.stop() }
        rig.simulator.setDevices([DeviceListing(token: Tokens.apns(9), environment: .sandbox)])
        try rig.publish(
            #"{"id":"t","app":"shop","to":{"token":"\#(Tokens.apns(9))","platform":"ios"},"title":"x","data":{"peal_job":"t"}}"#,
            key: "shop/t")
        #expect(rig.wait { rig.accepted == 1 })
        #expect(rig.simulator.record.requests(job: "t").map(\.status) == [400, 200])
        #expect(rig.wait { metric(rig, "peal_environment_probes_total") == 1 })
        #expect(metric(rig, "peal_environments_corrected_total") == 0)
    }

    @Test func anUnregisteredTokenIsNeverTriedInTheOtherEnvironment() throws {
        let rig = try Rig()
        defer { rig.stop() }
        rig.simulator.setDevices([
            DeviceListing(token: Tokens.apns(10), unregisteredAtMs: Clock.wallMs)
        ])
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(10))
        try send(rig, "gone")
        #expect(rig.wait { rig.worker?.outcomes["invalid_token"] == 1 })
        #expect(rig.simulator.record.requests(job: "gone").map(\.status) == [410])
        #expect(rig.wait { metric(rig, "peal_environment_probes_total") == 0 })
    }

    @Test func whileTheBreakerIsOpenTokensAreKeptButStillCorrected() throws {
        let rig = try Rig(
            providers: "  invalidation: {refused_min: 5, share: 0.05}",
            simulated: { $0.refusesUnknownTokens = true })
        defer { rig.stop() }
        // The first few may be removed before there are enough for the breaker, which each shard has.
        for number in 0..<60 {
            try rig.register("p\(number)", device: "phone", .ios, token: Tokens.apns(100 + number))
            try send(rig, "b-\(number)", to: "p\(number)")
        }
        #expect(rig.wait { rig.worker?.outcomes["invalid_token"] == 60 })
        let kept = try (0..<60).count { try rig.devices(of: "p\($0)") == ["phone"] }
        #expect(kept >= 40)
        rig.simulator.setDevices([DeviceListing(token: Tokens.apns(500), environment: .sandbox)])
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(500))
        try send(rig, "good")
        #expect(rig.wait { rig.accepted == 1 })
        #expect(rig.wait { (try? self.isSandbox(rig, "anna")) == true })
    }

    @Test func aProbeThatGetsNoAnswerRemovesNothingAndIsMadeAgain() throws {
        let script = """
            {"rules": [{"environment": "sandbox", "first": 1, "answer": {"status": 503, "reason": "ServiceUnavailable"}}]}
            """
        let rig = try Rig(
            retryYAML: "retry: {delays: {server: 1s, apns_server: 1s}}",
            simulated: { $0.faultScript = script })
        defer { rig.stop() }
        rig.simulator.setDevices([DeviceListing(token: Tokens.apns(11), environment: .sandbox)])
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(11))
        try send(rig, "later")
        #expect(rig.wait(seconds: 40) { rig.accepted == 1 })
        #expect(rig.simulator.record.requests(job: "later").map(\.status) == [400, 503, 400, 200])
        #expect(rig.wait { (try? self.isSandbox(rig, "anna")) == true })
    }

    @Test func aCredentialThatMayNotAskTheOtherEnvironmentLeavesTheToken() throws {
        let script = """
            {"rules": [{"environment": "sandbox", "answer": {"status": 403, "reason": "BadEnvironmentKeyIdInToken"}}]}
            """
        let rig = try Rig(simulated: { $0.faultScript = script })
        defer { rig.stop() }
        rig.simulator.setDevices([DeviceListing(token: Tokens.apns(12), environment: .sandbox)])
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(12))
        try send(rig, "unasked")
        #expect(rig.wait { rig.worker?.outcomes["invalid_token"] == 1 })
        #expect(try rig.devices(of: "anna") == ["phone"])
    }

    @Test func refusedTokensStayOffTheConnectionsOfTheGoodOnes() throws {
        let rig = try Rig(
            providers: "  invalidation: {refused_min: 5, share: 0.001}",
            simulated: {
                $0.shrinksOnErrors = true
                $0.successesToRecover = 50
                $0.errorsPerConnection = 20
            })
        defer { rig.stop() }
        rig.simulator.setDevices(
            (0..<40).map {
                DeviceListing(token: Tokens.apns(9_000 + $0), topic: "com.example.other")
            })
        func job(_ round: Int, _ number: Int, bad: Bool) -> (key: String, json: String) {
            let token = Tokens.apns(bad ? 9_000 + number : number)
            let id = "\(round)-\(bad ? "b" : "g")\(number)"
            return (
                "shop/\(token)",
                #"{"id":"\#(id)","app":"shop","to":{"token":"\#(token)","platform":"ios"},"title":"x","data":{"peal_job":"\#(id)"}}"#
            )
        }
        try rig.publishMany((0..<40).map { job(0, $0, bad: true) })
        #expect(rig.wait { rig.worker?.outcomes["invalid_token"] == 40 })
        let first = rig.simulator.record.count
        #expect(first == 40)
        for round in 1...3 {
            try rig.publishMany(
                (0..<760).map { job(round, $0, bad: false) } + (0..<40).map { job(round, $0, bad: true) })
        }
        #expect(rig.wait(seconds: 60) { rig.worker?.outcomes["invalid_token"] == 160 })
        #expect(rig.wait(seconds: 60) { rig.accepted == 3 * 760 })
        let later = rig.simulator.record.requests(from: first, limit: 1_000_000)
        #expect(later.count { $0.status == 200 } == 3 * 760)
        // No connection that carries good tokens has met a bad one since.
        let refusing = Set(later.filter { $0.status == 400 }.map(\.connection))
        let accepting = Set(later.filter { $0.status == 200 }.map(\.connection))
        #expect(!refusing.isEmpty)
        #expect(refusing.isDisjoint(with: accepting))
        #expect(rig.wait { (metric(rig, "peal_quarantined_total") ?? 0) >= 120 })
        let metrics = try rig.probe("/metrics")
        #expect(metrics.contains("peal_connections_retired_total{"))
    }

    @Test func onceMostTokensAreKnownAnUnknownOneCostsTheirConnectionsNothing() throws {
        let rig = try Rig(
            providers: "  invalidation: {refused_min: 5, share: 0.001}",
            simulated: {
                $0.shrinksOnErrors = true
                $0.successesToRecover = 1_000_000
            })
        defer { rig.stop() }
        func job(_ round: Int, _ token: String) -> (key: String, json: String) {
            (
                "shop/\(token)",
                #"{"id":"\#(round)","app":"shop","to":{"token":"\#(token)","platform":"ios"},"title":"x"}"#
            )
        }
        // Each shard must have met enough known tokens.
        for round in 0..<6 { try rig.publishMany((0..<1000).map { job(round, Tokens.apns($0)) }) }
        #expect(rig.wait(seconds: 60) { rig.accepted == 6_000 })
        let first = rig.simulator.record.count
        // Twenty unknown tokens of another app, and as many good ones.
        rig.simulator.setDevices(
            (0..<20).map { DeviceListing(token: Tokens.apns(9_000 + $0), topic: "com.example.other") })
        let known = (0..<1000).map { job(7, Tokens.apns($0)) }
        try rig.publishMany((0..<20).map { job(7, Tokens.apns(9_000 + $0)) } + known)
        #expect(rig.wait(seconds: 60) { rig.accepted == 7_000 })
        #expect(rig.wait(seconds: 60) { rig.worker?.outcomes["invalid_token"] == 20 })
        let later = rig.simulator.record.requests(from: first, limit: 1_000_000)
        let refusing = Set(later.filter { $0.status == 400 }.map(\.connection))
        let accepting = Set(later.filter { $0.status == 200 }.map(\.connection))
        #expect(!refusing.isEmpty)
        #expect(refusing.isDisjoint(with: accepting))
        #expect(rig.wait { (metric(rig, "peal_screened_total") ?? 0) >= 20 })
    }
}
