import Core
import EventLoop
import Providers
import Redis
import Registry
import Security
import SimulatorKit
import Testing

@testable import WorkerKit

/// Credentials that are uploaded while a worker runs.
@Suite(.serialized) struct UploadTests {
    private static let app = "wallet"

    private func rig(_ app: String, master: String, startsWorker: Bool = true) throws -> Rig {
        let rig = try Rig(
            apps: "  wallet: \(app)", providers: "credentials: {master_key_file: master.key}",
            startsWorker: false)
        try Files.write(path: rig.folder + "/master.key", text: master + "\n", mode: 0o600)
        if startsWorker { try rig.startWorker() }
        return rig
    }

    /// The admin API's side, which shares only Redis and the master key with the worker.
    private func store(_ rig: Rig, _ master: String) throws -> CredentialStore {
        var options = RedisClientOptions(endpoint: rig.redis.endpoint)
        options.scripts = CredentialStore.scripts
        return CredentialStore(
            session: try RedisSession(options: options), ring: try SealingRing(current: master))
    }

    /// Asks the worker to look now, where the test isn't about its looking by itself.
    private func hurry(_ rig: Rig) { rig.worker?.reload() }

    private func put(
        _ store: CredentialStore, _ slot: StoredCredential.Slot, _ members: [String: String]
    ) throws {
        let body = JSONValue.object(members.map { .init(name: $0.key, value: .string($0.value)) }).text
        let credential = try CredentialUpload.read(
            Array(body.utf8), slot: slot, topic: "", nowMs: Clock.wallMs)
        _ = try store.put(credential, app: Self.app, by: "test", nowMs: Clock.wallMs)
    }

    private func putKey(_ store: CredentialStore, _ rig: Rig, pem: String? = nil, keyID: String? = nil) throws
    {
        let credentials = rig.simulator.credentials
        try put(
            store, .apns,
            [
                "key": pem ?? credentials.apnsKeyPEM, "key_id": keyID ?? credentials.keyID,
                "team_id": credentials.teamID, "topic": "com.example.wallet", "environment": "both",
            ])
    }

    private func publish(_ rig: Rig, _ id: String, platform: String = "ios") throws {
        let token = platform == "ios" ? Tokens.apns(7) : Tokens.fcm(7)
        try rig.publish(
            #"{"id":"\#(id)","app":"wallet","to":{"token":"\#(token)","platform":"\#(platform)"},"title":"x","data":{"peal_job":"\#(id)"}}"#,
            key: "wallet/\(id)")
    }

    private func routes(_ rig: Rig, _ count: Int) throws {
        for shard in 0..<2 {
            let line = "peal_routes_known{shard=\"\(shard)\"} \(count)"
            #expect(try rig.wait(seconds: 60) { try rig.probe("/metrics").contains(line) })
        }
    }

    private func authority(_ rig: Rig, _ pem: String, _ keyID: String, isValid: Bool = true) throws
        -> SimulatorKit.APNsKey
    {
        SimulatorKit.APNsKey(
            keyID: keyID, teamID: rig.simulator.credentials.teamID,
            publicKey: try ES256PrivateKey(pem: pem).publicKey(),
            environments: isValid ? SimulatorKit.PushEnvironment.allCases : [])
    }

    @Test func anUploadSendsAReplacementTakesOverAndARemovalPrintsAgain() throws {
        let master = try SealingRing.generate()
        let rig = try rig("{title: Wallet}", master: master)
        defer { rig.stop() }
        let store = try store(rig, master)
        // Without a credential a push is printed; that counts as accepted.
        try publish(rig, "printed")
        #expect(rig.wait(seconds: 60) { rig.accepted == 1 })
        #expect(rig.simulator.record.count == 0)

        try putKey(store, rig)
        try routes(rig, 2)
        try publish(rig, "sent")
        #expect(rig.wait(seconds: 60) { rig.accepted == 2 })
        let first = try #require(rig.simulator.record.requests(from: 0, limit: 10).first)
        #expect(first.status == 200 && first.topic == "com.example.wallet")
        #expect(rig.simulator.record.count == 1)

        // Another key; the old one is revoked once the new one is in force.
        let pem = try ES256PrivateKey.generate().pem()
        let credentials = rig.simulator.credentials
        rig.simulator.setKeys([
            try authority(rig, credentials.apnsKeyPEM, credentials.keyID),
            try authority(rig, pem, "NEWKEY0002"),
        ])
        try putKey(store, rig, pem: pem, keyID: "NEWKEY0002")
        hurry(rig)
        try routes(rig, 4)
        rig.simulator.setKeys([
            try authority(rig, credentials.apnsKeyPEM, credentials.keyID, isValid: false),
            try authority(rig, pem, "NEWKEY0002"),
        ])
        try publish(rig, "by-new-key")
        #expect(rig.wait(seconds: 60) { rig.accepted == 3 })
        #expect(rig.simulator.record.count == 2)
        #expect(rig.simulator.record.requests(from: 0, limit: 10).allSatisfy { $0.status == 200 })

        #expect(try store.remove(.apns, app: Self.app))
        hurry(rig)
        // Within some seconds no push reaches the provider any more, and each is printed.
        var number = 0
        let isPrinted = try rig.wait(seconds: 60) {
            let before = rig.simulator.record.count
            number += 1
            try publish(rig, "after-removal-\(number)")
            #expect(rig.wait(seconds: 60) { rig.accepted == UInt64(3 + number) })
            return rig.simulator.record.count == before
        }
        #expect(isPrinted)
        #expect(
            try rig.wait(seconds: 60) { try !rig.probe("/metrics").contains("peal_credential_age_seconds{") })
    }

    @Test func whatCanNotBeUsedIsToldLoudlyAndNothingIsPrintedOrLost() throws {
        let master = try SealingRing.generate()
        let rig = try rig("{title: Wallet}", master: try SealingRing.generate(), startsWorker: false)
        defer { rig.stop() }
        let store = try store(rig, master)
        let account = rig.simulator.credentials.serviceAccountJSON
        let members = try #require(try JSONValue.parse(text: account).members).map { member in
            member.name == "token_uri"
                ? JSONValue.Member(name: "token_uri", value: .string("https://127.0.0.1:1/")) : member
        }
        try put(store, .fcm, ["service_account": JSONValue.object(members).text])
        try rig.startWorker()
        // It is sealed with another master key: the push waits.
        #expect(try rig.wait(seconds: 60) { try rig.probe("/readyz").contains("former_key_files") })
        try publish(rig, "waits", platform: "android")
        #expect(try rig.wait(seconds: 60) { try rig.total("retried", app: Self.app) == 1 })
        #expect(rig.worker?.outcomes.values.reduce(0, +) == 0)
        // The right key in its file is enough. The account asks the configured endpoint, not its own, and is
        // refused there.
        try Files.write(path: rig.folder + "/master.key", text: master, mode: 0o600)
        hurry(rig)
        #expect(try rig.wait(seconds: 60) { try rig.probe("/readyz").contains("Failed audience check") })
        #expect(try !rig.probe("/readyz").contains("former_key_files"))
        // The account as it should be. The push that waits is a minute away, a new one goes at once.
        try put(store, .fcm, ["service_account": account])
        hurry(rig)
        try routes(rig, 2)
        try publish(rig, "goes", platform: "android")
        #expect(rig.wait(seconds: 60) { rig.accepted >= 1 })
        #expect(rig.simulator.record.requests(from: 0, limit: 10).allSatisfy { $0.status == 200 })
        #expect(rig.simulator.record.count >= 1)
        #expect(try !rig.probe("/statusz").contains("PRIVATE"))
    }
}
