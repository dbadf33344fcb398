import Core

/// One value of a log line.
package enum LogValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
{
    case text(String)
    case integer(Int64)
    case real(Double)
    case flag(Bool)

    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .flag(value) }
    package init(floatLiteral value: Double) { self = .real(value) }

    /// Any integer; one that does not fit is clamped.
    package static func number(_ value: some BinaryInteger) -> LogValue { .integer(Int64(clamping: value)) }
}

/// The fields of a log line, in order: `["kafka.partition": 3, "redis.host": .text(host)]`.
package struct LogFields: Sendable, ExpressibleByDictionaryLiteral {
    private(set) var items: [(key: String, value: LogValue)]

    package init(dictionaryLiteral elements: (String, LogValue)...) {
        items = elements.map { (key: $0.0, value: $0.1) }
    }

    /// Adds a field.
    package mutating func append(_ key: String, _ value: LogValue) { items.append((key, value)) }

    /// Fields whose text tells one trouble from another of the same event.
    private static let telling: Set<String> = [
        "app", "credential", "kafka.error", "kind", "lane", "name", "provider", "reason", "retry.tier",
        "route",
    ]

    /// A hash of the fields that tell one trouble from another.
    var detail: UInt64 {
        var hash: UInt64 = 0
        for (key, value) in items {
            guard case .text(let text) = value, Self.telling.contains(key) else { continue }
            hash = Hash64.mix(hash ^ Hash64.of(text: text), 0x9E37_79B9_7F4A_7C15)
        }
        return hash
    }

    func merged(_ more: LogFields) -> LogFields {
        var out = self
        out.items.append(contentsOf: more.items)
        return out
    }
}

/// Shortens secrets for log lines.
package enum Redacted {
    /// The first 4 and last 4 characters of a device token with `…` between; only `…` when it has fewer than
    /// 16.
    package static func token(_ token: some StringProtocol) -> String {
        guard token.count >= 16 else { return "…" }
        return "\(token.prefix(4))…\(token.suffix(4))"
    }

    /// The same for a token's text bytes; bytes that are not printable ASCII become `?`.
    package static func token(_ bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.count >= 16 else { return "…" }
        let text = { (byte: UInt8) -> Character in
            byte > 0x20 && byte < 0x7F ? Character(Unicode.Scalar(byte)) : "?"
        }
        return unsafe "\(String(bytes.prefix(4).map(text)))…\(String(bytes.suffix(4).map(text)))"
    }
}
