package import Configuration
internal import Core
internal import Glibc
internal import HTTPClient
package import HTTPServer
package import Logging
package import Metrics
package import Tracing

extension Settings {
    /// The process's tracer, when `otlp.endpoint` names a receiver; `role` is the service's name, such as
    /// `worker`.
    /// - Throws: when the file with the headers can't be used.
    package func tracer(role: String, logger: Logger) throws(ConfigurationFailure) -> Tracer? {
        guard let endpoint = otlp.endpoint else { return nil }
        var options = TracerOptions(url: endpoint)
        options.headers = try otlp.headers()
        options.ratio = otlp.sampleRatio
        options.queueMax = otlp.queueMax
        options.http.caFile = otlp.caFile
        options.http.totalTimeoutMs = Int(clamping: otlp.timeoutMs)
        options.http.connectTimeoutMs = min(options.http.connectTimeoutMs, options.http.totalTimeoutMs)
        options.resource = [
            (key: "service.name", value: "\(otlp.serviceName)-\(role)"),
            (key: "service.namespace", value: otlp.serviceName),
            (key: "service.version", value: Version.current),
            (key: "service.instance.id", value: "\(Self.hostName):\(getpid())"),
            (key: "telemetry.sdk.name", value: "peal"),
            (key: "telemetry.sdk.language", value: "swift"),
        ]
        return Tracer(options, logger: logger.child("tracing"))
    }

    private static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return "unknown" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// What services expose of the spans that they export.
package enum TraceFamilies {
    private static let services: [MetricRole] = [.worker, .retry, .gateway]

    /// Spans that arrived.
    package static let sent = MetricFamily.counter(
        "peal_spans_sent_total", "Spans that the receiver of traces took.", by: services)
    /// Spans without room.
    package static let dropped = MetricFamily.counter(
        "peal_spans_dropped_total", "Spans that found the queue full.", by: services)
    /// Spans that were given up.
    package static let failed = MetricFamily.counter(
        "peal_spans_failed_total", "Spans that the receiver refused, or was away for too long for.",
        by: services)
    /// Spans that wait.
    package static let queued = MetricFamily.gauge(
        "peal_spans_queued", "Spans that wait to be sent.", by: services)

    /// All of them.
    package static let all = [sent, dropped, failed, queued]
}

extension HealthEndpoints {
    /// The same endpoints, with what the tracer did in `/metrics`: nothing, when there is none.
    package func telling(_ tracer: Tracer?) -> HealthEndpoints {
        var out = self
        let metrics = metrics
        out.metrics = { writer in
            metrics(&writer)
            let status = tracer?.status ?? TracerStatus()
            writer.single(TraceFamilies.sent, status.sent)
            writer.single(TraceFamilies.dropped, status.dropped)
            writer.single(TraceFamilies.failed, status.failed)
            writer.single(TraceFamilies.queued, UInt64(clamping: status.queued))
        }
        return out
    }
}
