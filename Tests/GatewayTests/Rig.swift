import Configuration
import Core
import EventLoop
import Glibc
import GatewayKit
import HTTPClient
import HTTPServer
import Jobs
import Kafka
import Logging
import ProducerKit
import Redis
import TestSupport

/// A gateway in this process, over a real Redis and the embedded broker. Threads may send at the same time;
/// whoever made it stops it.
final class Rig: @unchecked Sendable {
    /// Keys that tests use, by name: what they may do is the rest of their lines.
    static let keys = [
        "shop-send:shop:send", "shop-register:shop:register", "bank-send:bank:send",
        "all:*:send,register,admin",
        "two:shop,bank:send", "shop-read:shop:read", "viewer:*:read", "shop-admin:shop:admin",
    ]

    /// The configured apps.
    static let apps = ["shop", "bank"]

    let redis: RedisServer
    /// Other tests' as well, unless it was asked for.
    let broker: EmbeddedBroker
    private let prefix: String
    let directory: String
    let service: GatewayService
    private let options: HTTPClientOptions
    private let scheme: String
    private var isStopped = false

    /// `ownsBroker` is for tests that disturb it.
    init(
        ownsBroker: Bool = false, keys: [String]? = Rig.keys, verifier: (any UserTokenVerifier)? = nil,
        scheme: String = "http",
        more: (Gatekeeper) -> [GatewayRoute] = { _ in [] },
        configure: (inout GatewaySettings, String) throws -> Void = { _, _ in }
    ) throws {
        self.scheme = scheme
        redis = try RedisServer()
        (broker, prefix) = try ownsBroker ? (EmbeddedBroker(), "own") : Brokers.shared.take()
        directory = try Files.makeTemporaryDirectory(prefix: "peal-gateway")
        var redisOptions = RedisClientOptions(endpoint: redis.endpoint)
        redisOptions.scripts = GatewayScripts.all
        redisOptions.timeoutMs = 5_000
        var settings = GatewaySettings(brokers: broker.bootstrapServers, redis: redisOptions)
        settings.isEmbedded = true
        settings.apps = AppNames(Self.apps)
        settings.names = TopicNames(prefix: prefix)
        settings.gateway.timeoutMs = 30_000
        if let keys {
            settings.gateway.keysFile = "\(directory)/keys"
            try Self.write(keys, to: "\(directory)/keys")
        }
        try configure(&settings, directory)
        var options = HTTPClientOptions()
        options.totalTimeoutMs = 60_000
        options.proxy = ""
        if scheme == "https" { options.caFile = "\(directory)/ca.pem" }
        self.options = options
        service = try GatewayService.start(settings, log: .silent, verifier: verifier, more: more)
    }

    deinit { stop() }

    /// Directories of gateways that live as long as the process.
    private static let leftovers = Locked<[String]>([])

    /// A gateway that lives as long as the process, for tests that change nothing; its files go at the end.
    static func lasting(_ make: () throws -> Rig) -> Result<Rig, any Error> {
        Result {
            let rig = try make()
            let isFirst = leftovers.withLock { list in
                list.append(rig.directory)
                return list.count == 1
            }
            if isFirst { atexit { Rig.leftovers.withLock { $0 }.forEach { Files.removeTree($0) } } }
            return rig
        }
    }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        service.stop()
        Files.removeTree(directory)
    }

    /// Each key's text is its name and `-secret`.
    static func write(_ keys: [String], to path: String) throws {
        let lines = keys.map { key in
            let parts = key.split(separator: ":", maxSplits: 1)
            return "\(parts[0]):\(Hex.encode(APIKey.digest(of: "\(parts[0])-secret"))):\(parts[1])\n"
        }
        try Files.write(path: path, text: "# keys\n\n" + lines.joined())
    }

    func send(
        _ method: String, _ path: String, key: String? = "shop-send",
        headers: [(name: String, value: String)] = [], body: String = ""
    ) throws -> HTTPClientResponse {
        var all = headers
        if let key { all.append(("authorization", "Bearer \(key)-secret")) }
        // A client is one thread's; tests may run at the same time.
        return try HTTPClient(options).send(
            HTTPClientRequest(
                method: method, url: "\(scheme)://127.0.0.1:\(service.port)\(path)", headers: all,
                body: Array(body.utf8)))
    }

    func post(
        _ body: String, key: String? = "shop-send", type: String = "application/json",
        path: String = "/v1/jobs", headers: [(name: String, value: String)] = []
    ) throws -> HTTPClientResponse {
        try send("POST", path, key: key, headers: [("content-type", type)] + headers, body: body)
    }

    /// Every record of a lane, once there are at least `count`.
    func records(_ lane: String, count: Int) throws -> [String] {
        try read(lane, count: count).values
    }

    private func read(_ lane: String, count: Int) throws -> Records {
        let sink = Records()
        let topic = TopicNames(prefix: prefix).jobs(lane: lane)
        var configuration = KafkaConfiguration.tool(brokers: broker.bootstrapServers, group: "reader")
        configuration.tuneForEmbeddedBroker()
        let consumer = try KafkaConsumer(configuration, topics: [topic])
        defer { consumer.close(deadlineMs: 2_000) }
        try consumer.assign(
            (0..<Brokers.partitions).map {
                TopicPartitionOffset(topic: 0, partition: $0, offset: TopicPartitionOffset.beginning)
            })
        let end = Clock.monotonicMs + 60_000
        while sink.values.count < count, Clock.monotonicMs < end {
            _ = consumer.poll(timeoutMs: 50, maxRecords: 10_000, into: sink)
        }
        // What there is too much of has been written before the last one.
        _ = consumer.poll(timeoutMs: 100, maxRecords: 10_000, into: sink)
        return sink
    }

    /// The headers of a lane's records, once there are at least `count`, in the order of ``records``.
    func headers(_ lane: String, count: Int) throws -> [[String: String]] {
        try read(lane, count: count).headers
    }

    private final class Records: KafkaRecordSink {
        var values: [String] = []
        var headers: [[String: String]] = []
        func take(_ record: borrowing KafkaRecord) {
            var own: [String: String] = [:]
            record.forEachHeader { name, value in
                own[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
            }
            headers.append(own)
            values.append(record.value.map { String(decoding: $0, as: UTF8.self) } ?? "")
        }
    }

    /// Waits until the condition holds; false after a minute.
    func wait(_ condition: () throws -> Bool) rethrows -> Bool {
        let end = Clock.monotonicMs + 60_000
        while Clock.monotonicMs < end {
            if try condition() { return true }
            usleep(10_000)
        }
        return false
    }
}

/// One embedded broker for many gateways, each with topics of its own. It makes topics when a producer asks
/// for them, with four partitions; to make them beforehand takes a tenth of a second each.
final class Brokers: Sendable {
    static let shared = Brokers()
    static let partitions: Int32 = 4
    private let state = Locked<(broker: EmbeddedBroker?, next: Int)>((nil, 0))

    /// The broker and a prefix of topics that nobody else has.
    func take() throws -> (EmbeddedBroker, String) {
        try state.withLock { state in
            let broker = try state.broker ?? EmbeddedBroker()
            state = (broker, state.next + 1)
            return (broker, "g\(state.next)")
        }
    }
}

extension HTTPClientResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
    var json: JSONValue? { try? JSONValue.parse(text: text) }
    /// The end of a problem document's type.
    var problem: String? {
        json?["type"]?.string.flatMap { $0.split(separator: ":").last.map(String.init) }
    }
    /// The ids of a send's answer.
    var ids: [String] { json?["jobs"]?.array?.compactMap { $0["id"]?.string } ?? [] }
}
