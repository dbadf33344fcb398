/// A parsed JSON document (RFC 8259), for cold paths: provider error bodies, service-account files, test
/// doubles.
///
/// Depth is limited to 64 and numbers keep their source text, so no peer input can trap or lose precision.
package indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as it stands in the source.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// Members in source order; a repeated key keeps all its members and look-up takes the last.
    case object([Member])

    /// One name and value of an object.
    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// Why a document could not be read.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        /// The byte offset of the first fault.
        package let offset: Int
        package let problem: String
        package var description: String { "\(problem) at byte \(offset)" }
    }

    /// Reads one document; anything but white space after it is a fault.
    package static func parse(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> JSONValue {
        var reader = unsafe JSONReader(bytes: bytes)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.at == bytes.count else { throw reader.failure("unexpected text after the document") }
        return value
    }

    /// Reads one document from text.
    package static func parse(text: String) throws(Failure) -> JSONValue {
        var array = Array(text.utf8)
        array.append(0)
        let result: Result<JSONValue, Failure> = unsafe array.withUnsafeBytes { raw in
            do throws(Failure) {
                return .success(try unsafe parse(UnsafeRawBufferPointer(rebasing: raw[..<(raw.count - 1)])))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The last member with this name, or nil.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The text of a string, or nil.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of a whole number, or nil.
    package var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    /// The value of a boolean, or nil.
    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements of an array, or nil.
    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of an object, or nil.
    package var members: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// Appends the value in compact form.
    package func append(to buffer: inout ByteBuffer) {
        switch self {
        case .null: buffer.append("null")
        case .bool(let value): buffer.append(text: value ? "true" : "false")
        case .number(let text): buffer.append(text: text)
        case .string(let text): buffer.append(jsonString: text)
        case .array(let elements):
            buffer.append(byte: UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { buffer.append(byte: UInt8(ascii: ",")) }
                element.append(to: &buffer)
            }
            buffer.append(byte: UInt8(ascii: "]"))
        case .object(let members):
            buffer.append(byte: UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { buffer.append(byte: UInt8(ascii: ",")) }
                buffer.append(jsonString: member.name)
                buffer.append(byte: UInt8(ascii: ":"))
                member.value.append(to: &buffer)
            }
            buffer.append(byte: UInt8(ascii: "}"))
        }
    }

    /// The compact form as text.
    package var text: String {
        var buffer = ByteBuffer()
        append(to: &buffer)
        return buffer.text
    }
}

/// The recursive-descent reader behind ``JSONValue``.
@safe
private struct JSONReader {
    let bytes: UnsafeRawBufferPointer
    var at = 0

    init(bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    func failure(_ problem: String) -> JSONValue.Failure { JSONValue.Failure(offset: at, problem: problem) }

    private var peek: UInt8? { unsafe at < bytes.count ? unsafe bytes[at] : nil }

    mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { at += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        at += 1
        return true
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONValue.Failure)
        -> JSONValue
    {
        for index in 0..<text.utf8CodeUnitCount {
            guard take(unsafe text.utf8Start[index]) else { throw failure("unknown word") }
        }
        return value
    }

    mutating func value(depth: Int) throws(JSONValue.Failure) -> JSONValue {
        guard depth < 64 else { throw failure("nested deeper than 64 levels") }
        skipSpace()
        guard let first = peek else { throw failure("the document ends too early") }
        switch first {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(JSONValue.Failure) -> JSONValue {
        at += 1
        var members: [JSONValue.Member] = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw failure("expected a member name") }
            let name = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw failure("expected ':'") }
            members.append(JSONValue.Member(name: name, value: try value(depth: depth + 1)))
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw failure("expected ',' or '}'") }
            return .object(members)
        }
    }

    private mutating func array(depth: Int) throws(JSONValue.Failure) -> JSONValue {
        at += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try value(depth: depth + 1))
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw failure("expected ',' or ']'") }
            return .array(elements)
        }
    }

    private mutating func number() throws(JSONValue.Failure) -> JSONValue {
        let first = at
        _ = take(UInt8(ascii: "-"))
        let integerStart = at
        try digits()
        if at - integerStart > 1, unsafe bytes[integerStart] == UInt8(ascii: "0") {
            throw failure("leading zero")
        }
        if take(UInt8(ascii: ".")) { try digits() }
        if let byte = peek, byte | 0x20 == UInt8(ascii: "e") {
            at += 1
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return .number(unsafe String(decoding: bytes[first..<at], as: UTF8.self))
    }

    private mutating func digits() throws(JSONValue.Failure) {
        let first = at
        while let byte = peek, byte >= 48, byte <= 57 { at += 1 }
        guard at > first else { throw failure("expected a digit") }
    }

    private mutating func string() throws(JSONValue.Failure) -> String {
        at += 1
        var out: [UInt8] = []
        while let byte = peek {
            at += 1
            if byte == UInt8(ascii: "\"") {
                guard let text = String(validating: out, as: UTF8.self) else {
                    throw failure("invalid UTF-8")
                }
                return text
            }
            guard byte >= 0x20 else { throw failure("control character in a string") }
            if byte == UInt8(ascii: "\\") { try escape(into: &out) } else { out.append(byte) }
        }
        throw failure("the string does not end")
    }

    private mutating func escape(into out: inout [UInt8]) throws(JSONValue.Failure) {
        guard let kind = peek else { throw failure("the string does not end") }
        at += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(kind)
        case UInt8(ascii: "b"): out.append(8)
        case UInt8(ascii: "f"): out.append(12)
        case UInt8(ascii: "n"): out.append(10)
        case UInt8(ascii: "r"): out.append(13)
        case UInt8(ascii: "t"): out.append(9)
        case UInt8(ascii: "u"):
            var scalar = UInt32(try unit())
            if (0xD800...0xDBFF).contains(scalar), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
                let low = UInt32(try unit())
                guard (0xDC00...0xDFFF).contains(low) else { throw failure("lone surrogate") }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let valid = Unicode.Scalar(scalar) else { throw failure("lone surrogate") }
            out.append(contentsOf: String(Character(valid)).utf8)
        default: throw failure("unknown escape")
        }
    }

    private mutating func unit() throws(JSONValue.Failure) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Hex.value(byte) else {
                throw failure("expected four hex digits")
            }
            value = value << 4 | UInt16(digit)
            at += 1
        }
        return value
    }
}
