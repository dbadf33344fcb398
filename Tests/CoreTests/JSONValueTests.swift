import Testing

@testable import Core

@Suite("JSONValue")
struct JSONValueTests {
    static let document = #"""
        {"id":"01J9","n":[0,-1,2.5,1e9,-0.5E-3],"ok":true,"no":false,"nil":null,
         "text":"a\"b\\c\/d\b\f\n\r\t é 😀 👩‍👧 שלום","o":{"a":{"b":[[],{}]}},"n":7}
        """#

    @Test("A document with everything in it")
    func everything() throws {
        let value = try JSONValue.parse(text: Self.document)
        #expect(value["id"]?.string == "01J9")
        #expect(value["ok"]?.bool == true)
        #expect(value["no"]?.bool == false)
        #expect(value["nil"] == .null)
        #expect(value["n"]?.integer == 7, "the last of two members with one name counts")
        #expect(value["text"]?.string == "a\"b\\c/d\u{8}\u{c}\n\r\t é 😀 👩‍👧 שלום")
        #expect(value["o"]?["a"]?["b"]?.array == [.array([]), .object([])])
        #expect(value.members?.count == 8)
        let numbers = try #require(value.members?[1].value.array)
        #expect(numbers == ["0", "-1", "2.5", "1e9", "-0.5E-3"].map { .number($0) })
        #expect(value["absent"] == nil)
        #expect(JSONValue.null["x"] == nil)
    }

    @Test("What was read is written back so that it reads the same")
    func roundTrip() throws {
        let value = try JSONValue.parse(text: Self.document)
        #expect(try JSONValue.parse(text: value.text) == value)
        #expect(try JSONValue.parse(text: " [ 1 , {\"a\" : null } ] ").text == #"[1,{"a":null}]"#)
    }

    @Test("Every truncation is refused")
    func truncations() {
        let bytes = Array(Self.document.utf8)
        for count in 0..<bytes.count {
            let cut = Array(bytes[..<count])
            #expect(throws: JSONValue.Failure.self) { try cut.withUnsafeBytes { try JSONValue.parse($0) } }
        }
    }

    @Test("No damaged byte traps")
    func corruptions() {
        let bytes = Array(Self.document.utf8)
        var refused = 0
        for index in bytes.indices {
            for byte: UInt8 in [
                0, 9, 0x1F, 0x20, 0x22, 0x2C, 0x30, 0x5B, 0x5C, 0x5D, 0x75, 0x7B, 0x7D, 0x80, 0xC0, 0xFF,
            ] {
                var damaged = bytes
                damaged[index] = byte
                if (try? damaged.withUnsafeBytes({ try JSONValue.parse($0) })) == nil { refused += 1 }
            }
        }
        #expect(refused > bytes.count * 4)
    }

    @Test(
        "What isn't JSON is refused",
        arguments: [
            "", " ", "nul", "truex", "tru", "01", "-", "1.", ".5", "1e", "+1", "1e+", "NaN", "[1,]", "[,1]",
            "[1 2]",
            "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "{,}", "\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"",
            "\"\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "1 1", "[1]]",
            "{}}",
            "'a'", "\u{FEFF}1",
        ])
    func refused(_ text: String) {
        #expect(throws: JSONValue.Failure.self) { try JSONValue.parse(text: text) }
    }

    @Test("Bytes that aren't UTF-8 are refused inside strings")
    func invalidUTF8() {
        for bad: [UInt8] in [
            [0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82],
        ] {
            let bytes = [UInt8(ascii: "\"")] + bad + [UInt8(ascii: "\"")]
            #expect(throws: JSONValue.Failure.self) { try bytes.withUnsafeBytes { try JSONValue.parse($0) } }
        }
    }

    @Test("Escaped characters outside the basic plane come as a surrogate pair")
    func surrogates() throws {
        #expect(try JSONValue.parse(text: #""\ud83d\ude00""#) == .string("😀"))
        #expect(try JSONValue.parse(text: #""\uD83D\uDE00\u0041""#) == .string("😀A"))
    }

    @Test("Nesting stops at 64 levels")
    func depth() throws {
        let nested = { (levels: Int) in
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        }
        _ = try JSONValue.parse(text: nested(64))
        #expect(throws: JSONValue.Failure.self) { try JSONValue.parse(text: nested(65)) }
        #expect(throws: JSONValue.Failure.self) {
            try JSONValue.parse(text: String(repeating: "{\"a\":", count: 100_000))
        }
    }

    @Test("A fault names the byte where it lies")
    func offsets() throws {
        let failure = try #require(throws: JSONValue.Failure.self) { try JSONValue.parse(text: "[1, x]") }
        #expect(failure.offset == 4)
        #expect("\(failure)" == "expected a digit at byte 4")
    }

    @Test("Whole numbers only are integers, and big ones aren't rounded")
    func integers() throws {
        #expect(try JSONValue.parse(text: "9223372036854775807").integer == .max)
        #expect(try JSONValue.parse(text: "9223372036854775808").integer == nil)
        #expect(try JSONValue.parse(text: "1.0").integer == nil)
        #expect(try JSONValue.parse(text: "18446744073709551615").text == "18446744073709551615")
    }
}
