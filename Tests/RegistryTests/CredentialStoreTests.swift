import Core
import Redis
import Security
import Testing
import TestSupport

@testable import Registry

@Suite(.serialized) struct CredentialStoreTests {
    /// A server of the test's own and what works on it.
    private final class Setting {
        let server: PrivateRedisServer
        let session: RedisSession
        let master: String
        let store: CredentialStore

        init() throws {
            server = try PrivateRedisServer()
            try server.start()
            var options = RedisClientOptions(endpoint: server.endpoint)
            options.scripts = CredentialStore.scripts
            session = try RedisSession(options: options)
            master = try SealingRing.generate()
            store = CredentialStore(session: session, ring: try SealingRing(current: master))
        }

        func store(current: String, former: [String] = []) throws -> CredentialStore {
            CredentialStore(session: session, ring: try SealingRing(current: current, former: former))
        }

        deinit {
            session.close()
            server.stop()
        }
    }

    private static let secret =
        "-----BEGIN PRIVATE KEY-----\nMIGTAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n"

    private func credential(_ slot: StoredCredential.Slot = .apns, keyID: String = "KEY0000001")
        -> StoredCredential
    {
        var made = StoredCredential(
            slot: slot, form: .key, secret: Self.secret, fingerprint: "0011223344556677")
        made.keyID = keyID
        made.teamID = "TEAM000001"
        made.topic = "com.example.shop"
        made.environment = .both
        return made
    }

    @Test func whatIsStoredIsReadBackByWhoeverHasTheKey() throws {
        let setting = try Setting()
        #expect(try setting.store.read(app: "shop").version == nil)
        let shown = try setting.store.put(credential(), app: "shop", by: "ops", nowMs: 5)
        let found = try setting.store.read(app: "shop")
        let first = try #require(found.version)
        #expect(found.credentials == [.apns: credential()])
        #expect(found.unreadable.isEmpty)
        #expect(try setting.store.list(app: "shop") == [shown])
        var certificate = StoredCredential(
            slot: .apnsSandbox, form: .certificate, secret: "key", fingerprint: "ff")
        certificate.certificate = "chain"
        certificate.expiryMs = 99
        _ = try setting.store.put(certificate, app: "shop", by: "ops", nowMs: 6)
        #expect(try setting.store.read(app: "shop").credentials[.apnsSandbox] == certificate)
        let versions = try setting.store.versions(apps: ["bank", "shop"])
        #expect(versions[0] == nil)
        #expect(try #require(versions[1]) > first)
        // A clock that steps back lets it grow all the same.
        try setting.session.command("HSET", "peal:keys:{shop}", "version", "9000000000000")
        _ = try setting.store.put(certificate, app: "shop", by: "ops", nowMs: 6)
        #expect(try setting.store.versions(apps: ["shop"]) == [9_000_000_000_001])
    }

    @Test func whatIsShownHoldsNoSecret() throws {
        let setting = try Setting()
        let shown = try setting.store.put(credential(), app: "shop", by: "ops", nowMs: 1_800_000_000_000)
        let master = try SealingRing(current: setting.master).currentID
        #expect(
            shown.json.text
                == #"{"kind":"apns","form":"key","environment":"both","key_id":"KEY0000001","team_id":"TEAM000001","#
                + #""topic":"com.example.shop","sha256":"0011223344556677","uploaded_ms":1800000000000,"by":"ops","#
                + #""master_key":"\#(master)"}"#)
        #expect(try setting.store.list(app: "shop").map(\.json) == [shown.json])
    }

    @Test func aReplacementCountsAndARemovalLeavesTheVersion() throws {
        let setting = try Setting()
        _ = try setting.store.put(credential(), app: "shop", by: "a", nowMs: 1)
        _ = try setting.store.put(credential(keyID: "KEY0000002"), app: "shop", by: "b", nowMs: 2)
        #expect(try setting.store.read(app: "shop").credentials[.apns]?.keyID == "KEY0000002")
        let before = try setting.store.versions(apps: ["shop"])
        #expect(try setting.store.remove(.fcm, app: "shop") == false)
        #expect(try setting.store.versions(apps: ["shop"]) == before)
        #expect(try setting.store.remove(.apns, app: "shop"))
        let after = try setting.store.read(app: "shop")
        #expect(try #require(after.version) > #require(before[0]))
        #expect(after.credentials.isEmpty)
        #expect(try setting.store.list(app: "shop").isEmpty)
    }

    @Test func anotherMasterKeyIsNamedAndOpensNothing() throws {
        let setting = try Setting()
        _ = try setting.store.put(credential(), app: "shop", by: "a", nowMs: 1)
        let other = try setting.store(current: try SealingRing.generate())
        let found = try other.read(app: "shop")
        #expect(found.credentials.isEmpty)
        let reason = found.unreadable[.apns] ?? ""
        #expect(reason.contains(try SealingRing(current: setting.master).currentID))
        #expect(reason.contains("former_key_files"))
        // Its metadata needs no key.
        #expect(try other.list(app: "shop").count == 1)
    }

    @Test func aFormerKeyOpensUntilEverythingIsSealedAnew() throws {
        let setting = try Setting()
        _ = try setting.store.put(credential(), app: "shop", by: "ops", nowMs: 7)
        _ = try setting.store.put(credential(.apnsSandbox), app: "shop", by: "ops", nowMs: 8)
        let fresh = try SealingRing.generate()
        let store = try setting.store(current: fresh, former: [setting.master])
        #expect(try store.read(app: "shop").credentials.count == 2)
        let done = try store.reseal(app: "shop")
        #expect(done.count == 2 && done.unreadable.isEmpty)
        #expect(try store.reseal(app: "shop").count == 0)
        let alone = try setting.store(current: fresh)
        #expect(try alone.read(app: "shop").credentials[.apns] == credential())
        #expect(try alone.list(app: "shop").map(\.uploadedMs) == [7, 8])
        #expect(try setting.store.read(app: "shop").unreadable.count == 2)
        let stranger = try setting.store(current: try SealingRing.generate())
        #expect(try stranger.reseal(app: "shop").unreadable.count == 2)
    }

    /// Whoever can write to Redis but has no master key.
    @Test func aValueThatWasMovedOrChangedDoesNotOpen() throws {
        let setting = try Setting()
        _ = try setting.store.put(credential(), app: "shop", by: "a", nowMs: 1)
        let value = try setting.session.command("HGET", "peal:keys:{shop}", "apns").text ?? ""
        try setting.session.command("HSET", "peal:keys:{bank}", "apns", value, "version", "1")
        try setting.session.command("HSET", "peal:keys:{shop}", "apns-sandbox", value)
        #expect(try setting.store.read(app: "bank").unreadable[.apns] != nil)
        #expect(try setting.store.read(app: "bank").credentials.isEmpty)
        let shop = try setting.store.read(app: "shop")
        #expect(shop.credentials.count == 1 && shop.unreadable[.apnsSandbox] != nil)
        for damaged in [
            "", "{}", "nonsense", "{\"sealed\":\"AAAA\"}",
            value.replacing("\"sealed\":\"", with: "\"sealed\":\"AA"),
        ] {
            try setting.session.command("HSET", "peal:keys:{shop}", "apns", damaged)
            #expect(try setting.store.read(app: "shop").unreadable[.apns] != nil)
        }
    }

    @Test func noPartOfTheSecretIsInRedis() throws {
        let setting = try Setting()
        _ = try setting.store.put(credential(), app: "shop", by: "a", nowMs: 1)
        let stored = try setting.session.command("HGETALL", "peal:keys:{shop}").array.compactMap(\.text)
            .joined()
        #expect(!stored.contains("MIGTAgEAMBMG") && !stored.contains("PRIVATE"))
        #expect(!stored.contains(setting.master))
    }
}
