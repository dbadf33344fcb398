internal import Core
internal import Decisions
internal import HTTP2
internal import Metrics
internal import Providers
internal import Services
internal import Terminal

/// The worker's `/statusz` for people.
extension WorkerReport {
    /// What is going on, on one screen: outcomes, lanes, routes.
    func page() -> String {
        var page = StatusPage(.worker, live: liveness, ready: readiness)
        page.add([
            ("deliveries", outcomeLine()),
            (
                "retries",
                "\(number(series.sum(.retry))) handed over, "
                    + "\(number(series.sum(.dead))) dead letters"
            ),
            (
                "open",
                "\(number(sum { UInt64($0.jobs) })) jobs, "
                    + "\(number(sum { UInt64($0.deliveries) })) deliveries, "
                    + "\(number(sum { UInt64($0.unsentRecords) })) records that Kafka had no room for"
            ),
            ("latency", latencyLine()),
            ("redis", redisLine()),
            ("control", controlLine()),
            ("credentials", credentialLine()),
        ])
        addLanes(to: &page)
        addRoutes(to: &page)
        return page.rendered
    }

    private func number(_ value: UInt64) -> String { Human.grouped(Int(clamping: value)) }

    private func outcomeLine() -> String {
        let counts = zip(DeliveryOutcome.allCases, series.outcomes).filter { $0.1 > 0 }
        return counts.isEmpty ? "none yet" : counts.map { "\(number($1)) \($0.name)" }.joined(separator: ", ")
    }

    private func latencyLine() -> String {
        let latency = latency
        guard latency.total > 0 else { return "" }
        let times = [0.5, 0.99].map { Human.duration(ms: Double(latency.quantile($0))) }
        return "p50 \(times[0]), p99 \(times[1]) from publication to acceptance"
    }

    private func redisLine() -> String {
        let trips = shards.reduce(into: TimeBuckets()) { $0.merge($1.redisRoundTrips) }
        let ready = shards.count { $0.isRedisReady }
        let mean = Double(trips.sumMs) / Double(max(1, trips.total))
        let times = trips.total == 0 ? "" : ", round trip \(Human.duration(ms: mean)) on average"
        return "\(ready) of \(shards.count) shards connected\(times)"
    }

    private func controlLine() -> String {
        let version = shards.map(\.controlVersion).min() ?? -1
        let entries = shards.map(\.controlEntries).max() ?? 0
        return version < 0 ? "not known yet" : "version \(version), \(entries) orders in force"
    }

    private func credentialLine() -> String {
        let faulty = credentials.entries.filter { !$0.fault.isEmpty }.map(\.name)
        let all = credentials.entries.count + reloads.certificates.count
        return faulty.isEmpty ? "\(all), all usable" : "no usable token: \(faulty.joined(separator: ", "))"
    }

    private func addLanes(to page: inout StatusPage) {
        var table = TextTable([
            .init("lane"), .init("partitions", .right), .init("lag", .right), .init("oldest", .right),
            .init("in flight", .right), .init("state"),
        ])
        for lane in lanes {
            let status = lane.status
            let age = oldestAgeMs(status)
            let state = !status.hasJoined ? "not joined" : status.isPaused ? "full" : "reading"
            table.add([
                lane.name, "\(status.assignedPartitions)",
                status.lag < 0 ? "-" : Human.grouped(Int(status.lag)),
                age == 0 ? "-" : Human.duration(ms: Double(age)), Human.grouped(status.inFlight), state,
            ])
        }
        page.add(table, rows: lanes.count)
    }

    /// The most troubled routes first, as many as a screen has room for.
    private func addRoutes(to page: inout StatusPage) {
        let routes = RouteSums.of(shards)
        let rowsMax = 20
        var table = TextTable([
            .init("route"), .init("connections", .right), .init("streams", .right), .init("limit", .right),
            .init("waiting", .right), .init("state"),
        ])
        func trouble(_ route: RouteSums) -> Int { Int(route.circuit) * 2 + (route.isPaused ? 1 : 0) }
        let ordered = routes.enumerated().sorted {
            (-trouble($0.element), $0.offset) < (-trouble($1.element), $1.offset)
        }
        for (_, route) in ordered.prefix(rowsMax) {
            func total(_ value: (PoolMetrics) -> Int) -> String {
                Human.grouped(route.pools.reduce(0) { $0 + value($1) })
            }
            let failure = route.pools.first { $0.connectFailuresInARow > 0 }?.lastFailure ?? ""
            let state =
                route.circuit > 0
                ? "circuit \(route.circuit == 2 ? "open" : "half open")"
                : route.isPaused ? "held up" : failure.isEmpty ? "" : "can't connect: \(failure)"
            table.add([
                route.name, total { $0.open }, total { $0.streams }, total { $0.streamLimit },
                total { $0.waiting }, state,
            ])
        }
        if routes.count > rowsMax { table.add(["and \(routes.count - rowsMax) more"]) }
        page.add(table, rows: routes.count)
    }
}
