import Configuration
import Core
import EventLoop
import Foundation
import HTTPClient
import Kafka
import Logging
import Redis
import Registry
import RetryKit
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

/// Everything a worker needs, real and on loopback: broker, redis-server, APNs and FCM doubles, retry
/// service.
final class Rig {
    let broker: EmbeddedBroker
    let redis: PrivateRedisServer
    let simulator: Simulator
    let folder: String
    let settings: Settings
    private(set) var worker: WorkerService?
    private(set) var retry: RetryService?
    private let producer: KafkaProducer
    private let session: RedisSession
    private let log: Logger
    private let sink: LogSink

    static let lanes = ["urgent", "normal", "bulk"]
    static let tiers = [("1s", 1000), ("10s", 10_000)]

    /// `extra` is appended to the configuration; `simulated` changes the doubles before they start.
    init(
        partitions: Int = 4, brokers: Int = 1, apps: String? = nil, worker workerYAML: String = "",
        providers: String = "", retryYAML: String = "", startsWorker: Bool = true,
        environment: [String: String] = [:],
        commitInterval: String = "100ms", redis shared: PrivateRedisServer? = nil,
        levels: LogLevels = LogLevels(standard: .error), lines: KeptLines? = nil,
        simulated: (inout SimulatorSettings) -> Void = { _ in }
    ) throws {
        folder = try Files.makeTemporaryDirectory(prefix: "peal-worker-test")
        var topics = Self.lanes.map { (name: "peal.jobs.\($0)", partitions: partitions) }
        topics += Self.tiers.map { (name: "peal.retry.\($0.0)", partitions: 2) }
        topics += [(name: "peal.dead", partitions: 2), (name: "peal.outcomes", partitions: 2)]
        broker = try EmbeddedBroker(topics: topics, brokers: brokers)
        redis = try shared ?? PrivateRedisServer()
        try redis.start()
        var doubles = SimulatorSettings()
        doubles.adminPort = nil
        doubles.keepsBodies = true
        simulated(&doubles)
        simulator = try Simulator.start(doubles)
        try Files.write(path: folder + "/ca.pem", text: simulator.credentials.caPEM)
        try Files.write(path: folder + "/key.p8", text: simulator.credentials.apnsKeyPEM, mode: 0o600)
        try Files.write(
            path: folder + "/account.json", text: simulator.credentials.serviceAccountJSON, mode: 0o600)
        let text = Self.yaml(
            self.folder, broker, redis, simulator, apps,
            "  commit_interval: \(commitInterval)\n" + workerYAML, providers + "\n" + retryYAML)
        try Files.write(path: folder + "/peal.yaml", text: text)
        settings = try Configuration.load(path: folder + "/peal.yaml", environment: environment)
        if let lines {
            sink = LogSink(format: .json) { lines.append($0) }
        } else {
            sink = LogSink(descriptor: 2, format: .json)
        }
        log = Logger("test", sink: sink, levels: levels)
        var producing = KafkaConfiguration.producer(brokers: broker.bootstrapServers)
        producing.tuneForEmbeddedBroker()
        producer = try KafkaProducer(producing, topics: topics.map(\.name))
        try producer.warmUp(timeoutMs: 60_000)
        session = try .patient(redis.endpoint, scripts: RegistryScripts.all)
        try startRetry()
        if startsWorker { try startWorker() }
    }

    deinit { stop() }

    private static func yaml(
        _ folder: String, _ broker: EmbeddedBroker, _ redis: PrivateRedisServer, _ simulator: Simulator,
        _ apps: String?, _ worker: String, _ providers: String
    ) -> String {
        let credentials = simulator.credentials
        let defaultApps = """
              shop:
                title: Shop
                apns: {key_file: key.p8, key_id: \(credentials.keyID), team_id: \(credentials.teamID), topic: com.example.shop, both_environments: true}
                fcm: {service_account_file: account.json}
              bare:
                title: Bare
            """
        return """
            kafka:
              brokers: \(broker.bootstrapServers)
              session.timeout.ms: 6000
              heartbeat.interval.ms: 500
              fetch.wait.max.ms: 10
              max.in.flight.requests.per.connection: 1
            redis: {url: "unix://\(redis.socketPath)"}
            topics: {retry_tiers: [1s, 10s]}
            http: {worker: "127.0.0.1:0", retry: off, gateway: off}
            worker:
              shards: 2
            \(worker)
            providers:
              apns:
                production: {host: localhost, port: \(simulator.endpoints.apns ?? 0), ca_file: ca.pem}
                sandbox: {host: localhost, port: \(simulator.endpoints.sandbox ?? 0), ca_file: ca.pem}
              fcm:
                endpoint: {host: localhost, port: \(simulator.endpoints.fcm ?? 0), ca_file: ca.pem}
                token_endpoint: {host: localhost, port: \(simulator.endpoints.fcm ?? 0), ca_file: ca.pem, path: /token}
            \(providers)
            apps:
            \(apps ?? defaultApps)

            """
    }

    func startWorker() throws {
        let file = folder + "/peal.yaml"
        worker = try WorkerService.start(
            settings, log: log,
            reread: { Configuration.result(path: file, environment: [:]) })
    }

    /// Changes the configuration's file.
    func rewriteConfiguration(_ old: String, _ new: String) throws {
        let path = folder + "/peal.yaml"
        let text = try Files.readText(path: path)
        #expect(text.contains(old))
        try Files.write(path: path, text: text.replacingOccurrences(of: old, with: new))
    }

    func stopWorker() {
        worker?.stop()
        worker = nil
    }

    func startRetry() throws {
        var options = RetrySettings(brokers: broker.bootstrapServers)
        options.tiers = settings.topics.retryTiers
        options.isEmbedded = true
        retry = try RetryService.start(options, log: log)
    }

    func stop() {
        stopWorker()
        retry?.stop()
        retry = nil
        producer.close(deadlineMs: 1000)
        simulator.stop()
        redis.stop()
        broker.stop()
        Files.removeTree(folder)
    }

    // MARK: Driving it

    /// What the worker's HTTP port answers.
    func probe(_ path: String) throws -> String {
        let port = try #require(worker?.httpPort)
        let client = HTTPClient(HTTPClientOptions())
        let response = try client.send(HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)"))
        return String(decoding: response.body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A metric without labels, or the sum over its labels.
    func metric(_ name: String) throws -> Int {
        try probe("/metrics").split(separator: "\n")
            .filter { $0.hasPrefix(name + " ") || $0.hasPrefix(name + "{") }
            .compactMap { Int($0.split(separator: " ").last ?? "") }.reduce(0, +)
    }

    /// A field of an app's counters since the beginning, as Redis has it.
    func total(_ field: String, app: String) throws -> Int64 {
        try session.command("HGET", "peal:total:{\(app)}", field).integer ?? 0
    }

    func register(
        _ recipient: String, device: String, _ platform: DevicePlatform, token: String, app: String = "shop",
        sandbox: Bool = false, at: Int64 = Clock.wallMs - 86_400_000, timeZone: String = ""
    ) throws {
        let directory = DeviceDirectory(session: session, app: app)
        _ = try directory.register(
            recipient: recipient, device: device,
            DeviceRecord(
                platform: platform, token: token, registeredAtMs: at, isSandbox: sandbox, timeZone: timeZone))
    }

    func devices(of recipient: String, app: String = "shop") throws -> [String] {
        try DeviceDirectory(session: session, app: app).devices(of: recipient).map(\.id).sorted()
    }

    /// A device's record as the registry has it now.
    func record(of recipient: String, device: String, app: String = "shop") throws -> DeviceRecord? {
        try DeviceDirectory(session: session, app: app).devices(of: recipient).first { $0.id == device }?
            .record
    }

    func unread(of recipient: String, app: String = "shop") throws -> Int64 {
        try DeviceDirectory(session: session, app: app).unread(of: recipient)
    }

    /// Runs a command on the redis-server.
    func redisCommand(_ words: String...) throws { _ = try session.command(words) }

    /// Runs a command on the redis-server whose reply is a number.
    func redisInteger(_ words: String...) throws -> Int64 { try session.command(words).integer ?? 0 }

    func publish(_ json: String, key: String?, lane: String = "normal") throws {
        try publish(bytes: Array(json.utf8), key: key.map { Array($0.utf8) }, lane: lane)
    }

    /// Publishes a job whose record has headers.
    func publish(
        _ json: String, key: String, lane: String = "normal", headers: [(name: StaticString, value: String)]
    ) throws {
        let topic = try #require(producer.topic(named: "peal.jobs.\(lane)"))
        var packed = KafkaHeaders()
        for (name, value) in headers { packed.add(name, text: value) }
        let (key, value) = (Array(key.utf8), Array(json.utf8))
        let result = key.withUnsafeBytes { key in
            value.withUnsafeBytes {
                producer.produce(to: topic, key: key, value: $0, headers: packed, opaque: 0)
            }
        }
        #expect(result == .accepted)
        var reports: [DeliveryReport] = []
        #expect(producer.flush(deadlineMs: 20_000, into: &reports) == 0)
    }

    func publish(bytes: [UInt8]?, key: [UInt8]?, lane: String = "normal") throws {
        let topic = try #require(producer.topic(named: "peal.jobs.\(lane)"))
        _ = try producer.produceAndWait(to: topic, key: key, value: bytes)
    }

    /// Publishes many jobs without waiting for each.
    func publishMany(_ jobs: [(key: String, json: String)], lane: String = "normal") throws {
        let topic = try #require(producer.topic(named: "peal.jobs.\(lane)"))
        var reports: [DeliveryReport] = []
        for job in jobs {
            let key = Array(job.key.utf8)
            let value = Array(job.json.utf8)
            while true {
                let result = key.withUnsafeBytes { key in
                    value.withUnsafeBytes { producer.produce(to: topic, key: key, value: $0, opaque: 0) }
                }
                if result == .accepted { break }
                producer.drain(into: &reports, timeoutMs: 10)
            }
        }
        try #require(producer.flush(deadlineMs: 20_000, into: &reports) == 0)
        #expect(reports.allSatisfy { $0.isDelivered })
    }

    /// All records of a topic so far, as (key, value, headers).
    func read(_ topic: String, partitions: Int = 2) throws -> [(
        key: String, value: [UInt8], headers: [String: String]
    )] {
        let reader = RecordReader()
        let consumer = try KafkaConsumer(
            KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "reader"), topics: [topic])
        defer { consumer.close(deadlineMs: 2000) }
        try consumer.assign(
            (0..<Int32(partitions)).map {
                TopicPartitionOffset(topic: 0, partition: $0, offset: TopicPartitionOffset.beginning)
            })
        var idle = 0
        while idle < (reader.records.isEmpty ? 30 : 8) {
            idle = consumer.poll(timeoutMs: 100, maxRecords: 1000, into: reader) == 0 ? idle + 1 : 0
        }
        return reader.records
    }

    /// Waits until the condition holds; false after the deadline.
    func wait(seconds: Double = 20, _ condition: () throws -> Bool) rethrows -> Bool {
        let end = Clock.monotonicMs + UInt64(seconds * 1000)
        while Clock.monotonicMs < end {
            if try condition() { return true }
            usleep(50_000)
        }
        return try condition()
    }

    /// How many requests were recorded, once no more arrive: those in flight at a kill are recorded a little
    /// later.
    func settledRequestCount() -> Int {
        var last = -1
        _ = wait {
            let now = simulator.record.count
            defer { last = now }
            return now == last
        }
        return last
    }

    var accepted: UInt64 { worker?.outcomes["accepted"] ?? 0 }
}

private final class RecordReader: KafkaRecordSink {
    var records: [(key: String, value: [UInt8], headers: [String: String])] = []

    func take(_ record: borrowing KafkaRecord) {
        var headers: [String: String] = [:]
        record.forEachHeader { name, value in
            headers[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        records.append(
            (
                record.key.map { String(decoding: $0, as: UTF8.self) } ?? "",
                record.value.map { Array($0) } ?? [], headers
            ))
    }
}

enum Tokens {
    /// A plausible APNs token that differs by number.
    static func apns(_ number: Int) -> String {
        let tail = String(number, radix: 16)
        return String(repeating: "a", count: 64 - tail.count) + tail
    }

    /// A plausible FCM token that differs by number.
    static func fcm(_ number: Int) -> String {
        "fcm-token-\(number):APA91b" + String(repeating: "x", count: 120)
    }
}
