internal import Core
internal import Terminal

/// Numbers as the parts write them.
enum PartFindings {
    /// A JSON object of numbers, in the order given.
    static func object(_ members: [(String, Double)]) -> String {
        "{" + members.map { "\"\($0.0)\":\(number($0.1))" }.joined(separator: ",") + "}"
    }

    /// A JSON array of values that are JSON already.
    static func array(_ values: [String]) -> String { "[" + values.joined(separator: ",") + "]" }

    /// A JSON number with at most three decimal places; null for what is no number.
    static func number(_ value: Double) -> String {
        guard value.isFinite, value.magnitude < 1e15 else { return "null" }
        return value == value.rounded() ? "\(Int(value))" : Human.decimal(value, places: 3)
    }

    /// Bytes in units of 1,000,000, as the targets have them.
    static func megabytes(_ bytes: Double, places: Int = 0) -> String {
        Human.decimal(bytes / 1e6, places: places) + " MB"
    }

    /// A ratio's distance from one: `+3.1 %`.
    static func change(_ ratio: Double) -> String {
        (ratio >= 1 ? "+" : "-") + Human.decimal((ratio - 1).magnitude * 100, places: 1) + " %"
    }
}
