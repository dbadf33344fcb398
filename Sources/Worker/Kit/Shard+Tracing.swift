internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import Jobs
internal import Providers
internal import Tracing

/// What a traced job keeps until its end.
struct TraceSlot: PooledSlot {
    var isInUse: Bool { startNs > 0 }
    var generation: UInt32 = 0
    var trace = TraceID(high: 0, low: 0)
    /// The span that the sender, or the attempt before, named as the parent; 0 for none.
    var parent: UInt64 = 0
    /// The job's own span.
    var span: UInt64 = 0
    var startNs: Int64 = 0
    /// When Redis was asked; 0 while it wasn't.
    var admitNs: Int64 = 0
}

/// The spans of traced jobs. Without a tracer nothing here is called but one test a job; with one, a job that
/// isn't traced costs a look at its headers or a hash of its id.
///
/// ```
///   process <job topic>                    from the record to its last acknowledgement
///     admit                                the questions to Redis
///     POST                                 one request to a provider
///     send <retry, dead or broadcast topic>
/// ```
extension Shard {
    /// Decides whether a job is traced, and by what; `jobs[index].app` is known.
    func beginTrace(_ index: Int32) {
        guard let tracer = settings.tracer else { return }
        let job = jobs[index].job
        let context = unsafe tracer.context(of: senderTrace(index), app: job.app.raw, job: job.id?.raw)
        guard let context else { return }
        let slot = traces.take()
        traces[slot].trace = context.trace
        traces[slot].parent = context.span
        traces[slot].span = nextRandom() | 1
        traces[slot].startNs = Clock.wallNs
        jobs[index].trace = slot
    }

    /// What the record's `traceparent` says.
    private func senderTrace(_ index: Int32) -> TraceContext? {
        let (batch, entry) = origin(index)
        guard entry.headersLength > 0 else { return nil }
        return unsafe batch.headers(entry).value(PealHeader.traceParent).flatMap { unsafe TraceContext($0) }
    }

    /// The trace of a job: its own, else the one that its sender named.
    func traceID(of index: Int32) -> TraceID? {
        jobs[index].trace >= 0 ? traces[jobs[index].trace].trace : senderTrace(index)?.trace
    }

    /// Notes that Redis is asked for what a traced job needs.
    func traceQuestion(_ index: Int32) {
        if traces[jobs[index].trace].admitNs == 0 { traces[jobs[index].trace].admitNs = Clock.wallNs }
    }

    /// Notes that everything was answered.
    func traceAdmission(_ index: Int32) {
        let slot = traces[jobs[index].trace]
        guard slot.admitNs > 0 else { return }
        traces[jobs[index].trace].admitNs = 0
        spans.append(span("admit", .internal, of: index, from: slot.admitNs))
    }

    /// Notes the end of a request to a provider; `error` is nil when it was accepted.
    func traceAnswer(_ delivery: Int32, error: String?) {
        let slot = deliveries[delivery]
        deliveries[delivery].sentNs = 0
        var span = span("POST", .client, of: slot.job, from: slot.sentNs)
        span.error = error
        span.add("http.request.method", "POST")
        // The address of a push to APNs holds the device's token.
        let path = slot.provider == .apns ? "/3/device/{token}" : "/v1/projects/{project}/messages:send"
        span.add("url.template", path)
        if slot.route >= 0 {
            let definition = rotation.definitions[Int(slot.route)]
            span.add("server.address", definition.endpoint.serverName)
            span.add("server.port", Int64(definition.endpoint.port))
            span.add("peal.route", definition.name)
        }
        if slot.status > 0 { span.add("http.response.status_code", Int64(slot.status)) }
        span.add("error.type", error ?? "")
        if slot.resends > 0 { span.add("http.request.resend_count", Int64(slot.resends)) }
        span.add("peal.provider", "\(slot.provider.name)")
        span.add("peal.device", unsafe DeliveryLine.name(device: slot.device, token: slot.token))
        if unsafe slot.provider == .apns && slot.block.count > 0 {
            span.add("peal.apns_id", unsafe String(decoding: slot.slice(slot.idAt, 36), as: UTF8.self))
        }
        spans.append(span)
    }

    /// Notes that the broker has a record about a traced job.
    func traceRecord(_ record: Int32) {
        let slot = records[record]
        let topic: String =
            switch slot.topic {
            case .outcomes: settings.topics.outcomes
            case .dead: settings.topics.dead
            case .broadcasts: settings.topics.broadcasts
            case .retry(let tier):
                settings.topics.retry(
                    tier: settings.schedule.tiers[min(tier, settings.schedule.tiers.count - 1)].name)
            }
        var span = span("send \(topic)", .producer, of: slot.job, from: slot.startNs)
        span.addMessaging(topic: topic, operation: "send", type: "send")
        addJob(slot.job, to: &span)
        spans.append(span)
    }

    /// Ends the job's own span.
    func endTrace(_ index: Int32, isDone: Bool) {
        traceAdmission(index)
        let place = jobs[index].trace
        let slot = traces[place]
        let (batch, entry) = origin(index)
        let topic = lanes[batch.lane].topic
        var span = Span(
            "process \(topic)", .consumer, trace: slot.trace, id: slot.span, parent: slot.parent,
            startNs: slot.startNs, endNs: Clock.wallNs)
        span.addMessaging(topic: topic, operation: "process", type: "process")
        span.add("messaging.consumer.group.name", "\(settings.group).\(lanes[batch.lane].name)")
        span.add("messaging.destination.partition.id", "\(entry.partition)")
        span.add("messaging.kafka.offset", entry.offset)
        addJob(index, to: &span)
        span.add("peal.attempt", jobs[index].headers.attempt)
        if !isDone { span.error = "given_up" } else if jobs[index].isBuried { span.error = "dead" }
        span.add("error.type", span.error ?? "")
        spans.append(span)
        traces.give(place)
        jobs[index].trace = -1
    }

    /// Hands what was noted in this turn to the exporter.
    func offerSpans() {
        settings.tracer?.offer(spans)
        spans.removeAll(keepingCapacity: true)
    }

    private func addJob(_ index: Int32, to span: inout Span) {
        let job = jobs[index]
        if let id = job.job.id {
            var out = ByteBuffer(capacity: 64)
            span.add("messaging.message.id", unsafe String(decoding: id.unescaped(into: &out), as: UTF8.self))
        }
        if job.app >= 0 { span.add("peal.app", directory.apps[Int(job.app)].name) }
        span.add("peal.lane", lanes[Int(job.lane)].name)
    }

    /// A span below the job's own one that ends now.
    private func span(_ name: String, _ kind: Span.Kind, of index: Int32, from startNs: Int64) -> Span {
        let slot = traces[jobs[index].trace]
        return Span(
            name, kind, trace: slot.trace, id: nextRandom() | 1, parent: slot.span, startNs: startNs,
            endNs: Clock.wallNs)
    }

    /// The header that lets the next attempt belong to the same trace, for a job whose sender gave none.
    func appendTraceParent(_ index: Int32) {
        let slot = traces[jobs[index].trace]
        guard senderTrace(index) == nil else { return }
        var words = ByteBuffer(capacity: 64)
        TraceContext(trace: slot.trace, span: slot.span, isSampled: true).append(to: &words)
        unsafe RecordHeaders.pack(Self.bytes(PealHeader.traceParent), words.bytes, into: &body)
    }
}
