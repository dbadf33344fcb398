import Testing

@testable import Core

@Suite struct Base58Tests {
    /// The test vectors of draft-msporny-base58-03, section 5.
    @Test(arguments: [
        (Array("Hello World!".utf8), "2NEpo7TZRRrLZSi2U"),
        (
            Array("The quick brown fox jumps over the lazy dog.".utf8),
            "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z"
        ),
        ([0x00, 0x00, 0x28, 0x7F, 0xB4, 0xCD], "11233QC4"),
        ([], ""), ([0], "1"), ([0, 0], "11"), ([57], "z"), ([58], "21"), ([255], "5Q"),
    ])
    func vectors(_ bytes: [UInt8], _ text: String) {
        #expect(Base58.encode(bytes) == text)
        #expect(Base58.decode(Array(text.utf8)) == bytes)
    }

    @Test func everyLengthComesBack() {
        var state: UInt64 = 7
        for length in 0...64 {
            let bytes = (0..<length).map { _ -> UInt8 in
                state = state &* 6_364_136_223_846_793_005 &+ 1
                return UInt8(truncatingIfNeeded: state >> 56)
            }
            let text = Base58.encode(bytes) ?? "?"
            #expect(Base58.decode(Array(text.utf8)) == bytes)
        }
    }

    @Test(arguments: ["0", "O", "I", "l", "2NEpo7TZRRrLZSi2U ", "abc-", "+", "\u{e9}"])
    func otherCharactersAreRefused(_ text: String) {
        #expect(Base58.decode(Array(text.utf8)) == nil)
    }

    @Test func bothDirectionsHaveABound() {
        #expect(Base58.decode([UInt8](repeating: UInt8(ascii: "z"), count: 256)) != nil)
        #expect(Base58.decode([UInt8](repeating: UInt8(ascii: "z"), count: 257)) == nil)
        #expect(Base58.encode([UInt8](repeating: 1, count: 256)) != nil)
        #expect(Base58.encode([UInt8](repeating: 1, count: 257)) == nil)
    }
}

@Suite struct CanonicalBase64Tests {
    @Test func whatAnEncoderWritesIsRead() {
        for length in 0...20 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 37 + 200) }
            #expect(Base64.decodeCanonicalURL(Array(Base64.encodeURL(bytes).utf8)) == bytes)
        }
    }

    /// Padding, the other alphabet, spaces, a length that no bytes have, and bits that must be zero.
    @Test(arguments: ["AA==", "AAA=", "++++", "//AA", "AA A", "A", "AAAAA", "AB", "AAB", "A\n"])
    func everyOtherSpellingIsRefused(_ text: String) {
        #expect(Base64.decodeCanonicalURL(Array(text.utf8)) == nil)
    }
}
