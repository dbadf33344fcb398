internal import Core
internal import Terminal

/// A JSON object in the making.
struct BenchJSON: Sendable {
    /// The members so far, each as `"name":value`.
    private(set) var members: [String] = []

    /// The object on one line.
    var finished: String { "{" + members.joined(separator: ",") + "}" }

    /// The object with a line for each member, so that two of them can be compared line by line.
    var lines: String { "{\n" + members.joined(separator: ",\n") + "\n}\n" }

    /// Adds a number; null when it isn't one.
    mutating func add(_ name: String, _ value: Double, places: Int) {
        add(name, json: Self.number(value, places: places))
    }

    mutating func add(_ name: String, text: String) { add(name, json: Self.quoted(text)) }

    mutating func add(_ name: String, objects: [String]) {
        add(name, json: "[" + objects.joined(separator: ",") + "]")
    }

    /// Adds a member whose value is JSON already.
    mutating func add(_ name: String, json: String) { members.append(Self.quoted(name) + ":" + json) }

    /// The number as JSON; null when it is too large or none.
    static func number(_ value: Double, places: Int) -> String {
        value.isFinite && value.magnitude < 1e15 ? Human.decimal(value, places: places) : "null"
    }

    static func quoted(_ text: String) -> String {
        var quoted = ByteBuffer()
        quoted.append(jsonString: text)
        return quoted.text
    }
}
