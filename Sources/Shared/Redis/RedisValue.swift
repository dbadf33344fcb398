/// A reply as a tree of its own; for tools and tests.
package enum RedisValue: Sendable, Equatable {
    case null
    case integer(Int64)
    /// A string or a status.
    case string([UInt8])
    case array([RedisValue])
    /// An error reply inside a pipeline.
    case error(RedisFailure)

    /// Copies a reply.
    package init(_ reply: RedisReplyView) {
        switch reply.type {
        case .null: self = .null
        case .integer: self = .integer(reply.integer ?? 0)
        case .string, .status: self = .string(unsafe Array(reply.bytes))
        case .error: self = .error(unsafe RedisFailure(.ofErrorReply(reply.bytes), reply.text))
        case .array: self = .array((0..<reply.count).map { RedisValue(reply[$0]) })
        }
    }

    /// The text of a string, or an integer in decimal; else nil.
    package var text: String? {
        switch self {
        case .string(let bytes): String(decoding: bytes, as: UTF8.self)
        case .integer(let value): String(value)
        case .null, .array, .error: nil
        }
    }

    /// An integer, or a string that is a decimal number; else nil.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .string(let bytes): Int64(String(decoding: bytes, as: UTF8.self))
        case .null, .array, .error: nil
        }
    }

    /// The elements of an array; else none.
    package var array: [RedisValue] { if case .array(let elements) = self { elements } else { [] } }

    /// The pairs of a flat array such as that of HGETALL.
    package var pairs: [(key: String, value: RedisValue)] {
        let elements = array
        return stride(from: 0, to: elements.count - 1, by: 2).map {
            (elements[$0].text ?? "", elements[$0 + 1])
        }
    }
}
