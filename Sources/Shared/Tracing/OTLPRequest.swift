internal import Core

/// Writes spans as an `ExportTraceServiceRequest` of OTLP in its JSON form, and reads what is answered. Pure.
///
/// Of that form: ids are hexadecimal, 64-bit numbers are strings, enumerations are numbers, and members have
/// camel-case names.
enum OTLPRequest {
    /// The longest text of an attribute in bytes; a longer one is cut.
    static let textMax = 1_024

    /// The request's body. `resource` says who speaks.
    static func body(_ spans: some Collection<Span>, resource: [(key: String, value: String)]) -> [UInt8] {
        var out = ByteBuffer(capacity: 256 + spans.count * 900)
        out.append("{\"resourceSpans\":[{\"resource\":{\"attributes\":[")
        for (index, item) in resource.enumerated() {
            if index > 0 { out.append(",") }
            append(item.key, .text(item.value), to: &out)
        }
        out.append("]},\"scopeSpans\":[{\"scope\":{\"name\":\"peal\"},\"spans\":[")
        for (index, span) in spans.enumerated() {
            if index > 0 { out.append(",") }
            append(span, to: &out)
        }
        out.append("]}]}]}")
        return out.array
    }

    private static func append(_ span: Span, to out: inout ByteBuffer) {
        out.append("{\"traceId\":\"")
        span.trace.append(to: &out)
        out.append("\",\"spanId\":\"")
        TraceContext.append(hex: span.id, to: &out)
        if span.parent != 0 {
            out.append("\",\"parentSpanId\":\"")
            TraceContext.append(hex: span.parent, to: &out)
        }
        // Bit 0 says that the trace is recorded.
        out.append("\",\"flags\":1,\"name\":")
        out.append(jsonString: span.name)
        out.append(text: ",\"kind\":\(span.kind.rawValue)")
        out.append(text: ",\"startTimeUnixNano\":\"\(span.startNs)\"")
        out.append(text: ",\"endTimeUnixNano\":\"\(max(span.startNs, span.endNs))\"")
        out.append(",\"attributes\":[")
        for (index, item) in span.attributes.enumerated() {
            if index > 0 { out.append(",") }
            append(item.key, item.value, to: &out)
        }
        out.append("]")
        if let error = span.error {
            out.append(",\"status\":{\"code\":2,\"message\":")
            out.append(jsonString: error)
            out.append("}")
        }
        out.append("}")
    }

    private static func append(_ key: String, _ value: SpanValue, to out: inout ByteBuffer) {
        out.append("{\"key\":")
        out.append(jsonString: key)
        switch value {
        case .text(let text):
            out.append(",\"value\":{\"stringValue\":")
            out.append(jsonString: text.utf8.count > textMax ? String(text.prefix(textMax / 4)) : text)
        case .integer(let number): out.append(text: ",\"value\":{\"intValue\":\"\(number)\"")
        case .flag(let flag):
            out.append(flag ? ",\"value\":{\"boolValue\":true" : ",\"value\":{\"boolValue\":false")
        }
        out.append("}}")
    }

    /// How many spans an answer of success says were not taken, and why.
    static func rejected(_ body: [UInt8]) -> (spans: Int64, why: String) {
        guard let answer = try? JSONValue.parse(text: String(decoding: body, as: UTF8.self)),
            let partial = answer["partialSuccess"]
        else { return (0, "") }
        let count = partial["rejectedSpans"]?.integer ?? Int64(partial["rejectedSpans"]?.string ?? "") ?? 0
        return (max(0, count), partial["errorMessage"]?.string ?? "")
    }
}

/// What to do after an answer to a batch, or after none. Pure.
enum OTLPVerdict: Equatable {
    case done
    /// The batch is sent again after so many ms.
    case again(afterMs: UInt64)
    case giveUp

    /// Sends of one batch at most.
    static let attemptsMax = 5
    private static let longestMs: UInt64 = 30_000

    /// Judges the `attempt`-th answer (from 1); `status` is nil when there was none. `retryAfter` is the
    /// header's value, seconds. `random` spreads the wait.
    static func judge(status: Int?, retryAfter: String?, attempt: Int, random: UInt64) -> OTLPVerdict {
        if let status, (200..<300).contains(status) { return .done }
        // The specification's list; anything else would be refused again.
        if let status, ![429, 502, 503, 504].contains(status) { return .giveUp }
        guard attempt < attemptsMax else { return .giveUp }
        if let asked = retryAfter.flatMap({ UInt64($0) }) {
            return .again(afterMs: min(asked, longestMs / 1_000) * 1_000)
        }
        let step = min(1_000 << UInt64(attempt - 1), longestMs)
        return .again(afterMs: step / 2 + step.multipliedFullWidth(by: random).high / 2)
    }
}
