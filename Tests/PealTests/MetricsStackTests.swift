import Core
import EventLoop
import Foundation
import HTTPClient
import HTTPServer
import Kafka
import Metrics
import TestSupport
import Testing

@testable import PealKit
@testable import SimulatorKit

/// What real processes expose while they work: three workers, the retry service, the gateway, the broadcast
/// stage and the simulator.
@Suite(.serialized) struct MetricsStackTests {
    private static func programs() throws -> String {
        var folder = URL(fileURLWithPath: StackOptions.ownDirectory)
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("peal-worker")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return folder.path }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    private static func stack() throws -> Stack {
        var options = StackOptions()
        options.workers = 3
        options.gateways = 1
        options.expanders = 1
        options.partitions = 12
        options.programDirectory = try programs()
        options.logLevel = "error"
        options.apps = [StackApp("shop"), StackApp("odd._-APP.0")]
        return try Stack(options)
    }

    private static func apns(_ number: Int) -> String {
        let tail = String(number, radix: 16)
        return String(repeating: "b", count: 64 - tail.count) + tail
    }

    private static func job(_ app: String, _ token: String, _ platform: String) -> String {
        #"{"app":"\#(app)","to":{"token":"\#(token)","platform":"\#(platform)"},"title":"x"}"#
    }

    /// 300 APNs and 100 FCM tokens that are good, 40 that are gone, 20 that fail once; 10 records that are no
    /// jobs and 5 of an app that nobody knows.
    private static func jobs() -> [(key: String, value: String)] {
        func fcm(_ number: Int, _ tail: String) -> String {
            "fcm-\(number):APA91b" + String(repeating: "x", count: 100) + tail
        }
        var list: [String] = (0..<300).map { job($0 % 2 == 0 ? "shop" : "odd._-APP.0", apns($0), "ios") }
        list += (0..<100).map { job("shop", fcm($0, ""), "android") }
        list += (100..<140).map { job("shop", fcm($0, "~UNREGISTERED"), "android") }
        list += (140..<160).map { job("shop", fcm($0, "~UNAVAILABLE*1"), "android") }
        list += (0..<10).map { "no job \($0)" }
        list += (0..<5).map { job("nobody", apns(1000 + $0), "ios") }
        return list.enumerated().map { ("shop/\($0.offset)", $0.element) }
    }

    private static func publish(_ stack: Stack) throws {
        var settings = KafkaConfiguration.producer(brokers: stack.broker.bootstrapServers)
        settings.tuneForEmbeddedBroker()
        let lanes = ["urgent", "normal", "bulk"].map { stack.topics.jobs(lane: $0) }
        let producer = try KafkaProducer(settings, topics: lanes)
        defer { producer.close(deadlineMs: 1000) }
        try producer.warmUp(timeoutMs: 60_000)
        for (number, job) in jobs().enumerated() {
            let topic = try #require(producer.topic(named: lanes[number % 3]))
            let key = Array(job.key.utf8)
            let value = Array(job.value.utf8)
            var reports: [DeliveryReport] = []
            while key.withUnsafeBytes({ key in
                value.withUnsafeBytes { producer.produce(to: topic, key: key, value: $0, opaque: 0) }
            }) != .accepted {
                producer.drain(into: &reports, timeoutMs: 10)
            }
        }
        var reports: [DeliveryReport] = []
        try #require(producer.flush(deadlineMs: 20_000, into: &reports) == 0)
        #expect(reports.allSatisfy { $0.isDelivered })
    }

    /// The sum over the workers of a metric's samples.
    private static func sum(
        _ pods: [ExpositionCheck], _ name: String, _ labels: [String: String] = [:]
    ) -> Int {
        pods.reduce(0) { sum, pod in
            sum + pod.sum(name) { sample in labels.allSatisfy { sample.label($0.key) == $0.value } }
        }
    }

    private static func scrape(_ stack: Stack, _ port: UInt16) throws -> ExpositionCheck {
        ExpositionCheck(try #require(stack.metrics(port: port)))
    }

    @Test(.timeLimit(.minutes(3)))
    func theSumOverThePodsIsWhatTheProvidersSaw() throws {
        let stack = try Self.stack()
        defer { stack.stop() }
        try Self.publish(stack)
        var pods: [ExpositionCheck] = []
        let end = Clock.monotonicMs + 60_000
        repeat {
            usleep(100_000)
            pods = try stack.workerPorts.map { try Self.scrape(stack, $0) }
        } while Self.sum(pods, "peal_deliveries_total") < 475 && Clock.monotonicMs < end

        let answers = stack.simulator.record.answers
        #expect(answers.accepted == 420 && answers.requests == 480)
        let deliveries = "peal_deliveries_total"
        #expect(Self.sum(pods, deliveries) == 475)
        #expect(Self.sum(pods, deliveries, ["outcome": "accepted"]) == Int(answers.accepted))
        #expect(
            Self.sum(pods, deliveries, ["outcome": "accepted", "provider": "apns"])
                == Int(answers.count(.apns, status: 200)))
        #expect(
            Self.sum(pods, deliveries, ["outcome": "invalid_token", "reason": "fcm_unregistered"])
                == Int(answers.count(.fcm, status: 404)))
        #expect(
            Self.sum(pods, "peal_deliveries_retried_total", ["provider": "fcm", "reason": "fcm_unavailable"])
                == Int(answers.count(.fcm, status: 503)))
        #expect(Self.sum(pods, deliveries, ["app": "odd._-APP.0", "outcome": "accepted"]) == 150)
        #expect(Self.sum(pods, deliveries, ["app": "*unknown", "provider": "none"]) == 15)
        #expect(Self.sum(pods, "peal_dead_letters_total", ["app": "*unknown"]) == 15)
        #expect(Self.sum(pods, "peal_dead_letters_total", ["reason": "unknown_app"]) == 5)
        #expect(Self.sum(pods, "peal_metrics_series_dropped_total") == 0)
        let count = "peal_stage_duration_seconds_count"
        #expect(Self.sum(pods, count, ["stage": "total"]) == 420)
        #expect(Self.sum(pods, count, ["stage": "provider"]) == 480)
        #expect(Self.sum(pods, count, ["stage": "queue", "lane": "urgent"]) > 0)
        // Every pod had its part, and all of the partitions are somebody's.
        #expect(pods.allSatisfy { $0.sum(deliveries) > 0 })
        #expect(Self.sum(pods, "peal_consumer_partitions") == 36)
        try theFormsAreRight(stack)
    }

    private func theFormsAreRight(_ stack: Stack) throws {
        let processes: [(MetricRole, [UInt16])] = [
            (.worker, stack.workerPorts), (.retry, stack.retryPorts), (.gateway, stack.gatewayPorts),
            (.expand, stack.expanderPorts),
        ]
        for (role, ports) in processes {
            for port in ports {
                let check = try Self.scrape(stack, port)
                #expect(try check.faults(families: MetricsCatalogue.families(of: role)) == [], "\(role)")
                #expect(check.sum("peal_build_info") { $0.label("role") == role.rawValue } == 1)
                #expect(check.sum("peal_ready") == 1 && check.sum("peal_live") == 1)
                try openMetricsIsTheSameInAnotherForm(port, role)
            }
        }
        let admin = AdminAPI(simulator: stack.simulator)
        let own = admin.answer(HTTPRequest(method: "GET", path: "/metrics"))
        let check = ExpositionCheck(String(decoding: own.body, as: UTF8.self))
        #expect(try check.faults(families: MetricsCatalogue.families(of: .simulator)) == [])
        #expect(check.sum("peal_simulator_accepted_total") == 420)
        let retry = try Self.scrape(stack, stack.retryPorts[0])
        #expect(retry.sum("peal_retry_handed_over_total") == 20)
        #expect(retry.sum("peal_retry_due_error_seconds_count") == 20)
    }

    private func openMetricsIsTheSameInAnotherForm(_ port: UInt16, _ role: MetricRole) throws {
        let response = try HTTPClient(HTTPClientOptions()).send(
            HTTPClientRequest(
                url: "http://127.0.0.1:\(port)/metrics",
                headers: [("accept", "application/openmetrics-text; version=1.0.0")]))
        #expect(response.header("content-type")?.hasPrefix("application/openmetrics-text") == true)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text.hasSuffix("\n# EOF\n"))
        let declared = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
            String($0.split(separator: " ")[2])
        }
        #expect(Set(declared) == Set(MetricsCatalogue.families(of: role).map(\.openName)))
        // A family's samples come right behind its head.
        var family = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# TYPE ") { family = String(line.split(separator: " ")[2]) }
            guard !line.hasPrefix("#") else { continue }
            #expect(line.hasPrefix(family), "\(line) stands under \(family)")
        }
    }

    /// People get text, tools what they ask for, from every process.
    @Test(.timeLimit(.minutes(2)))
    func everyProcessTellsPeopleHowItStands() throws {
        var options = StackOptions()
        options.gateways = 1
        options.expanders = 1
        options.programDirectory = try Self.programs()
        options.logLevel = "error"
        let stack = try Stack(options)
        defer { stack.stop() }
        let ports = [
            ("worker", stack.workerPorts), ("retry", stack.retryPorts), ("gateway", stack.gatewayPorts),
            ("expand", stack.expanderPorts),
        ]
        let client = HTTPClient(HTTPClientOptions())
        for (role, ports) in ports {
            let url = "http://127.0.0.1:\(try #require(ports.first))/statusz"
            let page = try client.send(HTTPClientRequest(url: url))
            let text = String(decoding: page.body, as: UTF8.self)
            #expect(page.header("content-type") == "text/plain; charset=utf-8")
            #expect(text.hasPrefix("peal \(role) \(Version.current), up "))
            #expect(text.contains("\nready         yes\n"), "\(text)")
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 40 && lines.allSatisfy { $0.last != " " }, "\(text)")
            let json = try client.send(
                HTTPClientRequest(url: url, headers: [("accept", "application/json")]))
            #expect(try JSONValue.parse(text: String(decoding: json.body, as: UTF8.self)).members != nil)
        }
    }
}
