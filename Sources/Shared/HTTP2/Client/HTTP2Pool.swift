internal import Core
package import EventLoop
package import Security

/// Connections to one endpoint with one credential, shared by all requests to it.
///
/// Requests are taken in batches: ``submit(_:)`` only queues, and the end of the loop's turn hands everything
/// to the connections, a group at a time to the least busy one. Requests that a server proves unprocessed
/// (GOAWAY, REFUSED_STREAM, never written) are resent on another connection by the pool itself.
///
/// - Ownership: the loop keeps the pool until ``close()`` or the end of a drain; the pool keeps its sink as
///   long.
/// - Threading: the loop's.
/// - Cost: no allocation a request in steady state.
package final class HTTP2Pool: TurnHandler, TimerHandler {
    // Small groups put a request's HEADERS near its DATA; a group of a few saves writes when there is little
    // to do.
    private static let groupMin = 8
    private static let groupMax = 32
    static let tickBusyMs: UInt64 = 64
    private static let tickIdleMs: UInt64 = 1_000
    /// A connection that ends sooner without one answer counts as a failed connect.
    static let proofMs: UInt64 = 10_000

    package let endpoint: HTTP2Endpoint
    package let limits: PoolLimits
    let context: TLSContext
    let timing: ConnectionMachine.Timing
    let slab: RequestSlab
    var metrics = PoolMetrics()
    let loop: EventLoop
    private var sink: (any ResponseSink)?
    private var templates = TemplateTable()
    var waiting = UrgentFirstQueue()
    private var wheel: DeadlineWheel
    private var due: [Int32] = []
    private var expired: [ExpiredRequest] = []
    var connections: [HTTP2Connection] = []
    var dirty: [HTTP2Connection] = []
    private var flushing: [HTTP2Connection] = []
    var number: UInt32 = 0
    var backoff: ConnectBackoff
    var resolver: AddressLookup
    var isResolving = false
    var starvedSinceMs: UInt64?
    var budget: ConnectBudget
    var replacements: ConnectBudget
    private var timer: TimerID?
    private var timerDueMs: UInt64 = 0
    var drainDeadlineMs: UInt64?
    var isClosed = false
    // 1 while the sink reads an answer whose slot is still held; the slab has one slot more for that moment.
    private var finishing = 0

    /// Makes a pool. It connects when the first request is submitted, or on ``warmUp()``.
    package init(
        loop: EventLoop, endpoint: HTTP2Endpoint, context: TLSContext, limits: PoolLimits,
        sink: any ResponseSink
    ) {
        self.loop = loop
        self.endpoint = endpoint
        self.context = context
        self.limits = limits
        self.sink = sink
        timing = ConnectionMachine.Timing(
            connectMs: limits.connectMs, pingIdleMs: limits.pingIdleMs,
            pingQuietMs: limits.pingQuietMs, pingTimeoutMs: limits.pingTimeoutMs, drainMs: limits.drainMs)
        budget = ConnectBudget(
            burst: limits.connectBurst, everyMs: limits.connectEveryMs, nowMs: loop.nowMs)
        replacements = ConnectBudget(
            burst: limits.replaceBurst, everyMs: limits.replaceEveryMs, nowMs: loop.nowMs)
        slab = RequestSlab(capacity: max(1, min(limits.requestsMax, 1 << 20)) + 1)
        wheel = DeadlineWheel(nowMs: loop.nowMs)
        backoff = ConnectBackoff(firstMs: limits.backoffFirstMs, maxMs: limits.backoffMaxMs)
        resolver = AddressLookup(waker: loop.waker)
        loop.addTurnHandler(self)
        resolver.attach(loop: loop, pool: self)
    }

    // MARK: Templates

    /// Adds a set of constant headers.
    /// - Throws: when a header is malformed or there are too many templates.
    package func addTemplate(_ template: HeaderTemplate) throws(TransportFailure) -> TemplateID {
        try templates.add(template)
    }

    /// Replaces a template, for example with a fresh token. Requests not yet handed to a connection use the
    /// new one.
    /// - Throws: when a header is malformed.
    package func replaceTemplate(_ id: TemplateID, _ template: HeaderTemplate) throws(TransportFailure) {
        try templates.replace(id, template, nowMs: loop.nowMs)
    }

    // MARK: Requests

    /// How many more requests ``submit(_:)`` takes now.
    package var room: Int { isClosed || drainDeadlineMs != nil ? 0 : slab.capacity - 1 - unfinished }
    /// Requests taken and not yet finished.
    package var unfinished: Int { slab.used - finishing }

    /// Takes a request. Its outcome reaches the sink later, never during this call.
    /// - Returns: false when the pool is full, draining or closed; the request was not taken.
    package func submit(_ request: OutgoingRequest) -> Bool {
        guard room > 0, let slot = slab.take(request) else {
            metrics.refused &+= 1
            return false
        }
        metrics.submitted &+= 1
        waiting.append(slot, slab)
        wheel.insert(slot, deadlineMs: request.deadlineMs)
        if timer == nil || timerDueMs > loop.nowMs &+ Self.tickBusyMs { armTimer(Self.tickBusyMs) }
        return true
    }

    /// Takes requests back that still wait for a stream; their sink hears nothing of them.
    /// - Returns: the tags of those that `isWanted` chose, in their order.
    package func recall(where isWanted: (_ tag: UInt64) -> Bool) -> [UInt64] {
        var tags: [UInt64] = []
        var kept = UrgentFirstQueue()
        while let index = waiting.popFirst(slab) {
            let tag = unsafe slab.slots[Int(index)].request.tag
            if isWanted(tag) {
                wheel.remove(index)
                slab.release(index)
                tags.append(tag)
            } else {
                kept.append(index, slab)
            }
        }
        waiting = kept
        return tags
    }

    /// Opens the minimum of connections without waiting for a request.
    package func warmUp() {
        guard !isClosed else { return }
        plan()
        armTimer(Self.tickBusyMs)
    }

    /// Takes no more requests, lets the accepted ones finish for `deadlineMs` at most, then closes.
    package func drain(deadlineMs: UInt64) {
        guard !isClosed, drainDeadlineMs == nil else { return }
        drainDeadlineMs = loop.nowMs &+ deadlineMs
        armTimer(0)
    }

    /// Whether nothing is in flight and every connection is closed.
    package var isDown: Bool { isClosed }

    /// Closes everything now. Unfinished requests fail, as ambiguous when they were written.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        if let timer { loop.cancel(timer) }
        let open = connections
        connections = []
        for connection in open {
            keepCounters(of: connection)
            connection.shut()
        }
        while waiting.popFirst(slab) != nil {}
        for index in 0..<slab.highWater where unsafe slab.slots[index].phase != .free {
            let wasWritten = unsafe slab.slots[index].isWritten && slab.slots[index].phase != .pending
            failed(
                Int32(truncatingIfNeeded: index),
                wasWritten
                    ? TransportFailure(.ambiguous, "the pool was closed before the answer came")
                    : TransportFailure(.closed, "the pool was closed before the request was sent"))
        }
        loop.removeTurnHandler(self)
        resolver.detach(loop: loop)
        dirty = []
        sink = nil
    }

    // MARK: Outcomes, called by connections

    func responded(_ index: Int32, on connection: HTTP2Connection) {
        metrics.responses &+= 1
        if unsafe slab.slots[Int(index)].bodyWasCut { metrics.bodiesCut &+= 1 }
        wheel.remove(index)
        if connection.responses == 1 { backoff.succeeded() }
        let tag = unsafe slab.slots[Int(index)].request.tag
        // Not free for others yet, but over for `close()`, which the sink may call.
        unsafe slab.slots[Int(index)].phase = .free
        unsafe slab.slots[Int(index)].streamID = 0
        finishing = 1
        sink?.responded(tag: tag, response: ResponseView(slab: slab, index: Int(index)))
        finishing = 0
        slab.release(index)
    }

    func failed(_ index: Int32, _ failure: TransportFailure) {
        metrics.failures &+= 1
        wheel.remove(index)
        let tag = unsafe slab.slots[Int(index)].request.tag
        slab.release(index)
        sink?.failed(tag: tag, failure: failure)
    }

    /// The server did not act on the request: send it again elsewhere, a few times.
    func unprocessed(_ index: Int32, on connection: HTTP2Connection, _ message: String) {
        metrics.refusedStreams &+= 1
        let slot = unsafe slab.slots + Int(index)
        guard unsafe slot.pointee.resends < limits.resendsMax, !isClosed else {
            return failed(
                index,
                TransportFailure(.unprocessed, message, goAwayReason: connection.goAwayReason))
        }
        metrics.resends &+= 1
        unsafe slot.pointee.resends += 1
        unsafe slot.pointee.phase = .pending
        unsafe slot.pointee.streamID = 0
        unsafe slot.pointee.connection = 0
        unsafe slot.pointee.isWritten = false
        unsafe slot.pointee.clearAnswer()
        waiting.prepend(index, slab)
    }

    // MARK: The turn

    package func endOfTurn() {
        if !waiting.isEmpty { dispatch() }
        while !dirty.isEmpty {
            swap(&dirty, &flushing)
            for connection in flushing { connection.flush() }
            flushing.removeAll(keepingCapacity: true)
        }
    }

    /// Hands waiting requests out in groups, each to the connection with the fewest in flight.
    private func dispatch() {
        if connections.isEmpty { plan() }
        for connection in connections { connection.beginBurst() }
        while !waiting.isEmpty, !loop.isStalling {
            var best: HTTP2Connection?
            var usable = 0
            for connection in connections where connection.capacity > 0 {
                usable += 1
                if let other = best, other.inFlight <= connection.inFlight { continue }
                best = connection
            }
            guard let connection = best else { break }
            let share = min(max(Self.groupMin, waiting.count / usable), Self.groupMax)
            send(group: min(share, connection.capacity), to: connection)
        }
        noteStarvation()
    }

    private func send(group: Int, to connection: HTTP2Connection) {
        connection.aboutToSend()
        var isRefused = false
        for _ in 0..<group where !isRefused {
            guard let index = waiting.popFirst(slab) else { break }
            let slot = unsafe slab.slots + Int(index)
            guard let template = unsafe templates[slot.pointee.request.template] else {
                failed(index, TransportFailure(.invalidRequest, "no such header template"))
                continue
            }
            unsafe slot.pointee.phase = .sending
            switch connection.submit(index, template) {
            case .ok: break
            case .malformed:
                failed(
                    index,
                    TransportFailure(.invalidRequest, "the path or a header has a byte that HTTP forbids"))
            case .refused:
                unsafe slot.pointee.phase = .pending
                waiting.prepend(index, slab)
                isRefused = true
                connection.retire(.idsUsedUp)
            }
        }
        connection.lastUsedMs = loop.nowMs
        markDirty(connection)
        connection.pumpGroup()
    }

    private func noteStarvation() {
        if waiting.isEmpty {
            starvedSinceMs = nil
        } else if starvedSinceMs == nil {
            starvedSinceMs = loop.nowMs
        }
    }

    // MARK: Time

    func armTimer(_ afterMs: UInt64) {
        guard !isClosed else { return }
        let dueMs = loop.nowMs &+ afterMs
        if timer != nil, timerDueMs <= dueMs { return }
        if let timer { loop.cancel(timer) }
        timerDueMs = dueMs
        timer = loop.schedule(afterMs: afterMs, tag: 0, handler: self)
    }

    package func timerFired(_ tag: UInt64) {
        timer = nil
        guard !isClosed else { return }
        expire()
        for connection in connections { connection.tick() }
        plan()
        finishDrain()
        guard !isClosed else { return }
        let isBusy = slab.used > 0 || connections.contains { $0.machine.state != .open }
        armTimer(isBusy ? Self.tickBusyMs : Self.tickIdleMs)
    }

    private func expire() {
        wheel.expire(nowMs: loop.nowMs, into: &due)
        guard !due.isEmpty else { return }
        // First all are marked, then the sink hears of each: what it and a closing connection do in between
        // must not meet a slot that is given up already.
        var isAnyWaiting = false
        for index in due {
            let slot = unsafe slab.slots + Int(index)
            if unsafe slot.pointee.phase == .pending { isAnyWaiting = true }
            unsafe expired.append(
                ExpiredRequest(
                    index: index, streamID: slot.pointee.streamID, connection: slot.pointee.connection,
                    wasWritten: slot.pointee.isWritten))
            unsafe slot.pointee.phase = .expired
            unsafe slot.pointee.streamID = 0
            unsafe slot.pointee.connection = 0
        }
        due.removeAll(keepingCapacity: true)
        if isAnyWaiting { removeExpiredFromQueue() }
        for item in expired where !isClosed { giveUp(item) }
        expired.removeAll(keepingCapacity: true)
    }

    /// Rebuilds the queue without the expired requests, once for all of them.
    private func removeExpiredFromQueue() {
        var kept = UrgentFirstQueue()
        while let index = waiting.popFirst(slab) {
            if unsafe slab.slots[Int(index)].phase == .pending { kept.append(index, slab) }
        }
        waiting = kept
    }

    private func giveUp(_ item: ExpiredRequest) {
        metrics.timeouts &+= 1
        guard item.connection != 0 else {
            let isConnected = connections.contains { $0.machine.state == .open }
            let why = metrics.lastFailure.isEmpty ? "" : "; last failure: \(metrics.lastFailure)"
            return failed(
                item.index,
                isConnected
                    ? TransportFailure(.timedOutUnsent, "the deadline passed while waiting for a stream")
                    : TransportFailure(.connectFailed, "no connection before the deadline\(why)"))
        }
        let connection = connections.first { $0.number == item.connection }
        failed(
            item.index,
            TransportFailure(
                item.wasWritten ? .timedOutSent : .timedOutUnsent, "no answer before the deadline",
                goAwayReason: connection?.goAwayReason ?? []))
        connection?.timedOut(item.streamID)
    }

    private func finishDrain() {
        guard let deadline = drainDeadlineMs else { return }
        if slab.used > 0 && loop.nowMs < deadline { return }
        for connection in connections where connection.inFlight == 0 { connection.retire(.poolClosed) }
        for connection in connections { connection.tick() }
        close()
    }
}
