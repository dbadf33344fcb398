import Configuration
import Core
import EventLoop
import Kafka
import Logging
import Redis
import Registry
import RetryKit
import SimulatorKit
import TestSupport
import Testing
import WorkerKit

/// What sends a broadcast's jobs, beside the fixture's broker and Redis: the providers' doubles, the retry
/// service, and a worker once it is started.
final class DeliveryRig {
    let fixture: BroadcastFixture
    let simulator: Simulator
    /// The folder of the configuration `peal.yaml` and what it names.
    let folder: String
    private(set) var worker: WorkerService?
    private let retry: RetryService
    private let settings: Settings

    /// `shop` are further settings of the app of that name, `more` what follows the apps.
    init(shop: [String] = [], more: String = "") throws {
        fixture = try BroadcastFixture()
        var doubles = SimulatorSettings()
        doubles.adminPort = nil
        simulator = try Simulator.start(doubles)
        folder = try Files.makeTemporaryDirectory(prefix: "peal-broadcast-test")
        let credentials = simulator.credentials
        try Files.write(path: folder + "/ca.pem", text: credentials.caPEM)
        try Files.write(path: folder + "/key.p8", text: credentials.apnsKeyPEM, mode: 0o600)
        try Files.write(path: folder + "/account.json", text: credentials.serviceAccountJSON, mode: 0o600)
        let ports = simulator.endpoints
        let apns =
            "{key_file: key.p8, key_id: \(credentials.keyID), team_id: \(credentials.teamID), "
            + "topic: com.example.shop, both_environments: true}"
        let text =
            fixture.configuration + """
                providers:
                  apns:
                    production: {host: localhost, port: \(ports.apns ?? 0), ca_file: ca.pem}
                    sandbox: {host: localhost, port: \(ports.sandbox ?? 0), ca_file: ca.pem}
                  fcm:
                    endpoint: {host: localhost, port: \(ports.fcm ?? 0), ca_file: ca.pem}
                    token_endpoint: {host: localhost, port: \(ports.fcm ?? 0), ca_file: ca.pem, path: /token}
                apps:
                  bank:
                    apns: \(apns)
                  shop:
                    apns: \(apns)
                    fcm: {service_account_file: account.json}

                """ + shop.map { "    \($0)\n" }.joined() + more
        try Files.write(path: folder + "/peal.yaml", text: text)
        settings = try Configuration.load(path: folder + "/peal.yaml", environment: [:])
        var retrying = RetrySettings(brokers: fixture.broker.bootstrapServers)
        retrying.tiers = settings.topics.retryTiers
        retrying.isEmbedded = true
        retry = try RetryService.start(retrying, log: .silent)
    }

    deinit { stop() }

    func stop() {
        worker?.stop()
        worker = nil
        retry.stop()
        simulator.stop()
        fixture.stop()
        Files.removeTree(folder)
    }

    /// Starts the worker, which ends with this.
    @discardableResult
    func startWorker() throws -> WorkerService {
        let started = try WorkerService.start(settings, log: .silent)
        worker = started
        return started
    }

    // MARK: What it is about

    /// An APNs token that differs by number.
    static func token(_ number: Int) -> String {
        let tail = String(number, radix: 16)
        return String(repeating: "0", count: 64 - tail.count) + tail
    }

    func directory(_ app: String = "shop") -> DeviceDirectory {
        DeviceDirectory(session: fixture.session, app: app)
    }

    /// Registers a device.
    func register(
        _ recipient: String, _ device: String = "phone", _ platform: DevicePlatform = .ios, token: String,
        app: String = "shop", sandbox: Bool = false, silenced: Bool = false
    ) throws {
        _ = try directory(app).register(
            recipient: recipient, device: device,
            DeviceRecord(
                platform: platform, token: token, registeredAtMs: Clock.wallMs, isSandbox: sandbox,
                isSilenced: silenced))
    }

    /// Registers `user-0`, `user-1`, ... with one phone each; their tokens go by their numbers.
    func register(count: Int) throws {
        for number in 0..<count { try register("user-\(number)", token: Self.token(number)) }
    }

    /// The worker's deliveries with an outcome.
    func outcome(_ name: String) -> Int { Int(worker?.outcomes[name] ?? 0) }

    /// How often each token was sent to.
    var pushes: [String: Int] {
        var seen: [String: Int] = [:]
        simulator.record.forEach { seen[$0.token, default: 0] += 1 }
        return seen
    }

    /// The recipients of each outcome, by the events; waits for so many of them.
    func recipients(atLeast count: Int) throws -> [String: [String]] {
        var found: [String: [String]] = [:]
        for record in try fixture.read(fixture.names.outcomes, atLeast: count) {
            let event = try JSONValue.parse(text: record.value)
            found[event["outcome"]?.string ?? "", default: []].append(event["recipient"]?.string ?? "")
        }
        return found.mapValues { $0.sorted() }
    }
}
