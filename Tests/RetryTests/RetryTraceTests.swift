import Core
import EventLoop
import Foundation
import Kafka
import Logging
import RetryKit
import TestSupport
import Testing
import Tracing

@Suite(.serialized) struct RetryTraceTests {
    @Test func aTracedRecordsWaitIsASpanBelowItsSender() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        var options = TracerOptions(url: receiver.endpoint + "/v1/traces")
        options.intervalMs = 20
        let tracer = Tracer(options, logger: .silent)
        let fixture = try RetryFixture(partitions: 1)
        var settings = fixture.settings
        settings.tracer = tracer
        let service = try RetryService.start(settings, log: .silent)
        let producer = try fixture.producer()
        let now = Clock.wallMs
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"
        let records: [(String, [(StaticString, String)])] = [
            ("yes", [(PealHeader.traceParent, parent + "1")]),
            ("no", [(PealHeader.traceParent, parent + "0")]),
            ("odd", [(PealHeader.traceParent, "00-ab-cd-01")]), ("none", []),
        ]
        for (name, more) in records {
            try producer.retry(
                tier: "1s", key: "shop/\(name)", value: "{}", dueMs: now + 200, attempt: "1",
                origin: "peal.jobs.urgent/3/77", more: more)
        }
        try producer.settle()
        let reader = try fixture.reader(["peal.jobs.urgent"])
        #expect(reader.read { reader.count == 4 })
        reader.close()
        service.stop()
        tracer.stop(deadlineMs: 30_000)
        #expect(receiver.faults.isEmpty)
        try #require(receiver.spans.count == 1)
        let span = receiver.spans[0]
        #expect(span.traceID == "4bf92f3577b34da6a3ce929d0e0e4736" && span.parent == "00f067aa0ba902b7")
        #expect(span.name == "process peal.retry.1s" && span.kind == 5 && span.error == nil)
        #expect(span.attributes["peal.next"] == "peal.jobs.urgent")
        #expect(span.attributes["peal.due_ms"] == "\(now + 200)")
        #expect(span.attributes["messaging.consumer.group.name"] == "peal-retry-1s")
        #expect(span.endNs >= (now + 200) * 1_000_000)
        producer.close(deadlineMs: 1_000)
    }
}
