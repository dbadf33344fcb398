internal import Core

/// A job that a handler puts together, as JSON.
///
/// It checks nothing: the publisher reads the result as it reads every job, and refuses what is wrong with
/// it.
struct JobDraft: Sendable {
    private var members: [JSONValue.Member] = []

    /// Begins a job of an app.
    init(app: String) { set("app", app) }

    /// Begins with what a caller has sent.
    init(_ members: [JSONValue.Member]) { self.members = members }

    /// Puts a member in, in place of one of the same name; nil changes nothing.
    mutating func set(_ name: String, _ value: JSONValue?) {
        guard let value else { return }
        members.removeAll { $0.name == name }
        members.append(JSONValue.Member(name: name, value: value))
    }

    /// The member of this name.
    func value(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }

    /// Puts a text in; nil changes nothing.
    mutating func set(_ name: String, _ text: String?) { set(name, text.map { JSONValue.string($0) }) }

    /// Addresses it to a recipient, or to some of their devices.
    mutating func address(to recipient: String, devices: [String]? = nil) {
        var target = [JSONValue.Member(name: "recipient", value: .string(recipient))]
        if let devices {
            target.append(
                JSONValue.Member(name: "devices", value: .array(devices.map { JSONValue.string($0) })))
        }
        set("to", .object(target))
    }

    /// The job as a submission to a lane.
    func submission(lane: Int = 1) -> Submission {
        var out = ByteBuffer(capacity: 1024)
        JSONValue.object(members).append(to: &out)
        return Submission(job: out.array, lane: lane)
    }
}

/// A small JSON object that answers a request.
struct AnswerObject {
    private var members: [JSONValue.Member] = []

    init() {}

    mutating func set(_ name: String, _ value: JSONValue) {
        members.append(JSONValue.Member(name: name, value: value))
    }
    mutating func set(_ name: String, _ text: String) { set(name, .string(text)) }
    mutating func set(_ name: String, _ number: Int64) { set(name, .number("\(number)")) }
    mutating func set(_ name: String, _ flag: Bool) { set(name, .bool(flag)) }

    var value: JSONValue { .object(members) }
    /// The object as a line.
    var text: String { value.text + "\n" }
}
