import Core
import Decisions
import EventLoop
import Foundation
import HTTPServer
import Kafka
import Logging
import Metrics
import Redis
import Registry
import TestSupport
import Testing

@testable import Services

/// What services do about logs alike.
@Suite struct ServiceLogTests {
    private func wait(_ condition: () -> Bool) -> Bool {
        let end = Clock.monotonicMs + 60_000
        while Clock.monotonicMs < end {
            if condition() { return true }
            usleep(10_000)
        }
        return condition()
    }

    @Test func anOrderInRedisIsObeyedAndEnds() throws {
        let redis = try RedisServer()
        let lines = KeptLines()
        let sink = LogSink(format: .json) { lines.append($0) }
        let log = Logger("retry", sink: sink)
        let follower = LogOrderFollower(.patient(redis.endpoint), logger: log, everyMs: 20)
        defer { follower.stop() }
        var options = RedisClientOptions.patient(redis.endpoint)
        options.scripts = ControlStore.scripts
        let store = ControlStore(session: try RedisSession(options: options))
        let now = try store.nowMs()
        _ = try store.set(LogOrder(.retry, .debug, untilMs: now + 60_000, atMs: now, by: "ann"))
        #expect(wait { log.writes(.debug) })
        #expect(!log.child("kafka").writes(.debug))
        #expect(try store.read().logOrders.map(\.by) == ["ann"])
        #expect(try store.removeLogOrders(of: nil) != nil)
        #expect(wait { !log.writes(.debug) })
        #expect(try store.removeLogOrders(of: nil) == nil)
        // One that ends by itself, while nobody changes anything.
        _ = try store.set(LogOrder(nil, .trace, untilMs: try store.nowMs() + 300))
        #expect(wait { log.writes(.trace) } || lines.all.contains { $0.contains("trace for") })
        #expect(wait { !log.writes(.trace) })
        // The next change clears it away.
        _ = try store.set(LogOrder(.kafka, .debug, untilMs: try store.nowMs() + 60_000))
        #expect(try store.read().logOrders.map(\.field) == ["log:kafka"])
    }

    @Test func withoutRedisNothingIsSaidAndAStopDoesNotWait() throws {
        let lines = KeptLines()
        let sink = LogSink(format: .json) { lines.append($0) }
        var options = RedisClientOptions(
            endpoint: RedisEndpoint(address: .tcp(host: "127.0.0.1", port: try Socket.freePort())))
        options.timeoutMs = 100
        let follower = LogOrderFollower(options, logger: Logger("retry", sink: sink), everyMs: 10)
        follower.stop()
        sink.close()
        #expect(lines.all.isEmpty)
    }

    @Test func statusAndMetricsTellOfTheLog() throws {
        let log = Logger("retry", sink: LogSink(format: .json) { _ in })
        let base = HealthEndpoints(
            role: .retry, status: { Array("{\"x\":{\"y\":1}}\n".utf8) }, page: { "page\n" })
        let told = base.telling(log)
        let status = try #require(
            try JSONSerialization.jsonObject(with: Data(told.status())) as? [String: Any])
        #expect(status["x"] != nil && (status["log"] as? [String: Any])?["levels"] as? String == "info")
        #expect(told.page?() == "page\nlog: info; lines suppressed 0, dropped 0\n")
        let answer = try #require(told.respond(HTTPRequest(method: "GET", path: "/metrics")))
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("\npeal_log_lines_suppressed_total 0\n"))
        #expect(text.contains("\npeal_log_lines_dropped_total 0\n"))
        let empty = HealthEndpoints(role: .retry).telling(log)
        #expect(try JSONSerialization.jsonObject(with: Data(empty.status())) as? [String: Any] != nil)
        #expect(HealthEndpoints.adding("log", "1", to: Array("[]".utf8)) == Array("[]".utf8))
    }

    // MARK: Kafka

    /// What two clients of one process say of a port that nobody listens on.
    @Test func aBrokersFailureIsOneLineACauseWhicheverClientSaysIt() throws {
        let lines = KeptLines()
        let sink = LogSink(format: .json) { lines.append($0) }
        let root = Logger("retry", sink: sink)
        let port = try Socket.freePort()
        let observers = try (0..<2).map { number in
            let observer = Observer(KafkaLog(root.child("lane", ["lane": .text("l\(number)")])))
            observer.producer = try KafkaProducer(
                .producer(brokers: "127.0.0.1:\(port)", clientID: "log", lingerMs: 1), topics: ["t"])
            observer.producer?.observer = observer
            return observer
        }
        var reports: [DeliveryReport] = []
        #expect(
            wait {
                for observer in observers { observer.producer?.drain(into: &reports, timeoutMs: 10) }
                return observers.allSatisfy { $0.connects >= 2 }
            })
        for observer in observers { observer.producer?.close(deadlineMs: 0) }
        sink.close()
        let away = lines.objects.filter { $0["event"] as? String == "kafka.away" }
        #expect(!away.isEmpty)
        #expect(away.allSatisfy { $0["subsystem"] as? String == "kafka" })
        let connects = away.filter { ($0["message"] as? String)?.contains("Connect to") == true }
        // One at once, and one for the others: the clients said it four times at least.
        #expect((1...2).contains(connects.count))
        #expect(
            connects.allSatisfy {
                let text = $0["message"] as? String ?? ""
                return text.hasPrefix("Kafka can't be reached; work waits") && !text.contains("[thrd:")
            })
    }

    private final class Observer: KafkaObserver {
        var log: KafkaLog
        var producer: KafkaProducer?
        var connects = 0

        init(_ log: KafkaLog) { self.log = log }

        func kafkaReported(_ event: KafkaEvent) {
            if event.message.contains("Connect to") { connects += 1 }
            log.tell(event)
        }
    }

    @Test func aThreadsNameIsLeftOut() {
        #expect(KafkaLog.withoutThread("[thrd:a:1/bootstrap]: b: c") == "b: c")
        #expect(KafkaLog.withoutThread("b: [c]: d") == "b: [c]: d")
        #expect(KafkaLog.withoutThread("[thrd:") == "[thrd:")
        #expect(KafkaLog.saysAway("1/1 brokers are down"))
        #expect(!KafkaLog.saysAway("127.0.0.1:1/1: Disconnected (after 600000ms in state UP)"))
    }
}
