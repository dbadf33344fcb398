internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import Metrics
internal import Providers

/// The worker's metrics.
extension WorkerReport {
    /// Writes every family.
    func write(to writer: inout MetricWriter) {
        writeSeries(to: &writer)
        writeLanes(to: &writer)
        writeRoutes(to: &writer)
        writeCredentials(to: &writer)
        for (family, value) in WorkerSums.all { writer.single(family, value(self)) }
        writer.begin(WorkerFamilies.redisDuration)
        writer.add([], shards.reduce(into: TimeBuckets()) { $0.merge($1.redisRoundTrips) })
    }

    // MARK: Deliveries

    private func writeSeries(to writer: inout MetricWriter) {
        var list: [(key: SeriesKey, count: UInt64)] = []
        list.reserveCapacity(series.count)
        series.forEach { list.append(($0, $1)) }
        list.sort { $0.key.bits < $1.key.bits }
        func write(
            _ kind: SeriesKey.Kind, _ family: MetricFamily, _ labels: (SeriesKey) -> [String]
        ) {
            writer.begin(family)
            for (key, count) in list where key.kind == kind { writer.add(labels(key), count) }
        }
        write(.delivery, WorkerFamilies.deliveries) {
            [app($0), provider($0), lane($0), outcome($0), reason($0)]
        }
        write(.retry, WorkerFamilies.retried) { [app($0), provider($0), lane($0), reason($0)] }
        write(.putOff, WorkerFamilies.putOff) { [app($0), provider($0), lane($0), reason($0)] }
        write(.dead, WorkerFamilies.deadLetters) { [app($0), reason($0)] }
        write(.tokenRemoved, WorkerFamilies.tokensRemoved) { [app($0), provider($0)] }
        write(.tokenSpared, WorkerFamilies.tokensSpared) { [app($0)] }
        writer.single(WorkerFamilies.seriesDropped, series.dropped)
        writer.begin(WorkerFamilies.answers)
        for reason in Reason.allCases {
            let count = sum { $0.reasons[Int(reason.rawValue)] }
            if count > 0 { writer.add(["\(reason.label)"], count) }
        }
    }

    private func app(_ key: SeriesKey) -> String {
        switch key.app {
        case SeriesKey.otherApp: "*other"
        case let index where index >= 0 && Int(index) < apps.count: apps[Int(index)]
        default: "*unknown"
        }
    }

    private func provider(_ key: SeriesKey) -> String {
        Provider(rawValue: key.provider).map { "\($0.name)" } ?? "none"
    }

    private func lane(_ key: SeriesKey) -> String { key.lane < lanes.count ? lanes[key.lane].name : "" }

    private func outcome(_ key: SeriesKey) -> String {
        DeliveryOutcome(rawValue: UInt8(key.outcome)).map { "\($0.name)" } ?? ""
    }

    private func reason(_ key: SeriesKey) -> String {
        Reason(rawValue: UInt8(key.reason)).map { "\($0.label)" } ?? ""
    }

    // MARK: Lanes

    private func writeLanes(to writer: inout MetricWriter) {
        writer.begin(WorkerFamilies.stages)
        for (index, lane) in lanes.enumerated() {
            for stage in StageTimes.Stage.allCases {
                writer.add([stage.name, lane.name], times(stage, lane: index))
            }
        }
        writer.begin(WorkerFamilies.lag)
        for lane in lanes { writer.add([lane.name], UInt64(clamping: lane.status.lag)) }
        writer.begin(WorkerFamilies.oldest)
        for lane in lanes { writer.add([lane.name], number: Double(oldestAgeMs(lane.status)) / 1000) }
        for (family, value) in WorkerFamilies.lanes {
            writer.begin(family)
            for lane in lanes { writer.add([lane.name], value(lane.status)) }
        }
    }

    /// The age of a lane's oldest unfinished job in milliseconds; 0 when there is none.
    func oldestAgeMs(_ status: LaneStatus) -> Int64 {
        status.oldestMs > 0 ? max(0, Clock.wallMs - status.oldestMs) : 0
    }

    // MARK: Routes

    private func writeRoutes(to writer: inout MetricWriter) {
        let routes = RouteSums.of(shards)
        for (family, value) in WorkerFamilies.poolGauges {
            writer.begin(family)
            for route in routes {
                writer.add([route.name], UInt64(clamping: route.pools.reduce(0) { $0 + value($1) }))
            }
        }
        writer.begin(WorkerFamilies.sideConnections)
        for route in routes { writer.add([route.name], UInt64(clamping: route.sideConnections)) }
        for (family, value) in WorkerFamilies.poolCounters {
            writer.begin(family)
            for route in routes { writer.add([route.name], route.pools.reduce(0) { $0 &+ value($1) }) }
        }
        writer.begin(WorkerFamilies.goAways)
        for route in routes {
            for (label, count) in route.goAways.sorted(by: { $0.key < $1.key }) {
                writer.add([route.name, label], count)
            }
        }
        writer.begin(WorkerFamilies.retired)
        for route in routes {
            for (place, reason) in PoolMetrics.retirements.enumerated() {
                let count = route.pools.reduce(0 as UInt64) { $0 &+ $1.retired[place] }
                if count > 0 { writer.add([route.name, reason], count) }
            }
        }
        writer.begin(WorkerFamilies.http2Limits)
        for (limit, count) in RouteSums.limits(of: routes) { writer.add([limit.label], count) }
        writer.begin(WorkerFamilies.circuit)
        for route in routes { writer.add([route.name], UInt64(route.circuit)) }
        writer.begin(WorkerFamilies.circuitOpenings)
        for route in routes { writer.add([route.name], route.circuitOpenings) }
        writer.begin(WorkerFamilies.routePaused)
        for route in routes { writer.add([route.name], route.isPaused) }
        writer.begin(WorkerFamilies.routesKnown)
        for (index, shard) in shards.enumerated() { writer.add(["\(index)"], UInt64(shard.routesKnown)) }
    }

    // MARK: Credentials

    private func writeCredentials(to writer: inout MetricWriter) {
        let entries = credentials.entries
        writer.begin(WorkerFamilies.credentialAge)
        for entry in entries {
            guard let minted = entry.mintedSteadyMs else { continue }
            writer.add([entry.name], number: Double(Int64(nowMs) - minted) / 1000)
        }
        writer.begin(WorkerFamilies.credentialExpiry)
        for entry in entries {
            guard let expires = entry.expiresSteadyMs else { continue }
            writer.add(["token", entry.name], number: Double(expires - Int64(nowMs)) / 1000)
        }
        for certificate in reloads.certificates {
            writer.add(
                ["certificate", certificate.route],
                number: Double(certificate.expiryMs - Clock.wallMs) / 1000)
        }
        writer.begin(WorkerFamilies.credentialFaulty)
        for entry in entries { writer.add([entry.name], !entry.fault.isEmpty) }
        writer.begin(WorkerFamilies.bearerShared)
        for entry in entries { writer.add([entry.name], entry.isShared) }
        writer.begin(WorkerFamilies.clockSkew)
        if let skew = credentials.skew.skewMs(wallMs: Clock.wallMs, steadyMs: Int64(nowMs)) {
            writer.add([], number: Double(skew) / 1000)
        }
    }
}

/// One route over all shards.
struct RouteSums {
    var name: String
    /// The pools of all shards, the side pools among them.
    var pools: [PoolMetrics] = []
    var sideConnections = 0
    /// The worst of the shards.
    var circuit: UInt8 = 0
    var circuitOpenings: UInt64 = 0
    var isPaused = false

    /// GOAWAY frames by their label.
    var goAways: [String: UInt64] {
        var sums: [String: UInt64] = [:]
        for pool in pools {
            for (word, count) in pool.goAwayReasons { sums[Self.label(of: word), default: 0] &+= count }
        }
        return sums
    }

    /// Connections of all routes that ended because the provider passed a bound, by the bound.
    static func limits(of routes: [RouteSums]) -> [(limit: SessionLimit, count: UInt64)] {
        let pools = routes.flatMap(\.pools)
        return SessionLimit.allCases.map { limit in
            (limit, pools.reduce(0) { $0 &+ $1.limits[limit.rawValue] })
        }
    }

    /// The routes of all shards, in the order of the first that has each.
    static func of(_ shards: [ShardStatus]) -> [RouteSums] {
        var list: [RouteSums] = []
        var places: [String: Int] = [:]
        for route in shards.lazy.flatMap(\.routes) {
            let place = places[route.name] ?? list.count
            if place == list.count {
                list.append(RouteSums(name: route.name))
                places[route.name] = place
            }
            list[place].pools.append(route.metrics)
            if let side = route.side {
                list[place].pools.append(side)
                list[place].sideConnections += side.open
            }
            list[place].circuit = max(list[place].circuit, route.circuit)
            list[place].circuitOpenings &+= route.circuitOpenings
            list[place].isPaused = list[place].isPaused || route.isPaused
        }
        return list
    }

    /// The closed label of what a GOAWAY frame said.
    static func label(of word: String) -> String {
        if GoAwayReason.codes.contains(word) { return word }
        let reason = APNsReason.parse(word)
        guard reason != .none, reason != .unknown else { return GoAwayReason.other }
        return "\(Reason(apns: reason, status: 0).label)"
    }
}
