import Configuration
import EventLoop
import Redis
import Registry
import Security
import Testing
import TestSupport

@testable import GatewayKit

@Suite(.serialized) struct MasterKeyTests {
    @Test func whatAFormerKeySealedIsSealedAnewSoThatItCanGo() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-master-test")
        defer { Files.removeTree(folder) }
        let server = try PrivateRedisServer()
        try server.start()
        defer { server.stop() }
        let (old, new) = (try SealingRing.generate(), try SealingRing.generate())
        try Files.write(path: folder + "/old.key", text: old + "\n", mode: 0o600)
        try Files.write(path: folder + "/new.key", text: new + "\n", mode: 0o600)
        let text = """
            redis: {url: "unix://\(server.socketPath)"}
            credentials: {master_key_file: new.key, former_key_files: [old.key]}
            apps: {shop: {}, bank: {}}
            """
        let settings = try Configuration.parse(Array(text.utf8), file: folder + "/peal.yaml")

        var options = RedisClientOptions(endpoint: server.endpoint)
        options.scripts = CredentialStore.scripts
        let session = try RedisSession(options: options)
        defer { session.close() }
        let before = CredentialStore(session: session, ring: try SealingRing(current: old))
        for app in ["shop", "bank"] {
            let credential = StoredCredential(
                slot: .fcm, form: .serviceAccount, secret: app, fingerprint: "00")
            _ = try before.put(credential, app: app, by: "a", nowMs: 1)
        }
        let done = try MasterKeyCommand.reseal(settings)
        #expect(done.count == 2 && done.unreadable.isEmpty)
        #expect(try MasterKeyCommand.reseal(settings).count == 0)
        let alone = CredentialStore(session: session, ring: try SealingRing(current: new))
        #expect(try alone.read(app: "bank").credentials[.fcm]?.secret == "bank")
        // What can't be opened is named and left alone.
        let stranger = CredentialStore(
            session: session, ring: try SealingRing(current: SealingRing.generate()))
        let credential = StoredCredential(slot: .apns, form: .key, secret: "x", fingerprint: "00")
        _ = try stranger.put(credential, app: "bank", by: "a", nowMs: 1)
        let again = try MasterKeyCommand.reseal(settings)
        #expect(again.count == 0 && again.unreadable.count == 1)
        #expect(again.unreadable.first?.hasPrefix("bank/apns: ") == true)
    }

    @Test func withoutAMasterKeyThereIsNothingToSealWith() throws {
        #expect(throws: (any Error).self) { try MasterKeyCommand.reseal(Settings()) }
    }
}
