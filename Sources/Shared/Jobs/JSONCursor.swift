/// What a JSON value is, by its first character.
package enum JSONKind: UInt8, Sendable {
    case string, number, object, array, bool, null
}

/// One JSON value that lies in someone else's memory, as the sender wrote it.
/// - Valid: as long as the memory that it points into.
@safe
package struct JSONSlice: BitwiseCopyable {
    /// The whole value: a string with its quotes, an object with its braces.
    package let raw: UnsafeRawBufferPointer
    /// For a string, whether there is a backslash in it.
    package let isEscaped: Bool

    /// Names a value that lies at `raw`.
    @inlinable package init(raw: UnsafeRawBufferPointer, isEscaped: Bool) {
        unsafe self.raw = raw
        self.isEscaped = isEscaped
    }

    /// What the value is.
    package var kind: JSONKind {
        guard let first = unsafe raw.first else { return .null }
        switch first {
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        default: return .number
        }
    }

    /// The text of a string, nil for any other value.
    package var text: JSONText? {
        guard kind == .string, unsafe raw.count >= 2 else { return nil }
        return unsafe JSONText(
            raw: UnsafeRawBufferPointer(rebasing: raw[1..<raw.count - 1]), isEscaped: isEscaped)
    }

    /// The members of an object; none for any other value.
    package var members: JSONMembers { unsafe JSONMembers(raw) }

    /// The elements of an array; none for any other value.
    package var elements: JSONElements { unsafe JSONElements(raw) }

    /// The value of the object's member of that name, or nil.
    package func member(_ name: StaticString) -> JSONSlice? {
        var members = members
        while let member = members.next() {
            if member.name.equals(name) { return member.value }
        }
        return nil
    }
}

/// One member of a JSON object.
package struct JSONMember: BitwiseCopyable {
    /// The name.
    package let name: JSONText
    /// The value.
    package let value: JSONSlice
}

/// Walks the members of a JSON object that has been checked before; on anything else it stops early.
@safe
package struct JSONMembers {
    private var cursor: JSONCursor

    /// Starts at the first member of the object at `raw`.
    package init(_ raw: UnsafeRawBufferPointer) {
        unsafe cursor = JSONCursor(raw)
        cursor.open(UInt8(ascii: "{"))
    }

    /// The next member, or nil after the last.
    package mutating func next() -> JSONMember? {
        guard let name = cursor.element(), let text = name.text, cursor.colon(), let value = cursor.value()
        else { return nil }
        return JSONMember(name: text, value: value)
    }
}

/// Walks the elements of a JSON array that has been checked before; on anything else it stops early.
@safe
package struct JSONElements {
    private var cursor: JSONCursor

    /// Starts at the first element of the array at `raw`.
    package init(_ raw: UnsafeRawBufferPointer) {
        unsafe cursor = JSONCursor(raw)
        cursor.open(UInt8(ascii: "["))
    }

    /// The next element, or nil after the last.
    package mutating func next() -> JSONSlice? { cursor.element() }
}

/// A position in JSON text that has been checked before: it finds where values end and checks nothing else.
@safe
struct JSONCursor {
    private let bytes: UnsafeRawBufferPointer
    private var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    private mutating func skipSpace() {
        while unsafe at < bytes.count, unsafe bytes[at] <= 0x20 { at += 1 }
    }

    /// Steps over the opening bracket; when there is none, nothing follows.
    mutating func open(_ bracket: UInt8) {
        skipSpace()
        if unsafe at < bytes.count, unsafe bytes[at] == bracket { at += 1 } else { at = unsafe bytes.count }
    }

    /// Steps over a colon.
    mutating func colon() -> Bool {
        skipSpace()
        guard unsafe at < bytes.count, unsafe bytes[at] == UInt8(ascii: ":") else { return false }
        at += 1
        return true
    }

    /// The value here, after a comma if there is one; nil at a closing bracket.
    mutating func element() -> JSONSlice? {
        skipSpace()
        if unsafe at < bytes.count, unsafe bytes[at] == UInt8(ascii: ",") { at += 1 }
        return value()
    }

    /// The value here; nil at a closing bracket or the end.
    mutating func value() -> JSONSlice? {
        skipSpace()
        guard unsafe at < bytes.count else { return nil }
        let start = at
        var escaped = false
        switch unsafe bytes[at] {
        case UInt8(ascii: "\""): escaped = skipString()
        case UInt8(ascii: "{"), UInt8(ascii: "["): skipNested()
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: ":"): return nil
        default: skipScalar()
        }
        return unsafe JSONSlice(raw: UnsafeRawBufferPointer(rebasing: bytes[start..<at]), isEscaped: escaped)
    }

    private mutating func skipScalar() {
        while unsafe at < bytes.count {
            let byte = unsafe bytes[at]
            if byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
                || byte == UInt8(ascii: "]")
            {
                return
            }
            at += 1
        }
    }

    /// Steps over a string; true when there was a backslash in it.
    private mutating func skipString() -> Bool {
        var escaped = false
        at += 1
        while unsafe at < bytes.count {
            let byte = unsafe bytes[at]
            at += 1
            if byte == UInt8(ascii: "\"") { return escaped }
            if byte == UInt8(ascii: "\\") {
                escaped = true
                if unsafe at < bytes.count { at += 1 }
            }
        }
        return escaped
    }

    private mutating func skipNested() {
        var depth = 0
        while unsafe at < bytes.count {
            switch unsafe bytes[at] {
            case UInt8(ascii: "\""):
                _ = skipString()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            at += 1
            if depth == 0 { return }
        }
    }
}
