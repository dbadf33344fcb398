package import Core
internal import EventLoop
internal import Glibc
package import HTTPClient
package import Logging

/// How spans are exported.
package struct TracerOptions: Sendable {
    /// Where they are posted: an address that ends in `/v1/traces`.
    package var url: String
    /// Sent with every request; may hold secrets, and is never logged.
    package var headers: [(name: String, value: String)] = []
    /// Who speaks.
    package var resource: [(key: String, value: String)] = []
    /// Which share of the traces is recorded whose sender didn't decide, 0...1.
    package var ratio = 1.0
    /// Connection, TLS and the deadline of one request.
    package var http = HTTPClientOptions()
    /// Spans that wait at most; what comes beyond is dropped and counted.
    package var queueMax = 8_192
    /// Spans of one request.
    package var batchMax = 512
    /// How long spans wait for others to share a request, in ms.
    package var intervalMs: UInt64 = 1_000

    package init(url: String) { self.url = url }
}

/// What a tracer did so far.
package struct TracerStatus: Sendable, Equatable {
    package var sent: UInt64 = 0
    /// Dropped since the queue was full.
    package var dropped: UInt64 = 0
    /// Given up: the receiver refused them, or was away for too long.
    package var failed: UInt64 = 0
    package var queued = 0

    package init() {}
}

/// Decides which jobs are traced, and exports spans by OTLP over HTTP in batches, on a thread of its own.
///
/// - Ownership: `stop` sends what waits within its deadline and ends the thread.
/// - Threading: any. No call waits for the receiver.
package final class Tracer: Sendable {
    private struct State: Sendable {
        var spans: [Span] = []
        var status = TracerStatus()
        var stopByMs: UInt64?
        var hasEnded = false
    }

    private let options: TracerOptions
    private let state = Locked(State())
    /// Wakes the thread before its time.
    private let wake = BlockingQueue<Void>(capacity: 1)
    private let thread = Locked<WorkerThread?>(nil)

    /// Starts the thread.
    package init(_ options: TracerOptions, logger: Logger) {
        self.options = options
        let (state, wake) = (state, wake)
        let started = WorkerThread.start(name: "tracing") {
            SpanExporter(options, wake: wake, logger: logger, state: state).run()
        }
        thread.withLock { $0 = started }
    }

    /// What a job's own spans go by: the sender's trace, else one that follows from the job; nil when it
    /// isn't traced.
    package func context(
        of parent: TraceContext?, app: UnsafeRawBufferPointer, job: UnsafeRawBufferPointer?
    ) -> TraceContext? {
        if let parent { return parent.isSampled ? parent : nil }
        guard let job = unsafe job else { return nil }
        let trace = unsafe TraceID(app: app, job: job)
        return trace.isWithin(share: options.ratio)
            ? TraceContext(trace: trace, span: 0, isSampled: true) : nil
    }

    /// Takes spans over; those that find the queue full are dropped and counted.
    package func offer(_ spans: [Span]) {
        guard !spans.isEmpty else { return }
        let isFull = state.withLock { state in
            let room = state.stopByMs == nil ? max(0, options.queueMax - state.spans.count) : 0
            state.spans.append(contentsOf: spans.prefix(room))
            state.status.dropped &+= UInt64(max(0, spans.count - room))
            return state.spans.count >= options.batchMax
        }
        if isFull { _ = wake.push(()) }
    }

    /// What it did so far.
    package var status: TracerStatus {
        state.withLock { state in
            var status = state.status
            status.queued = state.spans.count
            return status
        }
    }

    /// Sends what waits, within the deadline, and ends the thread. A receiver that hangs is left alone after
    /// that: the thread then ends with the process. Call it once.
    package func stop(deadlineMs: UInt64 = 2_000) {
        let end = Clock.monotonicMs + deadlineMs
        state.withLock { $0.stopByMs = end }
        _ = wake.push(())
        while !state.withLock({ $0.hasEnded }), Clock.monotonicMs < end + 50 { usleep(2_000) }
        let running = thread.withLock { (held: inout WorkerThread?) -> WorkerThread? in
            defer { held = nil }
            return held
        }
        if state.withLock({ $0.hasEnded }) { running?.join() }
    }

    /// The exporting thread's own side.
    private final class SpanExporter {
        private let options: TracerOptions
        private let wake: BlockingQueue<Void>
        private let logger: Logger
        private let state: Locked<State>
        private var client: HTTPClient
        private var isAway = false
        private var random = RandomSource.seed()

        init(
            _ options: TracerOptions, wake: BlockingQueue<Void>, logger: Logger, state: Locked<State>
        ) {
            self.options = options
            self.wake = wake
            self.logger = logger
            self.state = state
            client = HTTPClient(options.http)
        }

        func run() {
            var next = Clock.monotonicMs
            while true {
                let (batch, isStopping) = state.withLock { state -> ([Span], Bool) in
                    let isDue = Clock.monotonicMs >= next || state.spans.count >= options.batchMax
                    guard isDue || state.stopByMs != nil else { return ([], false) }
                    let batch = Array(state.spans.prefix(options.batchMax))
                    state.spans.removeFirst(batch.count)
                    return (batch, state.stopByMs != nil)
                }
                if !batch.isEmpty {
                    export(batch)
                } else if isStopping {
                    break
                } else {
                    if Clock.monotonicMs >= next { next = Clock.monotonicMs + options.intervalMs }
                    _ = wake.next(timeoutMs: max(1, next - min(next, Clock.monotonicMs)))
                }
            }
            state.withLock { $0.hasEnded = true }
        }

        /// What is left of the time to stop in, in ms; nil while there is no hurry.
        private var leftMs: UInt64? {
            guard let end = state.withLock({ $0.stopByMs }) else { return nil }
            let now = Clock.monotonicMs
            return end > now ? end - now : 0
        }

        private func export(_ batch: [Span]) {
            let request = HTTPClientRequest(
                method: "POST", url: options.url,
                headers: [("content-type", "application/json")] + options.headers,
                body: OTLPRequest.body(batch, resource: options.resource))
            for attempt in 1... {
                if let left = leftMs {
                    guard left > 0 else { return giveUp(batch, "the process stops") }
                    var hurried = options.http
                    hurried.totalTimeoutMs = min(hurried.totalTimeoutMs, Int(clamping: left))
                    client = HTTPClient(hurried)
                }
                let (status, retryAfter, words) = send(request, batch)
                random = random &* 0x5851_F42D_4C95_7F2D &+ 0x1405_7B7E_F767_814F
                switch OTLPVerdict.judge(
                    status: status, retryAfter: retryAfter, attempt: attempt, random: random)
                {
                case .done: return
                case .giveUp: return giveUp(batch, words)
                case .again(let waitMs):
                    tellAway(words)
                    rest(waitMs)
                }
            }
        }

        /// Sends once; without an answer, the words say why.
        private func send(
            _ request: HTTPClientRequest, _ batch: [Span]
        ) -> (status: Int?, retryAfter: String?, words: String) {
            let response: HTTPClientResponse
            do throws(HTTPClientFailure) { response = try client.send(request) } catch {
                return (nil, nil, error.description)
            }
            guard (200..<300).contains(response.status) else {
                return (
                    response.status, response.header("retry-after"),
                    "the receiver answers with status \(response.status)."
                )
            }
            let rejected = OTLPRequest.rejected(response.body)
            let lost = min(UInt64(rejected.spans), UInt64(batch.count))
            state.withLock {
                $0.status.sent &+= UInt64(batch.count) - lost
                $0.status.failed &+= lost
            }
            if lost > 0 {
                logger.warning(
                    "tracing.rejected", "The receiver did not take some spans: \(rejected.why)",
                    ["spans": .number(lost)])
            }
            if isAway {
                isAway = false
                logger.notice("tracing.back", "The receiver of traces takes spans again.")
            }
            return (response.status, nil, "")
        }

        private func giveUp(_ batch: [Span], _ words: String) {
            state.withLock { $0.status.failed &+= UInt64(batch.count) }
            isAway = true
            logger.warning(
                "tracing.lost",
                "Spans are lost; deliveries go on. Check otlp.endpoint, its headers_file and the receiver: "
                    + words, ["spans": .number(batch.count)])
        }

        private func tellAway(_ words: String) {
            guard !isAway else { return }
            isAway = true
            logger.warning(
                "tracing.away",
                "Spans can't be sent and wait, up to otlp.queue_max; deliveries go on: "
                    + words)
        }

        /// Waits before the next try, but not when the process is to stop.
        private func rest(_ waitMs: UInt64) {
            let end = Clock.monotonicMs + waitMs
            while leftMs == nil, Clock.monotonicMs < end {
                _ = wake.next(timeoutMs: max(1, end - min(end, Clock.monotonicMs)))
            }
            if let leftMs, Clock.monotonicMs < end { usleep(UInt32(clamping: min(leftMs, 100) * 1_000)) }
        }
    }
}
