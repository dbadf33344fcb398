internal import Core
internal import EventLoop
internal import HTTPServer
internal import Tracing

/// The trace that a request belongs to, and what is noted of its jobs until they are acknowledged.
struct RequestTrace {
    /// A job that is on its way to the broker.
    struct Job {
        var context: TraceContext
        var span: UInt64
        var startNs: Int64
        var topic: String
        var id: String
        var app: String
    }

    /// What the request's `traceparent` says.
    private(set) var parent: TraceContext?
    /// `traceparent` and `tracestate` as they came, for the jobs' records.
    private(set) var headers: [(name: StaticString, value: [UInt8])] = []
    var jobs: [Job] = []

    /// The longest `tracestate` that is passed on, in bytes.
    private static let stateMax = 512

    /// No trace.
    init() {}

    /// The trace of a request. A `traceparent` that is none is not passed on, and without one no
    /// `tracestate`.
    init(_ request: HTTPRequest) {
        guard let text = request.headers.first(where: { $0.name == "traceparent" })?.value,
            let found = TraceContext(text: text)
        else { return }
        parent = found
        headers = [(name: PealHeader.traceParent, value: Array(text.utf8))]
        let states = request.headers.filter { $0.name == "tracestate" }.map(\.value)
        let state = Array(states.joined(separator: ",").utf8)
        if !state.isEmpty, state.count <= Self.stateMax {
            headers.append((name: PealHeader.traceState, value: state))
        }
    }
}

// The spans of jobs that the gateway publishes.
extension SendingThread {
    /// What goes into the headers of a job's record; `job` gets what is to be noted of it when it is traced.
    func traceHeaders(
        _ index: Int, app: UnsafeRawBufferPointer, id: String, _ job: inout RequestTrace.Job?
    ) -> [(name: StaticString, value: [UInt8])] {
        let trace = slots[index].trace
        var copy = id
        let context = copy.withUTF8 { bytes in
            unsafe settings.tracer?.context(of: trace.parent, app: app, job: UnsafeRawBufferPointer(bytes))
        }
        guard let context else { return trace.headers }
        spanSeed = Hash64.mix(spanSeed &+ 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F)
        let span = spanSeed | 1
        job = unsafe RequestTrace.Job(
            context: context, span: span, startNs: Clock.wallNs, topic: "",
            id: id, app: String(decoding: app, as: UTF8.self))
        var out = ByteBuffer(capacity: 64)
        TraceContext(trace: context.trace, span: span, isSampled: true).append(to: &out)
        let own: (name: StaticString, value: [UInt8]) = (PealHeader.traceParent, out.array)
        return [own] + trace.headers.dropFirst()
    }

    /// Ends the spans of a request's jobs; `error` is nil when the broker has acknowledged all of them.
    func endTrace(_ index: Int, error: String?) {
        guard let tracer = settings.tracer, !slots[index].trace.jobs.isEmpty else { return }
        let now = Clock.wallNs
        tracer.offer(
            slots[index].trace.jobs.map { job in
                var span = Span(
                    "send \(job.topic)", .producer, trace: job.context.trace, id: job.span,
                    parent: job.context.span, startNs: job.startNs, endNs: now)
                span.addMessaging(topic: job.topic, operation: "send", type: "send")
                span.add("messaging.message.id", job.id)
                span.add("peal.app", job.app)
                span.error = error
                span.add("error.type", error ?? "")
                return span
            })
        slots[index].trace.jobs = []
    }
}
