internal import Core
package import HTTPServer
package import Logging
package import Metrics

/// What services expose of their logs.
package enum LogFamilies {
    private static let services: [MetricRole] = [.worker, .retry, .gateway, .expand]

    /// Lines that were left out.
    package static let suppressed = MetricFamily.counter(
        "peal_log_lines_suppressed_total",
        "Log lines left out because they repeated others; later lines tell how many.", by: services)
    /// Lines that were lost.
    package static let dropped = MetricFamily.counter(
        "peal_log_lines_dropped_total", "Log lines lost because whatever reads them was too slow.",
        by: services)

    /// All of them.
    package static let all = [suppressed, dropped]
}

extension HealthEndpoints {
    /// The same endpoints, with the log's levels in `/statusz` (member `log`, or a line) and its losses in
    /// `/metrics`.
    package func telling(_ logger: Logger) -> HealthEndpoints {
        var out = self
        let (metrics, status, page) = (metrics, status, page)
        out.metrics = { writer in
            metrics(&writer)
            let losses = logger.losses
            writer.single(LogFamilies.suppressed, losses.suppressed)
            writer.single(LogFamilies.dropped, losses.dropped)
        }
        out.status = { Self.adding("log", logger.statusJSON, to: status()) }
        if let page { out.page = { page() + logger.statusLine + "\n" } }
        return out
    }

    /// Puts a member at the end of a JSON object; anything else stays as it is.
    static func adding(_ name: String, _ value: String, to object: [UInt8]) -> [UInt8] {
        guard let end = object.lastIndex(of: UInt8(ascii: "}")), let start = object.first,
            start == UInt8(ascii: "{")
        else { return object }
        let inner = object[1..<end]
        let isEmpty = inner.allSatisfy { $0 <= 0x20 }
        return object[..<end] + Array("\(isEmpty ? "" : ",")\"\(name)\":\(value)".utf8) + object[end...]
    }
}
