internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import HTTPServer
internal import Providers

/// What a worker says of itself at one moment: probes, metrics and a summary, from copies of its threads'
/// state.
struct WorkerReport {
    let lanes: [(name: String, status: LaneStatus)]
    let shards: [ShardStatus]
    /// The configured apps' names, by index.
    let apps: [String]
    let isStopping: Bool
    let credentials: KeeperStatus
    let reloads: ReloadStatus
    let nowMs: UInt64
    /// The shards' counters together.
    let series: SeriesTable

    init(
        _ lanes: [LaneControl], _ shards: [ShardMailbox], apps: [String], isStopping: Bool,
        credentials: KeeperStatus = KeeperStatus(), reloads: ReloadStatus = ReloadStatus()
    ) {
        self.credentials = credentials
        self.reloads = reloads
        self.lanes = lanes.map { ($0.name, $0.status.withLock { $0 }) }
        let statuses = shards.map { $0.status.withLock { $0 } }
        self.shards = statuses
        self.apps = apps
        self.isStopping = isStopping
        // Each shard has its own limit, so what is merged is bounded too, and no series ever goes away again.
        series = statuses.reduce(into: SeriesTable(limit: .max)) { $0.merge($1.series) }
        nowMs = Clock.monotonicMs
    }

    // MARK: Probes

    /// Fails for what a restart mends: see ``WorkerLiveness``.
    var liveness: Health {
        WorkerLiveness(
            lanes: lanes.map { name, status in
                WorkerLiveness.Lane(
                    name: name, polledMs: status.polledMs, partitions: status.assignedPartitions,
                    lag: status.lag, inFlight: status.inFlight, movedMs: status.movedMs,
                    backlog: status.backlog, unreadPartitions: status.unreadPartitions,
                    unreachableMs: status.unreachableMs)
            },
            shards: shards.map { WorkerLiveness.Shard(tickMs: $0.tickMs, heldUpMs: $0.heldUpMs) },
            isStopping: isStopping
        ).verdict(nowMs: nowMs)
    }

    /// Fails with the reason while the worker can't do its work.
    var readiness: Health {
        if isStopping { return .failing("draining") }
        for (name, status) in lanes where !status.hasJoined {
            let why = status.lastError.isEmpty ? "" : ": \(status.lastError)"
            return .failing("lane \(name) has not joined its consumer group yet\(why)")
        }
        for (name, status) in lanes where isKafkaAway(status) {
            return .failing("lane \(name) can't reach Kafka: \(status.lastError)")
        }
        for (index, shard) in shards.enumerated() where !shard.isRedisReady {
            let why = shard.redisFailure.isEmpty ? "" : ": \(shard.redisFailure)"
            return .failing("shard \(index) has no Redis\(why)")
        }
        for (index, shard) in shards.enumerated() where !shard.redisRefusal.isEmpty {
            return .failing("Redis refuses the jobs of shard \(index): \(shard.redisRefusal)")
        }
        for (index, shard) in shards.enumerated() where !shard.redisTrouble.isEmpty {
            return .failing("Redis holds up jobs of shard \(index): \(shard.redisTrouble)")
        }
        if let route = shards.lazy.flatMap(\.routes).first(where: { $0.circuit > 0 }) {
            let why = route.metrics.lastFailure
            return .degraded(
                "the circuit of \(route.name) is open: \(why.isEmpty ? "it answers with errors" : why)")
        }
        return readyWithCredentials
    }

    /// Whether some lane can't reach Kafka.
    var isKafkaAway: Bool { lanes.contains { isKafkaAway($0.status) } }

    private func isKafkaAway(_ status: LaneStatus) -> Bool {
        // The client repeats the sign every few seconds while it lasts, and says nothing when it is over.
        status.unreachableMs > 0 && nowMs < status.unreachableMs + 12_000
    }

    func sum(_ value: (ShardStatus) -> UInt64) -> UInt64 { shards.reduce(0) { $0 &+ value($1) } }

    /// The times of a stage over all shards.
    func times(_ stage: StageTimes.Stage, lane: Int) -> TimeBuckets {
        shards.reduce(into: TimeBuckets()) { $0.merge($1.stages.times(stage, lane: lane)) }
    }

    /// From publication to acceptance over all shards, in milliseconds.
    var latency: Histogram { shards.reduce(into: Histogram()) { $0.merge($1.latency) } }

    // MARK: Summary

    /// One JSON object for tools.
    func summary() -> [UInt8] {
        var out = ByteBuffer(capacity: 4096)
        let outcomes = series.outcomes
        out.append("{\"outcomes\":{")
        for (position, outcome) in DeliveryOutcome.allCases.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append(text: "\"\(outcome.name)\":\(outcomes[Int(outcome.rawValue)])")
        }
        out.append(text: "},\"retried\":\(series.sum(.retry)),\"dead\":\(series.sum(.dead)),\"lanes\":[")
        for (position, lane) in lanes.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append("{\"name\":")
            out.append(jsonString: lane.name)
            let status = lane.status
            out.append(
                text:
                    ",\"partitions\":\(status.assignedPartitions),\"in_flight\":\(status.inFlight),"
                    + "\"lag\":\(status.lag),\"paused\":\(status.isPaused),\"commits\":\(status.commits),"
                    + "\"rebalances\":\(status.rebalances),"
                    + "\"last_error\":")
            out.append(jsonString: status.lastError)
            out.append(byte: UInt8(ascii: "}"))
        }
        let latency = latency
        out.append(
            text: "],\"latency_ms\":{\"p50\":\(latency.quantile(0.5)),\"p99\":\(latency.quantile(0.99))},"
                + "\"cpu_ms\":\(Clock.processCPUNs / 1_000_000),\"rss_bytes\":\(Clock.residentBytes),"
                + "\"draining\":\(isStopping)}\n")
        return out.array
    }
}
