import Core
import EventLoop
import Foundation
import HTTPClient
import Logging
import Redis
import Security
import SimulatorKit
import Testing

@testable import WorkerKit

/// Credentials that are replaced while a worker sends.
@Suite(.serialized) struct CredentialTests {
    private func jobs(_ range: Range<Int>, platform: String = "ios") -> [(key: String, json: String)] {
        range.map { number in
            let token = platform == "ios" ? Tokens.apns(number) : Tokens.fcm(number)
            return (
                key: "shop/t\(number)",
                json:
                    #"{"id":"c-\#(number)","app":"shop","to":{"token":"\#(token)","platform":"\#(platform)"},"title":"x","data":{"peal_job":"c-\#(number)"}}"#
            )
        }
    }

    private func publicKey(_ pem: String) throws -> ES256PublicKey {
        try ES256PrivateKey(pem: pem).publicKey()
    }

    /// The simulator's first key, in force or not.
    private func oldKey(_ rig: Rig, isValid: Bool) throws -> APNsKey {
        let credentials = rig.simulator.credentials
        return APNsKey(
            keyID: credentials.keyID, teamID: credentials.teamID,
            publicKey: try publicKey(credentials.apnsKeyPEM),
            environments: isValid ? SimulatorKit.PushEnvironment.allCases : [])
    }

    /// Writes a new key beside the old one and returns the simulator's side of it.
    private func makeNewKey(_ rig: Rig) throws -> APNsKey {
        let key = try ES256PrivateKey.generate()
        try Files.write(path: rig.folder + "/new.p8", text: key.pem(), mode: 0o600)
        return APNsKey(
            keyID: "NEWKEY0002", teamID: rig.simulator.credentials.teamID, publicKey: try key.publicKey())
    }

    private func configureNewKey(_ rig: Rig) throws {
        try rig.rewriteConfiguration(
            "key_file: key.p8, key_id: \(rig.simulator.credentials.keyID)",
            "key_file: new.p8, key_id: NEWKEY0002")
    }

    /// Until every shard has taken a directory of so many routes over.
    private func waitForShards(_ rig: Rig, routes: Int) throws {
        for shard in 0..<2 {
            let line = "peal_routes_known{shard=\"\(shard)\"} \(routes)"
            #expect(try rig.wait { try rig.probe("/metrics").contains(line) })
        }
    }

    @Test func aNewKeySendsOnConnectionsOfItsOwnAndNoJobIsLostOrRepeated() throws {
        let rig = try Rig(simulated: { $0.delayMs = 20 })
        defer { rig.stop() }
        let new = try makeNewKey(rig)
        rig.simulator.setKeys([try oldKey(rig, isValid: true), new])
        try rig.publishMany(jobs(0..<2000))
        #expect(rig.wait { rig.simulator.record.count >= 300 })
        try configureNewKey(rig)
        rig.worker?.reload()
        try rig.publishMany(jobs(2000..<4000))
        #expect(rig.wait(seconds: 60) { rig.accepted == 4000 })
        #expect(rig.simulator.record.summary().jobs == 4000)
        #expect(rig.simulator.record.summary().duplicates == 0)
        #expect(rig.simulator.record.count == 4000)
        // The old key is revoked: whoever still sent by it would be refused.
        try waitForShards(rig, routes: 5)
        rig.simulator.setKeys([try oldKey(rig, isValid: false), new])
        try rig.publishMany(jobs(4000..<4500))
        #expect(rig.wait(seconds: 60) { rig.accepted == 4500 })
        #expect(rig.simulator.record.count == 4500)
        // Nothing goes by the old connections any more, so they are closed and their gauges gone.
        #expect(
            try rig.wait {
                try !rig.probe("/metrics").contains("route=\"apns/production/SIMTEAM001/SIMKEY0001\"")
            })
        #expect(try rig.probe("/readyz") == "ok")
    }

    @Test func aNewKeyThatTheProviderRefusesLeavesTheWorkToTheOldOne() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.publishMany(jobs(0..<10))
        #expect(rig.wait { rig.accepted == 10 })
        _ = try makeNewKey(rig)
        try configureNewKey(rig)
        rig.worker?.reload()
        try waitForShards(rig, routes: 5)
        try rig.publishMany(jobs(10..<500))
        #expect(rig.wait(seconds: 60) { rig.accepted == 500 })
        let refused = rig.simulator.record.requests(from: 0, limit: 10_000).filter {
            $0.reason == "InvalidProviderToken"
        }
        #expect(!refused.isEmpty)
        #expect(rig.simulator.record.summary().jobs == 500)
        #expect(rig.simulator.record.count == 500 + refused.count)
        #expect(try !rig.probe("/metrics").contains("peal_rotation_fallbacks_total 0"))
    }

    @Test func aServiceAccountThatTheTokenEndpointRefusesLeavesTheWorkToTheOldOne() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.publishMany(jobs(0..<10, platform: "android"))
        #expect(rig.wait { rig.accepted == 10 })
        let path = rig.folder + "/account.json"
        var account = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
                as? [String: Any])
        account["private_key"] = try RS256PrivateKey.generate().pem()
        account["private_key_id"] = "another"
        try JSONSerialization.data(withJSONObject: account).write(to: URL(fileURLWithPath: path))
        rig.worker?.reload()
        #expect(try rig.wait { try rig.probe("/readyz").contains("no usable token") })
        try waitForShards(rig, routes: 4)
        try rig.publishMany(jobs(10..<200, platform: "android"))
        #expect(rig.wait(seconds: 60) { rig.accepted == 200 })
        #expect(rig.simulator.record.count == 200)
    }

    @Test func aBrokenFileIsFoundWithoutBeingAskedAndChangesNothing() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try Files.write(path: rig.folder + "/key.p8", text: "-----BEGIN PRIV")
        #expect(
            try rig.wait(seconds: 60) { try rig.probe("/readyz").contains("the last reload was refused") })
        #expect(try rig.probe("/metrics").contains("peal_credential_reload_failed 1"))
        try rig.publishMany(jobs(0..<10))
        #expect(rig.wait { rig.accepted == 10 })
        try Files.write(path: rig.folder + "/key.p8", text: rig.simulator.credentials.apnsKeyPEM)
        #expect(try rig.wait(seconds: 60) { try rig.probe("/readyz") == "ok" })
        #expect(try rig.probe("/metrics").contains("peal_credential_rotations_total 0"))
    }

    @Test func twoWorkersSendWithOneTokenWhereUpdatesAreCountedForTheWholeFleet() throws {
        let rig = try Rig(simulated: { $0.tokenUpdateScope = .key })
        defer { rig.stop() }
        let second = try WorkerService.start(rig.settings, log: .silent)
        defer { second.stop() }
        try rig.publishMany(jobs(0..<400))
        #expect(rig.wait(seconds: 60) { rig.accepted + (second.outcomes["accepted"] ?? 0) == 400 })
        #expect(rig.simulator.record.requests(from: 0, limit: 10_000).allSatisfy { $0.status == 200 })
        let metrics = try rig.probe("/metrics")
        #expect(metrics.contains(#"peal_bearer_shared{credential="apns SIMTEAM001/SIMKEY0001"} 1"#))
        #expect(
            metrics.contains(
                #"peal_credential_expiry_seconds{kind="token",credential="fcm simulated-project"}"#))
    }
}
