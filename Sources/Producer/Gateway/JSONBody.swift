internal import Core
internal import HTTPServer

/// The JSON object in a request's body, read member by member with a refusal for whatever can't be used.
///
/// What it says about a fault names the member and never repeats its value.
struct JSONBody: Sendable {
    /// What becomes of a member that nobody knows.
    enum Unknown: Sendable, Equatable {
        /// It is refused by its name: an API of our own, where it is a slip of the pen.
        case refused
        /// It is left alone: a client's contract, where newer clients may send more than is needed here.
        case ignored
    }

    private let members: [JSONValue.Member]
    /// What stands before a member's name in a refusal: empty, or `message.`.
    private let prefix: String

    /// Reads the body. `known` are the members that it may have.
    /// - Throws: a problem when the body is no JSON object, or has a member twice or one that is unknown.
    init(
        _ request: HTTPRequest, known: [String], unknown: Unknown = .refused
    ) throws(Problem) {
        try self.init(try Self.value(of: request), prefix: "", known: known, unknown: unknown)
    }

    /// The members of the request's body, whatever they are.
    static func members(of request: HTTPRequest) throws(Problem) -> [JSONValue.Member] {
        guard case .object(let members) = try value(of: request) else {
            throw .badRequest("The body must be a JSON object.")
        }
        return members
    }

    private static func value(of request: HTTPRequest) throws(Problem) -> JSONValue {
        guard !request.body.isEmpty else {
            throw .badRequest("The body is empty; send a JSON object.")
        }
        let parsed: Result<JSONValue, JSONValue.Failure> = unsafe request.body.withUnsafeBytes { bytes in
            do throws(JSONValue.Failure) {
                return .success(try unsafe JSONValue.parse(bytes))
            } catch {
                return .failure(error)
            }
        }
        switch parsed {
        case .failure(let failure):
            throw .badRequest("The body is no JSON: \(failure.problem) at byte \(failure.offset).")
        case .success(let value): return value
        }
    }

    /// Reads an object inside another one; `prefix` is the way to it and ends with a dot.
    init(
        _ value: JSONValue, prefix: String, known: [String], unknown: Unknown
    ) throws(Problem) {
        let field = String(prefix.dropLast())
        guard case .object(let members) = value else {
            throw .badRequest(
                field.isEmpty ? "The body must be a JSON object." : "The field must be an object.",
                field: field)
        }
        var seen: Set<String> = []
        for member in members {
            guard known.contains(member.name) else {
                if unknown == .ignored { continue }
                throw .badRequest(
                    "There is no such field here; known are \(known.joined(separator: ", ")).",
                    field: prefix + Self.printable(member.name))
            }
            guard seen.insert(member.name).inserted else {
                throw .badRequest("The field is there twice; keep one.", field: prefix + member.name)
            }
        }
        self.members = members
        self.prefix = prefix
    }

    /// At most 64 characters of a name that the caller made up, without control characters.
    static func printable(_ name: String) -> String {
        String(
            name.unicodeScalars.prefix(64).map {
                $0.properties.generalCategory == .control ? "?" : Character($0)
            })
    }

    /// The member as it stands; nil when it is missing.
    func value(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }

    /// Whether the member is there.
    func has(_ name: String) -> Bool { value(name) != nil }

    /// A refusal about a member.
    func wrong(_ name: String, _ detail: String) -> Problem {
        .badRequest(detail, field: prefix + name)
    }

    /// A text of 1 to `bytes` bytes without control characters; nil when it is missing.
    func text(_ name: String, bytes: Int) throws(Problem) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else { throw wrong(name, "The field must be a string.") }
        guard !text.isEmpty else { throw wrong(name, "The field must not be empty.") }
        guard text.utf8.count <= bytes else {
            throw wrong(name, "The field may have \(bytes) bytes at most.")
        }
        guard Names.isPrintable(text) else {
            throw wrong(name, "The field holds a control character; take it out.")
        }
        return text
    }

    /// The same for a member that must be there.
    func requiredText(_ name: String, bytes: Int) throws(Problem) -> String {
        guard let text = try text(name, bytes: bytes) else { throw wrong(name, "The field is missing.") }
        return text
    }

    /// A text to show: any characters, line ends too; an empty one counts as missing.
    func shownText(_ name: String, bytes: Int) throws(Problem) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else { throw wrong(name, "The field must be a string.") }
        guard text.utf8.count <= bytes else {
            throw wrong(name, "The field may have \(bytes) bytes at most.")
        }
        return text.isEmpty ? nil : text
    }

    /// A boolean; nil when it is missing.
    func flag(_ name: String) throws(Problem) -> Bool? {
        guard let value = value(name) else { return nil }
        guard let flag = value.bool else { throw wrong(name, "The field must be true or false.") }
        return flag
    }

    /// A whole number of the range; nil when it is missing.
    func integer(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let number = value.integer, range.contains(number) else {
            throw wrong(
                name, "The field must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    /// One of the words; nil when it is missing.
    func word(_ name: String, of words: [String]) throws(Problem) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string, words.contains(text) else {
            let choice = words.count == 1 ? words[0] : "one of \(words.joined(separator: ", "))"
            throw wrong(name, "The field must be \(choice).")
        }
        return text
    }

    /// An object inside; nil when it is missing.
    func object(
        _ name: String, known: [String], unknown: Unknown = .refused
    ) throws(Problem) -> JSONBody? {
        guard let value = value(name) else { return nil }
        return try JSONBody(value, prefix: "\(prefix)\(name).", known: known, unknown: unknown)
    }

    /// A list of at most `count` distinct texts of 1 to `bytes` bytes each; nil when it is missing.
    func texts(_ name: String, count: Int, bytes: Int) throws(Problem) -> [String]? {
        guard let value = value(name) else { return nil }
        guard let elements = value.array else { throw wrong(name, "The field must be a list of strings.") }
        guard elements.count <= count else { throw wrong(name, "The list may have \(count) elements.") }
        var texts: [String] = []
        var seen: Set<String> = []
        for element in elements {
            guard let text = element.string, !text.isEmpty, text.utf8.count <= bytes,
                Names.isPrintable(text)
            else {
                throw wrong(
                    name, "Each element must be a string of 1 to \(bytes) bytes without control characters.")
            }
            if seen.insert(text).inserted { texts.append(text) }
        }
        return texts
    }
}

/// What a name or an id may look like.
enum Names {
    /// Whether a text has no control character.
    static func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// A recipient out of a path: 1 to 256 bytes.
    static func recipient(_ text: String, _ what: String = "recipient") throws(Problem) -> String {
        guard !text.isEmpty, text.utf8.count <= 256, isPrintable(text) else {
            throw .badRequest(
                "The \(what) must have 1 to 256 bytes and no control characters.", field: what)
        }
        return text
    }

    /// Whether a text can be a device's id: 1 to 64 letters, digits, dots, hyphens, underscores.
    static func isDeviceID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2E, 0x2D, 0x5F: true
                default: false
                }
            }
    }

    /// A device's id out of a path.
    static func device(_ text: String) throws(Problem) -> String {
        guard isDeviceID(text) else {
            throw .badRequest(
                "A device id has 1 to 64 letters, digits, dots, hyphens or underscores.", field: "device")
        }
        return text
    }
}
