import Core
import CRdkafka

/// The headers of one record to produce: at most 32, at most 16 KiB, in memory that is reused.
///
/// - Ownership: frees its memory in `deinit`; it can't be copied. `clear()` it and fill it again for each
///   record.
/// - Bounds: what no longer fits is left out and the call answers false.
@safe
package struct KafkaHeaders: ~Copyable {
    /// The most headers a record carries.
    package static let maxCount = 32
    /// The most bytes of names and values together.
    package static let maxBytes = 16_384

    private var text = ByteBuffer(capacity: 512)
    private let entries: UnsafeMutablePointer<peal_rk_header_t>
    /// How many headers there are.
    package private(set) var count = 0

    /// No headers.
    package init() { unsafe entries = .allocate(capacity: Self.maxCount) }

    deinit { unsafe entries.deallocate() }

    /// Drops all headers.
    package mutating func clear() {
        text.clear()
        count = 0
    }

    /// Adds a header.
    @discardableResult
    package mutating func add(_ name: StaticString, _ value: UnsafeRawBufferPointer) -> Bool {
        unsafe add(name: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    /// Adds a header with the number in decimal.
    @discardableResult
    package mutating func add(_ name: StaticString, decimal value: Int64) -> Bool {
        var digits = InlineDigits()
        return unsafe digits.withDecimal(value) { unsafe add(name, $0) }
    }

    /// Adds a header with text; cold path.
    @discardableResult
    package mutating func add(_ name: StaticString, text value: String) -> Bool {
        var copy = value
        return copy.withUTF8 { unsafe add(name, UnsafeRawBufferPointer($0)) }
    }

    /// Adds a header whose name is known only now.
    @discardableResult
    package mutating func add(name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard count < Self.maxCount, text.count + name.count + value.count + 1 <= Self.maxBytes else {
            return false
        }
        let nameAt = text.count
        unsafe text.append(name)
        text.append(byte: 0)
        let valueAt = text.count
        unsafe text.append(value)
        // The three numbers are below maxBytes.
        unsafe entries[count] = peal_rk_header_t(
            name_at: UInt32(truncatingIfNeeded: nameAt), value_at: UInt32(truncatingIfNeeded: valueAt),
            value_length: UInt32(truncatingIfNeeded: value.count))
        count += 1
        return true
    }

    /// Adds the record's headers except those that `skipping` picks by name.
    /// - Returns: false when not all of them fitted.
    @discardableResult
    package mutating func addAll(
        of record: borrowing KafkaRecord, skipping: (UnsafeRawBufferPointer) -> Bool = { _ in false }
    ) -> Bool {
        var fits = true
        unsafe record.forEachHeader { name, value in
            if unsafe !skipping(name) { fits = unsafe add(name: name, value) && fits }
        }
        return fits
    }

    func withEntries<R>(_ body: (UnsafePointer<CChar>?, UnsafePointer<peal_rk_header_t>, Int) -> R) -> R {
        let base = unsafe text.bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
        return unsafe body(base, UnsafePointer(entries), count)
    }
}

/// Room for one decimal number, on the stack.
private struct InlineDigits {
    private var storage: (UInt64, UInt64, UInt64) = (0, 0, 0)

    mutating func withDecimal<R>(_ value: Int64, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        unsafe withUnsafeMutableBytes(of: &storage) { room in
            var at = 24
            var rest = value.magnitude
            repeat {
                at -= 1
                unsafe room[at] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if value < 0 {
                at -= 1
                unsafe room[at] = UInt8(ascii: "-")
            }
            return unsafe body(UnsafeRawBufferPointer(rebasing: room[at..<24]))
        }
    }
}
