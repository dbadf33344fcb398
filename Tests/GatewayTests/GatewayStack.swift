import Configuration
import Core
import EventLoop
import Foundation
import HTTPClient
import Kafka
import Redis
import Registry
import Security
import SimulatorKit
import TestSupport
import Testing

@testable import GatewayKit

/// The gateway, a worker and a retry service as processes, with a real redis-server, the embedded broker and
/// the simulator: what a phone and a sender would meet.
final class GatewayStack: @unchecked Sendable {
    /// The stack of the suite that is running.
    @TaskLocal static var current: GatewayStack?

    static let secret = "a secret of at least thirty-two bytes"
    static let key = "peal_test-key-of-the-walk-through"
    /// May look, and nothing else.
    static let viewerKey = "peal_key-of-a-viewer"
    static let clientKey = "dk_moonlight"

    let broker: EmbeddedBroker
    let redis: RedisServer
    let simulator: Simulator
    let folder: String
    let url: String
    private var processes: [Process] = []
    private let client: HTTPClient

    init() throws {
        folder = try Files.makeTemporaryDirectory(prefix: "peal-gateway-stack")
        var topics = ["urgent", "normal", "bulk"].map { (name: "peal.jobs.\($0)", partitions: 4) }
        topics += ["1s", "10s"].map { (name: "peal.retry.\($0)", partitions: 2) }
        topics += ["dead", "outcomes", "broadcast", "broadcast.parts"].map { ("peal.\($0)", 2) }
        broker = try EmbeddedBroker(topics: topics)
        redis = try RedisServer()
        try redis.start()
        var doubles = SimulatorSettings()
        doubles.keepsBodies = true
        simulator = try Simulator.start(doubles)
        var options = HTTPClientOptions()
        options.totalTimeoutMs = 60_000
        options.proxy = ""
        client = HTTPClient(options)
        let port = try Socket.freePort()
        url = "http://127.0.0.1:\(port)"
        try writeFiles(port)
        try start("peal-worker", ["--config", folder + "/peal.yaml"])
        try start("peal-retry", ["--config", folder + "/peal.yaml"])
        try start("peal-producer", ["serve", "--config", folder + "/peal.yaml"])
        try start("peal-producer", ["expand", "--config", folder + "/peal.yaml"], log: "expand")
        try #require(
            wait { (try? self.client.send(HTTPClientRequest(url: self.url + "/readyz")))?.status == 200 },
            "the gateway is not ready: \(log("peal-producer"))")
    }

    private func writeFiles(_ port: UInt16) throws {
        let credentials = simulator.credentials
        try Files.write(path: folder + "/ca.pem", text: credentials.caPEM)
        try Files.write(path: folder + "/key.p8", text: credentials.apnsKeyPEM, mode: 0o600)
        try Files.write(path: folder + "/account.json", text: credentials.serviceAccountJSON, mode: 0o600)
        try Files.write(path: folder + "/secret", text: Self.secret, mode: 0o600)
        func digest(_ text: String) -> String { Hex.encode(SHA256.hash(text: text)) }
        try Files.write(
            path: folder + "/keys",
            text:
                "walk:\(digest(Self.key)):*:send,register,admin\nviewer:\(digest(Self.viewerKey)):*:read\nother:\(digest("other-key")):shop:send\n"
        )
        try Files.write(path: folder + "/client-keys", text: "phone:\(digest(Self.clientKey))\n")
        try Files.write(path: folder + "/peal.yaml", text: yaml(port))
    }

    private func yaml(_ port: UInt16) -> String {
        let key = simulator.credentials
        func app(_ name: String, _ more: String...) -> String {
            """
              \(name):
                \(more.joined(separator: "\n    "))
                apns: {key_file: key.p8, key_id: \(key.keyID), team_id: \(key.teamID), topic: com.example.\(name), both_environments: true}
                fcm: {service_account_file: account.json}
                users: {secret_file: secret, audience: \(name), did_key: \(name == "vault")}

            """
        }
        return """
            kafka:
              brokers: \(broker.bootstrapServers)
              session.timeout.ms: 6000
              heartbeat.interval.ms: 500
              fetch.wait.max.ms: 10
            redis: {url: "unix://\(redis.socketPath)"}
            topics: {retry_tiers: [1s, 10s]}
            http: {worker: "127.0.0.1:0", retry: "127.0.0.1:0", gateway: "127.0.0.1:\(port)", expand: "127.0.0.1:0"}
            gateway: {keys_file: keys}
            worker: {shards: 1}
            providers:
              apns:
                production: {host: localhost, port: \(simulator.endpoints.apns ?? 0), ca_file: ca.pem}
                sandbox: {host: localhost, port: \(simulator.endpoints.sandbox ?? 0), ca_file: ca.pem}
              fcm:
                endpoint: {host: localhost, port: \(simulator.endpoints.fcm ?? 0), ca_file: ca.pem}
                token_endpoint: {host: localhost, port: \(simulator.endpoints.fcm ?? 0), ca_file: ca.pem, path: /token}
            apps:
            \(app("shop", "title: Shop"))
            \(app("helpdesk", "title: Helpdesk", "profile: concierge", "contract: support_chat"))
            \(app("moonlight", "profile: dialect", "contract: wallet_alerts", "client_keys_file: client-keys", "app_ids: [dapp-1]"))
            \(app("studio", "profile: creator", "contract: creator", "link_hosts: [studio.example.com]"))
            \(app("vault", "profile: wallet", "contract: wallet_requests"))
            """
    }

    /// The executable that was built beside this test bundle.
    static func executable(_ name: String) throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(fileURLWithPath: own).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent(name)
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    private func start(_ name: String, _ arguments: [String], log: String? = nil) throws {
        let process = Process()
        process.executableURL = try Self.executable(name)
        process.arguments = arguments
        let path = "\(folder)/\(log ?? name).log"
        try Files.write(path: path, text: "")
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        process.standardError = log
        process.standardOutput = log
        try process.run()
        processes.append(process)
    }

    /// What a process has logged.
    func log(_ name: String) -> String { (try? Files.readText(path: "\(folder)/\(name).log")) ?? "" }

    func stop() {
        for process in processes { process.terminate() }
        _ = wait(seconds: 60) { !self.processes.contains { $0.isRunning } }
        for process in processes where process.isRunning { kill(process.processIdentifier, SIGKILL) }
        simulator.stop()
        redis.stop()
        broker.stop()
        Files.removeTree(folder)
    }

    // MARK: - Driving it

    /// A user's token for an app.
    static func token(_ subject: String, _ app: String) -> String {
        let expiry = Clock.wallMs / 1000 + 3600
        return JWT.sign(
            header: #"{"alg":"HS256","typ":"JWT"}"#,
            claims: #"{"sub":"\#(subject)","aud":"\#(app)","exp":\#(expiry)}"#, secret: Array(secret.utf8))
    }

    /// Calls the gateway; with the key of the tests unless other headers are given.
    func call(
        _ method: String, _ path: String, _ body: String = "", headers: [String: String]? = nil
    ) throws -> (status: Int, body: JSONValue) {
        let given = headers ?? ["x-api-key": Self.key]
        let response = try client.send(
            HTTPClientRequest(
                method: method, url: url + path,
                headers: [("content-type", "application/json")] + given.map { (name: $0, value: $1) },
                body: Array(body.utf8)))
        let text = String(decoding: response.body, as: UTF8.self)
        return (response.status, (try? JSONValue.parse(text: text)) ?? .string(text))
    }

    /// The requests that the simulator has delivered to a token.
    func pushes(_ token: String) -> [RecordedRequest] {
        simulator.record.requests(token: token).filter(\.delivered)
    }

    /// The payload of a push to a token, once `count` of them have been delivered.
    func payload(_ token: String, count: Int = 1) throws -> JSONValue {
        try #require(
            wait { self.pushes(token).count >= count },
            "no push to the token; the worker says: \(log("peal-worker").suffix(2000))")
        return try JSONValue.parse(
            text: String(decoding: pushes(token)[count - 1].body, as: UTF8.self))
    }

    /// Waits until the condition holds; false after the deadline.
    func wait(seconds: Double = 60, _ condition: () -> Bool) -> Bool {
        let end = Clock.monotonicMs + UInt64(seconds * 1000)
        while Clock.monotonicMs < end {
            if condition() { return true }
            usleep(20_000)
        }
        return condition()
    }
}

/// Gives a suite one running stack for all its tests.
struct WithGatewayStack: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let stack = try GatewayStack()
        defer { stack.stop() }
        try await GatewayStack.$current.withValue(stack) { try await function() }
    }
}

/// Compares JSON as values: the order of members doesn't count.
func sameJSON(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.object(let a), .object(let b)):
        guard a.count == b.count else { return false }
        return a.allSatisfy { member in
            b.first { $0.name == member.name }.map { sameJSON(member.value, $0.value) } ?? false
        }
    case (.array(let a), .array(let b)):
        return a.count == b.count && zip(a, b).allSatisfy { sameJSON($0, $1) }
    default: return left == right
    }
}
