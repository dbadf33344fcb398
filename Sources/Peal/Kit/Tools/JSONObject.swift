internal import Core

/// An object that a tool prints for programs, its members in order.
struct JSONObject {
    private var members: [JSONValue.Member] = []

    mutating func set(_ name: String, _ value: JSONValue) {
        members.append(JSONValue.Member(name: name, value: value))
    }
    mutating func set(_ name: String, _ text: String) { set(name, .string(text)) }
    mutating func set(_ name: String, _ number: some BinaryInteger) { set(name, .number("\(number)")) }
    mutating func set(_ name: String, _ flag: Bool) { set(name, .bool(flag)) }

    var value: JSONValue { .object(members) }
    /// The object as a line.
    var line: String { value.text + "\n" }
}
