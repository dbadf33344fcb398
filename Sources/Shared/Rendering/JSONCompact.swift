package import Core
package import Jobs

/// The shortest form of a JSON text: no white space between tokens, no escape that isn't needed.
package enum JSONCompact {
    /// Appends the shortest form of `text`, which has been checked before.
    package static func append(_ text: UnsafeRawBufferPointer, to out: inout ByteBuffer) {
        out.reserve(text.count)
        var at = 0
        while at < text.count {
            let byte = unsafe text[at]
            at += 1
            if byte == UInt8(ascii: "\"") {
                let start = at
                var escaped = false
                while at < text.count, unsafe text[at] != UInt8(ascii: "\"") {
                    if unsafe text[at] == UInt8(ascii: "\\") {
                        escaped = true
                        at += 1
                    }
                    at += 1
                }
                let end = min(at, text.count)
                out.append(byte: byte)
                unsafe append(
                    string: JSONText(
                        raw: UnsafeRawBufferPointer(rebasing: text[start..<end]), isEscaped: escaped),
                    to: &out)
                out.append(byte: byte)
                at = end + 1
            } else if byte > 0x20 {
                out.append(byte: byte)
            }
        }
    }

    /// Appends the shortest form of a string, without its quotes.
    package static func append(string text: JSONText, to out: inout ByteBuffer) {
        guard text.isEscaped else { return unsafe out.append(text.raw) }
        var reader = JSONUnescaper(text)
        while let byte = reader.next() {
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                unsafe withUnsafeBytes(of: byte) { unsafe out.append(jsonEscaped: $0) }
            } else {
                out.append(byte: byte)
            }
        }
    }
}
