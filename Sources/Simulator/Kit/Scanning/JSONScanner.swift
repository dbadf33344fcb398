import Core

/// Where a scanned string lies in its document, without its quotes.
struct JSONSpan {
    var start: Int32 = 0
    var count: Int32 = 0
    /// Whether the text holds escapes, so that it can't be compared byte for byte.
    var escaped = false

    var isEmpty: Bool { count == 0 }
}

/// A validating pull reader over one JSON document (RFC 8259) that builds nothing.
///
/// The caller walks the members it cares about and skips the rest; everything passed over is checked:
/// structure, numbers, escapes and UTF-8. A fault is sticky: `failed` turns true, every further call returns
/// at once.
///
/// - Cost: no allocation; eight bytes of a string a step.
/// - Limits: 64 levels of nesting, 2 GiB.
@safe
struct JSONScanner {
    static let depthMax = 64

    private let bytes: UnsafeRawBufferPointer
    private(set) var at = 0
    private(set) var failed = false

    init(_ bytes: Bytes) { unsafe self.bytes = bytes.raw }

    /// The bytes of a span.
    func bytes(of span: JSONSpan) -> Bytes {
        unsafe Bytes(bytes).slice(Int(span.start), Int(span.start) + Int(span.count))
    }

    /// The first byte of the next value (`{`, `[`, `"`, a digit, `t`, `f`, `n`), or zero at the end.
    mutating func peek() -> UInt8 {
        skipSpace()
        return unsafe at < bytes.count ? unsafe bytes[at] : 0
    }

    /// Steps into an object or array whose opening byte is next.
    mutating func open(_ byte: UInt8) -> Bool {
        guard !failed, peek() == byte else { return false }
        at += 1
        return true
    }

    /// The next member's name, with the reader placed before its value; nil at the end of the object or on a
    /// fault.
    mutating func member(_ first: inout Bool) -> JSONSpan? {
        guard step(&first, close: UInt8(ascii: "}")) else { return nil }
        guard let name = string() else { return nil }
        guard peek() == UInt8(ascii: ":") else {
            failed = true
            return nil
        }
        at += 1
        return name
    }

    /// Whether the array has another element, with the reader placed before it.
    mutating func element(_ first: inout Bool) -> Bool { step(&first, close: UInt8(ascii: "]")) }

    private mutating func step(_ first: inout Bool, close: UInt8) -> Bool {
        guard !failed else { return false }
        let next = peek()
        if next == close {
            at += 1
            return false
        }
        if first {
            first = false
            if next != 0 { return true }
        } else if next == UInt8(ascii: ",") {
            at += 1
            return true
        }
        failed = true
        return false
    }

    /// Whether nothing but white space is left and no fault was met.
    mutating func finish() -> Bool {
        skipSpace()
        return unsafe !failed && at == bytes.count
    }

    /// Declares the document faulty.
    mutating func fail() { failed = true }

    private mutating func skipSpace() {
        while unsafe at < bytes.count {
            let byte = unsafe bytes[at]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            at += 1
        }
    }

    /// Passes over one value of any kind.
    mutating func skip(depth: Int = 0) {
        guard !failed else { return }
        guard depth < Self.depthMax else {
            failed = true
            return
        }
        switch peek() {
        case UInt8(ascii: "{"):
            at += 1
            var first = true
            while member(&first) != nil { skip(depth: depth + 1) }
        case UInt8(ascii: "["):
            at += 1
            var first = true
            while element(&first) { skip(depth: depth + 1) }
        case UInt8(ascii: "\""): _ = string()
        case UInt8(ascii: "t"): word("true")
        case UInt8(ascii: "f"): word("false")
        case UInt8(ascii: "n"): word("null")
        default: _ = number()
        }
    }

    /// A boolean, or nil (and the value passed over) when it is something else.
    mutating func bool() -> Bool? {
        let first = peek()
        skip()
        guard !failed else { return nil }
        return first == UInt8(ascii: "t") ? true : first == UInt8(ascii: "f") ? false : nil
    }

    /// A string, or nil (and the value passed over) when it is something else.
    mutating func stringValue() -> JSONSpan? {
        guard peek() == UInt8(ascii: "\"") else {
            skip()
            return nil
        }
        return string()
    }

    /// A whole number, or nil (and the value passed over) when it is something else.
    mutating func integerValue() -> Int64? {
        let first = peek()
        guard first == UInt8(ascii: "-") || (first >= UInt8(ascii: "0") && first <= UInt8(ascii: "9")) else {
            skip()
            return nil
        }
        guard let span = number() else { return nil }
        let text = bytes(of: span)
        if first == UInt8(ascii: "-") { return text.slice(1, text.count).decimal.map { -$0 } }
        return text.decimal
    }

    private mutating func word(_ text: StaticString) {
        guard unsafe Bytes(bytes).slice(at, at + text.utf8CodeUnitCount).equals(text) else {
            failed = true
            return
        }
        at += text.utf8CodeUnitCount
    }

    private func byte(_ index: Int) -> UInt8 { unsafe index < bytes.count ? unsafe bytes[index] : 0 }

    private mutating func number() -> JSONSpan? {
        let start = at
        if byte(at) == UInt8(ascii: "-") { at += 1 }
        let whole = digits()
        guard whole > 0, whole == 1 || byte(at - whole) != UInt8(ascii: "0") else { return refuse() }
        if byte(at) == UInt8(ascii: ".") {
            at += 1
            guard digits() > 0 else { return refuse() }
        }
        if byte(at) | 0x20 == UInt8(ascii: "e") {
            at += 1
            if byte(at) == UInt8(ascii: "+") || byte(at) == UInt8(ascii: "-") { at += 1 }
            guard digits() > 0 else { return refuse() }
        }
        return JSONSpan(start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: at - start))
    }

    private mutating func refuse() -> JSONSpan? {
        failed = true
        return nil
    }

    private mutating func digits() -> Int {
        let start = at
        while byte(at) >= UInt8(ascii: "0"), byte(at) <= UInt8(ascii: "9") { at += 1 }
        return at - start
    }
}

// MARK: - Strings

extension JSONScanner {
    /// The string whose opening quote is next; nil is a fault.
    mutating func string() -> JSONSpan? {
        guard !failed, peek() == UInt8(ascii: "\"") else { return refuse() }
        at += 1
        let start = at
        var escaped = false
        while true {
            skipPlain()
            guard unsafe at < bytes.count else { return refuse() }
            let next = unsafe bytes[at]
            if next == UInt8(ascii: "\"") {
                let count = at - start
                at += 1
                return JSONSpan(
                    start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: count),
                    escaped: escaped)
            }
            if next == UInt8(ascii: "\\") {
                escaped = true
                guard escape() else { return refuse() }
            } else if next >= 0x80 {
                guard multibyte() else { return refuse() }
            } else if next < 0x20 {
                return refuse()
            } else {
                at += 1
            }
        }
    }

    /// Passes over plain ASCII, eight bytes a step (the exact-first-match bit trick on little-endian words).
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while unsafe at &+ 8 <= bytes.count {
            let word = UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
            let quote = word ^ 0x2222_2222_2222_2222
            let slash = word ^ 0x5C5C_5C5C_5C5C_5C5C
            let quoteHit = (quote &- ones) & ~quote
            let slashHit = (slash &- ones) & ~slash
            let control = (word &- 0x2020_2020_2020_2020) & ~word
            let stop = (quoteHit | slashHit | control | word) & highs
            if stop != 0 {
                at &+= stop.trailingZeroBitCount / 8
                return
            }
            at &+= 8
        }
    }

    private mutating func escape() -> Bool {
        let kind = byte(at + 1)
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            at += 2
            return true
        case UInt8(ascii: "u"):
            guard let unit = hexUnit(at + 2) else { return false }
            at += 6
            if (0xDC00...0xDFFF).contains(unit) { return false }
            guard (0xD800...0xDBFF).contains(unit) else { return true }
            guard byte(at) == UInt8(ascii: "\\"), byte(at + 1) == UInt8(ascii: "u"),
                let low = hexUnit(at + 2), (0xDC00...0xDFFF).contains(low)
            else { return false }
            at += 6
            return true
        default: return false
        }
    }

    private func hexUnit(_ from: Int) -> UInt32? {
        var value: UInt32 = 0
        for index in from..<from + 4 {
            guard let digit = Hex.value(byte(index)) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// One well-formed multi-byte character (Unicode, table 3-7).
    private mutating func multibyte() -> Bool {
        let lead = byte(at)
        let second = byte(at + 1)
        func tail(_ index: Int) -> Bool { byte(index) & 0xC0 == 0x80 }
        switch lead {
        case 0xC2...0xDF:
            guard tail(at + 1) else { return false }
            at += 2
        case 0xE0...0xEF:
            guard tail(at + 1), tail(at + 2), lead != 0xE0 || second >= 0xA0, lead != 0xED || second < 0xA0
            else { return false }
            at += 3
        case 0xF0...0xF4:
            guard tail(at + 1), tail(at + 2), tail(at + 3), lead != 0xF0 || second >= 0x90,
                lead != 0xF4 || second < 0x90
            else { return false }
            at += 4
        default: return false
        }
        return true
    }
}
