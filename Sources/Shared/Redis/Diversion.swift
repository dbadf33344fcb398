/// A command that waits in the client because its slot is on its way from one node to another, or because its
/// node isn't there.
struct ParkedCommand {
    var entry: CommandEntry
    var bytes: [UInt8]
    /// The node that is to execute it although it doesn't have the slot yet; nil for the slot's owner.
    var askedNode: Int?
}

/// The commands of one slot that wait, in the order in which they were issued.
struct Diversion {
    /// Sent, and given back by a node; older than all that wait.
    private var returned: [ParkedCommand] = []
    private var waiting: [ParkedCommand] = []
    /// How many of `waiting` are gone.
    private var head = 0
    /// Nothing goes out before this time of the loop's clock: the nodes don't agree yet.
    var restUntilMs: UInt64 = 0

    var isEmpty: Bool { returned.isEmpty && head == waiting.count }

    /// The oldest command, after ``settle()``; nil when there is none.
    var first: ParkedCommand? { head < waiting.count ? waiting[head] : nil }

    /// Takes back a command that was sent. Nodes give them back in the order they were sent.
    mutating func giveBack(_ command: ParkedCommand) { returned.append(command) }

    /// Takes a new command.
    mutating func append(_ command: ParkedCommand) { waiting.append(command) }

    /// Puts what came back in front. To be called when nothing of the slot is in flight.
    mutating func settle() {
        guard !returned.isEmpty else { return }
        waiting = returned + waiting[head...]
        returned = []
        head = 0
    }

    mutating func popFirst() -> ParkedCommand? {
        guard let command = first else { return nil }
        head += 1
        // Half of it gone: worth moving the rest.
        if head > 32, head * 2 > waiting.count {
            waiting.removeFirst(head)
            head = 0
        }
        return command
    }

    /// Takes everything out, oldest first.
    mutating func removeAll() -> [ParkedCommand] {
        settle()
        let all = Array(waiting[head...])
        waiting = []
        head = 0
        return all
    }
}
