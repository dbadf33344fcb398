internal import EventLoop
internal import HTTPServer
internal import Logging
internal import Redis
internal import Synchronization

/// What a registry thread is asked to do.
enum RegistryWork: Sendable {
    /// Run a handler and do what it wants.
    case reply(PendingCall, @Sendable (RedisSession) throws -> Reply)
    /// Write down what became of jobs, then answer, whatever came of the writing.
    case settle(PendingCall, @Sendable (RedisSession) throws -> Void, answer: @Sendable () -> Void)
}

/// The registry threads: each waits for Redis over a session of its own.
///
/// While Redis is away one request in half a second finds that out; the others are refused at once.
/// - Threading: any.
final class RegistryPool: Sendable {
    private struct Health {
        var awaySinceMs: UInt64 = 0
        var lastTryMs: UInt64 = 0
        var lastAnswerMs: UInt64 = 0
    }

    private static let tryEveryMs: UInt64 = 500
    private static let pingEveryMs: UInt64 = 5_000

    private let options: RedisClientOptions
    private let hub: GatewayHub
    private let queueMax: Int
    private let queue: BlockingQueue<RegistryWork>
    private let health = Locked(Health())
    private let threads = Locked<[WorkerThread]>([])

    /// Starts nothing yet. Settlements have as many places of their own as there may be requests.
    init(options: RedisClientOptions, queueMax: Int, settlementsMax: Int, hub: GatewayHub) {
        var options = options
        options.clientName = "peal-gateway"
        self.options = options
        self.hub = hub
        self.queueMax = queueMax
        queue = BlockingQueue(capacity: queueMax + settlementsMax)
    }

    /// Starts the threads; they hand on what is to be published.
    func start(count: Int, dispatch: Dispatch) {
        for index in 0..<count {
            let thread = WorkerThread.start(name: "registry-\(index)") { [self] in serve(dispatch) }
            threads.withLock { $0.append(thread) }
        }
    }

    /// Adds work; false when the queue is full.
    func push(_ work: RegistryWork) -> Bool {
        if case .reply = work, queue.count >= queueMax { return false }
        return queue.push(work)
    }

    /// Work that waits.
    var queueCount: Int { queue.count }

    /// Whether Redis is known not to answer.
    var isRedisAway: Bool { health.withLock { $0.awaySinceMs > 0 } }

    /// Does what waits, then ends the threads.
    func stop() {
        queue.close()
        let running = threads.withLock { (list: inout [WorkerThread]) -> [WorkerThread] in
            defer { list = [] }
            return list
        }
        for thread in running { thread.join() }
    }

    private func serve(_ dispatch: Dispatch) {
        var session: RedisSession?
        while true {
            switch queue.next(timeoutMs: 1_000) {
            case .element(let work): perform(work, &session, dispatch)
            case .nothing: pingIfIdle(&session)
            case .closed:
                session?.close()
                return
            }
        }
    }

    private func perform(_ work: RegistryWork, _ session: inout RedisSession?, _ dispatch: Dispatch) {
        switch work {
        case .reply(let pending, let handler):
            guard !pending.isOverdue else {
                return pending.refuse(.unavailable("Redis is behind; nothing was done. Try again later."))
            }
            do {
                let reply = try within(&session) { try handler($0) }
                dispatch.carryOut(reply, for: pending, on: nil)
            } catch let problem as Problem {
                pending.refuse(problem)
            } catch let failure as RedisFailure {
                hub.log.warning("gateway.redis", "Redis: \(failure.message)")
                pending.refuse(Self.refusal(failure))
            } catch {
                hub.log.error("gateway.handler_failed", "A handler failed: \(error)")
                pending.refuse(Problem(500, "internal", "The gateway made a mistake"))
            }
        case .settle(_, let settle, let answer):
            do {
                try within(&session) { try settle($0) }
            } catch {
                hub.metrics.settleFailed()
                hub.log.warning("gateway.settle_failed", "Redis does not know what became of jobs: \(error)")
            }
            answer()
        }
    }

    private static func refusal(_ failure: RedisFailure) -> Problem {
        if failure.code == .contended {
            return .unavailable(
                "Another change of the same thing does not end; nothing was done. Try again later.")
        }
        return .unavailable(
            failure.code.isOutcomeUnknown
                ? "Redis has not answered in time; what was asked for may have been done."
                : "Redis can't do this now; nothing was published. Try again later.")
    }

    /// Lends a session, unless Redis is away and was tried a moment ago.
    private func within<R>(_ session: inout RedisSession?, _ body: (RedisSession) throws -> R) throws -> R {
        let now = Clock.monotonicMs
        let mayTry = health.withLock { (health: inout Health) -> Bool in
            guard health.awaySinceMs == 0 || now >= health.lastTryMs + Self.tryEveryMs else { return false }
            health.lastTryMs = now
            return true
        }
        guard mayTry else { throw RedisFailure(.unavailable, "Redis does not answer") }
        do {
            let usable = try session ?? RedisSession(options: options)
            session = usable
            let result = try body(usable)
            noteAnswer()
            return result
        } catch let failure as RedisFailure where failure.code.isOutage {
            noteOutage()
            throw failure
        } catch {
            // Any other failure is an answer too.
            noteAnswer()
            throw error
        }
    }

    private func noteAnswer() {
        let wasAway = health.withLock { (health: inout Health) -> Bool in
            defer { health.awaySinceMs = 0 }
            health.lastAnswerMs = Clock.monotonicMs
            return health.awaySinceMs > 0
        }
        if wasAway { hub.log.notice("gateway.redis_back", "Redis answers again.") }
    }

    private func noteOutage() {
        let isNew = health.withLock { (health: inout Health) -> Bool in
            guard health.awaySinceMs == 0 else { return false }
            health.awaySinceMs = Clock.monotonicMs
            return true
        }
        if isNew { hub.log.warning("gateway.redis_away", "Redis does not answer; requests are refused.") }
    }

    private func pingIfIdle(_ session: inout RedisSession?) {
        let now = Clock.monotonicMs
        let isDue = health.withLock { $0.awaySinceMs > 0 || now >= $0.lastAnswerMs + Self.pingEveryMs }
        guard isDue else { return }
        _ = try? within(&session) { try $0.command("PING") }
    }
}
