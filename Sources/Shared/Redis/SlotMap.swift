/// Where a node of a cluster listens.
struct NodeAddress: Sendable, Equatable, CustomStringConvertible {
    let host: String
    let port: UInt16

    var description: String { "\(host):\(port)" }
}

/// Which node has which slots, from the reply to CLUSTER SLOTS.
struct SlotMap: Equatable {
    /// Slots in a row that one node has.
    struct Run: Equatable {
        let slots: ClosedRange<Int>
        let node: NodeAddress
    }

    let runs: [Run]

    /// Reads a reply; nil when it isn't one or no slot is served. A node that doesn't know its own address
    /// says nothing or "?": it is the one that was asked, at `host`.
    init?(_ reply: RedisReplyView, askedHost host: String) {
        var found: [Run] = []
        for position in 0..<reply.count {
            let range = reply[position]
            let master = range[2]
            guard let first = range[0].integer, let last = range[1].integer, let port = master[1].integer,
                first >= 0, first <= last, last < Int64(KeySlot.count), let port = UInt16(exactly: port)
            else { return nil }
            let name = master[0].text
            let address = NodeAddress(host: name.isEmpty || name == "?" ? host : name, port: port)
            found.append(Run(slots: Int(first)...Int(last), node: address))
        }
        guard !found.isEmpty else { return nil }
        runs = found
    }
}

/// What a node says about a command whose slot it doesn't have.
struct Redirection: Equatable {
    /// Whether it holds for this command alone (ASK), because the slot is on its way.
    let isAsk: Bool
    let slot: UInt16
    let node: NodeAddress

    /// Reads `MOVED 3999 127.0.0.1:6381` or `ASK ...`; nil for any other error. Without a host, it is that of
    /// the node that says so.
    init?(_ text: String, askedHost host: String) {
        let words = text.split(separator: " ")
        guard words.count >= 3, words[0] == "MOVED" || words[0] == "ASK", let slot = UInt16(words[1]),
            slot < KeySlot.any, let colon = words[2].lastIndex(of: ":"),
            let port = UInt16(words[2][words[2].index(after: colon)...])
        else { return nil }
        let name = words[2][..<colon]
        isAsk = words[0] == "ASK"
        self.slot = slot
        node = NodeAddress(host: name.isEmpty || name == "?" ? host : String(name), port: port)
    }
}
