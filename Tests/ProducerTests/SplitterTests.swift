import Testing

@testable import ProducerKit

/// What the splitter finds when the text comes in pieces of `size` bytes.
private func split(_ text: String, size: Int) -> [String] {
    let input = Array(text.utf8)
    var splitter = JobSplitter()
    var buffer: [UInt8] = []
    var given = 0
    var found: [String] = []
    while found.count < 1000 {
        let step = buffer.withUnsafeBytes { splitter.next(in: $0, isLast: given == input.count) }
        switch step {
        case .job(let range, let number):
            found.append("\(number):" + String(decoding: buffer[range], as: UTF8.self))
        case .more:
            buffer.removeFirst(splitter.takeConsumed())
            let end = min(input.count, given + size)
            buffer += input[given..<end]
            given = end
        case .fault(let number, let reason, let isFinal):
            found.append("\(number)!\(reason)")
            if isFinal { return found }
        case .end: return found
        }
    }
    return found
}

@Suite struct SplitterTests {
    static let sizes = [1, 2, 3, 7, 64, 10_000]

    @Test(arguments: sizes)
    func linesAreCountedAsAnEditorCountsThem(size: Int) {
        #expect(split("{\"a\":1}\n{\"b\":2}\n", size: size) == ["1:{\"a\":1}", "2:{\"b\":2}"])
        #expect(split("{}\r\n\r\n  \n {} \n{}", size: size) == ["1:{}", "4:{}", "5:{}"])
        #expect(split("\n\n{}\n", size: size) == ["3:{}"])
        #expect(split("\u{FEFF}{}\n", size: size) == ["1:{}"])
        #expect(split("", size: size) == [])
        #expect(split(" \n\t\n", size: size) == [])
        #expect(split("x\n{\n", size: size) == ["1:x", "2:{"])
    }

    @Test(arguments: sizes)
    func anArraysElementsAreFoundWhateverTheyHold(size: Int) {
        let first = "{\n  \"a\": \"]}\\\"{[\",\n  \"b\": [1, {\"c\": \"\\\\\"}]\n}"
        #expect(split("[\(first) ,\n{} ]\n", size: size) == ["1:\(first)", "2:{}"])
        #expect(split("  \n[]", size: size) == [])
        #expect(split("\u{FEFF}[{}]", size: size) == ["1:{}"])
        #expect(split("[{\"a\":\"日本🎉\"}]", size: size) == ["1:{\"a\":\"日本🎉\"}"])
    }

    @Test(arguments: sizes)
    func aBrokenArraySaysWhatIsMissing(size: Int) {
        #expect(split("[{}", size: size).last == "1!The array doesn't end; its last bytes are missing.")
        #expect(
            split("[{},{\"a\":\"x", size: size).last == "2!The array doesn't end; its last bytes are missing."
        )
        #expect(split("[", size: size) == ["0!The array doesn't end; its last bytes are missing."])
        #expect(
            split("[{} {}]", size: size)
                == ["1:{}", "1!After the job there is neither a comma nor the array's end."])
        #expect(split("[{},]", size: size) == ["1:{}", "2!The array's element isn't an object."])
        #expect(split("[1]", size: size) == ["1!The array's element isn't an object."])
        #expect(split("[{}] x", size: size) == ["1:{}", "1!There is something after the array's end."])
        #expect(split("[{}]]", size: size) == ["1:{}", "1!There is something after the array's end."])
    }

    @Test func aLineWithoutAnEndIsSkippedInBoundedMemory() {
        let long = String(repeating: "x", count: 3 << 20)
        let found = split("{}\n\(long)\n{}\n", size: 1 << 19)
        #expect(found.count == 3)
        #expect(found[0] == "1:{}")
        #expect(found[1].hasPrefix("2!The job is longer than"))
        #expect(found[2] == "3:{}")
        // The same when the line comes whole.
        let whole = split("{}\n\(long)\n{}\n", size: 8 << 20)
        #expect(whole.map { $0.prefix(2) } == ["1:", "2!", "3:"])
    }

    @Test func anElementWithoutAnEndIsRefused() {
        let long = String(repeating: "x", count: 3 << 20)
        #expect(split("[{\"a\":\"\(long)", size: 1 << 19).last?.hasPrefix("1!") == true)
    }
}
