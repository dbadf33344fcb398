package import Core

/// A JSON string that lies in someone else's memory, as the sender wrote it: without its quotes, escapes
/// kept.
///
/// - Valid: as long as the memory that it points into.
/// - The escapes have been checked before, so that reading them can't fail.
@safe
package struct JSONText: BitwiseCopyable {
    /// The bytes between the quotes; they can be copied between quotes again without a change.
    package let raw: UnsafeRawBufferPointer
    /// Whether there is a backslash in ``raw``.
    package let isEscaped: Bool

    /// Names text that lies at `raw`.
    @inlinable package init(raw: UnsafeRawBufferPointer, isEscaped: Bool) {
        unsafe self.raw = raw
        self.isEscaped = isEscaped
    }

    /// The text itself: in place when nothing is escaped, else decoded onto the end of `scratch`.
    /// - Valid: until the source's memory goes or `scratch` changes.
    @inlinable package func unescaped(into scratch: inout ByteBuffer) -> UnsafeRawBufferPointer {
        guard isEscaped else { return unsafe raw }
        let before = scratch.count
        appendUnescaped(to: &scratch)
        return unsafe UnsafeRawBufferPointer(rebasing: scratch.bytes[before...])
    }

    /// Appends the text itself.
    @inlinable package func append(to buffer: inout ByteBuffer) {
        if isEscaped { appendUnescaped(to: &buffer) } else { unsafe buffer.append(raw) }
    }

    /// The text as a `String`, for messages and tests.
    package var string: String {
        var scratch = unsafe ByteBuffer(capacity: max(16, raw.count))
        append(to: &scratch)
        return scratch.text
    }

    /// The number of bytes of the text itself.
    package var unescapedCount: Int {
        guard isEscaped else { return unsafe raw.count }
        var reader = JSONUnescaper(self)
        var count = 0
        while reader.next() != nil { count += 1 }
        return count
    }

    /// Whether the text itself is `other`.
    package func equals(_ other: StaticString) -> Bool {
        guard isEscaped else {
            return unsafe JSONText.same(
                raw, UnsafeRawBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
        }
        var reader = JSONUnescaper(self)
        for index in 0..<other.utf8CodeUnitCount {
            guard let byte = reader.next(), unsafe byte == other.utf8Start[index] else { return false }
        }
        return reader.next() == nil
    }

    /// Whether both are the same text, however it is escaped.
    package func equals(_ other: JSONText) -> Bool {
        if !isEscaped, !other.isEscaped { return unsafe JSONText.same(raw, other.raw) }
        var left = JSONUnescaper(self)
        var right = JSONUnescaper(other)
        while true {
            let (a, b) = (left.next(), right.next())
            if a != b { return false }
            if a == nil { return true }
        }
    }

    /// Whether the text itself begins with `prefix`.
    package func hasPrefix(_ prefix: StaticString) -> Bool {
        var reader = JSONUnescaper(self)
        for index in 0..<prefix.utf8CodeUnitCount {
            guard let byte = reader.next(), unsafe byte == prefix.utf8Start[index] else { return false }
        }
        return true
    }

    private static func same(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        guard a.count == b.count else { return false }
        for index in 0..<a.count where unsafe a[index] != b[index] { return false }
        return true
    }

    @usableFromInline func appendUnescaped(to buffer: inout ByteBuffer) {
        var reader = JSONUnescaper(self)
        unsafe buffer.reserve(raw.count)
        while let byte = reader.next() { buffer.append(byte: byte) }
    }
}

/// Reads the text of a JSON string byte by byte, decoding its escapes.
@safe
package struct JSONUnescaper {
    private let raw: UnsafeRawBufferPointer
    private var at = 0
    private var pending: UInt32 = 0
    private var pendingCount = 0

    /// Starts at the beginning of `text`.
    package init(_ text: JSONText) { unsafe raw = text.raw }

    /// The next byte of the text, or nil at its end. A half surrogate becomes U+FFFD, so the bytes are always
    /// UTF-8.
    package mutating func next() -> UInt8? {
        if pendingCount > 0 {
            pendingCount -= 1
            let byte = UInt8(truncatingIfNeeded: pending)
            pending >>= 8
            return byte
        }
        guard unsafe at < raw.count else { return nil }
        let byte = unsafe raw[at]
        at += 1
        guard byte == UInt8(ascii: "\\"), unsafe at < raw.count else { return byte }
        let kind = unsafe raw[at]
        at += 1
        switch kind {
        case UInt8(ascii: "b"): return 8
        case UInt8(ascii: "f"): return 12
        case UInt8(ascii: "n"): return 10
        case UInt8(ascii: "r"): return 13
        case UInt8(ascii: "t"): return 9
        case UInt8(ascii: "u"): return scalar()
        default: return kind
        }
    }

    private mutating func unit() -> UInt32? {
        guard unsafe at + 4 <= raw.count else { return nil }
        var value: UInt32 = 0
        for index in at..<at + 4 {
            guard let digit = unsafe Hex.value(raw[index]) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        at += 4
        return value
    }

    private mutating func scalar() -> UInt8 {
        var value = unit() ?? 0xFFFD
        if value & 0xFC00 == 0xD800 {
            let mark = at
            if unsafe at + 6 <= raw.count, unsafe raw[at] == UInt8(ascii: "\\"),
                unsafe raw[at + 1] == UInt8(ascii: "u")
            {
                at += 2
                if let low = unit(), low & 0xFC00 == 0xDC00 {
                    value = 0x10000 + (value & 0x3FF) << 10 + low & 0x3FF
                } else {
                    at = mark
                    value = 0xFFFD
                }
            } else {
                value = 0xFFFD
            }
        } else if value & 0xFC00 == 0xDC00 {
            value = 0xFFFD
        }
        return encode(value)
    }

    /// Puts the second and later bytes of the scalar's UTF-8 aside and returns the first.
    private mutating func encode(_ value: UInt32) -> UInt8 {
        if value < 0x80 { return UInt8(truncatingIfNeeded: value) }
        func tail(_ shift: UInt32) -> UInt32 { 0x80 | (value >> shift) & 0x3F }
        if value < 0x800 {
            pending = tail(0)
            pendingCount = 1
            return UInt8(truncatingIfNeeded: 0xC0 | value >> 6)
        }
        if value < 0x10000 {
            pending = tail(6) | tail(0) << 8
            pendingCount = 2
            return UInt8(truncatingIfNeeded: 0xE0 | value >> 12)
        }
        pending = tail(12) | tail(6) << 8 | tail(0) << 16
        pendingCount = 3
        return UInt8(truncatingIfNeeded: 0xF0 | value >> 18)
    }
}
