internal import Core
internal import EventLoop
internal import HTTPServer
internal import Logging
internal import Synchronization

/// What all of the gateway's threads share: the requests under way, the counters, the log.
///
/// - Threading: any.
final class GatewayHub: Sendable {
    let metrics: GatewayMetrics
    let log: Logger
    let timeoutMs: UInt64
    private let cors: CORSPolicy
    private let open = Locked<[ObjectIdentifier: PendingCall]>([:])
    private let requests = Atomic<UInt64>(0)
    private let seed = RandomSource.seed()

    init(metrics: GatewayMetrics, log: Logger, timeoutMs: UInt64, cors: CORSPolicy) {
        self.metrics = metrics
        self.log = log
        self.timeoutMs = timeoutMs
        self.cors = cors
    }

    /// A new id for a request.
    func makeRequestID() -> String {
        let number = requests.wrappingAdd(1, ordering: .relaxed).newValue
        let mixed = Hash64.mix(seed, number &* 0x9E37_79B9_7F4A_7C15 | 1)
        let digits = String(mixed, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Takes a request in.
    func begin(_ exchange: HTTPExchange, requestID: String) -> PendingCall {
        let pending = PendingCall(exchange: exchange, requestID: requestID, hub: self)
        open.withLock { $0[ObjectIdentifier(pending)] = pending }
        return pending
    }

    /// Requests without an answer.
    var openCount: Int { open.withLock { $0.count } }

    /// Answers what has waited for longer than any thread should have left it.
    func answerOverdue() {
        let now = Clock.monotonicMs
        let overdue = open.withLock { $0.values.filter { $0.dueMs + 2_000 < now } }
        for pending in overdue {
            pending.refuse(.unavailable("The request took too long; what it asked for may have been done."))
        }
    }

    fileprivate func finish(_ pending: PendingCall, _ response: HTTPResponse, operation: Int) {
        open.withLock { $0[ObjectIdentifier(pending)] = nil }
        let microseconds = (Clock.monotonicNs &- pending.arrivedNs) / 1000
        metrics.answered(operation: operation, status: response.status, microseconds: microseconds)
        log.debug(
            "gateway.answered", "A request was answered.",
            [
                "request.id": .text(pending.requestID), "request.method": .text(pending.request.method),
                "request.operation": .text(metrics.operations[operation]),
                "request.status": .number(response.status), "request.us": .number(microseconds),
                "request.bytes": .number(pending.request.body.count),
            ])
        var complete = response
        complete.headers.append(("x-request-id", pending.requestID))
        cors.complete(&complete, of: pending.request)
        pending.exchange.respond(complete)
    }

    /// A problem document for what the HTTP server refuses by itself.
    func refusal(_ status: Int, _ sentence: String) -> HTTPResponse {
        let (code, title): (String, String) =
            switch status {
            case 413: ("body_too_large", "The body is too long")
            case 400: ("bad_request", "The request can't be used")
            case 501: ("not_implemented", "The request needs what the gateway doesn't do")
            default: ("unavailable", "A part of the service is away")
            }
        metrics.refused(code: code)
        return Problem(
            status, code, title, detail: sentence, retryAfterSeconds: status == 503 ? 2 : nil
        ).response(requestID: makeRequestID())
    }

    /// The answer to a preflight of an allowed origin.
    func preflight(_ request: HTTPRequest) -> HTTPResponse? { cors.preflight(request) }
}

/// One request that waits for its answer; the first answer counts.
///
/// - Threading: any.
final class PendingCall: Sendable {
    let exchange: HTTPExchange
    let requestID: String
    let arrivedNs = Clock.monotonicNs
    /// When it has to be answered, in monotonic ms.
    let dueMs: UInt64
    private let hub: GatewayHub
    private let isAnswered = Atomic(false)
    private let operation: Atomic<Int>

    init(exchange: HTTPExchange, requestID: String, hub: GatewayHub) {
        self.exchange = exchange
        self.requestID = requestID
        self.hub = hub
        operation = Atomic(hub.metrics.noOperation)
        dueMs = arrivedNs / 1_000_000 + hub.timeoutMs
    }

    var request: HTTPRequest { exchange.request }

    /// Notes which route it is, for the metrics.
    func setOperation(_ index: Int) { operation.store(index, ordering: .relaxed) }

    /// Whether its time is up.
    var isOverdue: Bool { Clock.monotonicMs >= dueMs }

    func answer(_ response: HTTPResponse) {
        guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return }
        hub.finish(self, response, operation: operation.load(ordering: .relaxed))
    }

    func refuse(_ problem: Problem) {
        guard !isAnswered.exchange(true, ordering: .acquiringAndReleasing) else { return }
        hub.metrics.refused(code: problem.code)
        hub.finish(
            self, problem.response(requestID: requestID), operation: operation.load(ordering: .relaxed))
    }
}
