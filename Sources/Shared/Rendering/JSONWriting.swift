import Core
import Jobs

/// Writing members of JSON objects, without a nesting state: whether a comma is due follows from the last
/// byte.
extension ByteBuffer {
    /// Appends a name with its quotes and colon, after a comma when something stands before it.
    /// - Parameter quoted: for instance `"\"title\":"`.
    @inline(__always)
    mutating func name(_ quoted: StaticString) {
        comma()
        append(quoted)
    }

    /// Appends a comma unless an object or array has just been opened.
    @inline(__always)
    mutating func comma() {
        let last = unsafe bytes.last ?? 0
        if last != UInt8(ascii: "{"), last != UInt8(ascii: "[") { append(byte: UInt8(ascii: ",")) }
    }

    /// Appends the text as it was written, in quotes.
    @inline(__always)
    mutating func quoted(_ text: JSONText) {
        append(byte: UInt8(ascii: "\""))
        unsafe append(text.raw)
        append(byte: UInt8(ascii: "\""))
    }

    /// Appends a member with that text, unless there is none.
    @inline(__always)
    mutating func member(_ quotedName: StaticString, _ text: JSONText?) {
        guard let text else { return }
        name(quotedName)
        quoted(text)
    }

    /// Appends a value as a JSON string, as FCM wants everything in data: strings as they are, the rest in
    /// quotes.
    mutating func stringified(_ value: JSONSlice) {
        switch value.kind {
        case .string: unsafe append(value.raw)
        case .object, .array: unsafe append(jsonString: value.raw)
        case .number, .bool, .null:
            append(byte: UInt8(ascii: "\""))
            unsafe append(value.raw)
            append(byte: UInt8(ascii: "\""))
        }
    }

    /// Appends a value: as it is, or as a string.
    @inline(__always)
    mutating func value(_ value: JSONSlice, asString: Bool) {
        if asString { stringified(value) } else { unsafe append(value.raw) }
    }

    /// Closes an object.
    @inline(__always)
    mutating func close() { append(byte: UInt8(ascii: "}")) }
}
