import Testing

@testable import Core

@Suite("Hex and Base64")
struct EncodingTests {
    @Test("Every byte survives a trip through hexadecimal, in both cases")
    func hexRoundTrip() {
        let all = (0...255).map { UInt8($0) }
        let text = Hex.encode(all)
        #expect(text.hasPrefix("000102"))
        #expect(text.hasSuffix("feff"))
        #expect(Hex.decode(text.utf8) == all)
        #expect(Hex.decode(text.uppercased().utf8) == all)
        #expect(Hex.decode("".utf8) == [])
    }

    @Test(
        "What isn't hexadecimal is refused",
        arguments: ["a", "abc", "0g", "g0", "0x12", " 12", "12\n", "é0", "/0", ":0", "@0", "`0"])
    func hexFaults(_ text: String) {
        #expect(Hex.decode(text.utf8) == nil)
    }

    @Test("Only the 22 hexadecimal digits have a value")
    func hexDigits() {
        let digits = (0...255).map { UInt8($0) }.filter { Hex.value($0) != nil }
        #expect(digits == Array("0123456789ABCDEFabcdef".utf8))
        for value in UInt8(0)..<16 { #expect(Hex.value(Hex.digit(value)) == value) }
        #expect(Hex.digit(0xF3) == UInt8(ascii: "3"))
    }

    /// RFC 4648 section 10.
    static let vectors = [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("The vectors of RFC 4648 section 10, with and without padding", arguments: vectors)
    func base64Vectors(_ plain: String, _ encoded: String) {
        #expect(Base64.encodeURL(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded.utf8) == Array(plain.utf8))
        let padded = encoded + String(repeating: "=", count: (4 - encoded.count % 4) % 4)
        #expect(Base64.decode(padded.utf8) == Array(plain.utf8))
    }

    @Test("Both alphabets decode; the URL form is written")
    func base64Alphabets() {
        let bytes: [UInt8] = [0xFB, 0xFF, 0xBF]
        #expect(Base64.encodeURL(bytes) == "-_-_")
        #expect(Base64.decode("-_-_".utf8) == bytes)
        #expect(Base64.decode("+/+/".utf8) == bytes)
    }

    @Test("Every length from 0 to 100 survives")
    func base64RoundTrip() {
        for count in 0...100 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(Base64.decode(Base64.encodeURL(bytes).utf8) == bytes)
        }
    }

    @Test("What isn't Base64 is refused", arguments: ["A", "AAAAA", "A A=", "AA\n", "A*==", "Ä", "=A=="])
    func base64Faults(_ text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }

    @Test("JSON escaping writes what any JSON reader reads back")
    func jsonEscaping() throws {
        let text = String(String.UnicodeScalarView((0..<0x300).compactMap { Unicode.Scalar($0 as UInt32) }))
        for sample in [text, "", "\"", "\\", "a\nb\tc\rd", "👩‍👩‍👧 שלום", "\u{0}\u{1f}\u{7f}", "</script>"] {
            var buffer = ByteBuffer()
            buffer.append(jsonString: sample)
            #expect(!buffer.array.contains { $0 < 0x20 })
            #expect(try JSONValue.parse(text: buffer.text) == .string(sample))
        }
    }

    @Test("JSON escaping uses the short forms and lower-case hexadecimal")
    func jsonEscapeForms() {
        var buffer = ByteBuffer()
        buffer.append(jsonString: "\"\\\n\r\t\u{8}\u{1f}/é")
        #expect(buffer.text == #""\"\\\n\r\t\u0008\u001f/é""#)
    }
}
