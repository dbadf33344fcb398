/// The CRC-32 of zlib, gzip and Ethernet: what every language has at hand to find a key of ours.
///
/// - Source: RFC 1952, section 8.
package enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { number in
        var value = UInt32(number)
        for _ in 0..<8 { value = value & 1 != 0 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        return value
    }

    /// The checksum of the bytes.
    package static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        unsafe table.withUnsafeBufferPointer { table in
            var value: UInt32 = 0xFFFF_FFFF
            for at in 0..<bytes.count {
                value = unsafe table[Int((value ^ UInt32(bytes[at])) & 0xFF)] ^ value >> 8
            }
            return ~value
        }
    }

    /// The checksum of the text's UTF-8.
    package static func of(text: String) -> UInt32 {
        var copy = text
        return copy.withUTF8 { unsafe of(UnsafeRawBufferPointer($0)) }
    }
}
