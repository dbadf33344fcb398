internal import Core
internal import EventLoop

/// A client of a Redis Cluster: a connection to each node that has slots, on one loop.
///
/// A command goes to the node that has the slot of its key. While a slot is on its way, its nodes send
/// commands on (ASK, MOVED): such a command and all later ones of its slot wait in a ``Diversion`` until
/// nothing of the slot is in flight any more, and then go out in the order in which they were issued. So a
/// later command never overtakes an earlier one on the same key, whatever the nodes say and whenever another
/// slot map comes.
///
/// - Ownership: keeps the loop and the handler until ``close()``; its nodes keep it until then.
/// - Threading: the loop's thread.
/// - Bounds: those of the options, for the nodes together; what waits counts as in flight.
/// - Cost: no allocation a command while nothing is sent on; 128 KiB for the slots.
final class RedisCluster {
    /// Who has a slot, and what of it is in flight.
    struct SlotState {
        /// The node that has the slot; -1 when none is known.
        var owner: Int16 = -1
        /// The node that was sent what is in flight.
        var home: Int16 = -1
        /// Commands sent and not answered.
        var open: Int32 = 0
    }

    /// What a slot's next command meets.
    enum Target {
        case ready(RedisNode)
        /// The node's first connection is being made.
        case coming
        case away
    }

    static let tickMs: UInt64 = 100
    /// How often a command is sent on at once; after that, with a pause, until the nodes agree.
    private static let quickHops: UInt8 = 4

    let options: RedisClientOptions
    let loop: EventLoop
    var handler: (any RedisReplyHandler)?
    var nodes: [RedisNode?] = []
    var slots = [SlotState](repeating: SlotState(), count: KeySlot.count + 2)
    var diversions: [UInt16: Diversion] = [:]
    /// Commands taken and not answered.
    private(set) var inFlight = 0
    private var parkedBytes = 0
    private var draft = RedisCommandBuffer()
    private var isStarted = false
    var isClosed = false
    var lastFailure: RedisFailure?
    /// What the cluster itself counted, and nodes that are gone.
    var ownStatistics = RedisStatistics()
    /// Those of nodes that were let go.
    var formerRoundTrips = TimeBuckets()
    private var tickTimer: TimerID?
    var nextNode = 0

    // The slot map's state; see RedisCluster+Map.swift.
    var hasMap = false
    var unservedSlots = KeySlot.count
    var wantsMap = true
    /// The question for the map that an answer is awaited to; nil when there is none.
    var openQuestion: UInt64?
    var questions: UInt64 = 0
    var nextMapMs: UInt64 = 0
    var lastAskMs: UInt64 = 0
    var scout: RedisNode?
    var scoutFailures: UInt64 = 0
    var nextScoutMs: UInt64 = 0
    var nextSeed = 0

    init(loop: EventLoop, options: RedisClientOptions, handler: any RedisReplyHandler) {
        self.loop = loop
        self.options = options
        self.handler = handler
    }

    /// Begins to look for the nodes. Calling it again does nothing.
    func start() {
        guard !isStarted, !isClosed else { return }
        isStarted = true
        timerFired(0)
    }

    /// Whether any node takes commands.
    var isReady: Bool { hasMap && nodes.contains { $0?.isReady ?? false } }

    /// Bytes of commands without a reply.
    var bufferedBytes: Int { nodes.reduce(parkedBytes) { $0 + ($1?.link.bufferedBytes ?? 0) } }

    /// Counters since the start.
    var roundTrips: TimeBuckets {
        var sum = formerRoundTrips
        for node in nodes { if let node { sum.merge(node.link.roundTrips) } }
        return sum
    }

    var statistics: RedisStatistics {
        var sum = ownStatistics
        for node in nodes { if let node { sum.add(node.link.statistics) } }
        return sum
    }

    /// Takes one command; nil when it was taken, else why not.
    func issue(_ tag: RedisTag, _ encode: (inout RedisCommandBuffer) -> Void) -> RedisFailure.Code? {
        if isClosed { return .closed }
        guard inFlight < options.maximumInFlight else {
            ownStatistics.refusedInFlight &+= 1
            return .tooManyInFlight
        }
        draft.clear()
        encode(&draft)
        guard draft.commands == 1, draft.isComplete else { return .malformed }
        let route = unsafe CommandRoute(draft.bytes.bytes)
        var entry = CommandEntry(
            tag: tag, deadlineMs: loop.nowMs &+ options.timeoutMs, length: draft.count, origin: .caller)
        entry.slot = route.slot
        entry.isScript = route.isScript
        if let refusal = place(entry) { return refusal }
        inFlight += 1
        ownStatistics.commands &+= 1
        return nil
    }

    /// Sends the drafted command or lets it wait.
    private func place(_ entry: CommandEntry) -> RedisFailure.Code? {
        if mustWait(entry.slot) { return park(entry) }
        switch target(of: entry.slot) {
        case .ready(let node): return unsafe send(draft.bytes.bytes, entry, to: node, isAsking: false)
        case .coming: return park(entry)
        case .away:
            if options.whenDisconnected == .hold { return park(entry) }
            ownStatistics.refusedUnavailable &+= 1
            return .unavailable
        }
    }

    /// Whether earlier commands of the slot wait, or are in flight at a node that doesn't have it any more.
    private func mustWait(_ slot: UInt16) -> Bool {
        if slot == KeySlot.any { return false }
        let state = slots[Int(slot)]
        if state.open > 0, state.home != state.owner { return true }
        return !diversions.isEmpty && diversions[slot] != nil
    }

    private func park(_ entry: CommandEntry) -> RedisFailure.Code? {
        guard parkedBytes < options.maximumBufferedBytes else {
            ownStatistics.refusedBuffer &+= 1
            return .bufferFull
        }
        parkedBytes += entry.length
        diversions[entry.slot, default: Diversion()].append(
            ParkedCommand(entry: entry, bytes: draft.encoded, askedNode: nil))
        return nil
    }

    func target(of slot: UInt16) -> Target {
        if slot == KeySlot.any {
            if let node = anyReadyNode() { return .ready(node) }
            return nodes.contains { $0?.isComing ?? false } ? .coming : .away
        }
        let owner = Int(slots[Int(slot)].owner)
        guard owner >= 0, let node = nodes[owner] else { return .away }
        return target(node)
    }

    private func target(_ node: RedisNode) -> Target {
        if node.isReady { return .ready(node) }
        return node.isComing ? .coming : .away
    }

    /// The ready nodes in turn, so that no single node's view of the cluster prevails.
    func anyReadyNode() -> RedisNode? {
        for step in 0..<nodes.count {
            let index = (nextNode + step) % nodes.count
            if let node = nodes[index], node.isReady, node.isListed {
                nextNode = index + 1
                return node
            }
        }
        return nil
    }

    private func send(
        _ command: UnsafeRawBufferPointer, _ entry: CommandEntry, to node: RedisNode, isAsking: Bool
    ) -> RedisFailure.Code? {
        guard let index = node.index else { return .unavailable }
        // Counted first: the connection may break under this very command, which then fails before it
        // returns.
        slots[Int(entry.slot)].open += 1
        slots[Int(entry.slot)].home = Int16(truncatingIfNeeded: index)
        let refusal = unsafe node.issue(command, entry, isAsking: isAsking, nowMs: loop.nowMs)
        if refusal != nil { slots[Int(entry.slot)].open -= 1 }
        return refusal
    }

    // MARK: Answers

    func answered(_ entry: CommandEntry, _ reply: RedisReplyView, by node: RedisNode) {
        if entry.slot == KeySlot.map { return mapAnswered(entry, reply, by: node) }
        slots[Int(entry.slot)].open -= 1
        inFlight -= 1
        handler?.redisReply(entry.tag, reply)
        release(entry.slot)
    }

    func failed(_ entry: CommandEntry, _ failure: RedisFailure, by node: RedisNode) {
        if entry.slot == KeySlot.map { return mapFailed(entry, failure, by: node) }
        slots[Int(entry.slot)].open -= 1
        if failure.code == .cluster { wantsMap = true }
        // A node that left the cluster is closed; the cluster isn't.
        let isNode = failure.code == .closed && !isClosed
        fail(entry, isNode ? RedisFailure(.connectionLost, "\(node.address) left the cluster") : failure)
        release(entry.slot)
    }

    private func fail(_ entry: CommandEntry, _ failure: RedisFailure) {
        inFlight -= 1
        handler?.redisFailed(entry.tag, failure)
    }

    /// Takes back a command whose slot lies elsewhere.
    func redirected(_ entry: CommandEntry, _ command: [UInt8], _ redirection: Redirection) {
        slots[Int(entry.slot)].open -= 1
        let former = entry.slot
        var entry = entry
        entry.slot = redirection.slot
        entry.hops += 1
        entry.deadlineMs = loop.nowMs &+ options.timeoutMs
        entry.origin = .caller
        let node = self.node(at: redirection.node)
        if redirection.isAsk {
            ownStatistics.asked &+= 1
        } else {
            ownStatistics.moved &+= 1
            slots[Int(entry.slot)].owner = Int16(truncatingIfNeeded: node)
            wantsMap = true
        }
        if entry.hops > hopsMax {
            fail(entry, RedisFailure(.cluster, "the nodes send slot \(entry.slot) from one to the other"))
        } else {
            parkedBytes += command.count
            diversions[entry.slot, default: Diversion()].giveBack(
                ParkedCommand(entry: entry, bytes: command, askedNode: redirection.isAsk ? node : nil))
            if entry.hops > Self.quickHops {
                diversions[entry.slot]?.restUntilMs = loop.nowMs &+ Self.tickMs
            }
        }
        release(entry.slot)
        if former != entry.slot { release(former) }
    }

    /// As many as fit into a command's deadline.
    private var hopsMax: UInt8 {
        UInt8(clamping: min(250, UInt64(Self.quickHops) + max(1, options.timeoutMs / Self.tickMs)))
    }

    // MARK: What waits

    /// Sends what waits of a slot as far as that keeps its order: nothing while anything of the slot is in
    /// flight, and then to one node.
    func release(_ slot: UInt16) {
        guard !diversions.isEmpty, diversions[slot] != nil else { return }
        guard slots[Int(slot)].open == 0 || slot == KeySlot.any else { return }
        guard diversions[slot]?.restUntilMs ?? 0 <= loop.nowMs else { return }
        diversions[slot]?.settle()
        while let command = diversions[slot]?.first {
            let target: Target
            if let asked = command.askedNode {
                target = nodes[asked].map { self.target($0) } ?? .away
            } else {
                target = self.target(of: slot)
            }
            switch target {
            case .coming: return
            case .away:
                if options.whenDisconnected == .hold { return }
                unpark(slot)
                fail(command.entry, RedisFailure(.unavailable, "the node of slot \(slot) doesn't answer"))
            case .ready(let node):
                let state = slots[Int(slot)]
                if state.open > 0, slot != KeySlot.any, Int(state.home) != node.index { return }
                unpark(slot)
                if let refusal = sendParked(command, to: node) {
                    fail(command.entry, RedisFailure(refusal, "\(node.address) takes no command"))
                }
            }
        }
        if diversions[slot]?.isEmpty == true { diversions[slot] = nil }
    }

    private func sendParked(_ command: ParkedCommand, to node: RedisNode) -> RedisFailure.Code? {
        var entry = command.entry
        // Its time begins anew, or a healthy node would soon look like a hung one.
        entry.deadlineMs = loop.nowMs &+ options.timeoutMs
        return unsafe command.bytes.withUnsafeBytes {
            unsafe send($0, entry, to: node, isAsking: command.askedNode != nil)
        }
    }

    private func unpark(_ slot: UInt16) {
        if let command = diversions[slot]?.popFirst() { parkedBytes -= command.bytes.count }
    }

    /// Looks at everything that waits, after another slot map or a node's coming or going.
    func releaseAll() {
        guard !diversions.isEmpty else { return }
        for slot in Array(diversions.keys) { release(slot) }
    }

    private func failOverdue() {
        for slot in Array(diversions.keys) {
            while let command = diversions[slot]?.first, command.entry.deadlineMs <= loop.nowMs {
                unpark(slot)
                ownStatistics.timeouts &+= 1
                let cause = lastFailure.map { ": \($0.message)" } ?? ""
                fail(
                    command.entry,
                    RedisFailure(.unavailable, "no node took the command within its deadline\(cause)"))
            }
            if diversions[slot]?.isEmpty == true { diversions[slot] = nil }
        }
    }

    /// Fails what is in flight with `.closed`, closes the connections and lets the handler go.
    func close() {
        if isClosed { return }
        isClosed = true
        if let tickTimer { loop.cancel(tickTimer) }
        tickTimer = nil
        scout?.close()
        scout = nil
        for node in nodes { node?.close() }
        for slot in Array(diversions.keys) {
            for command in diversions[slot]?.removeAll() ?? [] {
                fail(command.entry, RedisFailure(.closed, "the Redis client was closed"))
            }
        }
        diversions = [:]
        nodes = []
        handler = nil
    }
}

extension RedisCluster: TimerHandler {
    /// Looks after deadlines and the slot map, ten times a second.
    func timerFired(_ tag: UInt64) {
        guard !isClosed else { return }
        tickTimer = loop.schedule(afterMs: Self.tickMs, tag: 0, handler: self)
        failOverdue()
        releaseAll()
        if !isClosed { lookAfterMap() }
    }
}
