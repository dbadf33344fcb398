import Core
import Decisions
import EventLoop
import Kafka
import Tracing

/// The spans of traced records: one for each time that a record waited here.
extension TierRunner {
    /// Notes that a record has gone back to its job topic, or on to another retry topic.
    func trace(_ index: Int, ackMs: Int64) {
        guard let tracer = settings.tracer, let parent = traceParent(index), parent.isSampled else { return }
        let record = store.slots[index]
        let topic = consumer.topics.first ?? ""
        spanSeed = Hash64.mix(spanSeed &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
        var span = Span(
            "process \(topic)", .consumer, trace: parent.trace, id: spanSeed | 1, parent: parent.span,
            startNs: record.enteredMs * 1_000_000, endNs: ackMs * 1_000_000)
        span.addMessaging(topic: topic, operation: "process", type: "process")
        span.add("messaging.consumer.group.name", "\(settings.groupPrefix)-\(snapshot.tier)")
        span.add("messaging.destination.partition.id", "\(record.partition)")
        span.add("messaging.kafka.offset", record.offset)
        span.add("peal.due_ms", record.dueMs)
        span.add("peal.next", producer.topics[Int(record.target)])
        if record.isDead {
            span.error = "dead"
            span.add("error.type", "dead")
        }
        tracer.offer([span])
    }

    private func traceParent(_ index: Int) -> TraceContext? {
        var found: TraceContext?
        unsafe store.forEachHeader(index) { name, value in
            if unsafe name.elementsEqual("traceparent".utf8) { found = unsafe TraceContext(value) }
        }
        return found
    }
}
