/// Reads one YAML document into a tree of values.
package enum YAMLDocument {
    /// The largest document, in bytes.
    package static let bytesMax = 1 << 20
    /// The deepest nesting.
    package static let depthMax = 32
    /// The most values.
    package static let nodesMax = 100_000

    /// Reads the document; one without any value (only comments) is an empty mapping.
    package static func parse(_ bytes: [UInt8]) throws(YAMLFailure) -> YAMLNode {
        guard bytes.count <= bytesMax else {
            throw YAMLFailure(
                code: .tooLarge, line: 0,
                message: "the document has \(bytes.count) bytes, above the limit of \(bytesMax)")
        }
        var builder = YAMLTreeBuilder(reader: try YAMLEventReader(bytes))
        return try builder.document()
    }

    /// Reads the document from text.
    package static func parse(text: String) throws(YAMLFailure) -> YAMLNode { try parse(Array(text.utf8)) }
}

/// Builds the tree from events by recursive descent; the depth is bounded, so the stack is.
struct YAMLTreeBuilder: ~Copyable {
    private var reader: YAMLEventReader
    private var nodes = 0

    init(reader: consuming YAMLEventReader) { self.reader = reader }

    mutating func document() throws(YAMLFailure) -> YAMLNode {
        guard case .documentStart = try reader.next() else {
            return YAMLNode(kind: .mapping([]), line: 1, column: 1)
        }
        let root = try node(from: try reader.next(), depth: 0)
        _ = try reader.next()
        let after = try reader.next()
        if case .documentStart(let line) = after {
            throw YAMLFailure(
                code: .unsupported, line: line,
                message: "a second document begins here; put everything into one document")
        }
        return root.isNull ? YAMLNode(kind: .mapping([]), line: root.line, column: root.column) : root
    }

    private mutating func node(from event: YAMLEvent, depth: Int) throws(YAMLFailure) -> YAMLNode {
        nodes += 1
        guard nodes <= YAMLDocument.nodesMax else {
            throw YAMLFailure(
                code: .tooLarge, line: event.line,
                message: "the document has more than \(YAMLDocument.nodesMax) values")
        }
        guard depth <= YAMLDocument.depthMax else {
            throw YAMLFailure(
                code: .tooLarge, line: event.line,
                message: "values are nested deeper than \(YAMLDocument.depthMax) levels")
        }
        switch event {
        case .scalar(let text, let isQuoted, let line, let column):
            return YAMLNode(kind: .scalar(text, isQuoted: isQuoted), line: line, column: column)
        case .sequenceStart(let line, let column):
            return YAMLNode(kind: .sequence(try elements(depth: depth)), line: line, column: column)
        case .mappingStart(let line, let column):
            return YAMLNode(kind: .mapping(try entries(depth: depth)), line: line, column: column)
        case .streamEnd, .documentStart, .documentEnd, .sequenceEnd, .mappingEnd:
            // libyaml's grammar never gives these where a value is due.
            throw YAMLFailure(code: .syntax, line: event.line, message: "expected a value")
        }
    }

    private mutating func elements(depth: Int) throws(YAMLFailure) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while true {
            let event = try reader.next()
            if case .sequenceEnd = event { return elements }
            elements.append(try node(from: event, depth: depth + 1))
        }
    }

    private mutating func entries(depth: Int) throws(YAMLFailure) -> [YAMLNode.Entry] {
        var entries: [YAMLNode.Entry] = []
        var lines: [String: Int] = [:]
        while true {
            let event = try reader.next()
            if case .mappingEnd = event { return entries }
            guard case .scalar(let key, _, let line, _) = event else {
                throw YAMLFailure(code: .unsupported, line: event.line, message: "a key must be plain text")
            }
            if let first = lines.updateValue(line, forKey: key) {
                throw YAMLFailure(
                    code: .duplicateKey, line: line,
                    message: "the key '\(key)' stands twice, first on line \(first); remove one of them")
            }
            let value = try node(from: try reader.next(), depth: depth + 1)
            entries.append(YAMLNode.Entry(key: key, line: line, value: value))
        }
    }
}
