import Core
import EventLoop
import Foundation
import HTTPClient
import HTTPServer
import Logging
import TestSupport
import Testing
import Tracing

@Suite struct TracerTests {
    private func options(
        _ receiver: SpanReceiver, _ change: (inout TracerOptions) -> Void = { _ in }
    ) -> TracerOptions {
        var options = TracerOptions(url: receiver.endpoint + "/v1/traces")
        options.resource = [(key: "service.name", value: "peal-test")]
        options.intervalMs = 20
        options.http.totalTimeoutMs = 20_000
        options.http.proxy = ""
        change(&options)
        return options
    }

    private func spans(_ count: Int, from first: Int = 1) -> [Span] {
        (first..<first + count).map { number in
            Span(
                "s\(number)", .internal, trace: TraceID(high: 7, low: 7), id: UInt64(number), parent: 0,
                startNs: Int64(number), endNs: Int64(number) + 1)
        }
    }

    private func wait(_ condition: () -> Bool) -> Bool {
        let end = Clock.monotonicMs + 60_000
        while Clock.monotonicMs < end {
            if condition() { return true }
            usleep(5_000)
        }
        return condition()
    }

    @Test func spansArriveInBatchesWithTheHeaders() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let tracer = Tracer(
            options(receiver) {
                $0.batchMax = 100
                $0.headers = [(name: "authorization", value: "Bearer t")]
            }, logger: .silent)
        tracer.offer(spans(950))
        #expect(wait { tracer.status.sent == 950 })
        tracer.stop()
        #expect(receiver.spans.map(\.name) == spans(950).map(\.name))
        #expect(receiver.sizes.allSatisfy { $0 <= 100 } && receiver.sizes.reduce(0, +) == 950)
        #expect(receiver.spans.allSatisfy { $0.service == "peal-test" })
        #expect(receiver.headers.allSatisfy { $0["authorization"] == "Bearer t" })
        #expect(receiver.headers.allSatisfy { $0["content-type"] == "application/json" })
        #expect(receiver.faults.isEmpty)
    }

    @Test func aReceiverInDistressIsAskedAgainAndNothingIsLost() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let lines = KeptLines()
        let sink = LogSink(format: .json) { lines.append($0) }
        let log = Logger("tracing", sink: sink)
        receiver.answer([
            HTTPResponse(status: 429, headers: [("retry-after", "0")]),
            HTTPResponse(status: 503, headers: [("retry-after", "0")]),
            HTTPResponse(status: 502),
        ])
        let tracer = Tracer(options(receiver), logger: log)
        tracer.offer(spans(10))
        #expect(wait { tracer.status.sent == 10 })
        tracer.stop()
        sink.close()
        #expect(receiver.spans.count == 10 && receiver.headers.count == 4)
        #expect(lines.all.count { $0.contains("tracing.away") } == 1)
        #expect(lines.all.count { $0.contains("tracing.back") } == 1)
    }

    @Test func whatIsRefusedIsGivenUpAndCounted() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let lines = KeptLines()
        let sink = LogSink(format: .json) { lines.append($0) }
        let log = Logger("tracing", sink: sink)
        let tracer = Tracer(
            options(receiver) {
                $0.batchMax = 10
                $0.headers = [(name: "authorization", value: "Bearer hidden")]
            }, logger: log)
        receiver.answer([
            HTTPResponse(status: 401),
            HTTPResponse(
                status: 200,
                body: Array(#"{"partialSuccess":{"rejectedSpans":"4","errorMessage":"no"}}"#.utf8)),
        ])
        tracer.offer(spans(20))
        #expect(wait { tracer.status.failed == 14 && tracer.status.sent == 6 })
        tracer.stop()
        sink.close()
        #expect(lines.all.contains { $0.contains("tracing.lost") && $0.contains("401") })
        #expect(lines.all.contains { $0.contains("tracing.rejected") })
        #expect(!lines.all.contains { $0.contains("hidden") })
    }

    @Test func aReceiverThatHangsHoldsNobodyUpAndWhatFindsNoRoomIsCounted() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        receiver.hang(true)
        let tracer = Tracer(
            options(receiver) {
                $0.batchMax = 10
                $0.queueMax = 100
            }, logger: .silent)
        tracer.offer(spans(10))
        #expect(wait { !receiver.headers.isEmpty })
        for _ in 0..<50 { tracer.offer(spans(10)) }
        let status = tracer.status
        #expect(status.queued == 100 && status.dropped == 400 && status.sent == 0)
        // It goes on by itself.
        receiver.hang(false)
        #expect(wait { tracer.status.sent == 110 })
        tracer.stop()
        #expect(tracer.status.dropped == 400)
    }

    @Test func aStopSendsWhatWaits() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let tracer = Tracer(
            options(receiver) {
                $0.intervalMs = 600_000
                $0.batchMax = 100
            }, logger: .silent)
        #expect(wait { tracer.status.queued == 0 })
        tracer.offer(spans(50))
        tracer.stop(deadlineMs: 30_000)
        #expect(receiver.spans.count == 50)
        // Nothing is taken any more.
        tracer.offer(spans(5))
        #expect(tracer.status.dropped == 5 && tracer.status.queued == 0)
    }

    @Test func aStopDoesNotWaitForAReceiverThatHangsOrIsAway() throws {
        let receiver = try SpanReceiver()
        receiver.hang(true)
        // Far beyond any patience: a stop that waited for the answer would show.
        let hung = Tracer(options(receiver) { $0.http.totalTimeoutMs = 3_600_000 }, logger: .silent)
        hung.offer(spans(5))
        #expect(wait { !receiver.headers.isEmpty })
        let port = try Socket.freePort()
        var nowhere = TracerOptions(url: "http://127.0.0.1:\(port)/v1/traces")
        nowhere.intervalMs = 20
        nowhere.http.proxy = ""
        let away = Tracer(nowhere, logger: .silent)
        away.offer(spans(5))
        hung.stop(deadlineMs: 300)
        away.stop(deadlineMs: 300)
        #expect(away.status.sent == 0)
        receiver.stop()
    }

    @Test func aSenderDecidesAndElseTheShare() throws {
        let receiver = try SpanReceiver()
        defer { receiver.stop() }
        let all = Tracer(options(receiver) { $0.ratio = 1 }, logger: .silent)
        let none = Tracer(options(receiver) { $0.ratio = 0 }, logger: .silent)
        defer {
            all.stop()
            none.stop()
        }
        let yes = TraceContext(trace: TraceID(high: 1, low: 2), span: 3, isSampled: true)
        let no = TraceContext(trace: TraceID(high: 1, low: 2), span: 3, isSampled: false)
        let name: [UInt8] = Array("job".utf8)
        name.withUnsafeBytes { bytes in
            #expect(none.context(of: yes, app: bytes, job: bytes) == yes)
            #expect(all.context(of: no, app: bytes, job: bytes) == nil)
            #expect(none.context(of: nil, app: bytes, job: bytes) == nil)
            let own = all.context(of: nil, app: bytes, job: bytes)
            #expect(own?.span == 0 && own?.isSampled == true)
            #expect(own?.trace == TraceID(app: bytes, job: bytes))
            #expect(all.context(of: nil, app: bytes, job: nil) == nil)
        }
    }
}
