internal import EventLoop
internal import HTTPServer
internal import Redis
internal import Synchronization

/// What a sending thread is asked to do.
enum SendingWork: Sendable {
    /// Run a handler that asks Redis nothing.
    case run(PendingCall, GatewayCall, @Sendable (GatewayCall) throws(Problem) -> Reply)
    /// Check and publish the job that a handler makes of the request.
    case job(PendingCall, GatewayCall, @Sendable (GatewayCall) throws(Problem) -> JobOrder)
    /// Check and publish the jobs that a handler has made of the request.
    case order(PendingCall, GatewayCall, JobOrder)
    /// Check and publish the jobs of the request's body.
    case jobs(PendingCall, GatewayCall)
    /// Publish what a handler wants published.
    case publish(PendingCall, Publication)
}

/// Jobs that a handler wants published, and what comes then.
struct Publication: Sendable {
    var submissions: [Submission]
    var then: @Sendable ([Receipt]) -> HTTPResponse
    var settle: (@Sendable (PublishOutcome, RedisSession) throws -> Void)?
}

/// A sending thread as other threads see it: its queue, its gauges, its end.
///
/// - Threading: any.
final class SendingControl: Sendable {
    struct Gauges: Sendable {
        var jobsInFlight = 0
        var isKafkaAway = false
        /// Whether a broker has answered since the start.
        var hasMetBroker = false
        /// When the thread last went round, in monotonic ms.
        var tickMs: UInt64 = 0
    }

    private let inbox: Inbox<SendingWork>
    private let waker: Waker
    private let queueMax: Int
    private let queued = Atomic(0)
    private let stopping = Atomic(false)
    private let values = Locked(Gauges())

    init(waker: Waker, queueMax: Int) {
        self.waker = waker
        inbox = Inbox(waker: waker)
        self.queueMax = queueMax
    }

    /// Adds work; false when the queue is full.
    func push(_ work: SendingWork) -> Bool {
        guard queued.add(1, ordering: .relaxed).newValue <= queueMax else {
            queued.subtract(1, ordering: .relaxed)
            return false
        }
        inbox.push(work)
        return true
    }

    /// Takes everything that waits.
    func take(into batch: inout [SendingWork]) {
        inbox.drain(into: &batch)
        queued.subtract(batch.count, ordering: .relaxed)
    }

    /// Requests that wait.
    var queueCount: Int { queued.load(ordering: .relaxed) }

    func stop() {
        stopping.store(true, ordering: .relaxed)
        waker.wake()
    }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    var gauges: Gauges { values.withLock { $0 } }

    func note(_ change: (inout Gauges) -> Void) { values.withLock { change(&$0) } }
}
