/// Swift source with the insides of comments and string literals blanked, so that a scan sees code only.
/// Line numbers stay as they were.
struct SwiftCode {
    private(set) var bytes: [UInt8]

    init(_ text: String) {
        bytes = Array(text.utf8)
        var at = 0
        while at < bytes.count {
            if starts(at, "//") {
                at = blank(from: at) { $0.bytes[$1] == UInt8(ascii: "\n") ? $1 : nil }
            } else if starts(at, "/*") {
                at = blankBlockComment(at)
            } else if bytes[at] == UInt8(ascii: "\"") {
                at = blankString(at)
            } else {
                at += 1
            }
        }
    }

    var lines: [Substring] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    private func starts(_ at: Int, _ text: StaticString) -> Bool {
        guard at + text.utf8CodeUnitCount <= bytes.count, bytes[at] == text.utf8Start[0] else { return false }
        for index in 1..<text.utf8CodeUnitCount where bytes[at + index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// Blanks until `end` names where to go on.
    private mutating func blank(from: Int, until end: (SwiftCode, Int) -> Int?) -> Int {
        var at = from
        while at < bytes.count {
            if let next = end(self, at) { return next }
            if bytes[at] != UInt8(ascii: "\n") { bytes[at] = UInt8(ascii: " ") }
            at += 1
        }
        return at
    }

    private mutating func blankBlockComment(_ start: Int) -> Int {
        let end = blank(from: start) { $0.starts($1, "*/") ? $1 : nil }
        if end + 1 < bytes.count {
            bytes[end] = UInt8(ascii: " ")
            bytes[end + 1] = UInt8(ascii: " ")
        }
        return end + 2
    }

    private mutating func blankString(_ start: Int) -> Int {
        var hashes = 0
        while start > hashes, bytes[start - 1 - hashes] == UInt8(ascii: "#") { hashes += 1 }
        let isLong = starts(start, "\"\"\"")
        var at = start + (isLong ? 3 : 1)
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "\\"), hasHashes(at + 1, hashes) {
                let next = at + 1 + hashes
                let isInterpolation = next < bytes.count && bytes[next] == UInt8(ascii: "(")
                at = isInterpolation ? blankInterpolation(at, next) : blankBytes(at, next + 1)
            } else if isLong ? starts(at, "\"\"\"") : bytes[at] == UInt8(ascii: "\""),
                hasHashes(at + (isLong ? 3 : 1), hashes)
            {
                return at + (isLong ? 3 : 1) + hashes
            } else {
                at = blankBytes(at, at + 1)
            }
        }
        return at
    }

    private mutating func blankInterpolation(_ from: Int, _ parenthesis: Int) -> Int {
        var at = blankBytes(from, parenthesis + 1)
        var depth = 1
        while at < bytes.count, depth > 0 {
            if bytes[at] == UInt8(ascii: "\"") {
                let end = blankString(at)
                at = blankBytes(at, end)
                continue
            }
            if bytes[at] == UInt8(ascii: "(") { depth += 1 }
            if bytes[at] == UInt8(ascii: ")") { depth -= 1 }
            at = blankBytes(at, at + 1)
        }
        return at
    }

    private mutating func blankBytes(_ from: Int, _ end: Int) -> Int {
        for index in from..<min(end, bytes.count) where bytes[index] != UInt8(ascii: "\n") {
            bytes[index] = UInt8(ascii: " ")
        }
        return end
    }

    private func hasHashes(_ at: Int, _ count: Int) -> Bool {
        at + count <= bytes.count && (0..<count).allSatisfy { bytes[at + $0] == UInt8(ascii: "#") }
    }
}

/// One function's place and length.
struct FunctionSpan: Equatable {
    let line: Int
    let length: Int
}

extension SwiftCode {
    /// Every `func`, `init`, `deinit` and `subscript` that has a body.
    var functions: [FunctionSpan] {
        var found: [FunctionSpan] = []
        var line = 1
        var at = 0
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "\n") { line += 1 }
            if isWord(at, "func") || isWord(at, "init") || isWord(at, "deinit") || isWord(at, "subscript"),
                let body = bodyStart(at), let end = matchingBrace(body)
            {
                let length = bytes[at...end].count { $0 == UInt8(ascii: "\n") } + 1
                found.append(FunctionSpan(line: line, length: length))
            }
            at += 1
        }
        return found
    }

    private func isWord(_ at: Int, _ word: StaticString) -> Bool {
        guard starts(at, word) else { return false }
        let before = at == 0 ? UInt8(ascii: " ") : bytes[at - 1]
        let end = at + word.utf8CodeUnitCount
        let after = end < bytes.count ? bytes[end] : UInt8(ascii: " ")
        let isCall = before == UInt8(ascii: ".") || before == UInt8(ascii: "`")
        return !isCall && !Self.isIdentifier(before) && !Self.isIdentifier(after)
    }

    private static func isIdentifier(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte >= 0x80 || (48...57).contains(byte)
            || (65...90).contains(byte & 0xDF)
    }

    /// The body's opening brace; nil for a requirement without one.
    private func bodyStart(_ declaration: Int) -> Int? {
        var depth = 0
        var at = declaration
        while at < bytes.count {
            switch bytes[at] {
            case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "{") where depth == 0: return at
            case UInt8(ascii: "}") where depth == 0: return nil
            case UInt8(ascii: "\n") where depth == 0:
                if !continues(after: at) { return nil }
            default: break
            }
            if depth < 0 { return nil }
            at += 1
        }
        return nil
    }

    private func continues(after newline: Int) -> Bool {
        var at = newline
        while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
        return ["{", "->", "throws", "rethrows", "async", "where", "(", "<"].contains { word in
            at + word.utf8.count <= bytes.count && zip(bytes[at...], word.utf8).allSatisfy(==)
        }
    }

    private func matchingBrace(_ open: Int) -> Int? {
        var depth = 0
        for at in open..<bytes.count {
            if bytes[at] == UInt8(ascii: "{") { depth += 1 }
            if bytes[at] == UInt8(ascii: "}") {
                depth -= 1
                if depth == 0 { return at }
            }
        }
        return nil
    }
}
