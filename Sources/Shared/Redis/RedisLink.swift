internal import Core
internal import EventLoop
internal import Security

/// One connection to one server, or to one node of a cluster: replies matched first in, first out.
///
/// Commands are encoded straight into the buffer that is sent, flushed once a turn of the loop or when 64 KiB
/// have gathered. A command stays in the buffer until its reply is here, so that one whose script the server
/// had forgotten can be issued again; the order of such a command relative to later ones isn't kept.
///
/// When the connection is lost, what was sent fails with `.connectionLost` or `.timedOut` and what wasn't
/// fails with `.unavailable` (or is held); the client connects again by itself until ``close()``.
/// - Ownership: keeps the loop and the handler until ``close()``; the loop keeps the client.
/// - Threading: the loop's thread.
/// - Cost: no allocation a command in steady state.
final class RedisLink {
    enum State {
        case idle
        case resolving
        case connecting
        case handshaking
        case greeting
        case ready
        /// Ready, but the server was demoted: takes the replies still due, then connects again.
        case retiring
        case waiting
        case closed
    }

    static let flushThreshold = 64 << 10

    /// The options given.
    let options: RedisClientOptions
    /// Counters since the start.
    var statistics: RedisStatistics { pipeline.statistics }
    var roundTrips: TimeBuckets { pipeline.roundTrips }
    /// Why the last connection or attempt ended; nil while there was none.
    var lastFailure: RedisFailure?

    let loop: EventLoop
    var handler: (any RedisReplyHandler)?
    /// Takes the replies in the handler's stead when this is a node of a cluster.
    var node: RedisNode?
    var state = State.idle
    var pipeline = CommandPipeline()
    let bounds: RedisClientBounds
    let receiveBuffer = ReceiveBuffer()
    var connection: RedisConnection?
    var tlsContext: TLSContext?
    /// Why the connection is retiring.
    var retirement: RedisFailure?
    var greeting = RedisCommandBuffer(capacity: 1024)
    var greetingSteps: [GreetingStep] = []
    var lookups: Inbox<HostLookup>
    var attempt: UInt64 = 0
    var failuresInRow: UInt64 = 0
    var readySinceMs: UInt64 = 0
    var jitter = RandomSource.seed()
    var deadlineTimer: TimerID?
    var connectTimer: TimerID?

    /// Makes a client that doesn't connect before ``start()``.
    init(loop: EventLoop, options: RedisClientOptions, handler: (any RedisReplyHandler)?) {
        self.loop = loop
        self.options = options
        self.handler = handler
        bounds = RedisClientBounds(
            maximumInFlight: options.maximumInFlight, maximumBufferedBytes: options.maximumBufferedBytes)
        lookups = Inbox(waker: loop.waker)
    }

    /// Begins to connect. Calling it again does nothing.
    func start() {
        guard case .idle = state else { return }
        loop.addTurnHandler(self)
        loop.addWakeHandler(self)
        connect()
    }

    /// Whether commands go out now.
    var isReady: Bool { if case .ready = state { true } else { false } }

    /// Commands without a reply.
    var inFlight: Int { pipeline.ring.count }

    /// Bytes of commands without a reply.
    var bufferedBytes: Int { pipeline.buffer.count }

    /// Takes one command, which `encode` appends to the buffer.
    ///
    /// `encode` must not call the client. Returns nil when the command was taken, else why not; then neither
    /// method of the handler is called for it.
    func issue(
        _ tag: RedisTag, _ encode: (inout RedisCommandBuffer) -> Void
    ) -> RedisFailure.Code? {
        if let refusal = refusalByState() { return refusal }
        let deadlineMs = loop.nowMs &+ options.timeoutMs
        if let refusal = pipeline.append(tag, deadlineMs: deadlineMs, options: bounds, encode) {
            return refusal
        }
        taken()
        return nil
    }

    /// Takes one command that is encoded already, for a node of a cluster. `isAsking` tells the node to
    /// execute it although its slot is still on the way there.
    func issue(
        encoded command: UnsafeRawBufferPointer, _ entry: CommandEntry, isAsking: Bool
    ) -> RedisFailure.Code? {
        if let refusal = refusalByState() { return refusal }
        if let refusal = unsafe pipeline.append(
            encoded: command, entry, isAsking: isAsking, options: bounds)
        {
            return refusal
        }
        taken()
        return nil
    }

    private func refusalByState() -> RedisFailure.Code? {
        switch state {
        case .ready: return nil
        case .closed: return .closed
        default:
            if options.whenDisconnected == .hold { return nil }
            pipeline.statistics.refusedUnavailable &+= 1
            return .unavailable
        }
    }

    private func taken() {
        if deadlineTimer == nil { armDeadline(afterMs: options.timeoutMs) }
        if pipeline.unsent > Self.flushThreshold, isReady { flush() }
    }

    /// Fails what is in flight with `.closed`, closes the connection and lets the handler go.
    func close() {
        if case .closed = state { return }
        closeConnection()
        state = .closed
        cancelTimers()
        loop.removeTurnHandler(self)
        loop.removeWakeHandler(self)
        failEntries(count: pipeline.ring.count, RedisFailure(.closed, "the Redis client was closed"))
        handler = nil
        node = nil
    }

    func armDeadline(afterMs: UInt64) {
        deadlineTimer = loop.schedule(afterMs: afterMs, tag: TimerTag.deadline.rawValue, handler: self)
    }

    func cancelTimers() {
        if let deadlineTimer { loop.cancel(deadlineTimer) }
        if let connectTimer { loop.cancel(connectTimer) }
        deadlineTimer = nil
        connectTimer = nil
    }

    /// Fails the oldest `count` commands. The handler may issue further ones meanwhile; they come behind.
    func failEntries(count: Int, _ failure: RedisFailure) {
        for _ in 0..<count {
            guard let entry = pipeline.takeFailed() else { return }
            guard entry.origin != .own else { continue }
            if let node { node.failed(entry, failure) } else { handler?.redisFailed(entry.tag, failure) }
        }
    }
}

enum TimerTag: UInt64 {
    case deadline
    case connect
    case reconnect
}

extension RedisLink: TurnHandler {
    /// Sends what the turn gathered.
    func endOfTurn() {
        switch state {
        case .ready, .retiring: flush()
        default: break
        }
    }
}

extension RedisLink: TimerHandler {
    /// A deadline or a pause is over.
    func timerFired(_ tag: UInt64) {
        switch TimerTag(rawValue: tag) {
        case .deadline:
            deadlineTimer = nil
            checkDeadline()
        case .connect:
            connectTimer = nil
            drop(RedisFailure(.unavailable, "no connection to \(options.endpoint) within its deadline"))
        case .reconnect:
            connectTimer = nil
            connect()
        case nil: break
        }
    }

    private func checkDeadline() {
        guard let first = pipeline.ring.first else { return }
        // The process may have been stopped: the reply may be waiting in the socket.
        if first.deadlineMs <= loop.nowMs, case .ready = state { receive() }
        guard let first = pipeline.ring.first else { return }
        guard first.deadlineMs <= loop.nowMs else {
            if deadlineTimer == nil { armDeadline(afterMs: first.deadlineMs - loop.nowMs) }
            return
        }
        pipeline.statistics.timeouts &+= 1
        switch state {
        case .ready, .retiring:
            let seconds = Double(options.timeoutMs) / 1000
            drop(RedisFailure(.timedOut, "no reply from \(options.endpoint) within \(seconds) s"))
        default:
            failHeldPastDeadline()
        }
        if let next = pipeline.ring.first, deadlineTimer == nil {
            armDeadline(afterMs: next.deadlineMs > loop.nowMs ? next.deadlineMs - loop.nowMs : 1)
        }
    }

    private func failHeldPastDeadline() {
        let failure = RedisFailure(.unavailable, "no connection to \(options.endpoint) within the deadline")
        while let first = pipeline.ring.first, first.deadlineMs <= loop.nowMs {
            failEntries(count: 1, failure)
        }
    }
}
