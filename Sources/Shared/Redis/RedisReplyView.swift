/// The type of a reply.
@usableFromInline
package enum RedisReplyType: UInt8, Sendable {
    case null
    case integer
    case string
    case status
    case error
    case array
}

/// One element of a reply: its type and a number (the value, an array's count) or a run of the reply's bytes.
@usableFromInline struct ReplyNode {
    @usableFromInline let type: RedisReplyType
    @usableFromInline let number: Int64
    @usableFromInline let offset: Int
    @usableFromInline let length: Int
    /// Whether an element of this array is an array, so that element n isn't simply n + 1 nodes further.
    @usableFromInline var isNested = false
}

/// A look at a reply that lies flat in its parser's memory.
///
/// The elements are kept in the order they arrive, an array before its elements.
/// - Valid: during the call that it was given to; copy what has to live longer.
/// - Errors: asking for what isn't there gives nil, null or an empty run, never a trap.
@safe
package struct RedisReplyView {
    @usableFromInline let nodes: UnsafeBufferPointer<ReplyNode>
    @usableFromInline let base: UnsafeRawBufferPointer
    @usableFromInline let index: Int

    @usableFromInline init(
        nodes: UnsafeBufferPointer<ReplyNode>, base: UnsafeRawBufferPointer, index: Int
    ) {
        unsafe self.nodes = unsafe nodes
        unsafe self.base = unsafe base
        self.index = index
    }

    @inlinable var node: ReplyNode? { unsafe index < nodes.count ? nodes[index] : nil }

    /// The type; null when there is no such element.
    @inlinable package var type: RedisReplyType { node?.type ?? .null }

    /// Whether it is null.
    @inlinable package var isNull: Bool { type == .null }

    /// The value of an integer reply, or of a string reply that is a decimal number; else nil.
    @inlinable package var integer: Int64? {
        guard let node else { return nil }
        if node.type == .integer { return node.number }
        guard node.type == .string else { return nil }
        return unsafe Self.decimal(bytes)
    }

    /// The bytes of a string, status or error; else none.
    @inlinable package var bytes: UnsafeRawBufferPointer {
        guard let node, node.length > 0 else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        return unsafe UnsafeRawBufferPointer(rebasing: base[node.offset..<node.offset + node.length])
    }

    /// The bytes as text; for cold paths.
    package var text: String { unsafe String(decoding: bytes, as: UTF8.self) }

    /// The number of elements of an array; else 0.
    @inlinable package var count: Int {
        guard let node, node.type == .array else { return 0 }
        return Int(truncatingIfNeeded: node.number)
    }

    /// The element at `position` of an array; null when there is none.
    /// - Cost: constant in an array without arrays in it, else proportional to what lies before.
    @inlinable package subscript(position: Int) -> RedisReplyView {
        guard let node, node.type == .array, position >= 0, position < count else {
            return unsafe at(nodes.count)
        }
        if !node.isNested { return at(index + 1 + position) }
        return at(walk(to: position))
    }

    @inlinable func at(_ index: Int) -> RedisReplyView {
        unsafe RedisReplyView(nodes: nodes, base: base, index: index)
    }

    /// The node of the element at `position`, stepping over what lies before it.
    @usableFromInline func walk(to position: Int) -> Int {
        var at = index + 1
        var open = position
        while open > 0, unsafe at < nodes.count {
            let node = unsafe nodes[at]
            open -= 1
            if node.type == .array { open += Int(truncatingIfNeeded: node.number) }
            at += 1
        }
        return at
    }

    @usableFromInline static func decimal(_ digits: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = unsafe digits.first == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        guard digits.count > start, digits.count <= start + 19 else { return nil }
        var value: Int64 = 0
        for at in start..<digits.count {
            let digit = unsafe digits[at]
            guard digit >= 48, digit <= 57 else { return nil }
            let (times, tooBig) = value.multipliedReportingOverflow(by: 10)
            let (difference, over) = times.subtractingReportingOverflow(Int64(digit - 48))
            if tooBig || over { return nil }
            value = difference
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }
}
