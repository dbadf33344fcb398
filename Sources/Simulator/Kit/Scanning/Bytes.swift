import Core
import Glibc

/// Borrowed bytes of one request: a header value, a path segment, a piece of a body.
///
/// - Valid: only during the call that hands it over.
/// - Safety: an index outside the bytes reads as zero, so peer input can't trap.
@safe
package struct Bytes {
    package let raw: UnsafeRawBufferPointer

    /// Borrows the bytes.
    @inlinable package init(_ raw: UnsafeRawBufferPointer) { unsafe self.raw = raw }

    /// No bytes.
    package static var empty: Bytes { unsafe Bytes(UnsafeRawBufferPointer(start: nil, count: 0)) }

    package var count: Int { unsafe raw.count }
    package var isEmpty: Bool { unsafe raw.isEmpty }

    /// The byte at the place, or zero outside.
    package subscript(index: Int) -> UInt8 {
        unsafe index >= 0 && index < raw.count ? unsafe raw[index] : 0
    }

    /// Eight bytes as a word in memory order; the place must leave room for them, else the word is zero.
    package func word(at index: Int) -> UInt64 {
        guard index >= 0, unsafe index &+ 8 <= raw.count else { return 0 }
        return unsafe raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    }

    /// The bytes from `start` up to `end`, cut to what there is.
    package func slice(_ start: Int, _ end: Int) -> Bytes {
        let low = unsafe min(max(0, start), raw.count)
        let high = unsafe min(max(low, end), raw.count)
        return unsafe Bytes(UnsafeRawBufferPointer(rebasing: raw[low..<high]))
    }

    /// Whether the bytes are exactly this text.
    package func equals(_ text: StaticString) -> Bool {
        text.utf8CodeUnitCount == count && hasPrefix(text)
    }

    /// Whether the bytes begin with this text.
    package func hasPrefix(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard count >= length else { return false }
        for index in 0..<length where unsafe raw[index] != text.utf8Start[index] { return false }
        return true
    }

    /// Whether the bytes end with this text.
    package func hasSuffix(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        return count >= length && slice(count - length, count).equals(text)
    }

    /// Whether both hold the same bytes.
    package func equals(_ other: [UInt8]) -> Bool {
        guard other.count == count else { return false }
        guard let base = unsafe raw.baseAddress else { return true }
        return unsafe other.withUnsafeBytes { other in
            guard let start = other.baseAddress else { return true }
            return unsafe memcmp(base, start, other.count) == 0
        }
    }

    /// The place of the first such byte at or after `start`, or nil.
    package func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        var index = max(0, start)
        while index < count {
            if unsafe raw[index] == byte { return index }
            index += 1
        }
        return nil
    }

    /// The value of a run of 1 to 18 decimal digits, nothing else; nil otherwise.
    package var decimal: Int64? {
        guard count >= 1, count <= 18 else { return nil }
        var value: Int64 = 0
        for index in 0..<count {
            let byte = unsafe raw[index]
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        return value
    }

    /// The bytes as text, invalid UTF-8 repaired. Allocates: not for the path of a request.
    package var text: String { unsafe String(decoding: raw, as: UTF8.self) }

    /// A copy of the bytes.
    package var array: [UInt8] { unsafe Array(raw) }

    /// The 64-bit hash of the bytes.
    package var hash: UInt64 { unsafe Hash64.of(raw) }
}
