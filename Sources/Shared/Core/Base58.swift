/// Base58 in Bitcoin's alphabet, the `base58btc` of multibase.
///
/// The cost grows with the square of the length, so both directions have a bound.
package enum Base58 {
    /// The longest text and the most bytes that are converted.
    package static let lengthMax = 256
    private static let alphabet = Array("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".utf8)

    /// The bytes that the text stands for; nil when a character isn't of the alphabet or it is too long.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count <= lengthMax else { return nil }
        // Little-endian; its last byte is never zero.
        var number: [UInt8] = []
        for character in text {
            guard let digit = alphabet.firstIndex(of: character) else { return nil }
            var carry = digit
            for index in number.indices {
                carry += Int(number[index]) * 58
                number[index] = UInt8(truncatingIfNeeded: carry)
                carry >>= 8
            }
            while carry > 0 {
                number.append(UInt8(truncatingIfNeeded: carry))
                carry >>= 8
            }
        }
        let zeros = text.prefix { $0 == alphabet[0] }.count
        return [UInt8](repeating: 0, count: zeros) + number.reversed()
    }

    /// The text for the bytes; nil when there are too many.
    package static func encode(_ bytes: some Collection<UInt8>) -> String? {
        guard bytes.count <= lengthMax else { return nil }
        var digits: [UInt8] = []
        for byte in bytes {
            var carry = Int(byte)
            for index in digits.indices {
                carry += Int(digits[index]) << 8
                digits[index] = UInt8(carry % 58)
                carry /= 58
            }
            while carry > 0 {
                digits.append(UInt8(carry % 58))
                carry /= 58
            }
        }
        let zeros = bytes.prefix { $0 == 0 }.map { _ in alphabet[0] }
        return String(decoding: zeros + digits.reversed().map { alphabet[Int($0)] }, as: UTF8.self)
    }
}
