/// Says what is wrong with a document as XML: the rules of XML 1.0 that a writer breaks by mistake. Knows no
/// comments, no CDATA, no processing instructions and no document type; a document with one is refused.
struct WellFormedXML {
    /// The elements' names in the order of their start tags.
    private(set) var elements: [String] = []
    /// All text between tags, with the entities replaced.
    private(set) var text = ""
    /// The first fault; nil when the document is well-formed.
    private(set) var fault: String?
    private var rest: Substring

    init(_ document: String) {
        rest = document[...]
        fault = read()
    }

    private mutating func read() -> String? {
        var open: [String] = []
        while let character = rest.first {
            guard character == "<" else {
                let piece = rest.prefix { $0 != "<" }
                rest = rest.dropFirst(piece.count)
                guard let plain = Self.plain(piece) else { return "a bare & or > in \"\(piece)\"" }
                if open.isEmpty, plain.contains(where: { !$0.isWhitespace }) {
                    return "text outside the root"
                }
                text += plain
                continue
            }
            rest.removeFirst()
            if rest.first == "/" {
                rest.removeFirst()
                let name = takeName()
                guard let last = open.popLast(), last == name else { return "</\(name)> ends nothing" }
                guard take(">") else { return "</\(name) is not closed" }
                continue
            }
            if open.isEmpty, !elements.isEmpty { return "a second root" }
            let name = takeName()
            if name.isEmpty { return "a < that starts no tag" }
            elements.append(name)
            if let fault = attributes(of: name) { return fault }
            if take("/") {
                guard take(">") else { return "<\(name) is not closed" }
            } else {
                guard take(">") else { return "<\(name) is not closed" }
                open.append(name)
            }
        }
        if let last = open.last { return "<\(last)> is left open" }
        return elements.isEmpty ? "no root" : nil
    }

    private mutating func attributes(of element: String) -> String? {
        var seen: Set<String> = []
        while true {
            let space = rest.prefix { $0.isWhitespace }
            rest = rest.dropFirst(space.count)
            guard let next = rest.first, next != ">", next != "/" else { return nil }
            let name = takeName()
            if space.isEmpty || name.isEmpty { return "what is \"\(rest.prefix(20))\" in <\(element)?" }
            guard take("="), take("\"") else { return "\(name) of <\(element) has no quoted value" }
            let value = rest.prefix { $0 != "\"" }
            rest = rest.dropFirst(value.count)
            guard take("\"") else { return "\(name) of <\(element) is not closed" }
            if value.contains("<") || Self.plain(value) == nil { return "\(name) of <\(element): \(value)" }
            if !seen.insert(name).inserted { return "\(name) twice in <\(element)" }
        }
    }

    private mutating func takeName() -> String {
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ":") }
        rest = rest.dropFirst(name.count)
        return String(name)
    }

    private mutating func take(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    /// Text with its entities replaced; nil when it has what XML doesn't allow.
    private static func plain(_ text: Substring) -> String? {
        let known = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "#39": "'"]
        var out = ""
        var rest = text
        while let character = rest.popFirst() {
            let scalars = character.unicodeScalars
            if scalars.contains(where: { $0.value < 0x20 && $0 != "\n" && $0 != "\t" && $0 != "\r" }) {
                return nil
            }
            if character == ">" { return nil }
            guard character == "&" else {
                out.append(character)
                continue
            }
            guard let end = rest.firstIndex(of: ";"), let one = known[String(rest[..<end])] else {
                return nil
            }
            out += one
            rest = rest[rest.index(after: end)...]
        }
        return out
    }
}
