/// A growable run of bytes with one owner, appended at the end and consumed at the front.
///
/// ```
///   base        start                end            capacity
///    |  consumed  |  readable bytes   |  free         |
/// ```
///
/// - Ownership: frees its memory in `deinit`; it can't be copied.
/// - Threading: none of its own; it belongs to whoever holds it.
/// - Cost: appending is amortised O(1); `clear()` keeps the memory.
@safe
package struct ByteBuffer: ~Copyable {
    @usableFromInline var base: UnsafeMutablePointer<UInt8>
    @usableFromInline var start: Int
    @usableFromInline var end: Int
    /// The bytes of memory held.
    package private(set) var capacity: Int

    /// Makes an empty buffer with room for `capacity` bytes (at least 16).
    package init(capacity: Int = 256) {
        let size = max(16, capacity)
        unsafe base = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
        self.capacity = size
        start = 0
        end = 0
    }

    deinit { unsafe base.deallocate() }

    /// The number of readable bytes.
    @inlinable package var count: Int { end - start }
    /// Whether nothing is readable.
    @inlinable package var isEmpty: Bool { end == start }

    /// The readable bytes.
    /// - Valid: until the next mutating call.
    @inlinable package var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: base + start, count: end - start)
    }

    /// A copy of the readable bytes, for tests and cold paths.
    package var array: [UInt8] { unsafe Array(bytes) }

    /// The readable bytes as text, for tests and cold paths; invalid UTF-8 is repaired.
    package var text: String { unsafe String(decoding: bytes, as: UTF8.self) }

    /// Makes room for `more` bytes past the end.
    @inlinable @inline(__always) package mutating func reserve(_ more: Int) {
        if capacity - end < more { grow(more) }
    }

    @usableFromInline mutating func grow(_ more: Int) {
        let live = end - start
        if start > 0, capacity - live >= more, start >= capacity / 2 {
            unsafe base.update(from: base + start, count: live)
        } else {
            var size = capacity
            while size - live < more { size *= 2 }
            let fresh = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
            unsafe fresh.initialize(from: base + start, count: live)
            unsafe base.deallocate()
            unsafe base = fresh
            capacity = size
        }
        start = 0
        end = live
    }

    /// Appends the bytes.
    @inlinable package mutating func append(_ more: UnsafeRawBufferPointer) {
        guard let source = more.baseAddress else { return }
        reserve(more.count)
        unsafe UnsafeMutableRawPointer(base + end).copyMemory(from: source, byteCount: more.count)
        end += more.count
    }

    /// Appends one byte.
    @inlinable @inline(__always) package mutating func append(byte: UInt8) {
        reserve(1)
        unsafe base[end] = byte
        end += 1
    }

    /// Appends text known at compile time.
    @inlinable package mutating func append(_ text: StaticString) {
        unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends the array's bytes.
    @inlinable package mutating func append(array: [UInt8]) {
        unsafe array.withUnsafeBytes { unsafe append($0) }
    }

    /// Appends the text's UTF-8.
    package mutating func append(text: some StringProtocol) {
        var copy = String(text)
        copy.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends the number in decimal.
    @inlinable package mutating func append(decimal value: Int64) {
        reserve(20)
        if value < 0 {
            unsafe base[end] = UInt8(ascii: "-")
            end += 1
        }
        append(unsigned: value.magnitude)
    }

    /// Appends the number in decimal.
    @inlinable package mutating func append(unsigned value: UInt64) {
        reserve(20)
        let digits = DecimalDigits.count(of: value)
        unsafe DecimalDigits.write(value, endingAt: base + end + digits)
        end += digits
    }

    /// Lends at least `minimum` free bytes past the end; `body` returns how many it filled.
    @inlinable @inline(__always) package mutating func appendWith(
        minimum: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int
    ) {
        reserve(minimum)
        let filled = unsafe body(UnsafeMutableRawBufferPointer(start: base + end, count: capacity - end))
        precondition(filled >= 0 && filled <= capacity - end, "filled more than was lent")
        end += filled
    }

    /// Drops `count` bytes from the front.
    @inlinable package mutating func consume(_ count: Int) {
        precondition(count >= 0 && count <= end - start, "consumed more than there is")
        start += count
        if start == end {
            start = 0
            end = 0
        }
    }

    /// Cuts the readable bytes to the first `count`.
    @inlinable package mutating func truncate(to count: Int) {
        precondition(count >= 0 && count <= end - start, "truncated to more than there is")
        end = start + count
    }

    /// Drops everything, keeps the memory.
    @inlinable package mutating func clear() {
        start = 0
        end = 0
    }

    /// Drops everything and gives memory above `limit` bytes back.
    package mutating func clear(keepingAtMost limit: Int) {
        clear()
        guard capacity > limit else { return }
        unsafe base.deallocate()
        unsafe base = UnsafeMutablePointer<UInt8>.allocate(capacity: max(16, limit))
        capacity = max(16, limit)
    }
}
