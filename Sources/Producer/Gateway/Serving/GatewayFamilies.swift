internal import Core
internal import HTTPServer
package import Metrics
internal import Services
internal import Terminal

/// What the gateway exposes.
package enum GatewayFamilies {
    static let requests = MetricFamily.counter(
        "peal_gateway_requests_total", "Answered requests.",
        [
            .open("operation", "an operation of docs/openapi.json; none for a path that nothing serves"),
            .closed("status", (1...5).map { "\($0)xx" }),
        ], by: [.gateway])
    static let refusals = MetricFamily.counter(
        "peal_gateway_refusals_total", "Problem documents.",
        [.open("code", "the problem's code, as docs/http-api.md lists them")], by: [.gateway])
    static let duration = MetricFamily.histogram(
        "peal_gateway_request_duration_seconds", "From the whole request to its answer.",
        boundsUs: MetricBounds.request, by: [.gateway])
    static let jobs = MetricFamily.counter(
        "peal_gateway_jobs_total", "Jobs that Kafka has acknowledged.", by: [.gateway])
    static let jobsFailed = MetricFamily.counter(
        "peal_gateway_jobs_failed_total", "Jobs that Kafka has refused, or not acknowledged in time.",
        by: [.gateway])
    static let settleFailures = MetricFamily.counter(
        "peal_gateway_settle_failures_total", "Writes to Redis that failed after the jobs were published.",
        by: [.gateway])
    static let gauges: [(family: MetricFamily, value: @Sendable (GatewayGauges) -> Int)] = [
        (
            .gauge("peal_gateway_open_requests", "Requests without an answer.", by: [.gateway]),
            { $0.openRequests }
        ),
        (.gauge("peal_gateway_connections", "Connections.", by: [.gateway]), { $0.connections }),
        (
            .gauge(
                "peal_gateway_sending_queue", "Requests that wait for a sending thread.", by: [.gateway]),
            { $0.sendingQueue }
        ),
        (
            .gauge(
                "peal_gateway_registry_queue", "Requests that wait for a registry thread.", by: [.gateway]),
            { $0.registryQueue }
        ),
        (
            .gauge(
                "peal_gateway_jobs_in_flight", "Jobs that Kafka has not acknowledged yet.", by: [.gateway]),
            { $0.jobsInFlight }
        ),
        (
            .gauge("peal_gateway_kafka_away", "Whether no broker answers.", by: [.gateway]),
            { $0.isKafkaAway ? 1 : 0 }
        ),
        (
            .gauge("peal_gateway_redis_away", "Whether Redis does not answer.", by: [.gateway]),
            { $0.isRedisAway ? 1 : 0 }
        ),
    ]

    /// All of them.
    package static let all =
        [requests, refusals, duration, jobs, jobsFailed, settleFailures] + gauges.map(\.family)
}

extension GatewayMetrics {
    /// Writes the families.
    func write(_ gauges: GatewayGauges, to writer: inout MetricWriter) {
        let values = snapshot
        writer.begin(GatewayFamilies.requests)
        for (operation, classes) in zip(operations, values.answers) {
            for (index, count) in classes.enumerated() where count > 0 {
                writer.add([operation, "\(index + 1)xx"], count)
            }
        }
        writer.begin(GatewayFamilies.refusals)
        for (code, count) in values.refusals.sorted(by: { $0.key < $1.key }) { writer.add([code], count) }
        writer.begin(GatewayFamilies.duration)
        writer.add([], values.latencyUs, perSecond: 1_000_000)
        writer.single(GatewayFamilies.jobs, values.jobs)
        writer.single(GatewayFamilies.jobsFailed, values.jobsFailed)
        writer.single(GatewayFamilies.settleFailures, values.settleFailures)
        for (family, value) in GatewayFamilies.gauges {
            writer.single(family, UInt64(clamping: value(gauges)))
        }
    }

    /// One JSON object for tools.
    func json(_ gauges: GatewayGauges) -> [UInt8] {
        let values = snapshot
        var members = GatewayFamilies.gauges.map {
            ("\($0.family.name.dropFirst("peal_gateway_".count))", Int64($0.value(gauges)))
        }
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

    /// The text of `/statusz`: sums, then a row for each operation that was asked for.
    func page(_ gauges: GatewayGauges, live: Health, ready: Health) -> String {
        let values = snapshot
        func number(_ value: UInt64) -> String { Human.grouped(Int(clamping: value)) }
        func latency(_ fraction: Double) -> String {
            Human.duration(us: Double(values.latencyUs.quantile(fraction)))
        }
        var page = StatusPage(.gateway, live: live, ready: ready)
        page.add([
            (
                "requests",
                "\(number(values.latencyUs.total)) answered, \(gauges.openRequests) open on "
                    + "\(gauges.connections) connections"
            ),
            ("latency", values.latencyUs.total == 0 ? "" : "p50 \(latency(0.5)), p99 \(latency(0.99))"),
            (
                "jobs",
                "\(number(values.jobs)) acknowledged, \(gauges.jobsInFlight) in flight, "
                    + "\(number(values.jobsFailed)) failed"
            ),
            (
                "queues",
                "\(gauges.sendingQueue) wait for a sending thread, "
                    + "\(gauges.registryQueue) for a registry thread"
            ),
        ])
        var table = TextTable(
            [.init("operation")] + (1...5).map { .init("\($0)xx", .right) })
        var rows = 0
        for (operation, classes) in zip(operations, values.answers) where classes.contains(where: { $0 > 0 })
        {
            table.add([operation] + classes.map { $0 == 0 ? "-" : number($0) })
            rows += 1
        }
        page.add(table, rows: rows)
        return page.rendered
    }
}
