import Configuration
import Core
import EventLoop
import Foundation
import Kafka
import Logging
import Redis
import Registry
import RetryKit
import SimulatorKit
import Terminal
import TestSupport
import Testing

@testable import PealKit
@testable import WorkerKit

/// What the operator's commands work on, real and on loopback: broker, redis-server, doubles of the
/// providers, and a worker and a retry service that start when they are asked to.
final class ToolRig {
    let broker: EmbeddedBroker
    let redis: PrivateRedisServer
    let simulator: Simulator
    let session: RedisSession
    private(set) var settings: Settings
    private let folder: String
    private let producer: KafkaProducer
    private let log: Logger
    private var worker: WorkerService?
    private var retry: RetryService?

    static let partitions = 3

    init() throws {
        folder = try Files.makeTemporaryDirectory(prefix: "peal-tool-test")
        var topics = ["urgent", "normal", "bulk"].map { "peal.jobs.\($0)" }
        topics += ["peal.retry.1s", "peal.retry.10s", "peal.dead", "peal.outcomes", "peal.broadcast"]
        topics += ["peal.broadcast.parts"]
        broker = try EmbeddedBroker(topics: topics.map { ($0, Self.partitions) })
        redis = try PrivateRedisServer()
        try redis.start()
        var doubles = SimulatorSettings()
        doubles.adminPort = nil
        doubles.keepsBodies = true
        simulator = try Simulator.start(doubles)
        try Files.write(path: folder + "/ca.pem", text: simulator.credentials.caPEM)
        try Files.write(path: folder + "/key.p8", text: simulator.credentials.apnsKeyPEM, mode: 0o600)
        try Files.write(
            path: folder + "/account.json", text: simulator.credentials.serviceAccountJSON, mode: 0o600)
        try Files.write(path: folder + "/peal.yaml", text: Self.yaml(broker, redis, simulator))
        settings = try Configuration.load(path: folder + "/peal.yaml", environment: [:])
        log = Logger(
            "test", sink: LogSink(descriptor: 2, format: .json), levels: LogLevels(standard: .error))
        var producing = KafkaConfiguration.producer(brokers: broker.bootstrapServers)
        producing.tuneForEmbeddedBroker()
        producer = try KafkaProducer(producing, topics: topics)
        try producer.warmUp(timeoutMs: 60_000)
        session = try .patient(redis.endpoint, scripts: RegistryScripts.all)
    }

    deinit { stop() }

    private static func yaml(
        _ broker: EmbeddedBroker, _ redis: PrivateRedisServer, _ simulator: Simulator
    ) -> String {
        let known = simulator.credentials
        let port = simulator.endpoints.fcm ?? 0
        return """
            kafka:
              brokers: \(broker.bootstrapServers)
              session.timeout.ms: 6000
              heartbeat.interval.ms: 500
              fetch.wait.max.ms: 10
              max.in.flight.requests.per.connection: 1
            redis: {url: "unix://\(redis.socketPath)"}
            topics: {retry_tiers: [1s, 10s], partitions: \(partitions), replication: 1}
            http: {worker: off, retry: off, gateway: off}
            worker: {shards: 1, commit_interval: 50ms}
            retry: {delays: {server: 1s}}
            providers:
              apns:
                production: {host: localhost, port: \(simulator.endpoints.apns ?? 0), ca_file: ca.pem}
                sandbox: {host: localhost, port: \(simulator.endpoints.sandbox ?? 0), ca_file: ca.pem}
              fcm:
                endpoint: {host: localhost, port: \(port), ca_file: ca.pem}
                token_endpoint: {host: localhost, port: \(port), ca_file: ca.pem, path: /token}
            apps:
              shop:
                title: Shop
                apns: {key_file: key.p8, key_id: \(known.keyID), team_id: \(known.teamID), topic: com.example.shop}
                fcm: {service_account_file: account.json}
              late:
                title: Late

            """
    }

    /// The commands' way in.
    func access() throws -> ToolAccess { try ToolAccess(settings) }

    /// Starts a worker, which may know fewer apps than the operator, and the retry service.
    func startServices(withoutApp missing: String? = nil) throws {
        var own = settings
        own.apps.removeAll { $0.name == missing }
        let known = own
        worker = try WorkerService.start(known, log: log, reread: { .success(known) })
        guard retry == nil else { return }
        var options = RetrySettings(brokers: broker.bootstrapServers)
        options.tiers = settings.topics.retryTiers
        options.isEmbedded = true
        retry = try RetryService.start(options, log: log)
    }

    func stopWorker() {
        worker?.stop()
        worker = nil
    }

    func outcomes(_ name: String) -> UInt64 { worker?.outcomes[name] ?? 0 }

    func stop() {
        stopWorker()
        retry?.stop()
        retry = nil
        producer.close(deadlineMs: 1000)
        session.close()
        simulator.stop()
        redis.stop()
        broker.stop()
        Files.removeTree(folder)
    }

    // MARK: Driving it

    func register(
        _ recipient: String, _ device: String, _ platform: DevicePlatform, token: String, app: String = "shop"
    ) throws {
        try DeviceDirectory(session: session, app: app).register(
            recipient: recipient, device: device,
            DeviceRecord(platform: platform, token: token, registeredAtMs: Clock.wallMs - 86_400_000))
    }

    func unread(_ recipient: String, app: String = "shop") throws -> Int64 {
        try DeviceDirectory(session: session, app: app).unread(of: recipient)
    }

    func publish(
        _ json: String, key: String, to topic: String = "peal.jobs.normal", headers: [String: String] = [:]
    ) throws {
        let target = try #require(producer.topic(named: topic))
        var list = KafkaHeaders()
        for (name, value) in headers {
            Array(name.utf8).withUnsafeBytes { name in
                Array(value.utf8).withUnsafeBytes { _ = list.add(name: name, $0) }
            }
        }
        var reports: [DeliveryReport] = []
        let result = Array(key.utf8).withUnsafeBytes { key in
            Array(json.utf8).withUnsafeBytes {
                producer.produce(to: target, key: key, value: $0, headers: list, opaque: 1)
            }
        }
        #expect(result == .accepted)
        #expect(producer.flush(deadlineMs: 20_000, into: &reports) == 0)
        #expect(reports.last?.isDelivered == true)
    }

    /// Waits until the condition holds; false after the deadline.
    func wait(seconds: Double = 40, _ condition: () throws -> Bool) rethrows -> Bool {
        let end = Clock.monotonicMs + UInt64(seconds * 1000)
        while Clock.monotonicMs < end {
            if try condition() { return true }
            usleep(50_000)
        }
        return try condition()
    }

    // MARK: Commands

    static func arguments(_ command: Command, _ words: [String]) throws -> Arguments {
        let request = try ArgumentParser.parse(words, for: command, environment: [:])
        guard case .run(let arguments) = request else { throw UsageFailure("no run") }
        return arguments
    }

    func order(_ words: String...) throws -> DeadOrder {
        try DeadOrder(
            Self.arguments(DeadCommand.command, words), nowMs: Clock.wallMs, canAsk: false)
    }

    func letters(_ words: String...) throws -> [DeadLetter] {
        let order = try DeadOrder(
            Self.arguments(DeadCommand.command, ["list"] + words), nowMs: Clock.wallMs, canAsk: false)
        return try DeadCommand.read(order, access(), limit: 1000).newest()
    }

    func replay(_ words: String...) throws -> [ReplayVerdict: Int] {
        let order = try DeadOrder(
            Self.arguments(DeadCommand.command, ["replay", "--yes"] + words), nowMs: Clock.wallMs,
            canAsk: false)
        return try DeadCommand.replay(order, access()).counts
    }

    func trace(_ words: String...) throws -> TraceReport {
        let order = try TraceOrder(Self.arguments(TraceCommand.command, words), nowMs: Clock.wallMs)
        return try TraceCommand.carryOut(order, access())
    }
}

enum ToolTokens {
    /// APNs refuses the first request to it for good, and takes the next ones.
    static let refusedOnce = "fa11fa11" + "4005" + "01" + "0000" + String(repeating: "a", count: 46)
    static let good = String(repeating: "b", count: 64)

    /// An FCM token; a tail tells what the double answers.
    static func fcm(_ tail: String = "") -> String {
        "fcm-token:APA91b" + String(repeating: "x", count: 120) + tail
    }
}
