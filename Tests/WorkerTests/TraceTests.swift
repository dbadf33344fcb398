import Core
import EventLoop
import Foundation
import Registry
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

/// What a job leaves for whoever asks about it: spans, headers and lines.
@Suite(.serialized) struct TraceTests {
    static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

    private func job(_ id: String, _ recipient: String = "anna", _ more: String = "") -> String {
        #"{"id":"\#(id)","app":"shop","to":{"recipient":"\#(recipient)"},"title":"x","unread":1,"data":{"peal_job":"\#(id)"}\#(more)}"#
    }

    private func yaml(_ receiver: SpanReceiver, ratio: String) -> String {
        "otlp: {endpoint: \"\(receiver.endpoint)\", sample_ratio: \(ratio)}\n"
            + "retry: {delays: {server: 1s, apns_server: 1s}}"
    }

    @Test func aTracedJobsSpansHangTogetherOverARetry() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let rig = try Rig(retryYAML: yaml(receiver, ratio: "0"))
        defer { rig.stop() }
        try rig.register("anna", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        try rig.publish(
            job("j1"), key: "shop/anna", headers: [(PealHeader.traceParent, Self.parent)])
        // One that its sender wants left alone, and one without a word: the share is nothing.
        try rig.publish(
            job("j2"), key: "shop/anna",
            headers: [(PealHeader.traceParent, String(Self.parent.dropLast() + "0"))])
        try rig.publish(job("j3"), key: "shop/anna")
        #expect(rig.wait(seconds: 40) { rig.accepted == 6 })
        #expect(rig.wait { receiver.spans.count { $0.name == "process peal.jobs.normal" } >= 2 })
        rig.stopWorker()
        let spans = receiver.spans
        #expect(receiver.faults.isEmpty)
        #expect(spans.allSatisfy { $0.traceID == Self.traceID && $0.service == "peal-worker" })
        #expect(Set(spans.map(\.id)).count == spans.count)
        let jobs = spans.filter { $0.name == "process peal.jobs.normal" }
        #expect(jobs.count == 2)
        #expect(jobs.allSatisfy { $0.parent == "00f067aa0ba902b7" && $0.kind == 5 && $0.error == nil })
        #expect(jobs.map { $0.attributes["peal.attempt"] } == ["0", "1"])
        for span in jobs {
            #expect(span.attributes["messaging.system"] == "kafka")
            #expect(span.attributes["messaging.destination.name"] == "peal.jobs.normal")
            #expect(span.attributes["messaging.operation.type"] == "process")
            #expect(span.attributes["messaging.consumer.group.name"] == "peal-worker.normal")
            #expect(span.attributes["messaging.message.id"] == "j1")
            #expect(span.attributes["peal.app"] == "shop")
        }
        // What is below a job's span lies within it.
        for span in spans where !jobs.map(\.id).contains(span.id) {
            let above = try #require(jobs.first { $0.id == span.parent })
            #expect(span.startNs >= above.startNs && span.endNs <= above.endNs)
        }
        #expect(spans.count { $0.name == "admit" && $0.kind == 1 } == 2)
        let requests = spans.filter { $0.name == "POST" }
        #expect(requests.count == 3 && requests.allSatisfy { $0.kind == 3 })
        let failed = try #require(requests.first { $0.error != nil })
        #expect(failed.attributes["http.response.status_code"] == "503")
        #expect(
            failed.attributes["peal.device"] == "tablet" && failed.attributes["error.type"] == failed.error)
        #expect(failed.parent == jobs[0].id)
        let good = requests.filter { $0.error == nil }
        #expect(good.allSatisfy { $0.attributes["http.response.status_code"] == "200" })
        #expect(Set(good.map { $0.attributes["server.address"] }) == ["localhost"])
        let apple = try #require(good.first { $0.attributes["peal.provider"] == "apns" })
        #expect(apple.attributes["peal.apns_id"]?.count == 36)
        let hop = try #require(spans.first { $0.name == "send peal.retry.1s" })
        #expect(hop.kind == 4 && hop.parent == jobs[0].id)
        // No token leaves in any attribute.
        for value in spans.flatMap({ $0.attributes.values }) {
            #expect(!value.contains(Tokens.apns(1)) && !value.contains("APA91b"))
        }
        #expect(try rig.read("peal.outcomes").allSatisfy { !$0.headers.keys.contains("peal-origin") })
    }

    @Test func aShareOfTheJobsIsTracedOverTheirRetriesAndTheStopSendsTheRest() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let rig = try Rig(retryYAML: yaml(receiver, ratio: "1"))
        defer { rig.stop() }
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        try rig.publish(job("j1"), key: "shop/anna")
        #expect(rig.wait(seconds: 40) { rig.accepted == 1 })
        rig.stopWorker()
        let jobs = receiver.spans.filter { $0.name == "process peal.jobs.normal" }
        try #require(jobs.count == 2)
        // The second attempt belongs to the first one, whose span it got by the retry record's header.
        #expect(jobs[0].parent == nil && jobs[1].parent == jobs[0].id)
        #expect(jobs[0].traceID == jobs[1].traceID)
        let retries = try rig.read("peal.retry.1s")
        #expect(retries.map { $0.headers["traceparent"] } == ["00-\(jobs[0].traceID)-\(jobs[0].id)-01"])
    }

    @Test func theSendersTraceGoesAlongInEveryRecordWithoutATracer() throws {
        let rig = try Rig(retryYAML: "retry: {delays: {server: 1s, apns_server: 1s}}")
        defer { rig.stop() }
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        let headers: [(name: StaticString, value: String)] = [
            (PealHeader.traceParent, Self.parent), (PealHeader.traceState, "vendor=1"), ("x-mine", "kept"),
        ]
        try rig.publish(job("j1"), key: "shop/anna", headers: headers)
        try rig.publish(
            #"{"id":"bad","app":"shop","to":{"recipient":"anna"},"nonsense":1}"#, key: "shop/anna",
            headers: headers)
        #expect(rig.wait(seconds: 40) { rig.accepted == 1 && rig.worker?.outcomes["dead"] == 1 })
        rig.stopWorker()
        let events = try rig.read("peal.outcomes")
        #expect(events.count == 2)
        #expect(
            events.allSatisfy { $0.headers == ["traceparent": Self.parent, "tracestate": "vendor=1"] })
        // The event itself is what it was.
        #expect(
            events.allSatisfy {
                (try? JSONValue.parse(text: String(decoding: $0.value, as: UTF8.self))) != nil
            })
        for topic in ["peal.retry.1s", "peal.dead"] {
            let records = try rig.read(topic)
            #expect(records.count == 1)
            #expect(records.first?.headers["traceparent"] == Self.parent)
            #expect(records.first?.headers["tracestate"] == "vendor=1")
            #expect(records.first?.headers["x-mine"] == "kept")
        }
    }

    // MARK: Lines

    @Test func oneLineADeliveryTellsWhatBecameOfAJob() throws {
        let lines = KeptLines()
        let rig = try Rig(
            retryYAML: "retry: {delays: {server: 1s, apns_server: 1s}}",
            levels: LogLevels(standard: .error, subsystems: [.delivery: .debug]), lines: lines)
        defer { rig.stop() }
        let token = Tokens.apns(1)
        try rig.register("anna", device: "phone", .ios, token: token)
        try rig.register("anna", device: "tablet", .android, token: Tokens.fcm(2) + "~UNAVAILABLE*1")
        // A client that names its device after its token.
        try rig.register("bert", device: Tokens.apns(7), .ios, token: Tokens.apns(7))
        try rig.publish(
            job("j1"), key: "shop/anna", headers: [(PealHeader.traceParent, Self.parent)])
        try rig.publish(job("j2", "nobody"), key: "shop/nobody")
        try rig.publish(job("j3", "bert"), key: "shop/bert")
        try rig.publish(
            #"{"id":"j4","app":"shop","to":{"token":"\#(Tokens.apns(9))","platform":"ios"},"title":"x"}"#,
            key: "shop/\(Tokens.apns(9))")
        #expect(rig.wait(seconds: 40) { rig.accepted == 4 && rig.worker?.outcomes["no_device"] == 1 })
        rig.stopWorker()
        #expect(rig.wait { lines.all.count { $0.contains("\"delivery.ended\"") } == 5 })
        let about = lines.objects.filter { $0["job"] as? String == "j1" }
        let ended = about.filter { $0["event"] as? String == "delivery.ended" }
        #expect(Set(ended.compactMap { $0["device"] as? String }) == ["phone", "tablet"])
        let phone = try #require(ended.first { $0["device"] as? String == "phone" })
        #expect(phone["subsystem"] as? String == "delivery" && phone["level"] as? String == "debug")
        #expect(phone["app"] as? String == "shop" && phone["lane"] as? String == "normal")
        #expect(phone["outcome"] as? String == "accepted" && phone["reason"] as? String == "accepted")
        #expect(phone["attempts"] as? Int == 1 && phone["status"] as? Int == 200)
        #expect(phone["provider"] as? String == "apns" && (phone["apns_id"] as? String)?.count == 36)
        #expect(phone["trace_id"] as? String == Self.traceID)
        #expect((phone["origin"] as? String)?.hasPrefix("peal.jobs.normal/") == true)
        #expect(phone["after_ms"] as? Int ?? -1 >= 0 && phone["provider_ms"] as? Int ?? -1 >= 0)
        let waits = try #require(about.first { $0["event"] as? String == "delivery.waits" })
        #expect(waits["device"] as? String == "tablet" && waits["status"] as? Int == 503)
        #expect(waits["due_ms"] as? Int != nil)
        let tablet = try #require(ended.first { $0["device"] as? String == "tablet" })
        #expect(tablet["attempts"] as? Int == 2 && tablet["apns_id"] == nil)
        let nobody = try #require(lines.objects.first { $0["job"] as? String == "j2" })
        #expect(nobody["outcome"] as? String == "no_device" && nobody["provider"] == nil)
        #expect(!lines.all.contains { $0.contains(token) || $0.contains("APA91b") })
        #expect(!lines.all.contains { $0.contains(Tokens.apns(7)) || $0.contains(Tokens.apns(9)) })
        // Every field is one that the documentation lists.
        let known = Set(DeliveryField.allCases.map(\.rawValue)).union([
            "ts", "level", "subsystem", "event", "message", "shard",
        ])
        #expect(lines.objects.allSatisfy { Set($0.keys).isSubset(of: known) })
    }

    @Test func aFloodOfRefusalsIsAFewLinesAnAppAndReason() throws {
        let lines = KeptLines()
        let rig = try Rig(levels: LogLevels(standard: .info), lines: lines)
        defer { rig.stop() }
        for number in 0..<4 {
            try rig.register("r\(number)", device: "d", .ios, token: Tokens.apns(number))
        }
        // A payload that is too large after rendering is refused for good.
        let body = String(repeating: "x", count: 5_000)
        let jobs = (0..<400).map { number in
            (
                key: "shop/r\(number % 4)",
                json:
                    #"{"id":"f\#(number)","app":"shop","to":{"recipient":"r\#(number % 4)"},"body":"\#(body)"}"#
            )
        }
        try rig.publishMany(jobs)
        #expect(rig.wait { rig.worker?.outcomes["rejected"] == 400 })
        rig.stop()
        let ended = lines.objects.filter { $0["event"] as? String == "delivery.ended" }
        let told = ended.reduce(0) { $0 + 1 + ($1["suppressed"] as? Int ?? 0) }
        #expect(
            ended.allSatisfy { $0["level"] as? String == "warning" && $0["reason"] as? String == "oversize" })
        #expect(ended.count >= 10 && ended.count < 60)
        // The sink is still open, so the last count may be owed.
        #expect(told <= 400)
    }
}
