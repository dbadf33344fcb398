import Configuration
import Core
import EventLoop
import Kafka
import Redis
import Registry
import Terminal
import TestSupport
import Testing

@testable import PealKit

@Suite(.serialized) struct RecipientTests {
    private static let secret = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"

    private func arguments(_ command: Command, _ words: [String]) throws -> Arguments {
        guard case .run(let arguments) = try ArgumentParser.parse(words, for: command, environment: [:])
        else { throw UsageFailure("no run") }
        return arguments
    }

    private func tools(_ server: RedisServer, brokers: String = "127.0.0.1:1") throws -> ToolSettings {
        let words = ["--redis", "unix:\(server.socketPath)", "shop", "r"]
        return try ToolSettings(
            try arguments(DevicesCommand.command, words),
            environment: ["PEAL_KAFKA_BROKERS": brokers, "PEAL_REDIS_COMMAND_TIMEOUT": "20s"])
    }

    private func fill(_ session: RedisSession) throws {
        let directory = DeviceDirectory(session: session, app: "shop")
        let now = Clock.wallMs
        try directory.register(
            recipient: "ann e\u{301}", device: "phone",
            DeviceRecord(
                platform: .ios, token: Self.secret, registeredAtMs: now - 7_200_000, isSandbox: true,
                kind: .voip, isSilenced: true, locale: "en-GB", timeZone: "Europe/London", appVersion: "4.1"))
        try directory.register(
            recipient: "ann e\u{301}", device: "old-tablet",
            DeviceRecord(
                platform: .android, token: "abc:APA91b" + String(repeating: "x", count: 40),
                registeredAtMs: now - 300 * 86_400_000))
        try directory.setUnread(7, of: "ann e\u{301}")
        _ = try directory.read(.setThread("cnv_1", 3), of: "ann e\u{301}", device: "x", claimMs: 1)
        try directory.setPreferences(
            Preferences(
                mutedUntilMs: .max, mutedKinds: ["sale"], quietHours: "22:00-07:00",
                timeZone: "Europe/Berlin"),
            of: "ann e\u{301}")
        try SubscriberIndex(session: session, app: "shop").subscribe("ann e\u{301}", "news")
    }

    private func answer(_ words: [String], _ server: RedisServer) throws -> DevicesCommand.Answer {
        let session = try server.session(scripts: RegistryScripts.all)
        defer { session.close() }
        let request = try DevicesRequest(arguments(DevicesCommand.command, words)) { "  \(Self.secret) \n" }
        return try DevicesCommand.answer(
            request, session, try tools(server), style: TextStyle(isEnabled: false))
    }

    @Test func aRecipientIsShownWithoutItsTokens() throws {
        let server = try RedisServer()
        let session = try server.session(scripts: RegistryScripts.all)
        try fill(session)
        session.close()
        let shown = try answer(["shop", "ann e\u{301}"], server)
        #expect(shown.code == 0)
        #expect(shown.text.contains("of shop: 2 devices, unread 10"))
        for word in [
            "0a1b2c3d…", "sandbox, voip, alerts are off on the device", "en-GB", "stale: gets nothing",
            "22:00-07:00, Europe/Berlin", "cnv_1: 3", "muted kinds", "sale", "follows", "news",
        ] {
            #expect(shown.text.contains(word), "\(word)\n\(shown.text)")
        }
        let json = try JSONValue.parse(text: shown.json)
        #expect(json["unread"]?.integer == 10 && json["threads"]?["cnv_1"]?.integer == 3)
        #expect(json["devices"]?.array?.count == 2)
        #expect(json["devices"]?.array?.first { $0["device"]?.string == "phone" }?["stale"]?.bool == false)
        #expect(json["preferences"]?["muted_until_ms"]?.integer == -1)
        for text in [shown.text, shown.json] {
            #expect(!text.contains(Self.secret.prefix(9)) && !text.contains("xxxxxxxxx"))
        }
        let nobody = try answer(["shop", "nobody"], server)
        #expect(nobody.code == 1 && nobody.text == "Nothing is known about nobody of shop.\n")
    }

    @Test func aTokenIsFoundAndADeviceRemoved() throws {
        let server = try RedisServer()
        let session = try server.session(scripts: RegistryScripts.all)
        defer { session.close() }
        try fill(session)
        let found = try answer(["shop", "--find-token", "-"], server)
        #expect(found.code == 0 && found.text.contains("device phone (ios)"))
        #expect(try JSONValue.parse(text: found.json)["device"]?.string == "phone")
        #expect(try answer(["bank", "--find-token", "-"], server).code == 1)
        let removed = try answer(["shop", "ann e\u{301}", "--remove", "phone"], server)
        #expect(removed.code == 0 && removed.json == "{\"removed\":true}\n")
        #expect(try answer(["shop", "ann e\u{301}", "--remove", "phone"], server).code == 1)
        #expect(try answer(["shop", "--find-token", "-"], server).code == 1)
        let left = try DeviceDirectory(session: session, app: "shop").devices(of: "ann e\u{301}")
        #expect(left.map(\.id) == ["old-tablet"])
    }

    @Test(arguments: [
        [], ["shop"], ["shop", "a", "b"], ["sh op", "a"], ["shop", "a\u{7}"], ["shop", ""],
        ["shop", "a", "--find-token", "t"], ["shop", "--find-token", ""],
        ["shop", "--find-token", "t", "--remove", "d"],
    ])
    func whatIsNotMeantSoIsRefused(words: [String]) throws {
        #expect(throws: UsageFailure.self) {
            _ = try DevicesRequest(arguments(DevicesCommand.command, words)) { nil }
        }
    }

    // MARK: Unread

    private func unread(_ words: [String], _ server: RedisServer, brokers: String = "127.0.0.1:1") throws
        -> UnreadCommand.Outcome
    {
        let session = try server.session(scripts: RegistryScripts.all)
        defer { session.close() }
        var request = try UnreadRequest(arguments(UnreadCommand.command, words))
        if brokers == "127.0.0.1:1" { request.patienceMs = 300 }
        return try UnreadCommand.carryOut(request, session, try tools(server, brokers: brokers))
    }

    @Test func theCounterIsShownAndSetWithoutAPush() throws {
        let server = try RedisServer()
        let session = try server.session(scripts: RegistryScripts.all)
        defer { session.close() }
        try fill(session)
        let who = "ann e\u{301}"
        let shown = try unread(["shop", who], server)
        #expect(shown.unread == 10 && shown.push == nil && shown.text == "unread 10\n  cnv_1: 3\n")
        let set = try unread(["shop", who, "--set", "5", "--thread", "cnv_1", "--no-push"], server)
        #expect(set.unread == 12 && set.threads == ["cnv_1": 5])
        #expect(set.text.contains("No push was sent"))
        // A read over the gateway just then still publishes its push.
        let directory = DeviceDirectory(session: session, app: "shop")
        #expect(try directory.read(.add(1), of: who, device: "", claimMs: 60_000).isOurs)
        let cleared = try unread(["shop", who, "--clear", "--no-push"], server)
        #expect(cleared.unread == 0 && cleared.threads.isEmpty)
        #expect(try JSONValue.parse(text: cleared.json)["push"]?.string == "none")
    }

    @Test func theDevicesAreToldByASilentPush() throws {
        let server = try RedisServer()
        let broker = try EmbeddedBroker()
        let set = try unread(["shop", "bob", "--set", "4"], server, brokers: broker.bootstrapServers)
        #expect(set.unread == 4 && set.push == .published && set.complaint == nil)
        var configuration = KafkaConfiguration.consumer(brokers: broker.bootstrapServers, group: "t")
        configuration.set("auto.offset.reset", "earliest")
        let inspector = try KafkaInspector(configuration)
        defer { inspector.close() }
        // It waits a second for further reads in a retry topic.
        let topics = try inspector.topics(timeoutMs: 10_000).filter { $0.name.hasPrefix("peal.retry.") }
        var records: Int64 = 0
        for topic in topics {
            for partition in 0..<topic.partitions {
                records += try inspector.watermarks(
                    topic: topic.name, partition: Int32(partition), timeoutMs: 10_000
                ).high
            }
        }
        #expect(records == 1)
        let again = try unread(["shop", "bob", "--set", "3"], server, brokers: broker.bootstrapServers)
        #expect(again.unread == 3 && again.push == .pending)
    }

    @Test func withoutKafkaTheCounterIsSetAndSoSaid() throws {
        let server = try RedisServer()
        let request = try UnreadRequest(arguments(UnreadCommand.command, ["shop", "bob", "--set", "4"]))
        #expect(request.tells && request.change == .set(4, asOfMs: 0))
        let set = try unread(["shop", "bob", "--set", "4"], server)
        #expect(set.unread == 4 && set.push == .failed)
        #expect(set.complaint?.hasPrefix("the counter is set, but the devices aren't told") == true)
    }

    @Test(arguments: [
        [], ["shop"], ["shop", "a", "--set", "1", "--clear"], ["shop", "a", "--thread", "t"],
        ["shop", "a", "--no-push"], ["shop", "a", "--set", "-1"],
        ["shop", "a", "--set", "1", "--thread", ""],
    ])
    func aWrongCounterIsRefused(words: [String]) throws {
        #expect(throws: UsageFailure.self) {
            _ = try UnreadRequest(arguments(UnreadCommand.command, words))
        }
    }

    @Test func anAppThatIsNotConfiguredRaisesADoubt() throws {
        let folder = try Files.makeTemporaryDirectory(prefix: "peal-tools")
        defer { Files.removeTree(folder) }
        try Files.write(path: "\(folder)/peal.yaml", text: "apps: {shop: {}}\n")
        let words = ["--config", "\(folder)/peal.yaml", "shpo", "r"]
        let tools = try ToolSettings(try arguments(DevicesCommand.command, words), environment: [:])
        #expect(tools.doubt(about: "shpo") == "the configuration has no app \"shpo\"; did you mean shop?")
        #expect(tools.doubt(about: "shop") == nil)
    }
}
