/// One value of a YAML document, with the place where it stands.
///
/// It is the part of YAML that configuration needs: scalars stay text (the reader of a value knows what it
/// wants), and aliases, anchors, tags and repeated keys are refused when the document is read.
package struct YAMLNode: Equatable, Sendable {
    /// What the value is.
    package indirect enum Kind: Equatable, Sendable {
        /// A plain or quoted scalar. `isQuoted` tells `"null"` from `null`.
        case scalar(String, isQuoted: Bool)
        case sequence([YAMLNode])
        /// In the order of the document.
        case mapping([Entry])
    }

    /// A key and its value.
    package struct Entry: Equatable, Sendable {
        package let key: String
        /// The key's line.
        package let line: Int
        package let value: YAMLNode
    }

    package let kind: Kind
    /// From 1.
    package let line: Int
    package let column: Int

    package init(kind: Kind, line: Int, column: Int) {
        self.kind = kind
        self.line = line
        self.column = column
    }

    /// The text of a scalar, or nil.
    package var text: String? {
        if case .scalar(let text, _) = kind { text } else { nil }
    }

    /// The elements of a sequence, or nil.
    package var elements: [YAMLNode]? {
        if case .sequence(let elements) = kind { elements } else { nil }
    }

    /// The entries of a mapping, or nil.
    package var entries: [Entry]? {
        if case .mapping(let entries) = kind { entries } else { nil }
    }

    /// The value under this key of a mapping, or nil.
    package subscript(key: String) -> YAMLNode? { entries?.first { $0.key == key }?.value }

    /// Whether it stands for no value: nothing at all, `~` or `null` without quotes.
    package var isNull: Bool {
        guard case .scalar(let text, isQuoted: false) = kind else { return false }
        return text.isEmpty || text == "~" || text == "null" || text == "Null" || text == "NULL"
    }

    /// What to call it in a message: `text`, `a list` or `a mapping`.
    package var kindName: String {
        switch kind {
        case .scalar: isNull ? "nothing" : "text"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}
