import Core
import EventLoop
import Kafka
import TestSupport
import Testing

@Suite struct KafkaRepeatsTests {
    private final class Events: KafkaObserver {
        var repeats = KafkaRepeats()
        var all: [String] = []
        var shown: [String] = []

        func kafkaReported(_ event: KafkaEvent) {
            let isRepeat = repeats.isRepeat(event)
            switch event.kind {
            case .log(let level) where level > 3: return
            case .statistics: return
            default: break
            }
            all.append(event.message)
            if !isRepeat { shown.append(event.message) }
        }
    }

    /// What librdkafka says of a port that nobody listens on: a line of its log, and the same as an error.
    @Test func aBrokersFailureIsSaidOnce() throws {
        let events = Events()
        let port = try Socket.freePort()
        let producer = try KafkaProducer(
            .producer(brokers: "127.0.0.1:\(port)", clientID: "repeats", lingerMs: 1), topics: ["t"])
        producer.observer = events
        defer { producer.close(deadlineMs: 0) }
        var reports: [DeliveryReport] = []
        let end = Clock.monotonicMs + 60_000
        func count(_ list: [String]) -> Int { list.count { $0.contains("Connect to") } }
        while count(events.all) < 2, Clock.monotonicMs < end { producer.drain(into: &reports, timeoutMs: 20) }
        #expect(count(events.all) >= 2)
        #expect(count(events.shown) < count(events.all))
        // What is left is said in one form: with the name of the thread in front.
        #expect(events.shown.filter { $0.contains("Connect to") }.allSatisfy { $0.hasPrefix("[thrd:") })
    }
}
