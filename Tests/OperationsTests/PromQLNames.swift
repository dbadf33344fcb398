/// The names in a PromQL expression: which metrics it selects by which labels, and which labels it groups and
/// joins by. It takes what promtool takes and no more care than that needs.
struct PromQLNames {
    /// A selected metric and the labels of its matchers.
    struct Selector: Equatable {
        var metric: String
        var labels: [String]
    }

    private(set) var selectors: [Selector] = []
    private(set) var groupings: [String] = []
    private var rest: Substring

    private static let listed: Set<String> = ["by", "without", "on", "ignoring", "group_left", "group_right"]
    private static let operators: Set<String> = [
        "and", "or", "unless", "offset", "bool", "inf", "nan", "atan2",
    ]
    private static let aggregations: Set<String> = [
        "sum", "min", "max", "avg", "count", "topk", "bottomk", "quantile", "group", "stddev", "stdvar",
    ]

    init(_ expression: String) {
        rest = expression[...]
        while let first = rest.first { read(first) }
    }

    private mutating func read(_ first: Character) {
        if first == "\"" || first == "'" {
            skipString(first)
        } else if first == "[" {
            skip(through: "]")
        } else if first == "$" || first.isNumber {
            rest = rest.dropFirst()
            _ = word()
        } else if Self.begins(first) {
            readWord()
        } else {
            rest = rest.dropFirst()
        }
    }

    private mutating func readWord() {
        let name = word()
        rest = rest.drop { $0.isWhitespace }
        if Self.listed.contains(name) {
            // group_left may stand without a list.
            guard rest.first == "(" else { return }
            let list = rest.dropFirst().prefix { $0 != ")" }
            groupings += list.split { $0 == "," || $0.isWhitespace }.map(String.init)
            skip(through: ")")
        } else if rest.first == "{" {
            selectors.append(Selector(metric: name, labels: matchers()))
        } else if rest.first != "(", !Self.operators.contains(name), !Self.aggregations.contains(name) {
            selectors.append(Selector(metric: name, labels: []))
        }
    }

    /// The labels between braces.
    private mutating func matchers() -> [String] {
        rest = rest.dropFirst()
        var labels: [String] = []
        while let first = rest.first, first != "}" {
            if first == "\"" || first == "'" {
                skipString(first)
            } else if Self.begins(first) {
                labels.append(word())
            } else {
                rest = rest.dropFirst()
            }
        }
        rest = rest.dropFirst()
        return labels
    }

    private static func begins(_ first: Character) -> Bool { first.isLetter || first == "_" || first == ":" }

    private mutating func word() -> String {
        let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == ":" }
        rest = rest.dropFirst(word.count)
        return String(word)
    }

    private mutating func skip(through end: Character) {
        rest = rest.drop { $0 != end }.dropFirst()
    }

    private mutating func skipString(_ quote: Character) {
        rest = rest.dropFirst()
        while let first = rest.first, first != quote { rest = rest.dropFirst(first == "\\" ? 2 : 1) }
        rest = rest.dropFirst()
    }
}
