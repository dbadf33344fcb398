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
        var index = unsafe Self.cleanCount(bytes)
        while index < bytes.count {
            let byte = unsafe bytes[index]
            index += 1
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            unsafe append(UnsafeRawBufferPointer(rebasing: bytes[from..<index - 1]))
            from = index
            appendEscape(byte)
        }
        unsafe append(UnsafeRawBufferPointer(rebasing: bytes[from...]))
    }

    /// How many bytes at the beginning need no escape for certain, looked at eight at a time.
    private static func cleanCount(_ bytes: UnsafeRawBufferPointer) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        var at = 0
        while at &+ 8 <= bytes.count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            // A byte that becomes negative by the subtraction, and wasn't, is below the bound, or was equal.
            let control = (word &- ones &* 0x20) & ~word
            let quote = word ^ ones &* 0x22
            let slash = word ^ ones &* 0x5C
            let found = control | (quote &- ones) & ~quote | (slash &- ones) & ~slash
            if found & tops != 0 { return at }
            at &+= 8
        }
        return at
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
