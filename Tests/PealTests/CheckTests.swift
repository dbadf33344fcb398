import Configuration
import Core
import Decisions
import EventLoop
import Kafka
import Redis
import SimulatorKit
import Terminal
import TestSupport
import Testing

@testable import PealKit

/// A configuration with everything that it names: a broker, a Redis server, doubles of the providers.
private final class Rig {
    let folder: String
    let simulator: Simulator
    let redis: RedisServer
    let broker: EmbeddedBroker

    init() throws {
        folder = try Files.makeTemporaryDirectory(prefix: "peal-check")
        var settings = SimulatorSettings()
        settings.certificateDirectory = folder
        simulator = try Simulator.start(settings)
        redis = try RedisServer()
        broker = try EmbeddedBroker()
        try write(try yaml())
    }

    deinit {
        simulator.stop()
        Files.removeTree(folder)
    }

    func yaml(keyID: String? = nil, apps: String = "", port: UInt16? = nil) throws -> String {
        let names = ThrowAwayCredentials.fileNames
        let ends = simulator.endpoints
        func endpoint(_ port: UInt16?) -> String {
            "{host: 127.0.0.1, port: \(port ?? 1), ca_file: \(names.ca)}"
        }
        return """
            kafka: {brokers: "\(broker.bootstrapServers)"}
            redis: {url: "unix:\(redis.socketPath)", command_timeout: 20s, connect_timeout: 20s}
            topics: {retry_tiers: [1s]}
            providers:
              apns: {production: \(endpoint(port ?? ends.apns)), sandbox: \(endpoint(ends.sandbox))}
              fcm:
                endpoint: \(endpoint(ends.fcm))
                token_endpoint: {host: 127.0.0.1, port: \(ends.fcm ?? 1), path: /token, ca_file: \(names.ca)}
            apps:
              shop:
                apns: {key_file: \(names.key), key_id: \(keyID ?? simulator.credentials.keyID), \
            team_id: \(simulator.credentials.teamID), topic: com.example.shop}
                fcm: {service_account_file: \(names.account)}
            \(apps)

            """
    }

    func write(_ text: String) throws { try Files.write(path: "\(folder)/peal.yaml", text: text) }

    func check(_ words: String..., timeout: String = "20s") throws -> CheckReport {
        let all = ["--config", "\(folder)/peal.yaml", "--timeout", timeout] + words
        guard
            case .run(let arguments) = try ArgumentParser.parse(
                all, for: CheckCommand.command, environment: [:])
        else { throw UsageFailure("no run") }
        return CheckCommand.report(try CheckRequest(arguments), arguments, environment: [:])
    }
}

extension CheckReport {
    fileprivate func has(_ state: State, _ text: String) -> Bool {
        lines.contains { $0.state == state && ($0.part + ": " + $0.text).contains(text) }
    }
}

@Suite(.serialized) struct CheckTests {
    /// The embedded broker makes a topic when it is first named.
    private func makeTopics(_ rig: Rig) throws {
        var configuration = KafkaConfiguration.producer(brokers: rig.broker.bootstrapServers)
        configuration.set("topic.metadata.refresh.interval.ms", "1000")
        var topics = Settings.Topics()
        topics.retryTiers = [RetryTier(name: "1s", delayMs: 1000)]
        let producer = try KafkaProducer(configuration, topics: topics.all)
        try producer.warmUp(timeoutMs: 20_000)
        producer.close(deadlineMs: 0)
    }

    @Test func whatIsInOrderIsGoodFromTheFileToTheProviders() throws {
        let rig = try Rig()
        try makeTopics(rig)
        try rig.write(
            rig.yaml(apps: "  quiet: {}\n  printed: {provider: log}\n"))
        let report = try rig.check("--connect", "--probe-apns", "--probe-fcm", "abc:APA91bxyz")
        for text in [
            "configuration: ", "app shop: apns/production/", "app shop: fcm/", "app printed: prints",
            "kafka: \(rig.broker.bootstrapServers) answers", "kafka: partitions: urgent",
            "redis: version", "redis: it can be written", "redis: the clocks agree",
            "apns: 127.0.0.1:", "fcm: 127.0.0.1:", "APNs takes the credential and the topic",
            "FCM would take a message to this token",
        ] {
            #expect(
                report.has(.good, text),
                "\(text)\n\(report.text(style: TextStyle(isEnabled: false), width: 100))")
        }
        #expect(report.has(.warn, "app quiet: has no credentials"))
        #expect(report.count(.bad) == 0 && report.exitCode == 0)
        // Nobody got anything.
        let rows = rig.simulator.record.requests(from: 0, limit: 10)
        #expect(rows.allSatisfy { $0.validateOnly || $0.status != 200 } && rows.count == 2)
        // Neither the key nor the token that was shown is told.
        for text in [report.json, report.text(style: TextStyle(isEnabled: false), width: 100)] {
            #expect(!text.contains("APA91b") && !text.contains("PRIVATE KEY") && !text.contains("Bearer"))
        }
        let json = try JSONValue.parse(text: report.json)
        #expect(json["good"]?.bool == true && json["checks"]?.array?.count == report.lines.count)
    }

    @Test func providersAreLeftAloneUnlessAsked() throws {
        let rig = try Rig()
        let report = try rig.check()
        #expect(report.has(.skipped, "providers: not asked"))
        #expect(rig.simulator.stats()?.connections.allSatisfy { $0 == 0 } == true)
        // No topic is made by looking.
        #expect(report.has(.bad, "topics are missing: peal.jobs.urgent"))
        #expect(report.lines.contains { $0.fix == "peal topics create" } && report.exitCode == 1)
    }

    @Test func aCredentialThatIsRefusedOrUnreadableIsNamed() throws {
        let rig = try Rig()
        try rig.write(rig.yaml(keyID: "WRONGKEY01"))
        let refused = try rig.check("--probe-apns")
        #expect(refused.has(.bad, "APNs refuses the credential (apns_"), "\(refused.lines)")
        try Files.write(path: "\(rig.folder)/\(ThrowAwayCredentials.fileNames.key)", text: "no key")
        let broken = try rig.check("--app", "shop")
        #expect(broken.has(.bad, "app shop: ") && broken.has(.bad, ThrowAwayCredentials.fileNames.key))
        #expect(broken.exitCode == 1)
    }

    @Test func aProviderThatCannotBeReachedSaysWhy() throws {
        let rig = try Rig()
        try rig.write(rig.yaml(port: try Socket.freePort()))
        let report = try rig.check("--connect", "--probe-apns", timeout: "3s")
        #expect(report.has(.bad, "can't be reached"))
        #expect(report.has(.bad, "no answer") && report.has(.good, "fcm: 127.0.0.1"))
    }

    @Test func kafkaAndRedisThatAreAwaySayWhatToLookAt() throws {
        let rig = try Rig()
        rig.redis.stop()
        var text = try rig.yaml()
        text = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("kafka:") ? "kafka: {brokers: \"127.0.0.1:1\"}" : String(line)
        }.joined(separator: "\n")
        try rig.write(text)
        let report = try rig.check(timeout: "300ms")
        #expect(report.has(.bad, "kafka: 127.0.0.1:1 doesn't answer"))
        #expect(report.has(.bad, "redis: ") && report.lines.contains { $0.fix.contains("redis.url") })
    }

    @Test func aConfigurationThatCannotBeReadTellsEverythingAtOnce() throws {
        let rig = try Rig()
        try rig.write("kafka: {brokrs: x}\nredis: {url: \"ftp://\"}\n")
        let report = try rig.check()
        #expect(report.lines.count == 2 && report.exitCode == 78)
        #expect(report.has(.bad, "peal.yaml:1") && report.has(.bad, "peal.yaml:2"))
        try rig.write(rig.yaml())
        let unknown = try rig.check("--app", "shpo")
        #expect(unknown.has(.bad, "did you mean shop?") && unknown.exitCode == 78)
    }

    @Test func aServerSetUpOtherwiseIsToldWithTheCommand() throws {
        let rig = try Rig()
        let session = try rig.redis.session()
        defer { session.close() }
        try session.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        let report = try rig.check()
        #expect(report.has(.warn, "redis: Redis may evict keys"))
        #expect(
            report.lines.contains { $0.fix == "redis-cli CONFIG SET maxmemory-policy noeviction" })
    }

    @Test func theTextIsAlignedAndCut() {
        var report = CheckReport()
        report.add(.init("redis", .good, "it answers"))
        report.add(.init("redis", .bad, String(repeating: "word ", count: 30), fix: "do this"))
        report.add(.init("app shop", .warn, "odd \u{1B}[31m", fix: ""))
        let text = report.text(style: TextStyle(isEnabled: false), width: 60)
        let lines = text.split(separator: "\n")
        #expect(lines.first == "redis    good  it answers")
        #expect(lines[1].hasPrefix("         bad   word"))
        #expect(lines.allSatisfy { $0.count <= 60 } && !text.contains("\u{1B}"))
        #expect(text.contains("➜ do this") && text.hasSuffix("1 bad, 1 to look at.\n"))
    }
}

@Suite struct CheckDecisionTests {
    @Test func expiryIsWarnedOfAMonthAhead() {
        let day: Int64 = 86_400_000
        func state(_ days: Int64) -> CheckReport.State {
            CredentialChecks.line("app", "r", expiryMs: days * day, nowMs: 0).state
        }
        #expect(state(31) == .good && state(30) == .warn && state(0) == .bad && state(-5) == .bad)
        #expect(CredentialChecks.line("app", "r", expiryMs: nil, nowMs: 0).state == .good)
    }

    @Test func topicsAreMissingOrHaveOnePartition() {
        let topics = Settings.Topics()
        let whole = Dictionary(uniqueKeysWithValues: topics.all.map { ($0, 12) })
        #expect(KafkaChecks.topics(whole, topics).map(\.state) == [.good])
        #expect(KafkaChecks.topics([:], topics).map(\.state) == [.bad])
        var single = whole
        single["peal.jobs.bulk"] = 1
        #expect(KafkaChecks.topics(single, topics).map(\.state) == [.good, .warn])
        var less = whole
        less["peal.dead"] = nil
        #expect(KafkaChecks.topics(less, topics).first?.text.contains("missing: peal.dead") == true)
    }

    @Test func whatRedisSaysOfItselfIsJudged() {
        func states(_ info: String) -> [CheckReport.State] {
            RedisChecks.lines(info: RedisChecks.info(info)).map(\.state)
        }
        #expect(states("redis_version:7.0.15\r\nrole:master\r\n") == [.good])
        #expect(states("redis_version:6.0.16") == [.bad])
        #expect(states("role:slave") == [.bad] && states("loading:1") == [.bad])
        #expect(states("used_memory:50\nmaxmemory:100") == [.good])
        #expect(states("used_memory:85\nmaxmemory:100") == [.warn])
        #expect(states("used_memory:99\nmaxmemory:100") == [.bad])
        #expect(states("used_memory:99\nmaxmemory:0") == [])
        #expect(states("rdb_last_bgsave_status:err") == [.bad])
        #expect(states("redis_version:x.y\nnonsense\n:\n") == [])
        #expect(RedisChecks.skew(200).state == .good && RedisChecks.skew(-3000).state == .warn)
        #expect(RedisChecks.skew(-9000).state == .bad && RedisChecks.skew(.min).state == .bad)
        #expect(RedisChecks.skew(-9000).text.contains("ahead of Redis'"))
    }

    @Test func aProvidersAnswerTellsWhoIsAtFault() {
        func apple(_ status: Int, _ reason: String) -> CheckReport.State {
            ProviderChecks.judge(
                .answered(status: status, body: Array("{\"reason\":\"\(reason)\"}".utf8)), route: "r",
                provider: .apns, part: "p"
            ).state
        }
        #expect(apple(400, "BadDeviceToken") == .good && apple(403, "InvalidProviderToken") == .bad)
        #expect(apple(400, "TopicDisallowed") == .bad && apple(503, "ServiceUnavailable") == .warn)
        #expect(apple(400, "DeviceTokenNotForTopic") == .bad && apple(429, "TooManyRequests") == .warn)
        func google(_ status: Int, _ code: String) -> CheckReport.State {
            let body = """
                {"error":{"status":"\(code)","details":[{"@type":\
                "type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\(code)"}]}}
                """
            return ProviderChecks.judge(
                .answered(status: status, body: Array(body.utf8)), route: "r", provider: .fcm, part: "p"
            ).state
        }
        #expect(google(200, "") == .good && google(404, "UNREGISTERED") == .warn)
        #expect(google(400, "INVALID_ARGUMENT") == .warn && google(403, "SENDER_ID_MISMATCH") == .bad)
        #expect(google(401, "UNAUTHENTICATED") == .bad && google(503, "UNAVAILABLE") == .warn)
        for provider in [Decisions.Provider.apns, .fcm] {
            for answer in [ProbeExchange.Answer.noCredential("x"), .failed("x")] {
                #expect(ProviderChecks.judge(answer, route: "r", provider: provider, part: "p").state == .bad)
            }
        }
    }
}
