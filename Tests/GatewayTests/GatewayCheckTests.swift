import Configuration
import Core
import EventLoop
import Logging
import Security
import Testing
import TestSupport

@testable import GatewayKit

/// A folder with everything that a configuration may name, all of it good.
private final class Fixture {
    let folder: String
    private static let digest = String(repeating: "0a", count: 32)

    init() throws {
        folder = try Files.makeTemporaryDirectory(prefix: "peal-check-test")
        let identity = try ThrowAwayIdentity.make(hosts: ["127.0.0.1"])
        try write("keys", "me:\(Self.digest):shop,dapp-1:send\nall:\(Self.digest):*:admin\n")
        try write("cert.pem", identity.certificatePEM)
        try write("key.pem", identity.keyPEM)
        try write("master", try SealingRing.generate() + "\n")
        try write("secret", "the secret of the shop's backend, long\n")
        try write("clients", "phone:\(Self.digest)\n")
    }

    deinit { Files.removeTree(folder) }

    func write(_ name: String, _ text: String) throws {
        try Files.write(path: "\(folder)/\(name)", text: text, mode: 0o600)
    }

    func check() throws -> GatewayCheck {
        let text = """
            http: {gateway: "127.0.0.1:0"}
            gateway: {keys_file: keys, tls: {certificate_file: cert.pem, key_file: key.pem}}
            credentials: {master_key_file: master}
            apps:
              shop: {users: {secret_file: secret, audience: peal}}
              wallet: {profile: dialect, contract: wallet_alerts, client_keys_file: clients, app_ids: [dapp-1]}
            """
        let settings = try Configuration.parse(Array(text.utf8), file: folder + "/peal.yaml")
        return try GatewayCheck(settings, try GatewaySettings(settings), log: .silent)
    }

    /// What the check says; empty when all is well.
    func failure() -> String {
        do { _ = try check() } catch let failure as GatewayFailure {
            return failure.isConfiguration ? failure.message : "not the configuration: \(failure)"
        } catch { return "\(error)" }
        return ""
    }
}

@Suite struct GatewayCheckTests {
    @Test func everythingThatIsNamedIsRead() throws {
        let fixture = try Fixture()
        let check = try fixture.check()
        #expect(check.warnings == [])
        #expect(check.ring != nil && check.users.isKnown(app: "shop"))
    }

    @Test(arguments: [
        ("keys", "gateway.keys_file"), ("cert.pem", "gateway.tls"), ("key.pem", "gateway.tls"),
        ("master", "master"), ("secret", "secret"), ("clients", "apps.wallet.client_keys_file"),
    ])
    func aMissingFileIsSaid(name: String, word: String) throws {
        let fixture = try Fixture()
        Files.removeTree("\(fixture.folder)/\(name)")
        #expect(fixture.failure().contains(word))
    }

    @Test func aFileThatCannotBeUsedIsSaid() throws {
        let fixture = try Fixture()
        try fixture.write("key.pem", try ThrowAwayIdentity.make(hosts: ["127.0.0.1"]).keyPEM)
        #expect(fixture.failure().contains("belong together"))
        try fixture.write("master", "abc\n")
        #expect(fixture.failure().contains("master"))
        try fixture.write("keys", "me:abc\n")
        try fixture.write("master", try SealingRing.generate())
        #expect(fixture.failure().contains("line 1"))
    }

    @Test func whatIsOddIsAWarning() throws {
        let fixture = try Fixture()
        try fixture.write("keys", "me:\(String(repeating: "0a", count: 32)):shop,bank,dapp-2:send\n")
        try fixture.write("clients", "# none\n")
        let odd = try fixture.check().warnings
        #expect(odd.count == 2)
        #expect(odd.first?.contains("the key me of gateway.keys_file is for bank, dapp-2,") == true)
        #expect(odd.last?.contains("apps.wallet.client_keys_file holds no key") == true)
        try fixture.write("keys", "# none\n")
        #expect(try fixture.check().warnings.first?.contains("gateway.keys_file holds no key") == true)
    }

    @Test func onlyWhatTheOperatorHasToMendIsTheConfiguration() {
        let codes: [(GatewayFailure.Code, Bool)] = [
            (.keys, true), (.tls, true), (.kafka, true), (.listen, false), (.resources, false),
        ]
        for (code, isConfiguration) in codes {
            #expect(GatewayFailure(code, "x").isConfiguration == isConfiguration)
        }
    }
}
