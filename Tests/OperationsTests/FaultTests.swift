import Core
import Decisions
import EventLoop
import Foundation
import Kafka
import Redis
import SimulatorKit
import Testing

@testable import PealKit

/// Real faults of a real stack, seen by a real Prometheus with the rules as shipped.
@Suite("Faults and their alerts", .serialized) struct FaultTests {
    @Test(
        "Each fault fires its own alert and no other, which ends with it; and all books agree",
        .timeLimit(.minutes(5)))
    func faults() throws {
        let rig = try FaultRig()
        defer { rig.stop() }
        try rig.expectTraffic()
        try rig.flood()
        try rig.providerFaults()
        try rig.appFaults()
        try rig.expectQuiet()
        try rig.expectBooksToAgree()
        try rig.outages()
        try rig.expectQuiet()
    }

    @Test("A hastened rule file has every duration divided, and is one that promtool takes")
    func hastened() throws {
        let text = PrometheusServer.hastened(
            "a[1m] b[5m:10s] offset 30s\nfor: 20s\nkeep_firing_for: 2m", by: 10)
        #expect(text == "a[6000ms] b[30000ms:10s] offset 3000ms\nfor: 2000ms\nkeep_firing_for: 12000ms")
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        defer { Files.removeTree(directory) }
        let rules = PrometheusServer.hastened(try DeployFiles.text(DeployFiles.rulesPath), by: 10)
        #expect(!rules.contains("1m]") && !rules.contains("seconds < 60"))
        try Files.write(path: "\(directory)/rules.yml", text: rules)
        let check = try DeployFiles.run(["promtool", "check", "rules", "\(directory)/rules.yml"])
        #expect(check.code == 0, "\(check.output)")
    }
}

/// The stack, its Prometheus, and what is sent through it.
final class FaultRig {
    /// What an alert is expected to be about.
    struct Expected {
        let name: String
        let labels: [String: String]

        init(_ name: String, _ labels: [String: String] = [:]) {
            self.name = name
            self.labels = labels
        }

        func fits(_ alert: PrometheusServer.Alert) -> Bool {
            alert.name == name && labels.allSatisfy { alert.labels[$0.key] == $0.value }
        }
    }

    let stack: Stack
    let prometheus: PrometheusServer
    let traffic: Traffic
    let apps = ["shop", "chat", "bank", "slow", "storm", "flood"]
    /// What may still fire although its fault is over.
    private var ending: [Expected] = []

    private static let usual: [Traffic.Stream] = [
        .init(app: "shop", token: "aa01"), .init(app: "shop", token: "phone-", isAndroid: true),
        .init(app: "chat", token: "aa02"), .init(app: "chat", token: "tablet-", isAndroid: true),
    ]

    init() throws {
        var options = StackOptions()
        options.workers = 2
        options.gateways = 1
        options.apps = apps.map { StackApp($0) }
        options.settings = [
            "worker": ["shards: 1", "in_flight: 200"], "kafka": ["topic.metadata.refresh.interval.ms: 5000"],
        ]
        options.programDirectory = try Self.programs()
        stack = try Stack(options)
        prometheus = try PrometheusServer()
        traffic = Traffic(port: stack.gatewayPorts[0], key: stack.apiKey)
        try prometheus.setTargets(targets())
        traffic.send(Self.usual)
    }

    func stop() {
        traffic.stop()
        prometheus.stop()
        stack.stop()
    }

    /// The directory of the programs that were built beside this test bundle.
    private static func programs() throws -> String {
        var folder = URL(fileURLWithPath: StackOptions.ownDirectory)
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("peal-worker")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return folder.path }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    private func targets() -> [String: [UInt16]] {
        let workers = zip(stack.workers, stack.workerPorts).filter { $0.0.ending == nil }.map(\.1)
        return ["worker": workers, "retry": stack.retryPorts, "gateway": stack.gatewayPorts]
    }

    // MARK: - Faults

    /// More bulk jobs than are sent in a minute. It is over as soon as the next fault's script is in force.
    func flood() throws {
        try run("a flood of bulk jobs", alerts: [Expected("PealBulkBacklog", ["lane": "bulk"])]) {
            try stack.simulator.setFaults(
                #"{"rules":[{"topic":"com.example.flood","answer":{"delay_ms":600}}]}"#)
            #expect(traffic.flood(.init(app: "flood", token: "aa05", ttl: 600), count: 30_000))
        }
    }

    /// Faults that a provider has: of a credential, and for everybody.
    func providerFaults() throws {
        let refused = Expected("PealCredentialRefused", ["app": "bank", "provider": "apns"])
        try run("APNs refuses the credential of bank", alerts: [refused]) {
            // Its sandbox is a route of its own, and so a credential that nobody else is held up by.
            traffic.send(Self.usual + [.init(app: "bank", token: "aa03", isSandbox: true)])
            try stack.simulator.setFaults(
                #"{"rules":[{"provider":"apns","environment":"sandbox","answer":{"reason":"InvalidProviderToken"}}]}"#
            )
        }
        traffic.send(Self.usual)
        let unavailable = Expected("PealProviderUnavailable", ["provider": "fcm"])
        try run("FCM answers 503", alerts: [unavailable]) {
            try stack.simulator.setFaults(#"{"rules":[{"provider":"fcm","answer":{"error":"UNAVAILABLE"}}]}"#)
        }
        stack.simulator.clearFaults()
    }

    /// Faults that are one app's.
    func appFaults() throws {
        let alerts = [
            Expected("PealPoisonJobs", ["app": "*unknown"]), Expected("PealTokenStorm", ["app": "storm"]),
            Expected("PealAppStuck", ["app": "slow"]),
        ]
        try run("poison jobs, dead tokens and a slow app", alerts: alerts) {
            try stack.simulator.setFaults(
                #"{"rules":[{"topic":"com.example.slow","answer":{"delay_ms":7000}}]}"#)
            try publishPoison(count: 5)
            traffic.send(
                Self.usual + [
                    .init(app: "storm", token: "fa11fa11410000"),
                    .init(app: "slow", token: "aa04", perTurn: 60),
                ])
        }
        traffic.send(Self.usual)
        stack.simulator.clearFaults()
    }

    /// What everything needs goes away.
    func outages() throws {
        traffic.send(Self.usual)
        try run("Redis hangs", alerts: [Expected("PealRedisAway")]) { stack.redis.suspend() }
        stack.redis.resume()
        try run("no broker answers", alerts: [Expected("PealKafkaAway")]) { stack.broker.setAll(isUp: false) }
        stack.broker.setAll(isUp: true)
        // The embedded broker lets a group form anew only after a session: ten of these seconds are a minute.
        ending.append(Expected("PealRetryBacklog"))
        let port = stack.workerPorts[1]
        let gone = Expected("PealWorkerGone", ["instance": "127.0.0.1:\(port)"])
        try run("a worker is killed", alerts: [gone]) { stack.workers[1].kill() }
        // Another takes its place, as a deployment would see to.
        try stack.startWorker()
        try prometheus.setTargets(targets())
        try stack.waitUntilReady()
    }

    private func publishPoison(count: Int) throws {
        let producer = try KafkaProducer(
            KafkaConfiguration.producer(brokers: stack.broker.bootstrapServers, clientID: "peal-test"),
            topics: [stack.topics.jobs(lane: "normal")])
        defer { producer.close(deadlineMs: 5_000) }
        for number in 0..<count {
            let (key, value) = (Array("poison/\(number)".utf8), Array("{\"this is\": no job".utf8))
            _ = try producer.produceAndWait(to: producer.topic(0), key: key, value: value)
        }
        poison += count
    }

    private var poison = 0

    // MARK: - Alerts

    /// Waits until Prometheus has seen the traffic for a while, and nothing fires.
    func expectTraffic() throws {
        let end = Clock.monotonicMs + 60_000
        let seen = "min_over_time(sum(rate(peal_deliveries_total{outcome=\"accepted\"}[3s]))[3s:1s])"
        while try prometheus.value(seen) < 5, Clock.monotonicMs < end {
            _ = try check("all is well", allowed: [])
            usleep(100_000)
        }
        #expect(Clock.monotonicMs < end)
    }

    /// Does something and waits until the alerts fire. Meanwhile, and for some evaluations after, no alert may
    /// fire but these and those of faults that have just ended.
    func run(
        _ what: String, alerts: [Expected], withinMs: UInt64 = 40_000, _ fault: () throws -> Void
    ) throws {
        try fault()
        let start = Clock.monotonicMs
        var missing = alerts
        var evaluations = 0
        while !missing.isEmpty || evaluations < 15 {
            let firing = try check(what, allowed: alerts + ending)
            missing.removeAll { expected in firing.contains { expected.fits($0) } }
            guard Clock.monotonicMs < start + withinMs else {
                Issue.record("\(what): \(missing.map(\.name)) did not fire; \(firing) did")
                break
            }
            evaluations += 1
            usleep(100_000)
        }
        ending += alerts
    }

    /// Waits until nothing fires any more.
    func expectQuiet() throws {
        let end = Clock.monotonicMs + 60_000
        while true {
            let firing = try check("after the faults", allowed: ending)
            if firing.isEmpty { break }
            guard Clock.monotonicMs < end else {
                Issue.record("still firing long after the fault: \(firing)")
                break
            }
            usleep(200_000)
        }
        ending = []
    }

    private func check(_ what: String, allowed: [Expected]) throws -> [PrometheusServer.Alert] {
        let firing = try prometheus.firing()
        for alert in firing {
            let isExpected = allowed.contains { $0.fits(alert) }
            #expect(isExpected, "\(what): \(alert) fires: \(alert.annotations["description"] ?? "")")
            for text in alert.annotations.values {
                #expect(!text.contains("error expanding") && !text.contains("<no value>"), "\(text)")
            }
        }
        return firing
    }

    // MARK: - Books

    /// What Prometheus, Redis, the gateway and the providers counted is the same, to the last delivery.
    func expectBooksToAgree() throws {
        traffic.send([])
        let session = try RedisSession(stack.redis.endpoint)
        defer { session.close() }
        let end = Clock.monotonicMs + 60_000
        var books = try Books(prometheus, session, stack.simulator, apps)
        // Every job names one token, so each is one delivery; and what is in flight is soon over.
        while !books.agree(jobs: traffic.sent + poison), Clock.monotonicMs < end {
            usleep(200_000)
            books = try Books(prometheus, session, stack.simulator, apps)
        }
        #expect(books.agree(jobs: traffic.sent + poison), "\(traffic.sent) + \(poison) jobs; \(books)")
    }
}
