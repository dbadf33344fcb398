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

extension GatewayMetrics {
    /// Prometheus text, version 0.0.4.
    func prometheus(_ gauges: GatewayGauges) -> [UInt8] {
        let values = snapshot
        var out = ByteBuffer(capacity: 8192)
        func head(_ name: String, _ type: String, _ help: String) {
            out.append(text: "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n")
        }
        head("peal_gateway_requests_total", "counter", "Answered requests.")
        for (operation, classes) in zip(operations, values.answers) {
            for (index, count) in classes.enumerated() where count > 0 {
                out.append(
                    text: "peal_gateway_requests_total{operation=\"\(operation)\",status=\"\(index + 1)xx\"} "
                )
                out.append(text: "\(count)\n")
            }
        }
        head("peal_gateway_refusals_total", "counter", "Problem documents, by their code.")
        for (code, count) in values.refusals.sorted(by: { $0.key < $1.key }) {
            out.append(text: "peal_gateway_refusals_total{code=\"\(code)\"} \(count)\n")
        }
        head("peal_gateway_request_seconds", "summary", "From the whole request to its answer.")
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            let seconds = Double(values.latencyUs.quantile(quantile)) / 1e6
            out.append(text: "peal_gateway_request_seconds{quantile=\"\(quantile)\"} \(seconds)\n")
        }
        out.append(text: "peal_gateway_request_seconds_sum \(Double(values.latencyUs.sum) / 1e6)\n")
        out.append(text: "peal_gateway_request_seconds_count \(values.latencyUs.total)\n")
        let counters: [(String, String, UInt64)] = [
            ("peal_gateway_jobs_total", "Jobs that Kafka has acknowledged.", values.jobs),
            ("peal_gateway_jobs_failed_total", "Jobs not acknowledged in time.", values.jobsFailed),
            ("peal_gateway_settle_failures_total", "Failed writes after publishing.", values.settleFailures),
        ]
        for (name, help, value) in counters {
            head(name, "counter", help)
            out.append(text: "\(name) \(value)\n")
        }
        for (name, help, value) in gauges.list {
            head(name, "gauge", help)
            out.append(text: "\(name) \(value)\n")
        }
        return out.array
    }

    /// One JSON object for people.
    func json(_ gauges: GatewayGauges) -> [UInt8] {
        let values = snapshot
        var members = gauges.list.map { ("\($0.0.dropFirst("peal_gateway_".count))", Int64($0.2)) }
        members.append(("requests", Int64(clamping: values.latencyUs.total)))
        members.append(("jobs", Int64(clamping: values.jobs)))
        members.append(("jobs_failed", Int64(clamping: values.jobsFailed)))
        members.append(("latency_p50_us", Int64(clamping: values.latencyUs.quantile(0.5))))
        members.append(("latency_p99_us", Int64(clamping: values.latencyUs.quantile(0.99))))
        var out = ByteBuffer()
        for (index, member) in members.enumerated() {
            out.append(text: "\(index == 0 ? "{" : ",")\"\(member.0)\":\(member.1)")
        }
        out.append("}\n")
        return out.array
    }
}

extension GatewayGauges {
    fileprivate var list: [(String, String, Int)] {
        [
            ("peal_gateway_open_requests", "Requests without an answer.", openRequests),
            ("peal_gateway_connections", "Connections.", connections),
            ("peal_gateway_sending_queue", "Requests that wait for a sending thread.", sendingQueue),
            ("peal_gateway_registry_queue", "Requests that wait for a registry thread.", registryQueue),
            ("peal_gateway_jobs_in_flight", "Jobs that Kafka has not acknowledged yet.", jobsInFlight),
            ("peal_gateway_kafka_away", "Whether no broker answers.", isKafkaAway ? 1 : 0),
            ("peal_gateway_redis_away", "Whether Redis does not answer.", isRedisAway ? 1 : 0),
        ]
    }
}
