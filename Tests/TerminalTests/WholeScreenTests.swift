import Terminal
import Testing

@Suite struct WholeScreenTests {
    @Test func onlyWhatChangedIsWritten() {
        let first = TerminalScreen.update(from: [], to: ["a", "b"])
        #expect(first.contains("\u{1B}[1;1Ha") && first.contains("\u{1B}[2;1Hb"))
        #expect(TerminalScreen.update(from: ["a", "b"], to: ["a", "b"]) == "")
        let one = TerminalScreen.update(from: ["a", "b", "c"], to: ["a", "X", "c"])
        #expect(one.contains("\u{1B}[2;1HX") && !one.contains("\u{1B}[1;1H") && !one.contains("\u{1B}[3;1H"))
        // A line that is gone is cleared.
        #expect(TerminalScreen.update(from: ["a", "b"], to: ["a"]).contains("\u{1B}[2;1H\u{1B}[0m\u{1B}[K"))
    }

    @Test func aTextIsCutToColumnsAndNotToCharacters() {
        #expect(DisplayWidth.clip("hello", to: 5) == "hello")
        #expect(DisplayWidth.clip("hello", to: 4) == "hel…")
        #expect(DisplayWidth.clip("日本語", to: 5) == "日本…")
        #expect(DisplayWidth.clip("日本語", to: 4) == "日…")
        #expect(DisplayWidth.clip("x", to: 0) == "")
        #expect(DisplayWidth.fit("日", to: 4) == "日  " && DisplayWidth.fit("7", to: 3, right: true) == "  7")
    }

    @Test func wordsAreBrokenBetweenAndWithinThem() {
        #expect(DisplayWidth.wrap("one two three", width: 8) == ["one two", "three"])
        #expect(DisplayWidth.wrap("abcdefghij k", width: 4) == ["abcd", "efgh", "ij k"])
        #expect(DisplayWidth.wrap("日本語", width: 4) == ["日本", "語"])
        #expect(DisplayWidth.wrap("日", width: 1) == ["日"])
        #expect(DisplayWidth.wrap("", width: 4) == [])
    }

    @Test func keysAreToldFromBytesHoweverTheyAreCut() {
        let typed: [UInt8] = Array("q\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[1;5C\t\u{1B}[Z\r日\u{3}".utf8)
        let keys: [TerminalKey] = [
            .character("q"), .up, .down, .pageUp, .right, .tab, .backTab, .enter, .character("日"), .interrupt,
        ]
        var whole = KeyReader()
        #expect(whole.take(typed) == keys)
        for cut in 1..<typed.count {
            var reader = KeyReader()
            #expect(reader.take(typed[..<cut]) + reader.take(typed[cut...]) == keys, "cut at \(cut)")
        }
        var single = KeyReader()
        #expect(typed.flatMap { single.take([$0]) } == keys)
    }

    @Test func aLoneEscapeIsAKeyAfterAPause() {
        var reader = KeyReader()
        #expect(reader.take([0x1B]) == [])
        #expect(reader.take([], isPause: true) == [.escape])
        #expect(reader.take([0x1B, UInt8(ascii: "[")]) == [])
        #expect(reader.take([], isPause: true) == [])
        // What is none of ours, or never ends, is dropped and holds nothing up.
        #expect(reader.take(Array("\u{1B}[200;1~x".utf8)) == [.character("x")])
        #expect(reader.take([0x1B, UInt8(ascii: "[")] + [UInt8](repeating: 0x30, count: 40)).count <= 30)
        #expect(reader.take([], isPause: true).isEmpty)
        #expect(reader.take([0xFF, 0x80, UInt8(ascii: "q")]).last == .character("q"))
    }
}
