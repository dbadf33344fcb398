import Configuration
import Core
import Decisions
import EventLoop
import Glibc
import Logging
import Security
import Testing

@testable import Providers

/// A folder with keys and a configuration, as a secret and a config map would be mounted.
private final class Mount: Sendable {
    let folder: String

    init() throws { folder = try Files.makeTemporaryDirectory(prefix: "peal-rotation") }
    deinit { Files.removeTree(folder) }

    func writeKey(_ name: String) throws {
        try Files.write(path: "\(folder)/\(name)", text: try ES256PrivateKey.generate().pem())
    }

    func writeCertificate(lifeS: Int) throws {
        let identity = try ThrowAwayIdentity.make(hosts: ["localhost"], lifeS: lifeS)
        try Files.write(path: folder + "/client.key", text: identity.keyPEM)
        try Files.write(path: folder + "/client.pem", text: identity.certificatePEM)
    }

    func writeApps(_ yaml: String) throws {
        try Files.write(path: folder + "/peal.yaml", text: "apps:\n" + yaml)
    }

    func load() throws(ConfigurationFailure) -> Settings {
        try Configuration.load(path: folder + "/peal.yaml", environment: [:])
    }

    func directory() throws -> ProviderDirectory {
        var builder = DirectoryBuilder(try load(), keeper: nil)
        return try builder.build()
    }
}

private func app(_ name: String, key: String = "key.p8", id: String = "ABC123DEFG") -> String {
    "  \(name): {apns: {key_file: \(key), key_id: \(id), team_id: TEAM123456, topic: com.example.\(name)}}\n"
}

@Suite struct DirectoryRotationTests {
    private func routes(_ directory: ProviderDirectory) -> [Int32] {
        directory.apps.map(\.traits.apnsProduction)
    }

    @Test func whatDidNotChangeKeepsItsRoutes() throws {
        let mount = try Mount()
        try mount.writeKey("key.p8")
        try mount.writeApps(app("one") + app("two"))
        let old = try mount.directory()
        let rotation = try old.rotated(to: mount.directory(), overlapUntilMs: 5)
        #expect(!rotation.isChange)
        #expect(rotation.added.isEmpty)
        #expect(rotation.directory.routes.count == 1)
        #expect(rotation.directory.routes[0].bearer === old.routes[0].bearer)
    }

    @Test func anAppWithANewKeyGetsARouteOfItsOwnAndTheOthersStay() throws {
        let mount = try Mount()
        try mount.writeKey("key.p8")
        try mount.writeKey("new.p8")
        try mount.writeApps(app("one") + app("two"))
        let old = try mount.directory()
        try mount.writeApps(app("one", key: "new.p8", id: "NEW123DEFG") + app("two"))
        let rotation = try old.rotated(to: mount.directory(), overlapUntilMs: 5)
        #expect(rotation.isChange)
        #expect(rotation.added == [1])
        #expect(routes(rotation.directory) == [1, 0])
        #expect(rotation.directory.routes[1].predecessor == 0)
        #expect(rotation.directory.routes[1].overlapUntilMs == 5)
        #expect(rotation.directory.routesInUse == [0, 1])
        #expect(rotation.directory.routes[1].bearer !== old.routes[0].bearer)
    }

    @Test func aFileWithANewContentIsANewRouteOfTheSameNameButForItsNumber() throws {
        let mount = try Mount()
        try mount.writeKey("key.p8")
        try mount.writeApps(app("one"))
        let first = try mount.directory()
        try mount.writeKey("key.p8")
        let second = try first.rotated(to: mount.directory(), overlapUntilMs: 5).directory
        try mount.writeKey("key.p8")
        let third = try second.rotated(to: mount.directory(), overlapUntilMs: 5).directory
        let name = first.routes[0].name
        #expect(third.routes.map(\.name) == [name, name + "@2", name + "@3"])
        #expect(routes(third) == [2])
        #expect(third.routes.map(\.predecessor) == [-1, 0, 1])
    }

    @Test func aWayBackToTheOldKeyKeepsItsTokenAsLongAsItIsRenewed() throws {
        let mount = try Mount()
        try mount.writeKey("key.p8")
        try mount.writeKey("new.p8")
        try mount.writeApps(app("one"))
        let first = try mount.directory()
        try mount.writeApps(app("one", key: "new.p8", id: "NEW123DEFG"))
        let second = try first.rotated(to: mount.directory(), overlapUntilMs: 5).directory
        try mount.writeApps(app("one"))
        let back = try second.rotated(to: mount.directory(), overlapUntilMs: 5).directory
        // A route of its own, since the first one may be closed by now, but no second token for the key.
        #expect(routes(back) == [2])
        #expect(back.routes[2].bearer === first.routes[0].bearer)
        first.routes[0].bearer?.markDropped()
        let later = try second.rotated(to: mount.directory(), overlapUntilMs: 5).directory
        #expect(later.routes[2].bearer !== first.routes[0].bearer)
    }

    @Test func appsThatComeOrGoAndOtherSettingsNeedARestartAndAreNamed() throws {
        let mount = try Mount()
        try mount.writeKey("key.p8")
        try mount.writeApps(app("one") + app("two"))
        let settings = try mount.load()
        try mount.writeKey("new.p8")
        try mount.writeApps(
            app("one", key: "new.p8", id: "NEW123DEFG") + app("three") + "log: {level: debug, format: json}\n"
        )
        let fresh = try mount.load()
        #expect(settings.needsRestart(for: fresh) == ["log.format", "apps.two (gone)", "apps.three (new)"])
        #expect(settings.needsRestart(for: settings) == [])
        let merged = settings.adoptingCredentials(of: fresh)
        #expect(merged.apps.map(\.name) == ["one", "two"])
        #expect(merged.app("one")?.apnsProduction?.keyID == "NEW123DEFG")
        #expect(merged.log.level == .debug && merged.log.format == settings.log.format)
    }
}

@Suite(.serialized) struct ReloaderTests {
    private struct Running {
        let keeper: CredentialKeeper
        let live: LiveDirectory
        let reloader: CredentialReloader

        init(_ mount: Mount, everyMs: Int) throws {
            let settings = try mount.load()
            let file = mount.folder + "/peal.yaml"
            keeper = CredentialKeeper(KeeperOptions(), logger: .silent)
            var builder = DirectoryBuilder(settings, keeper: keeper)
            live = LiveDirectory(try builder.build())
            reloader = CredentialReloader(
                settings, directory: live, keeper: keeper, everyMs: everyMs,
                reread: { Configuration.result(path: file, environment: [:]) }, logger: .silent)
        }

        func stop() {
            reloader.stop()
            keeper.stop()
        }

        func token(_ route: Int) -> String {
            String(
                decoding: live.snapshot().routes[route].bearer?.snapshot().authorization ?? [], as: UTF8.self)
        }
    }

    /// As Kubernetes does it: a link to a folder is replaced, and no file that is named changes itself.
    @Test func aSecretWhoseLinkIsSwappedIsTakenOverAndTheReplacedOneDroppedOnceProven() throws {
        let mount = try Mount()
        for version in ["v1", "v2"] {
            mkdir(mount.folder + "/" + version, 0o700)
            try mount.writeKey(version + "/key.p8")
        }
        symlink("v1", mount.folder + "/..data")
        try mount.writeApps(app("one", key: "..data/key.p8"))
        let running = try Running(mount, everyMs: 20)
        defer { running.stop() }
        #expect(waits { !running.token(0).isEmpty })
        symlink("v2", mount.folder + "/..new")
        rename(mount.folder + "/..new", mount.folder + "/..data")
        #expect(waits { running.reloader.status.rotations == 1 })
        #expect(waits { !running.token(1).isEmpty })
        let key = try ES256PrivateKey(pem: Files.readText(path: mount.folder + "/v2/key.p8")).publicKey()
        let parts = try #require(JWT.decode(running.token(1).utf8.dropFirst("bearer ".utf8.count)))
        #expect(key.verify(signature: parts.signature, message: parts.signingInput))
        // The old one is renewed until the provider has accepted the new one.
        let old = try #require(running.live.snapshot().routes[0].bearer)
        running.reloader.reload()
        #expect(running.keeper.status.entries.count == 2)
        #expect(!old.isDropped)
        running.live.proved(1)
        #expect(waits { old.isDropped && running.keeper.status.entries.count == 1 })
    }

    @Test func aFileThatCanNotBeUsedIsRefusedSaidAndTriedAgainWhenItChanges() throws {
        let mount = try Mount()
        try mount.writeKey("key.p8")
        try mount.writeApps(app("one"))
        let running = try Running(mount, everyMs: 20)
        defer { running.stop() }
        try Files.write(path: mount.folder + "/key.p8", text: "half a k")
        #expect(waits { running.reloader.status.failures == 1 })
        #expect(running.reloader.status.failure.contains("key.p8"))
        #expect(running.reloader.status.complaints(nowMs: 0).first?.contains("key.p8") == true)
        #expect(running.live.snapshot().routes.count == 1)
        // A configuration that names a file that is not there yet, and then the file.
        try mount.writeApps(app("one", key: "late.p8"))
        #expect(waits { running.reloader.status.failure.contains("late.p8") })
        try mount.writeKey("late.p8")
        #expect(waits { running.reloader.status.rotations == 1 })
        #expect(running.reloader.status.failure.isEmpty)
        try mount.writeApps("  one: {apns: [}\n")
        #expect(waits { !running.reloader.status.failure.isEmpty })
        #expect(running.live.snapshot().routes.count == 2)
    }

    @Test func aReloadThatIsAskedForHappensAtOnce() throws {
        let mount = try Mount()
        try mount.writeKey("key.p8")
        try mount.writeApps(app("one"))
        let running = try Running(mount, everyMs: 3_600_000)
        defer { running.stop() }
        #expect(waits { !running.token(0).isEmpty })
        try mount.writeKey("key.p8")
        running.reloader.reload()
        #expect(waits { running.reloader.status.rotations == 1 })
    }

    @Test func aCertificateThatEndsSoonIsShownAndANewOneTakesItsPlace() throws {
        let mount = try Mount()
        try mount.writeCertificate(lifeS: 3 * 86_400)
        try mount.writeApps(
            "  one:\n    apns:\n      topic: com.example.one\n      certificate_file: client.pem\n"
                + "      certificate_key_file: client.key\n")
        let running = try Running(mount, everyMs: 20)
        defer { running.stop() }
        #expect(waits { running.reloader.status.certificates.count == 1 })
        let first = try #require(running.reloader.status.certificates.first)
        let left = first.expiryMs - Clock.wallMs
        #expect(left > 2 * 86_400_000 && left <= 3 * 86_400_000)
        let complaint = running.reloader.status.complaints(nowMs: Clock.wallMs).first
        #expect(complaint?.contains("expires in 2 days") == true)
        #expect(
            running.reloader.status.complaints(nowMs: first.expiryMs).first?.contains("has expired") == true)
        try mount.writeCertificate(lifeS: 100 * 86_400)
        #expect(waits { running.reloader.status.certificates.first?.route.hasSuffix("@2") == true })
        #expect(running.reloader.status.complaints(nowMs: Clock.wallMs) == [])
    }
}
