internal import Core
internal import EventLoop

/// What the gateway counts.
///
/// - Threading: any.
final class GatewayMetrics: Sendable {
    /// Everything at one moment.
    struct Values {
        /// By operation, then by the first digit of the status less one.
        var answers: [[UInt64]]
        /// By the code of the problem.
        var refusals: [String: UInt64] = [:]
        /// From the arrival of the whole request to the answer, in microseconds.
        var latencyUs = Histogram()
        /// Jobs that Kafka has acknowledged.
        var jobs: UInt64 = 0
        /// Jobs that Kafka has not acknowledged in time, or has refused.
        var jobsFailed: UInt64 = 0
        /// Follow-ups in Redis that failed after the jobs were published.
        var settleFailures: UInt64 = 0
    }

    /// The operations, by their index; the last one is what no route fits.
    let operations: [String]
    private let values: Locked<Values>

    init(operations: [String]) {
        self.operations = operations + ["none"]
        values = Locked(
            Values(answers: Array(repeating: Array(repeating: 0, count: 5), count: operations.count + 1)))
    }

    /// The index of what no route fits.
    var noOperation: Int { operations.count - 1 }

    func answered(operation: Int, status: Int, microseconds: UInt64) {
        values.withLock {
            $0.answers[operation][min(4, max(0, status / 100 - 1))] &+= 1
            $0.latencyUs.record(microseconds)
        }
    }

    func refused(code: String) { values.withLock { $0.refusals[code, default: 0] &+= 1 } }

    func acknowledged(jobs: Int) { values.withLock { $0.jobs &+= UInt64(jobs) } }

    func failed(jobs: Int) { values.withLock { $0.jobsFailed &+= UInt64(jobs) } }

    func settleFailed() { values.withLock { $0.settleFailures &+= 1 } }

    var snapshot: Values { values.withLock { $0 } }
}

/// How things stand in the gateway's threads at one moment.
struct GatewayGauges {
    var openRequests = 0
    var connections = 0
    var sendingQueue = 0
    var registryQueue = 0
    /// Jobs that wait for the broker's acknowledgement.
    var jobsInFlight = 0
    var isKafkaAway = false
    var isRedisAway = false
}
