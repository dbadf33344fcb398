package import Core

/// A value of a span's attribute.
package enum SpanValue: Sendable, Equatable {
    case text(String)
    case integer(Int64)
    case flag(Bool)
}

/// One span of a trace: what was done, from when to when, and as a part of what.
package struct Span: Sendable, Equatable {
    /// What it is to the other side; the numbers are OTLP's.
    package enum Kind: Int, Sendable {
        case `internal` = 1
        case server = 2
        case client = 3
        case producer = 4
        case consumer = 5
    }

    package var trace: TraceID
    package var id: UInt64
    /// The parent's id; 0 for the root.
    package var parent: UInt64
    package var name: String
    package var kind: Kind
    /// Nanoseconds since 1970.
    package var startNs: Int64
    package var endNs: Int64
    package var attributes: [(key: String, value: SpanValue)] = []
    /// What went wrong, as a short label; nil when nothing did.
    package var error: String?

    package init(
        _ name: String, _ kind: Kind, trace: TraceID, id: UInt64, parent: UInt64, startNs: Int64, endNs: Int64
    ) {
        self.trace = trace
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        self.startNs = startNs
        self.endNs = endNs
    }

    package static func == (left: Span, right: Span) -> Bool {
        left.trace == right.trace && left.id == right.id && left.parent == right.parent
            && left.name == right.name && left.kind == right.kind && left.startNs == right.startNs
            && left.endNs == right.endNs && left.error == right.error
            && left.attributes.elementsEqual(right.attributes) { $0.key == $1.key && $0.value == $1.value }
    }

    /// Adds an attribute; an empty text is left out.
    package mutating func add(_ key: String, _ text: String) {
        if !text.isEmpty { attributes.append((key, .text(text))) }
    }

    /// Adds an attribute.
    package mutating func add(_ key: String, _ number: Int64) { attributes.append((key, .integer(number))) }
}

extension Span {
    /// What OpenTelemetry's conventions ask of a span about a Kafka record; `type` is one of `send`,
    /// `receive` and `process`.
    package mutating func addMessaging(topic: String, operation: String, type: String) {
        add("messaging.system", "kafka")
        add("messaging.destination.name", topic)
        add("messaging.operation.name", operation)
        add("messaging.operation.type", type)
    }
}
