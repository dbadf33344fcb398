import Core
import EventLoop
import Jobs
import Kafka
import ProducerKit
import Redis
import Registry
import Terminal
import TestSupport
import Testing

@Suite struct ReadCommandTests {
    private func settings(_ words: String...) throws -> ReadSettings {
        guard case .run(let arguments) = try ArgumentParser.parse(["read"] + words, for: ProducerCommand.root)
        else {
            throw UsageFailure("no run")
        }
        return try ReadCommand.settings(arguments)
    }

    @Test func optionsBecomeSettings() throws {
        let set = try settings(
            "--app", "shop", "--recipient", "r", "--device", "phone", "--set", "3", "--as-of", "99",
            "--redis", "redis://cache:6380", "-b", "k:1", "--topic-prefix", "x", "--patience", "2s", "--json")
        #expect(set.app == "shop" && set.recipient == "r" && set.device == "phone" && set.isJSON)
        #expect(set.change == .set(3, asOfMs: 99))
        #expect(set.redis.address == .tcp(host: "cache", port: 6380))
        #expect(set.kafka.brokers == "k:1" && set.kafka.names.prefix == "x" && set.kafka.patienceMs == 2000)
        let add = try settings("--app", "shop", "--recipient", "r", "--add", "-4")
        #expect(add.change == .add(-4) && add.device.isEmpty)
        let thread = try settings("--app", "shop", "--recipient", "r", "--set", "0", "--thread", "cnv_1")
        #expect(thread.change == .setThread("cnv_1", 0))
    }

    @Test(arguments: [
        ["--app", "a", "--recipient", "r"], ["--app", "a", "--set", "1"], ["--recipient", "r", "--set", "1"],
        ["--app", "a", "--recipient", "r", "--set", "1", "--add", "1"],
        ["--app", "a", "--recipient", "r", "--set", "-1"],
        ["--app", "a", "--recipient", "r", "--add", "1", "--as-of", "5"],
        ["--app", "a", "--recipient", "r", "--add", "1", "--thread", "t"],
        ["--app", "a", "--recipient", "r", "--set", "1", "--as-of", "5", "--thread", "t"],
        ["--app", "a", "--recipient", "r", "--set", "1", "--redis", "http://x"],
    ])
    func aWrongCallIsRefused(words: [String]) {
        #expect(throws: UsageFailure.self) {
            guard
                case .run(let arguments) = try ArgumentParser.parse(
                    ["read"] + words, for: ProducerCommand.root)
            else { return }
            _ = try ReadCommand.settings(arguments)
        }
    }

    private func settings(_ server: RedisServer, _ broker: EmbeddedBroker?) -> ReadSettings {
        var kafka = SendSettings()
        kafka.brokers = broker?.bootstrapServers ?? "127.0.0.1:1"
        kafka.patienceMs = broker == nil ? 300 : 20_000
        var settings = ReadSettings(redis: server.endpoint, kafka: kafka)
        settings.app = "shop"
        settings.recipient = "a/b\"c"
        settings.device = "phone"
        settings.change = .add(-2)
        settings.isJSON = true
        return settings
    }

    private func run(_ settings: ReadSettings, _ said: inout [String]) -> Int32 {
        var lines: [String] = []
        defer { said += lines }
        return ReadCommand.run(settings, write: { lines.append($0) }, complain: { lines.append($0) })
    }

    private final class Values: KafkaRecordSink {
        var records: [(key: String, value: [UInt8])] = []
        func take(_ record: borrowing KafkaRecord) {
            records.append(
                (
                    record.key.map { String(decoding: $0, as: UTF8.self) } ?? "",
                    record.value.map { Array($0) } ?? []
                ))
        }
    }

    @Test func aReadChangesTheCounterAndPublishesAPushToTheOthers() throws {
        let server = try RedisServer()
        let topics = JobPublisher.topics()
        let broker = try EmbeddedBroker(topics: topics.map { ($0, 1) })
        let session = try server.session(scripts: RegistryScripts.all)
        let directory = DeviceDirectory(session: session, app: "shop")
        try directory.addUnread(5, of: "a/b\"c")
        let settings = settings(server, broker)
        var said: [String] = []
        for _ in 0..<2 {
            let code = run(settings, &said)
            #expect(code == 0)
        }
        #expect(said == ["{\"unread\":3,\"published\":true}\n", "{\"unread\":1,\"published\":false}\n"])
        let consumer = try KafkaConsumer(
            KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "reader"), topics: topics)
        defer { consumer.close(deadlineMs: 2000) }
        try consumer.assign(
            topics.indices.map {
                TopicPartitionOffset(
                    topic: Int32($0), partition: 0, offset: TopicPartitionOffset.beginning)
            })
        let sink = Values()
        let end = Clock.monotonicMs + 60_000
        while sink.records.isEmpty, Clock.monotonicMs < end {
            _ = consumer.poll(timeoutMs: 100, maxRecords: 10, into: sink)
        }
        #expect(sink.records.map(\.key) == ["shop/a/b\"c"])
        let value = try #require(sink.records.first?.value)
        let parser = try #require(JobParser())
        try value.withUnsafeBytes { bytes in
            var job = Job()
            #expect(parser.parse(bytes, into: &job) == nil)
            #expect(job.target == .others && job.type == .badge && job.deviceCount == 1)
            #expect(job.sendAtMs > Clock.wallMs - 60_000)
            var devices = job.devices
            let first = try #require(devices.next()?.text)
            #expect(first.equals("phone"))
        }
    }

    @Test func aBrokerThatIsAwayLeavesTheTellingToTheNextRead() throws {
        let server = try RedisServer()
        var said: [String] = []
        let settings = settings(server, nil)
        let code = run(settings, &said)
        #expect(code == 69)
        #expect(said.first?.contains("the other devices aren't told") == true)
        let session = try server.session()
        #expect(try session.command("KEYS", "peal:sync:*").array.isEmpty)
    }

    @Test func aRedisThatIsAwayIsSaid() throws {
        let server = try RedisServer()
        let settings = settings(server, nil)
        server.stop()
        var said: [String] = []
        let code = run(settings, &said)
        #expect(code == 69)
        #expect(said.count == 1)
    }

    @Test func whatCanBeNoRecipientIsRefusedBeforeAnythingHappens() throws {
        let server = try RedisServer()
        var settings = settings(server, nil)
        settings.app = "no/app"
        var said: [String] = []
        let code = run(settings, &said)
        #expect(code == 64)
        #expect(said.first?.contains("app") == true)
        #expect(try server.session().command("DBSIZE").integer == 0)
    }
}
