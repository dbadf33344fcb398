internal import Core
internal import EventLoop

/// Where the slots are: learnt from CLUSTER SLOTS, asked of the nodes in turn.
///
/// A node that hangs is passed over after a second, and what it says later is ignored. The map is asked for
/// at the start, after a MOVED, after a node was lost, every half second while a node with slots is away, and
/// every 30 s. While no node answers, the seeds are asked in turn, so that a cluster whose nodes all got new
/// addresses is found again.
extension RedisCluster {
    private static let quickMs: UInt64 = 200
    private static let troubledMs: UInt64 = 500
    private static let calmMs: UInt64 = 30_000
    private static let answerMs: UInt64 = 1_000

    func lookAfterMap() {
        let isTroubled =
            unservedSlots > 0 || nodes.contains { $0.map { $0.isListed && !$0.isReady } ?? false }
        if openQuestion != nil, loop.nowMs >= lastAskMs &+ Self.answerMs { openQuestion = nil }
        guard openQuestion == nil, wantsMap || isTroubled || loop.nowMs >= nextMapMs else { return }
        if let node = anyReadyNode() {
            dismissScout()
            if loop.nowMs >= lastAskMs &+ (wantsMap ? Self.quickMs : Self.troubledMs) { ask(node) }
        } else {
            sendScout()
        }
    }

    private func ask(_ node: RedisNode) {
        lastAskMs = loop.nowMs
        questions &+= 1
        var question = RedisCommandBuffer(capacity: 64)
        question.append(["CLUSTER", "SLOTS"])
        var entry = CommandEntry(
            tag: RedisTag(kind: 0, value: questions), deadlineMs: loop.nowMs &+ options.timeoutMs, length: 0,
            origin: .caller)
        entry.slot = KeySlot.map
        let refusal = unsafe node.link.issue(encoded: question.bytes.bytes, entry, isAsking: false)
        openQuestion = refusal == nil ? questions : nil
    }

    func mapAnswered(_ entry: CommandEntry, _ reply: RedisReplyView, by node: RedisNode) {
        guard entry.tag.value == openQuestion else { return }
        guard let map = SlotMap(reply, askedHost: node.address.host) else {
            mapFailed(
                entry, RedisFailure(.cluster, "\(node.address) knows no node that has slots"), by: node)
            return
        }
        openQuestion = nil
        if node === scout { dismissScout() }
        scoutFailures = 0
        wantsMap = false
        nextMapMs = loop.nowMs &+ Self.calmMs
        ownStatistics.slotMaps &+= 1
        apply(map)
    }

    func mapFailed(_ entry: CommandEntry, _ failure: RedisFailure, by node: RedisNode) {
        guard entry.tag.value == openQuestion else { return }
        openQuestion = nil
        wantsMap = true
        guard failure.code != .closed else { return }
        let isSingle = failure.code == .refused && failure.message.contains("cluster support disabled")
        let why = isSingle ? "it is a single server: set redis.cluster to false" : failure.message
        lastFailure = RedisFailure(
            isSingle ? .cluster : failure.code, "\(node.address) gives no slot map: \(why)")
        if node === scout { scoutFailed() }
    }

    /// Takes a map over. Nodes that it doesn't name are let go when nothing of theirs is in flight.
    private func apply(_ map: SlotMap) {
        for node in nodes { node?.isListed = false }
        for slot in 0..<KeySlot.count { slots[slot].owner = -1 }
        unservedSlots = KeySlot.count
        for run in map.runs {
            let index = node(at: run.node)
            nodes[index]?.isListed = true
            unservedSlots -= run.slots.count
            for slot in run.slots { slots[slot].owner = Int16(truncatingIfNeeded: index) }
        }
        hasMap = true
        if diversions.isEmpty {
            for (index, node) in nodes.enumerated() {
                guard let node, !node.isListed, node.link.inFlight == 0 else { continue }
                ownStatistics.add(node.link.statistics)
                formerRoundTrips.merge(node.link.roundTrips)
                nodes[index] = nil
                node.close()
            }
        }
        releaseAll()
    }

    /// The place of the node at an address; a new one is connected.
    func node(at address: NodeAddress) -> Int {
        if let index = nodes.firstIndex(where: { $0?.address == address }) { return index }
        let index = nodes.firstIndex { $0 == nil } ?? nodes.count
        let node = RedisNode(index: index, address: address, options: options, cluster: self)
        if index == nodes.count { nodes.append(node) } else { nodes[index] = node }
        node.link.start()
        return index
    }

    // MARK: The seeds

    private func sendScout() {
        guard scout == nil, loop.nowMs >= nextScoutMs, !options.clusterSeeds.isEmpty else { return }
        let seed = options.clusterSeeds[nextSeed % options.clusterSeeds.count]
        nextSeed += 1
        guard case .tcp(let host, let port) = seed.address else { return }
        let made = RedisNode(
            index: nil, address: NodeAddress(host: host, port: port), options: options, cluster: self)
        scout = made
        made.link.start()
    }

    private func scoutFailed() {
        dismissScout()
        scoutFailures &+= 1
        // Each seed once without a pause.
        let rounds = scoutFailures / UInt64(max(1, options.clusterSeeds.count))
        let pause = rounds == 0 ? 0 : options.backoffFirstMs << min(rounds, 16)
        nextScoutMs = loop.nowMs &+ min(options.backoffLastMs, pause)
    }

    private func dismissScout() {
        let former = scout
        scout = nil
        former?.close()
    }

    // MARK: Comings and goings

    func connected(_ node: RedisNode) {
        if node === scout { return ask(node) }
        releaseAll()
        handler?.redisConnected()
    }

    func disconnected(_ node: RedisNode, _ failure: RedisFailure) {
        lastFailure = failure
        wantsMap = true
        if node === scout { scoutFailed() }
        releaseAll()
        handler?.redisDisconnected(failure)
    }

    /// Which nodes with slots don't answer, and what they say; nil when all is well.
    var trouble: String? {
        guard hasMap else { return nil }
        var parts: [String] = []
        for case let node? in nodes where node.isListed {
            if let failure = node.failure, !node.isReady {
                parts.append("node \(node.address) is away (\(failure.message))")
            } else if let refusal = node.refusal {
                parts.append("node \(node.address) refuses (\(refusal.message))")
            }
        }
        if unservedSlots > 0 { parts.append("\(unservedSlots) slots have no node") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}
