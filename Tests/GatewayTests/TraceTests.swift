import Core
import EventLoop
import GatewayKit
import HTTPClient
import Logging
import TestSupport
import Testing
import Tracing

@Suite struct TraceTests {
    static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private func job(_ id: String) -> String {
        #"{"id":"\#(id)","app":"shop","to":{"recipient":"r"},"title":"Hello"}"#
    }

    private func tracer(_ receiver: SpanReceiver, ratio: Double) -> Tracer {
        var options = TracerOptions(url: receiver.endpoint + "/v1/traces")
        options.ratio = ratio
        options.intervalMs = 20
        options.http.proxy = ""
        return Tracer(options, logger: .silent)
    }

    @Test func aRequestsTraceGoesIntoItsJobsRecords() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let headers = [
            (name: "traceparent", value: Self.parent), (name: "tracestate", value: "vendor=1"),
        ]
        #expect(try rig.post("[\(job("a")),\(job("b"))]", headers: headers).status == 202)
        let passed = try rig.headers("normal", count: 2)
        #expect(passed.allSatisfy { $0 == ["traceparent": Self.parent, "tracestate": "vendor=1"] })
        // With a key the request goes by Redis, and its jobs carry the trace all the same.
        let keyed = try rig.post(
            job("c"), path: "/v1/jobs?lane=urgent",
            headers: headers + [(name: "idempotency-key", value: "k1")])
        #expect(keyed.status == 202)
        #expect(try rig.headers("urgent", count: 1).map { $0["traceparent"] } == [Self.parent])
        // What is none is not passed on.
        let odd = try rig.post(
            job("d"), path: "/v1/jobs?lane=bulk",
            headers: [(name: "traceparent", value: "00-nonsense"), (name: "tracestate", value: "vendor=1")])
        #expect(odd.status == 202)
        #expect(try rig.headers("bulk", count: 1) == [[:]])
    }

    @Test func aTracedRequestsJobsAreItsChildren() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let tracer = tracer(receiver, ratio: 0)
        let rig = try Rig(configure: { settings, _ in settings.tracer = tracer })
        defer { rig.stop() }
        let headers = [
            (name: "traceparent", value: Self.parent), (name: "tracestate", value: "vendor=1"),
        ]
        #expect(try rig.post("[\(job("a")),\(job("b"))]", headers: headers).status == 202)
        // The sender's no is a no, and nobody asked for the third.
        let unsampled = [(name: "traceparent", value: String(Self.parent.dropLast() + "0"))]
        #expect(try rig.post(job("c"), path: "/v1/jobs?lane=bulk", headers: unsampled).status == 202)
        #expect(try rig.post(job("d"), path: "/v1/jobs?lane=urgent").status == 202)
        #expect(rig.wait { receiver.spans.count >= 2 })
        let passed = try rig.headers("normal", count: 2)
        #expect(try rig.headers("bulk", count: 1).map { $0["traceparent"] } == [unsampled[0].value])
        #expect(try rig.headers("urgent", count: 1) == [[:]])
        tracer.stop()
        let spans = receiver.spans
        #expect(spans.count == 2 && receiver.faults.isEmpty)
        #expect(Set(spans.map { $0.attributes["messaging.message.id"] }) == ["a", "b"])
        for span in spans {
            #expect(span.kind == 4 && span.parent == "00f067aa0ba902b7" && span.error == nil)
            #expect(span.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
            #expect(span.name.hasPrefix("send ") && span.name.hasSuffix(".jobs.normal"))
            #expect(span.attributes["messaging.destination.name"] == String(span.name.dropFirst(5)))
        }
        #expect(
            Set(passed.map { $0["traceparent"] })
                == Set(spans.map { "00-\($0.traceID)-\($0.id)-01" }))
        #expect(passed.allSatisfy { $0["tracestate"] == "vendor=1" })
    }

    @Test func aShareOfTheJobsIsTracedWithoutTheSendersWord() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let tracer = tracer(receiver, ratio: 1)
        let rig = try Rig(configure: { settings, _ in settings.tracer = tracer })
        defer { rig.stop() }
        #expect(
            try rig.post(#"{"app":"shop","to":{"recipient":"r"},"title":"Hello"}"#).status == 202)
        #expect(rig.wait { receiver.spans.count == 1 })
        let span = try #require(receiver.spans.first)
        let passed = try rig.headers("normal", count: 1)
        #expect(passed.map { $0["traceparent"] } == ["00-\(span.traceID)-\(span.id)-01"])
        #expect(span.parent == nil && span.attributes["messaging.message.id"]?.count == 26)
        tracer.stop()
    }
}
