internal import EventLoop
internal import Security

/// A pool's connections: when one is opened, replaced or given up, and what becomes of its requests.
extension HTTP2Pool {
    // MARK: Called by connections

    func markDirty(_ connection: HTTP2Connection) {
        guard !connection.isListed else { return }
        connection.isListed = true
        dirty.append(connection)
    }

    func connectionBecameUsable(_ connection: HTTP2Connection) {
        metrics.connects &+= 1
        let isStarved = starvedSinceMs != nil
        starvedSinceMs = nil
        // Now that there is another, one that serves badly can go.
        for other in connections where other !== connection {
            guard let reason = other.complaint(requestsWait: isStarved) else { continue }
            return other.retire(reason)
        }
    }

    func connectionRetired(_ connection: HTTP2Connection, _ reason: ConnectionMachine.Reason) {
        count(reason)
        armTimer(0)
    }

    func connectionEnded(
        _ connection: HTTP2Connection, _ reason: ConnectionMachine.Reason, _ message: String, isTrust: Bool
    ) {
        guard !isClosed else { return }
        connections.removeAll { $0 === connection }
        keepCounters(of: connection)
        let isOrderly = reason == .drained || reason == .idle
        let provedItself = connection.responses > 0 || loop.nowMs &- connection.startedMs >= Self.proofMs
        if !isOrderly { metrics.lastFailure = message }
        if reason == .pingTimedOut { metrics.pingTimeouts &+= 1 }
        let wasUsable = connection.machine.streamLimit > 0
        if wasUsable && !isOrderly { metrics.lost &+= 1 }
        if wasUsable && !connection.wasRetired { count(reason) }
        let isUnwelcome = connection.goAwayCode == .enhanceYourCalm
        if isUnwelcome || (!provedItself && (!isOrderly || connection.goAwayCode != nil)) {
            connectFailed(message, isTrust, connection.goAwayReason)
        }
        fail(requestsOf: connection, message)
        armTimer(0)
    }

    private func count(_ reason: ConnectionMachine.Reason) {
        guard let place = ConnectionMachine.Reason.allCases.firstIndex(of: reason) else { return }
        metrics.retired[place] &+= 1
    }

    private func connectFailed(_ message: String, _ isTrust: Bool, _ goAwayReason: [UInt8] = []) {
        metrics.connectFailures &+= 1
        metrics.lastFailure = message
        backoff.failed(nowMs: loop.nowMs, random: RandomSource.seed())
        let hasOpen = connections.contains { $0.machine.state == .open }
        guard !hasOpen, isTrust || backoff.failures >= limits.failWaitingAfterConnects else { return }
        while let index = waiting.popFirst(slab) {
            failed(index, TransportFailure(.connectFailed, message, goAwayReason: goAwayReason))
        }
    }

    private func fail(requestsOf connection: HTTP2Connection, _ message: String) {
        for index in 0..<slab.highWater {
            let slot = unsafe slab.slots + index
            guard unsafe slot.pointee.phase == .sending, unsafe slot.pointee.connection == connection.number
            else { continue }
            let index = Int32(truncatingIfNeeded: index)
            if unsafe slot.pointee.isWritten {
                failed(
                    index,
                    TransportFailure(.ambiguous, message, goAwayReason: connection.goAwayReason))
            } else {
                unprocessed(index, on: connection, message)
            }
        }
    }

    func keepCounters(of connection: HTTP2Connection) {
        metrics.bytesSent &+= connection.bytes.sent
        metrics.bytesReceived &+= connection.bytes.received
        metrics.oversizedHeaders &+= connection.oversizedHeaders
    }

    // MARK: How many

    /// Opens and retires connections as demand and the limits say. At most one connect is under way at a
    /// time.
    func plan() {
        var plan = PoolPlan()
        plan.connectionsMin = limits.connectionsMin
        plan.connectionsMax = limits.connectionsMax
        plan.isConnecting = isResolving
        plan.isStarved = starvedSinceMs.map { loop.nowMs >= $0 &+ limits.growAfterMs } ?? false
        let requestsWait = starvedSinceMs != nil
        for connection in connections {
            switch connection.machine.state {
            case .connecting, .tunnelling, .handshaking, .awaitingSettings: plan.isConnecting = true
            case .open:
                plan.usable += 1
                if isUnproven(connection) { plan.unproven += 1 }
                if connection.complaint(requestsWait: requestsWait) != nil { plan.hasComplaint = true }
            case .draining, .closed: break
            }
        }
        retireIdle(plan.usable)
        // The first request connects at once, whatever the minimum is.
        if !waiting.isEmpty { plan.connectionsMin = max(1, plan.connectionsMin) }
        plan.isWanted = drainDeadlineMs == nil || slab.used > 0
        guard backoff.mayConnect(nowMs: loop.nowMs) else { return }
        switch plan.decision {
        case .none: break
        case .grow: if budget.allows(nowMs: loop.nowMs) { connect() }
        case .replace:
            guard budget.allows(nowMs: loop.nowMs), replacements.allows(nowMs: loop.nowMs) else { return }
            replacements.spend()
            connect()
        }
    }

    /// Whether the server may allow more once it has seen a good credential here.
    private func isUnproven(_ connection: HTTP2Connection) -> Bool {
        if connection.machine.isGated, !connection.machine.isProven { return true }
        return connection.machine.streamLimit <= 1 && connection.health.bestLimit <= 1
    }

    private func retireIdle(_ usable: Int) {
        guard usable > limits.connectionsMin else { return }
        let idle = connections.first {
            $0.machine.state == .open && $0.inFlight == 0
                && loop.nowMs >= $0.lastUsedMs &+ limits.idleCloseMs
        }
        idle?.retire(.idle)
    }

    private func connect() {
        budget.spend()
        isResolving = true
        let host = endpoint.proxy?.host ?? endpoint.host
        if let address = AddressLookup.numeric(host) {
            resolved(.success(address))
        } else {
            resolver.start(host)
        }
    }

    /// The name to connect to has been looked up.
    func resolved(_ result: Result<String, SystemFailure>) {
        isResolving = false
        guard !isClosed else { return }
        number &+= 1
        do {
            let address = try result.get()
            let connection = try HTTP2Connection(pool: self, loop: loop, number: number, address: address)
            try connection.start()
            connections.append(connection)
        } catch let error as TransportFailure {
            connectFailed(error.message, false)
        } catch {
            connectFailed("\(error)", false)
        }
    }

    /// Sends nothing more on the connection that brought an answer, when it says that the connection itself
    /// is no good any more. To be called while the answer is valid.
    package func retireConnection(of response: ResponseView) {
        let number = unsafe response.slab.slots[response.index].connection
        connections.first { $0.number == number }?.retire(.unwanted)
    }

    /// Whether little waits for a stream, and no connect has failed since the last that worked.
    package var isSlack: Bool { waiting.count < 256 && room > 0 && backoff.failures == 0 }

    /// Whether an open connection has lost most of its streams for longer than a moment.
    package var isPunished: Bool {
        connections.contains {
            $0.machine.state == .open
                && $0.health.isShrunk(nowMs: loop.nowMs, forMs: limits.shrunkMs / 4)
        }
    }

    // MARK: Figures

    /// GOAWAY frames so far.
    package var goAways: UInt64 { metrics.goAways }

    /// The pool's gauges and counters now.
    package var snapshot: PoolMetrics {
        var now = metrics
        for connection in connections {
            switch connection.machine.state {
            case .open:
                now.open += 1
                now.streamLimit += connection.machine.streamLimit
                if connection.machine.streamLimit * ConnectionHealth.shrunkShare
                    <= connection.health.bestLimit
                {
                    now.shrunk += 1
                }
            case .draining: now.draining += 1
            case .connecting, .tunnelling, .handshaking, .awaitingSettings: now.connecting += 1
            case .closed: break
            }
            now.streams += connection.inFlight
            now.bytesSent &+= connection.bytes.sent
            now.bytesReceived &+= connection.bytes.received
            now.oversizedHeaders &+= connection.oversizedHeaders
        }
        now.waiting = waiting.count
        now.connectFailuresInARow = backoff.failures
        return now
    }
}
