/// A fast 64-bit hash for partition-to-shard spreading, lookup tables and derived ids. Not cryptographic, and
/// the same in every process and version: derived ids depend on it.
package enum Hash64 {
    /// The hash of the bytes under `seed`.
    @inlinable package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var hash =
            seed ^ 0x9E37_79B9_7F4A_7C15 ^ (UInt64(truncatingIfNeeded: bytes.count) &* 0xA076_1D64_78BD_642F)
        var index = 0
        let count = bytes.count
        while index &+ 8 <= count {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            hash = mix(hash ^ UInt64(littleEndian: word), 0xE703_7ED1_A0B4_28DB)
            index &+= 8
        }
        var tail: UInt64 = 0
        var shift: UInt64 = 0
        while index < count {
            unsafe tail |= UInt64(bytes[index]) << shift
            shift &+= 8
            index &+= 1
        }
        return mix(hash ^ tail, 0x8EBC_6AF0_9C88_C6E3)
    }

    /// The hash of the text's UTF-8 under `seed`.
    package static func of(text: String, seed: UInt64 = 0) -> UInt64 {
        var copy = text
        return copy.withUTF8 { unsafe of(UnsafeRawBufferPointer($0), seed: seed) }
    }

    /// One round: the two halves of a 128-bit product, folded.
    @inlinable package static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = (a ^ 0x589_9655_92FA_4529).multipliedFullWidth(by: b | 1)
        return product.high ^ product.low
    }
}
