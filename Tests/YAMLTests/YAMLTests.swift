import Testing
import YAML

@Suite("YAML documents") struct YAMLTests {
    func parse(_ text: String) throws -> YAMLNode { try YAMLDocument.parse(text: text) }

    func failure(_ text: String) -> YAMLFailure? {
        do throws(YAMLFailure) {
            _ = try YAMLDocument.parse(text: text)
            return nil
        } catch {
            return error
        }
    }

    @Test("mappings, lists and scalars are read with their lines")
    func tree() throws {
        let root = try parse("a: 1\nb:\n  - x\n  - 'y z'\nc: {d: \"e\\n\"}\n")
        #expect(root.entries?.map(\.key) == ["a", "b", "c"])
        #expect(root.entries?.map(\.line) == [1, 2, 5])
        #expect(root["a"]?.text == "1")
        #expect(root["b"]?.elements?.map(\.text) == ["x", "y z"])
        #expect(root["b"]?.elements?.map(\.line) == [3, 4])
        #expect(root["c"]?["d"]?.text == "e\n")
        #expect(root["c"]?["d"]?.column == 8)
        #expect(root["nothing"] == nil)
        #expect(root["a"]?["b"] == nil)
    }

    @Test("a block text keeps its lines")
    func block() throws {
        #expect(try parse("a: |\n  one\n  two\n")["a"]?.text == "one\ntwo\n")
    }

    @Test("nothing is told from quoted text", arguments: ["a:", "a: ~", "a: null", "a: Null"])
    func nulls(_ text: String) throws {
        #expect(try parse(text)["a"]?.isNull == true)
        #expect(try parse("a: \"null\"")["a"]?.isNull == false)
        #expect(try parse("a: ''")["a"]?.isNull == false)
    }

    @Test(
        "a document without values is an empty mapping",
        arguments: ["", "# only a comment\n", "---\n", "~", "---\n...\n"])
    func empty(_ text: String) throws { #expect(try parse(text).entries == []) }

    @Test(
        "what is not supported is refused with its line",
        arguments: [
            ("a: 1\nb: &x 2\n", 2), ("a: *x\n", 1), ("a: &x {}\n", 1), ("a: &x []\n", 1), ("a: !!str 1\n", 1),
            ("a: !t []\n", 1), ("a: !t {}\n", 1), ("a: 1\n---\nb: 2\n", 2), ("a: 1\n? [x]\n: 2\n", 2),
        ])
    func unsupported(_ text: String, _ line: Int) {
        #expect(failure(text)?.code == .unsupported)
        #expect(failure(text)?.line == line)
    }

    @Test("a repeated key is refused with both lines")
    func duplicates() {
        let fault = failure("a: 1\nb: 2\na: 3\n")
        #expect(fault?.code == .duplicateKey)
        #expect(fault?.description == "line 3: the key 'a' stands twice, first on line 1; remove one of them")
    }

    @Test(
        "a fault in the syntax names its line",
        arguments: [
            ("a: [1\n", 2), ("a: 'x\n", 2), ("a: 1\n  b: 2\n", 2), ("a: \"\\q\"\n", 1), ("a: 1\n\tb: 2\n", 2),
        ])
    func syntax(_ text: String, _ line: Int) {
        #expect(failure(text)?.code == .syntax)
        #expect(failure(text)?.line == line)
    }

    @Test("bytes that are not UTF-8 are refused")
    func encoding() throws {
        #expect(throws: YAMLFailure.self) { try YAMLDocument.parse([0x61, 0x3A, 0x20, 0xFF, 0x0A]) }
        #expect(throws: YAMLFailure.self) { try YAMLDocument.parse([0x61, 0x3A, 0x20, 0x00, 0x0A]) }
    }

    @Test("depth, size and number of values are bounded")
    func bounds() throws {
        #expect(throws: Never.self) {
            try parse(String(repeating: "[", count: 32) + String(repeating: "]", count: 32))
        }
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        #expect(failure(deep)?.code == .tooLarge)
        #expect(failure(String(repeating: "[", count: 1_000_000))?.code == .tooLarge)
        #expect(failure(String(repeating: "#", count: 1_048_577))?.code == .tooLarge)
        #expect(failure("[" + String(repeating: "1,", count: 100_001) + "]")?.code == .tooLarge)
    }

    @Test("every truncation and every changed byte of a document is read or refused, never a trap")
    func damage() {
        let text = Array("a: 1\nb:\n  - x\n  - 'y'\nc: {d: \"e\\n\", f: [1, 2]}\n# end\ng: |\n  t\n".utf8)
        for length in text.indices { _ = try? YAMLDocument.parse(Array(text[..<length])) }
        var refused = 0
        for index in text.indices {
            for value in [UInt8(0), 9, 10, 33, 38, 42, 58, 91, 93, 123, 125, 128, 255] {
                var damaged = text
                damaged[index] = value
                if (try? YAMLDocument.parse(damaged)) == nil { refused += 1 }
            }
        }
        #expect(refused > 100)
    }
}
