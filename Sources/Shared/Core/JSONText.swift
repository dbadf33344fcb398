/// JSON string escaping (RFC 8259 section 7).
extension ByteBuffer {
    /// Appends the bytes as a quoted JSON string. The bytes must be valid UTF-8.
    package mutating func append(jsonString bytes: UnsafeRawBufferPointer) {
        append(byte: UInt8(ascii: "\""))
        unsafe append(jsonEscaped: bytes)
        append(byte: UInt8(ascii: "\""))
    }

    /// Appends the text as a quoted JSON string.
    package mutating func append(jsonString text: String) {
        var copy = text
        copy.withUTF8 { unsafe append(jsonString: UnsafeRawBufferPointer($0)) }
    }

    /// Appends the bytes with JSON's escapes and no quotes around them.
    package mutating func append(jsonEscaped bytes: UnsafeRawBufferPointer) {
        reserve(bytes.count)
        var from = 0
        for index in 0..<bytes.count {
            let byte = unsafe bytes[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            unsafe append(UnsafeRawBufferPointer(rebasing: bytes[from..<index]))
            from = index + 1
            appendEscape(byte)
        }
        unsafe append(UnsafeRawBufferPointer(rebasing: bytes[from...]))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x0A: append("\\n")
        case 0x0D: append("\\r")
        case 0x09: append("\\t")
        default:
            append("\\u00")
            append(byte: Hex.digit(byte >> 4))
            append(byte: Hex.digit(byte & 15))
        }
    }
}
