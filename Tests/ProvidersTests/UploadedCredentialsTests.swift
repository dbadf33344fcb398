import Configuration
import EventLoop
import Logging
import Redis
import Registry
import Rendering
import Security
import Testing
import TestSupport

@testable import Providers

/// What a worker knows of uploaded credentials while Redis comes and goes.
@Suite(.serialized) struct UploadedCredentialsTests {
    private final class Setting {
        let folder: String
        let server: PrivateRedisServer
        let master: String
        let settings: Settings

        init() throws {
            folder = try Files.makeTemporaryDirectory(prefix: "peal-uploads-test")
            server = try PrivateRedisServer()
            master = try SealingRing.generate()
            try Files.write(path: folder + "/master.key", text: master, mode: 0o600)
            settings = try Configuration.parse(
                Array("credentials: {master_key_file: master.key}\napps: {shop: {}, bank: {}}\n".utf8),
                file: folder + "/peal.yaml")
        }

        var options: RedisClientOptions {
            var options = RedisClientOptions(endpoint: server.endpoint)
            options.scripts = CredentialStore.scripts
            return options
        }

        func source() throws -> UploadedCredentials {
            try #require(UploadedCredentials(settings, redis: options, logger: .silent))
        }

        /// The admin API's side, on a connection of its own.
        func change(_ body: (CredentialStore) throws -> Void) throws {
            let session = try RedisSession(options: options)
            defer { session.close() }
            try body(CredentialStore(session: session, ring: try SealingRing(current: master)))
        }

        deinit {
            server.stop()
            Files.removeTree(folder)
        }
    }

    private func credential(_ keyID: String) throws -> StoredCredential {
        var made = StoredCredential(
            slot: .apns, form: .key, secret: try ES256PrivateKey.generate().pem(), fingerprint: "00")
        made.keyID = keyID
        made.teamID = "TEAM000001"
        made.topic = "com.example.shop"
        return made
    }

    private func keyID(_ source: UploadedCredentials) -> String? {
        source.known["shop"]?.credentials[.apns]?.keyID
    }

    private func usesLog(_ setting: Setting, _ source: UploadedCredentials) throws -> [Bool] {
        var builder = DirectoryBuilder(setting.settings, keeper: nil, uploads: source.known)
        return try builder.build().apps.map(\.traits.usesLog)
    }

    @Test func theLastKnownStateHoldsWhileRedisIsAwayOrHasLostIt() throws {
        let setting = try Setting()
        setting.server.kill()
        let source = try setting.source()
        // Nobody knows yet: nothing may be printed, for that would lose it.
        #expect(source.poll() == false)
        #expect(source.known["shop"]?.isSurelyNone == false)
        #expect(try usesLog(setting, source) == [false, false])
        try setting.server.start()
        #expect(source.poll())
        #expect(source.known["shop"]?.isSurelyNone == true)
        #expect(try usesLog(setting, source) == [true, true])
        #expect(source.poll() == false)
        try setting.change { _ = try $0.put(credential("KEY0000001"), app: "shop", by: "a", nowMs: 1) }
        #expect(source.poll())
        #expect(keyID(source) == "KEY0000001")
        #expect(try usesLog(setting, source) == [true, false])
        setting.server.kill()
        #expect(source.poll() == false)
        #expect(keyID(source) == "KEY0000001")
        // It comes back without its data.
        try setting.server.start()
        #expect(source.poll() == false)
        #expect(keyID(source) == "KEY0000001")
        #expect(source.complaints.contains { $0.contains("Redis has lost") })
        try setting.change { _ = try $0.put(credential("KEY0000002"), app: "shop", by: "a", nowMs: 1) }
        #expect(source.poll())
        #expect(keyID(source) == "KEY0000002")
        #expect(source.complaints.isEmpty)
        try setting.change { _ = try $0.remove(.apns, app: "shop") }
        #expect(source.poll())
        #expect(source.known["shop"]?.isSurelyNone == true)
    }

    @Test func anotherMasterKeyLeavesWhatIsKnownInUse() throws {
        let setting = try Setting()
        try setting.change { _ = try $0.put(credential("KEY0000001"), app: "shop", by: "a", nowMs: 1) }
        let source = try setting.source()
        #expect(source.poll())
        let path = setting.folder + "/master.key"
        try Files.write(path: path, text: "no key")
        #expect(!source.adopt(setting.settings))
        #expect(source.complaints.contains { $0.contains("master key") && !$0.contains("no key") })
        try Files.write(path: path, text: try SealingRing.generate())
        #expect(source.adopt(setting.settings))
        #expect(source.poll())
        #expect(keyID(source) == "KEY0000001")
        #expect(source.complaints.contains { $0.contains("former_key_files") })
        #expect(try usesLog(setting, source) == [true, false])
        try Files.write(path: path, text: setting.master)
        #expect(source.adopt(setting.settings))
        #expect(source.poll())
        #expect(source.complaints.isEmpty)
    }

    @Test func eachUploadIsARouteOfItsAppAndABrokenOneHoldsUpNobodyElse() throws {
        let setting = try Setting()
        let one = try credential("KEY0000001")
        var broken = one
        broken.secret = "no key"
        func build(_ shop: StoredCredential, _ bank: StoredCredential) throws -> (ProviderDirectory, [String])
        {
            var builder = DirectoryBuilder(
                setting.settings, keeper: nil,
                uploads: [
                    "shop": .known([.apns: shop], isWhole: true),
                    "bank": .known([.apns: bank], isWhole: true),
                ])
            return (try builder.build(), builder.complaints)
        }
        let (both, none) = try build(one, one)
        #expect(none.isEmpty && both.routes.count == 2)
        // The same key: connections of their own, one provider token.
        #expect(both.routes[0].bearer === both.routes[1].bearer)
        #expect(Set(both.routes.map(\.name)).count == 2)
        #expect(both.apps.map(\.render.bundleID) == ["com.example.shop", "com.example.shop"])
        // The same ids over another key are another credential.
        var forged = one
        forged.secret = try ES256PrivateKey.generate().pem()
        let (two, _) = try build(one, forged)
        #expect(two.routes[0].bearer !== two.routes[1].bearer)
        let (rest, complaints) = try build(one, broken)
        #expect(rest.routes.count == 1 && complaints.count == 1)
        #expect(complaints.first?.contains("bank/apns") == true)
        // Another topic is another route, so that the header changes.
        var moved = one
        moved.topic = "com.example.moved"
        let rotation = try both.rotated(to: try build(moved, one).0, overlapUntilMs: 0)
        #expect(rotation.isChange && rotation.added.count == 1)
        #expect(rotation.directory.apps.map(\.render.bundleID) == ["com.example.shop", "com.example.moved"])
    }

    @Test func aSecretIsNotPrintedByMistake() throws {
        let made = try credential("KEY0000001")
        var text = ""
        dump(made, to: &text)
        for shown in [
            text, "\(made)", String(reflecting: made), "\([made])", "\(["x": made] as [String: Any])",
        ] {
            #expect(!shown.contains("PRIVATE") && !shown.contains("MIG"), "\(shown.count)")
        }
    }
}
