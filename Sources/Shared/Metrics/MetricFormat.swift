/// In which of its two forms an exposition is written.
package enum MetricFormat: Sendable, Equatable {
    /// Prometheus' text, version 0.0.4.
    case text
    /// OpenMetrics text, version 1.0.0.
    case openMetrics

    /// The value of `content-type`.
    package var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The form that an `Accept` header asks for. Plain text where it asks for neither, as a person's browser
    /// does, and where it takes both equally but names only text.
    package init(accept: String?) {
        var open = 0.0
        var text = 0.0
        for range in AcceptedType.list(accept ?? "") {
            let version = range.parameter("version")
            switch range.type {
            case "application/openmetrics-text":
                if version == nil || version == "1.0.0" || version == "0.0.1" {
                    open = max(open, range.quality)
                }
            case "text/plain":
                if version == nil || version == "0.0.4" { text = max(text, range.quality) }
            case "text/*", "*/*": text = max(text, range.quality)
            default: break
            }
        }
        self = open > 0 && open >= text ? .openMetrics : .text
    }
}

/// One media range of an `Accept` header.
package struct AcceptedType: Sendable, Equatable {
    /// The range in lower case, such as `text/plain` or `*/*`.
    package let type: String
    /// How much it is wanted, 0...1.
    package let quality: Double
    private let parameters: [[String]]

    /// A parameter's value.
    package func parameter(_ name: String) -> String? { parameters.first { $0[0] == name }?[1] }

    /// The ranges of a header, at most 32; what can't be read is left out.
    package static func list(_ header: String) -> [AcceptedType] {
        header.split(separator: ",").prefix(32).compactMap { item in
            let parts = item.split(separator: ";").map(trimmed)
            guard let type = parts.first, type.contains("/") else { return nil }
            let parameters = parts.dropFirst().compactMap { part -> [String]? in
                guard let equals = part.firstIndex(of: "=") else { return nil }
                let value = trimmed(part[part.index(after: equals)...]).filter { $0 != "\"" }
                return [trimmed(part[..<equals]), value]
            }
            let quality = parameters.first { $0[0] == "q" }.map { Double($0[1]) ?? 0 } ?? 1
            return AcceptedType(
                type: type, quality: quality.isFinite ? min(max(quality, 0), 1) : 0, parameters: parameters)
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
            .lowercased()
    }
}
