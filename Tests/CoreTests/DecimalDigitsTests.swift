import Testing

@testable import Core

/// Numbers, hexadecimal digits and escapes that are written several bytes at a time.
@Suite struct DecimalDigitsTests {
    /// Around every power of ten, and the ends.
    static let values: [UInt64] = {
        var values: [UInt64] = [0, 1, UInt64(UInt32.max), UInt64(Int64.max), .max - 1, .max]
        var power: UInt64 = 1
        for _ in 1..<20 {
            power *= 10
            values += [power - 1, power, power + 1, power / 10 * 7 + 3]
        }
        return values
    }()

    @Test func writesEveryLengthOfNumber() {
        for value in Self.values {
            #expect(DecimalDigits.count(of: value) == String(value).utf8.count)
            var buffer = ByteBuffer(capacity: 16)
            buffer.append("<")
            buffer.append(unsigned: value)
            buffer.append(decimal: Int64(truncatingIfNeeded: value))
            buffer.append(">")
            #expect(buffer.text == "<\(value)\(Int64(truncatingIfNeeded: value))>")
        }
    }

    @Test func writesNothingBeyondTheDigits() {
        for value in Self.values {
            let count = DecimalDigits.count(of: value)
            var room = [UInt8](repeating: 0x2E, count: 30)
            room.withUnsafeMutableBufferPointer { room in
                guard let base = room.baseAddress else { return }
                DecimalDigits.write(value, endingAt: base + 4 + count)
            }
            #expect(
                String(decoding: room, as: UTF8.self)
                    == "....\(value)" + String(repeating: ".", count: 26 - count))
        }
    }

    @Test func writesEightHexadecimalDigitsAtOnce() {
        var words: [UInt32] = [0, 1, 0xDEAD_BEEF, 0x0123_4567, 0x89AB_CDEF, 0x9A9A_0F0F, .max]
        for byte in 0..<256 as Range<UInt32> { words += [byte, byte << 8, byte << 16, byte << 24] }
        for word in words {
            let digits = withUnsafeBytes(of: Hex.digits(of: word).littleEndian) { Array($0) }
            let bytes = withUnsafeBytes(of: word.bigEndian) { Array($0) }
            #expect(String(decoding: digits, as: UTF8.self) == Hex.encode(bytes))
        }
    }

    @Test func writesAnIDDigitByDigit() {
        let id = DerivedUUID(
            job: UnsafeRawBufferPointer(start: nil, count: 0), device: .init(start: nil, count: 0))
        var digits = Hex.encode(withUnsafeBytes(of: id.high.bigEndian) { Array($0) })
        digits += Hex.encode(withUnsafeBytes(of: id.low.bigEndian) { Array($0) })
        var expected = ""
        for (place, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(place) { expected += "-" }
            expected.append(digit)
        }
        #expect(id.text == expected)
    }

    /// Every byte at every place of a text that is longer than two words.
    @Test func escapesEveryByteAtEveryPlace() {
        for byte in 0...255 as ClosedRange<UInt8> {
            for place in 0..<19 {
                var text = [UInt8](repeating: UInt8(ascii: "a"), count: 19)
                text[place] = byte
                var buffer = ByteBuffer()
                text.withUnsafeBytes { buffer.append(jsonEscaped: $0) }
                let escaped: [UInt8] =
                    switch byte {
                    case 0x22: Array("\\\"".utf8)
                    case 0x5C: Array("\\\\".utf8)
                    case 0x0A: Array("\\n".utf8)
                    case 0x0D: Array("\\r".utf8)
                    case 0x09: Array("\\t".utf8)
                    case 0..<0x20: Array("\\u00".utf8) + Array(Hex.encode([byte]).utf8)
                    default: [byte]
                    }
                let expected = Array(text[..<place]) + escaped + Array(text[(place + 1)...])
                #expect(buffer.array == expected)
            }
        }
    }
}
