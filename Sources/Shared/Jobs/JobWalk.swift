import Core
import Glibc

/// A token of a job: where it begins and where it ends.
struct JobToken: BitwiseCopyable {
    var start = 0
    var end = 0
    var escaped = false

    var span: JobSpan {
        JobSpan(offset: UInt16(truncatingIfNeeded: start), length: UInt16(truncatingIfNeeded: end - start))
    }
}

/// One walk over the indexed tokens of one job. Every method returns false after noting the first fault.
@safe
struct JobWalk {
    let bytes: UnsafeRawBufferPointer
    let offsets: UnsafePointer<UInt32>?
    let count: Int
    let hasEscapes: Bool
    /// Room for the names of `data`'s members, owned by the parser.
    let names: UnsafeMutablePointer<JobToken>
    /// The index of the next token.
    var at = 0
    /// The first thing that was wrong.
    var fault: JobFault?
    /// The fields read so far.
    var seen: UInt32 = 0
    /// The members of `apns.headers` read so far.
    var seenHeaders: UInt32 = 0

    init(
        bytes: UnsafeRawBufferPointer, offsets: UnsafePointer<UInt32>?, count: Int, hasEscapes: Bool,
        names: UnsafeMutablePointer<JobToken>
    ) {
        unsafe self.names = names
        unsafe self.bytes = bytes
        unsafe self.offsets = offsets
        self.count = unsafe offsets == nil ? 0 : count
        self.hasEscapes = hasEscapes
    }

    // MARK: Faults

    /// Notes a fault. Out of line, so that the words cost nothing on the way through.
    @inline(never)
    mutating func fail(_ code: JobFault.Code, _ field: String, _ sentence: String) -> Bool {
        if fault == nil { fault = JobFault(code, field, sentence) }
        return false
    }

    @inline(never)
    mutating func malformed(_ problem: StaticString) -> Bool {
        let offset = position
        return fail(.malformed, "", "The job isn't JSON: \(problem) at byte \(offset).")
    }

    /// Refuses the next value for its type, unless there is no value at all.
    mutating func wrongType(_ field: String, _ sentence: String) -> Bool {
        switch peek {
        case UInt8(ascii: "n"): return fail(.nullValue, field, "The field is null; leave it out instead.")
        case 0, UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"):
            return malformed("a value is missing")
        default: return fail(.wrongType, field, sentence)
        }
    }

    // MARK: Tokens

    /// The offset of token `index`, or the length of the job after the last one.
    @inline(__always)
    func offset(_ index: Int) -> Int {
        guard index < count, let offsets = unsafe offsets else { return unsafe bytes.count }
        return Int(unsafe offsets[index])
    }

    /// The offset of the next token.
    @inline(__always)
    var position: Int { offset(at) }

    /// The first byte of the next token; 0 after the last.
    @inline(__always)
    var peek: UInt8 {
        let place = position
        return unsafe place < bytes.count ? unsafe bytes[place] : 0
    }

    /// Steps over the next token when it begins with `byte`.
    @inline(__always)
    mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        at += 1
        return true
    }

    /// The end of the token that begins at `start`: where the next one begins, less the white space before
    /// it.
    @inline(__always)
    private func end(of start: Int) -> Int {
        var end = offset(at + 1)
        while end > start + 1, unsafe Self.isSpace(bytes[end - 1]) { end -= 1 }
        return end
    }

    /// JSON's white space (RFC 8259 section 2) and nothing else: simdjson's kernels differ over other
    /// controls.
    @inline(__always)
    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// Reads a string; the token is what lies between the quotes.
    @inline(__always)
    mutating func string(_ token: inout JobToken) -> Bool {
        let start = position
        guard unsafe start < bytes.count, unsafe bytes[start] == UInt8(ascii: "\"") else {
            return malformed("a string is missing")
        }
        let end = end(of: start)
        guard end > start + 1, unsafe bytes[end - 1] == UInt8(ascii: "\"") else {
            return malformed("a string doesn't end")
        }
        token.start = start + 1
        token.end = end - 1
        token.escaped = false
        at += 1
        guard hasEscapes, let base = unsafe bytes.baseAddress,
            unsafe memchr(base + token.start, 0x5C, token.end - token.start) != nil
        else { return true }
        token.escaped = true
        return checkEscapes(token)
    }

    /// RFC 8259 section 7, and no half surrogate pairs (section 8.2): what can't become UTF-8 can't be sent.
    @inline(never)
    private mutating func checkEscapes(_ token: JobToken) -> Bool {
        var index = token.start
        var high = false
        while index < token.end {
            let byte = unsafe bytes[index]
            guard byte == UInt8(ascii: "\\") else {
                if high { return loneSurrogate() }
                index += 1
                continue
            }
            guard index + 1 < token.end else { return malformed("an escape is cut off") }
            let kind = unsafe bytes[index + 1]
            index += 2
            if kind == UInt8(ascii: "u") {
                guard let unit = unit(at: index, before: token.end) else {
                    return malformed("\\u needs four hexadecimal digits")
                }
                index += 4
                if high != (unit & 0xFC00 == 0xDC00) { return loneSurrogate() }
                high = unit & 0xFC00 == 0xD800
                continue
            }
            if high { return loneSurrogate() }
            switch kind {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
                UInt8(ascii: "f"),
                UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                break
            default: return malformed("there is an unknown escape")
            }
        }
        return high ? loneSurrogate() : true
    }

    private mutating func loneSurrogate() -> Bool {
        fail(
            .invalidText, "",
            "A \\u escape is half a surrogate pair; send both halves or the character itself.")
    }

    private func unit(at index: Int, before end: Int) -> UInt32? {
        guard index + 4 <= end else { return nil }
        var value: UInt32 = 0
        for place in index..<index + 4 {
            guard let digit = unsafe Hex.value(bytes[place]) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    /// Reads a number, true, false or null.
    mutating func scalar(_ token: inout JobToken) -> Bool {
        let start = position
        guard unsafe start < bytes.count else { return malformed("a value is missing") }
        token = JobToken(start: start, end: end(of: start))
        let text = unsafe UnsafeRawBufferPointer(rebasing: bytes[token.start..<token.end])
        let valid =
            switch unsafe bytes[start] {
            case UInt8(ascii: "t"): unsafe text.isEqual(to: "true")
            case UInt8(ascii: "f"): unsafe text.isEqual(to: "false")
            case UInt8(ascii: "n"): unsafe text.isEqual(to: "null")
            default: unsafe Self.isNumber(text)
            }
        guard valid else { return malformed("there is no valid value") }
        at += 1
        return true
    }

    /// RFC 8259 section 6.
    static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        func digits() -> Bool {
            let first = index
            while index < text.count, unsafe text[index] &- 48 < 10 { index += 1 }
            return index > first
        }
        if unsafe text.first == UInt8(ascii: "-") { index = 1 }
        let first = index
        guard digits() else { return false }
        if index - first > 1, unsafe text[first] == UInt8(ascii: "0") { return false }
        if index < text.count, unsafe text[index] == UInt8(ascii: ".") {
            index += 1
            guard digits() else { return false }
        }
        if index < text.count, unsafe text[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < text.count, unsafe text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-")
            {
                index += 1
            }
            guard digits() else { return false }
        }
        return index == text.count
    }

    // MARK: Values

    /// Checks one whole value of any kind and steps over it; the token is the value with its quotes or
    /// brackets.
    mutating func value(_ token: inout JobToken, depth: Int) -> Bool {
        guard depth <= JobParser.maximumDepth else {
            return fail(
                .tooDeep, "", "The job nests deeper than \(JobParser.maximumDepth) levels; flatten it.")
        }
        let start = position
        switch peek {
        case UInt8(ascii: "\""):
            guard string(&token) else { return false }
            token.start -= 1
            token.end += 1
            return true
        case UInt8(ascii: "{"): guard object(depth: depth) else { return false }
        case UInt8(ascii: "["): guard array(depth: depth) else { return false }
        default: return scalar(&token)
        }
        token = JobToken(start: start, end: offset(at - 1) + 1)
        return true
    }

    private mutating func object(depth: Int) -> Bool {
        at += 1
        if take(UInt8(ascii: "}")) { return true }
        var token = JobToken()
        repeat {
            guard string(&token), colon(), value(&token, depth: depth + 1) else { return false }
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? true : malformed("',' or '}' is missing")
    }

    private mutating func array(depth: Int) -> Bool {
        at += 1
        if take(UInt8(ascii: "]")) { return true }
        var token = JobToken()
        repeat {
            guard value(&token, depth: depth + 1) else { return false }
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? true : malformed("',' or ']' is missing")
    }

    /// Steps over a colon.
    @inline(__always)
    mutating func colon() -> Bool { take(UInt8(ascii: ":")) ? true : malformed("':' is missing") }

    /// The bytes of a token.
    @inline(__always)
    func raw(_ token: JobToken) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: bytes[token.start..<token.end])
    }

    /// The text of a token.
    @inline(__always)
    func text(_ token: JobToken) -> JSONText {
        unsafe JSONText(raw: raw(token), isEscaped: token.escaped)
    }
}
