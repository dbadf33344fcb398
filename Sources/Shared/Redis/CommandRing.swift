/// One command without a reply.
struct CommandEntry {
    /// Given back with the reply.
    var tag: RedisTag
    /// Monotonic milliseconds.
    var deadlineMs: UInt64
    /// Encoded bytes.
    var length: Int
    /// Whose command it is.
    var origin: Origin
    /// Of a command to a node of a cluster: whether it calls a script.
    var isScript = false
    /// Of a command to a node of a cluster: the slot of its keys.
    var slot = KeySlot.any
    /// Of a command to a node of a cluster: how often it was sent on.
    var hops: UInt8 = 0

    enum Origin: UInt8 {
        case caller
        /// The caller's, issued once more because the server had forgotten its script.
        case reissued
        /// The client's own; nobody waits for its reply.
        case own
    }
}

/// The commands without a reply, oldest first.
struct CommandRing {
    private var slots: [CommandEntry]
    private var head = 0
    private(set) var count = 0

    init() {
        let empty = CommandEntry(tag: RedisTag(kind: 0, value: 0), deadlineMs: 0, length: 0, origin: .own)
        slots = Array(repeating: empty, count: 64)
    }

    var first: CommandEntry? { count > 0 ? slots[head] : nil }

    mutating func append(_ entry: CommandEntry) {
        if count == slots.count { grow() }
        slots[(head &+ count) & (slots.count &- 1)] = entry
        count += 1
    }

    mutating func popFirst() -> CommandEntry? {
        guard count > 0 else { return nil }
        let entry = slots[head]
        head = (head + 1) & (slots.count - 1)
        count -= 1
        return entry
    }

    /// Doubles the room; the number of slots stays a power of two.
    private mutating func grow() {
        slots = Array(slots[head...] + slots[..<head] + slots)
        head = 0
    }
}

extension CommandRing {
    /// How many of the oldest commands have a part in the first `bytes` bytes.
    func countCovering(_ bytes: Int) -> Int {
        var rest = bytes
        var covered = 0
        while rest > 0, covered < count {
            rest -= slots[(head + covered) & (slots.count - 1)].length
            covered += 1
        }
        return covered
    }
}
