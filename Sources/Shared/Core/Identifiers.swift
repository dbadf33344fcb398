/// A 128-bit, time-ordered identifier in 26 characters of Crockford's base 32 (the ULID specification).
package struct ULID: Hashable, Sendable {
    /// Milliseconds since 1970 (48 bits).
    package let timestampMs: UInt64
    /// The random part (80 bits): the high 16 bits, then the low 64.
    package let randomHigh: UInt16
    package let randomLow: UInt64

    package init(timestampMs: UInt64, randomHigh: UInt16, randomLow: UInt64) {
        self.timestampMs = timestampMs & 0xFFFF_FFFF_FFFF
        self.randomHigh = randomHigh
        self.randomLow = randomLow
    }

    /// Appends the 26 characters.
    package func append(to buffer: inout ByteBuffer) {
        buffer.reserve(26)
        for shift in stride(from: 45, through: 0, by: -5) {
            buffer.append(byte: Self.digit(UInt8(truncatingIfNeeded: timestampMs >> UInt64(shift)) & 31))
        }
        let high = UInt64(randomHigh) << 24 | randomLow >> 40
        for shift in stride(from: 35, through: 0, by: -5) {
            buffer.append(byte: Self.digit(UInt8(truncatingIfNeeded: high >> UInt64(shift)) & 31))
        }
        for shift in stride(from: 35, through: 0, by: -5) {
            buffer.append(byte: Self.digit(UInt8(truncatingIfNeeded: randomLow >> UInt64(shift)) & 31))
        }
    }

    /// The 26 characters.
    package var text: String {
        var buffer = ByteBuffer(capacity: 32)
        append(to: &buffer)
        return buffer.text
    }

    /// The milliseconds in the first ten characters; nil when the text isn't a ULID.
    package static func timestampMs(of text: some Collection<UInt8>) -> UInt64? {
        guard text.count == 26 else { return nil }
        var value: UInt64 = 0
        for (index, character) in text.enumerated() {
            guard let digit = value32(character) else { return nil }
            if index < 10 { value = value << 5 | UInt64(digit) }
        }
        return value > 0xFFFF_FFFF_FFFF ? nil : value
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<10: UInt8(ascii: "0") + value
        case 10..<18: UInt8(ascii: "A") + value - 10
        case 18..<20: UInt8(ascii: "J") + value - 18
        case 20..<22: UInt8(ascii: "M") + value - 20
        case 22..<27: UInt8(ascii: "P") + value - 22
        default: UInt8(ascii: "V") + value - 27
        }
    }

    private static func value32(_ character: UInt8) -> UInt8? {
        let upper = character >= UInt8(ascii: "a") ? character - 32 : character
        return (0..<32).first { digit($0) == upper }
    }
}

/// Makes ULIDs that increase even within one millisecond. One owner, one thread.
package struct ULIDGenerator {
    private var state: UInt64
    private var last = ULID(timestampMs: 0, randomHigh: 0, randomLow: 0)

    /// Starts from `seed`, which should come from the system's random source.
    package init(seed: UInt64) { state = seed }

    /// The next id at `nowMs`; a clock that steps back keeps the last time.
    package mutating func next(nowMs: UInt64) -> ULID {
        if nowMs <= last.timestampMs {
            let (low, overflow) = last.randomLow.addingReportingOverflow(1 + (random() & 0xFFFF))
            last = ULID(
                timestampMs: last.timestampMs, randomHigh: overflow ? last.randomHigh &+ 1 : last.randomHigh,
                randomLow: low)
        } else {
            last = ULID(
                timestampMs: nowMs, randomHigh: UInt16(truncatingIfNeeded: random()) & 0x7FFF,
                randomLow: random())
        }
        return last
    }

    private mutating func random() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Hash64.mix(state, 0xA076_1D64_78BD_642F)
    }
}

/// A UUID derived from a name, so that every attempt of one delivery carries the same `apns-id`
/// (RFC 9562 version 8: the layout is ours).
package struct DerivedUUID: Hashable, Sendable {
    /// The first and the last eight bytes, in network order.
    package let high: UInt64
    package let low: UInt64

    /// Derives from a job id and a device id.
    package init(job: UnsafeRawBufferPointer, device: UnsafeRawBufferPointer) {
        let seed = unsafe Hash64.of(device, seed: 0x5045_414C)
        high = unsafe Hash64.of(job, seed: seed) & ~0xF000 | 0x8000
        low = unsafe Hash64.of(job, seed: ~seed) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    /// Writes the 36 lower-case characters, 8-4-4-4-12, at `out`.
    @inlinable package func write(to out: UnsafeMutablePointer<UInt8>) {
        let room = UnsafeMutableRawPointer(out)
        let second = Hex.digits(of: UInt32(truncatingIfNeeded: high))
        let third = Hex.digits(of: UInt32(truncatingIfNeeded: low >> 32))
        unsafe room.storeBytes(
            of: Hex.digits(of: UInt32(truncatingIfNeeded: high >> 32)).littleEndian, as: UInt64.self)
        unsafe room.storeBytes(
            of: UInt32(truncatingIfNeeded: second).littleEndian, toByteOffset: 9, as: UInt32.self)
        unsafe room.storeBytes(
            of: UInt32(truncatingIfNeeded: second >> 32).littleEndian, toByteOffset: 14, as: UInt32.self)
        unsafe room.storeBytes(
            of: UInt32(truncatingIfNeeded: third).littleEndian, toByteOffset: 19, as: UInt32.self)
        unsafe room.storeBytes(
            of: UInt32(truncatingIfNeeded: third >> 32).littleEndian, toByteOffset: 24, as: UInt32.self)
        unsafe room.storeBytes(
            of: Hex.digits(of: UInt32(truncatingIfNeeded: low)).littleEndian, toByteOffset: 28,
            as: UInt64.self)
        unsafe out[8] = UInt8(ascii: "-")
        unsafe out[13] = UInt8(ascii: "-")
        unsafe out[18] = UInt8(ascii: "-")
        unsafe out[23] = UInt8(ascii: "-")
    }

    /// The 36 characters as text.
    package var text: String {
        unsafe String(unsafeUninitializedCapacity: 36) {
            unsafe write(to: $0.baseAddress.unsafelyUnwrapped)
            return 36
        }
    }
}
