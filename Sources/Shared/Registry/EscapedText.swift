internal import Core

/// Texts in lists: what would break a list's form is written as a percent sign and two hexadecimal digits.
///
/// Escaped are control characters, the percent sign, `,`, `;` and `=`.
package enum EscapedText {
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, 0x7F, UInt8(ascii: "%"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="): false
        default: true
        }
    }

    /// The text as it stands in a list.
    package static func escape(_ text: String) -> String {
        guard !text.utf8.allSatisfy(isPlain) else { return text }
        var out: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                out.append(byte)
            } else {
                out += [UInt8(ascii: "%"), Hex.digit(byte >> 4), Hex.digit(byte)]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The text behind its form in a list. A percent sign that begins no escape stands for itself.
    package static func unescape(_ bytes: UnsafeRawBufferPointer) -> String {
        var out: [UInt8] = []
        var at = 0
        while at < bytes.count {
            let (byte, length) = unsafe decode(bytes, at)
            out.append(byte)
            at += length
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Whether `element` stands for `text`; allocates nothing.
    package static func stands(_ element: UnsafeRawBufferPointer, for text: UnsafeRawBufferPointer) -> Bool {
        var at = 0
        var place = 0
        while at < element.count {
            let (byte, length) = unsafe decode(element, at)
            guard place < text.count, unsafe text[place] == byte else { return false }
            at += length
            place += 1
        }
        return place == text.count
    }

    /// The elements of a list, unescaped.
    package static func list(_ bytes: UnsafeRawBufferPointer) -> [String] {
        unsafe bytes.split(separator: UInt8(ascii: ",")).map {
            unsafe unescape(UnsafeRawBufferPointer(rebasing: $0))
        }
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> (byte: UInt8, length: Int) {
        let byte = unsafe bytes[at]
        guard byte == UInt8(ascii: "%"), at + 2 < bytes.count,
            let high = unsafe Hex.value(bytes[at + 1]), let low = unsafe Hex.value(bytes[at + 2])
        else { return (byte, 1) }
        return (high << 4 | low, 3)
    }
}
