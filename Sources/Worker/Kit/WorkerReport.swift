internal import Core
internal import Decisions
internal import EventLoop
internal import HTTP2
internal import HTTPServer
internal import Providers

/// What a worker says of itself at one moment: probes, metrics and a summary, from copies of its threads'
/// state.
struct WorkerReport {
    private let lanes: [(name: String, status: LaneStatus)]
    let shards: [ShardStatus]
    private let isStopping: Bool
    let credentials: KeeperStatus
    let reloads: ReloadStatus
    let nowMs: UInt64

    init(
        _ lanes: [LaneControl], _ shards: [ShardMailbox], isStopping: Bool,
        credentials: KeeperStatus = KeeperStatus(), reloads: ReloadStatus = ReloadStatus()
    ) {
        self.credentials = credentials
        self.reloads = reloads
        self.lanes = lanes.map { ($0.name, $0.status.withLock { $0 }) }
        self.shards = shards.map { $0.status.withLock { $0 } }
        self.isStopping = isStopping
        nowMs = Clock.monotonicMs
    }

    // MARK: Probes

    /// Fails when a thread has stopped moving; never because something outside is away.
    var liveness: Health {
        for (name, status) in lanes
        where !isStopping && status.polledMs > 0 && nowMs > status.polledMs + 30_000 {
            return .failing("lane \(name) has not polled for \((nowMs - status.polledMs) / 1000) s")
        }
        return .ok
    }

    /// Fails with the reason while the worker can't do its work.
    var readiness: Health {
        if isStopping { return .failing("draining") }
        for (name, status) in lanes where !status.hasJoined {
            let why = status.lastError.isEmpty ? "" : ": \(status.lastError)"
            return .failing("lane \(name) has not joined its consumer group yet\(why)")
        }
        // The client repeats the sign every few seconds while it lasts, and says nothing when it is over.
        for (name, status) in lanes
        where status.unreachableMs > 0 && nowMs < status.unreachableMs + 12_000 {
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

    // MARK: Metrics

    /// Prometheus text.
    func metrics() -> [UInt8] {
        var out = ByteBuffer(capacity: 8192)
        family(&out, "peal_deliveries_total", "counter", "Deliveries by outcome.")
        for outcome in DeliveryOutcome.allCases {
            sample(
                &out, "peal_deliveries_total", "outcome=\"\(outcome.name)\"",
                sum { $0.outcomes[Int(outcome.rawValue)] })
        }
        family(&out, "peal_answers_total", "counter", "Answers other than acceptance, by reason.")
        for reason in Reason.allCases {
            let count = sum { $0.reasons[Int(reason.rawValue)] }
            if count > 0 { sample(&out, "peal_answers_total", "reason=\"\(reason.label)\"", count) }
        }
        single(
            &out, "peal_retried_total", "counter", "Deliveries handed to a retry topic.", sum { $0.retried })
        single(
            &out, "peal_dead_letters_total", "counter", "Records written to the dead-letter topic.",
            sum { $0.dead })
        single(
            &out, "peal_broadcasts_total", "counter", "Jobs handed to the broadcast stage.",
            sum { $0.broadcasts })
        single(&out, "peal_resends_total", "counter", "Immediate resends.", sum { $0.resends })
        single(
            &out, "peal_tokens_removed_total", "counter", "Device tokens removed.", sum { $0.tokensRemoved })
        appendLimits(&out)
        single(
            &out, "peal_environment_probes_total", "counter",
            "Tokens that APNs' other environment was asked about.", sum { $0.probes })
        single(
            &out, "peal_environments_corrected_total", "counter",
            "Devices whose APNs environment was corrected.", sum { $0.environmentsCorrected })
        single(
            &out, "peal_quarantined_total", "counter",
            "Deliveries to tokens refused lately, sent by connections of their own.", sum { $0.quarantined })
        single(
            &out, "peal_screened_total", "counter",
            "Deliveries to tokens never accepted, sent by connections of their own.", sum { $0.screened })
        single(
            &out, "peal_headers_dropped_total", "counter", "Record headers that did not fit.",
            sum { $0.headersDropped })
        single(
            &out, "peal_duplicate_hops_total", "counter", "Second copies of retry hops.",
            sum { $0.duplicateHops })
        single(&out, "peal_jobs_finished_total", "counter", "Jobs done with.", sum { $0.jobsFinished })
        single(&out, "peal_jobs_open", "gauge", "Jobs in the shards.", sum { UInt64($0.jobs) })
        single(
            &out, "peal_deliveries_open", "gauge", "Deliveries in the shards.", sum { UInt64($0.deliveries) })
        single(
            &out, "peal_records_unsent", "gauge", "Records that Kafka had no room for.",
            sum { UInt64($0.unsentRecords) })
        single(
            &out, "peal_redis_scripts_total", "counter", "Admissions and claims asked of Redis.",
            sum { $0.redisRoundTrips })
        single(
            &out, "peal_redis_ready", "gauge", "Shards with a Redis connection.",
            sum { $0.isRedisReady ? 1 : 0 })
        appendRedis(&out)
        single(&out, "process_resident_memory_bytes", "gauge", "Resident memory.", Clock.residentBytes)
        appendControl(&out)
        appendLanes(&out)
        appendRoutes(&out)
        appendCredentials(&out)
        appendLatency(&out)
        return out.array
    }

    private func appendLimits(_ out: inout ByteBuffer) {
        let counters: [(String, String, (ShardStatus) -> UInt64)] = [
            ("peal_cap_waits_total", "Jobs put off by a recipient's cap.", { $0.capWaits }),
            ("peal_quiet_waits_total", "Jobs put off by quiet hours.", { $0.quietWaits }),
            (
                "peal_duplicate_waits_total", "Jobs put off by another one with their dedup key or id.",
                { $0.duplicateWaits }
            ),
            (
                "peal_quota_questions_total", "Leases of provider quotas asked of Redis.",
                { $0.quotaQuestions }
            ),
            ("peal_quota_tokens_total", "Tokens of provider quotas leased.", { $0.quotaTokens }),
            ("peal_quota_waits_total", "Deliveries that waited for a token in memory.", { $0.quotaWaits }),
            (
                "peal_quota_put_off_total", "Deliveries that a quota sent to a retry topic.",
                { $0.quotaPutOffs }
            ),
            ("peal_quota_refusals_total", "Refusals by a provider for its quota.", { $0.quotaRefusals }),
        ]
        for (name, help, value) in counters { single(&out, name, "counter", help, sum(value)) }
        single(
            &out, "peal_quota_waiting", "gauge", "Deliveries that wait for a token in memory.",
            sum { UInt64($0.quotaWaiting) })
    }

    private func appendLanes(_ out: inout ByteBuffer) {
        family(&out, "peal_lane_lag", "gauge", "Jobs in a lane's topic that are not finished.")
        for (name, status) in lanes {
            sample(&out, "peal_lane_lag", "lane=\"\(name)\"", UInt64(max(0, status.lag)))
        }
        family(&out, "peal_lane_partitions", "gauge", "Partitions assigned.")
        for (name, status) in lanes {
            sample(&out, "peal_lane_partitions", "lane=\"\(name)\"", UInt64(status.assignedPartitions))
        }
        family(&out, "peal_lane_in_flight", "gauge", "Jobs handed to the shards.")
        for (name, status) in lanes {
            sample(&out, "peal_lane_in_flight", "lane=\"\(name)\"", UInt64(status.inFlight))
        }
        family(&out, "peal_lane_paused", "gauge", "Whether the lane's partitions are paused.")
        for (name, status) in lanes {
            sample(&out, "peal_lane_paused", "lane=\"\(name)\"", status.isPaused ? 1 : 0)
        }
        family(
            &out, "peal_lane_unread_partitions", "gauge", "Partitions that wait for their finished offsets.")
        for (name, status) in lanes {
            sample(&out, "peal_lane_unread_partitions", "lane=\"\(name)\"", UInt64(status.unreadPartitions))
        }
        let counters: [(String, String, (LaneStatus) -> UInt64)] = [
            ("peal_lane_skipped_total", "Records that a predecessor had finished.", { $0.skipped }),
            ("peal_lane_stalls_total", "Times that the process stood still for too long.", { $0.stalls }),
            (
                "peal_lane_flush_failures_total", "Writes of finished offsets that Redis did not take.",
                { $0.flushFailures }
            ),
        ]
        for (metric, help, value) in counters {
            family(&out, metric, "counter", help)
            for (name, status) in lanes { sample(&out, metric, "lane=\"\(name)\"", value(status)) }
        }
        family(&out, "peal_lane_rebalances_total", "counter", "Rebalances.")
        for (name, status) in lanes {
            sample(&out, "peal_lane_rebalances_total", "lane=\"\(name)\"", status.rebalances)
        }
    }

    private func appendLatency(_ out: inout ByteBuffer) {
        var all = Histogram()
        for shard in shards { all.merge(shard.latency) }
        family(&out, "peal_latency_ms", "summary", "From publication to the provider's acceptance.")
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            sample(&out, "peal_latency_ms", "quantile=\"\(quantile)\"", all.quantile(quantile))
        }
        sample(&out, "peal_latency_ms_sum", "", all.sum)
        sample(&out, "peal_latency_ms_count", "", all.total)
    }

    func sum(_ value: (ShardStatus) -> UInt64) -> UInt64 { shards.reduce(0) { $0 + value($1) } }

    func family(_ out: inout ByteBuffer, _ name: String, _ kind: String, _ help: String) {
        out.append(text: "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n")
    }

    func sample(_ out: inout ByteBuffer, _ name: String, _ labels: String, _ value: UInt64) {
        out.append(text: labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n")
    }

    func single(
        _ out: inout ByteBuffer, _ name: String, _ kind: String, _ help: String, _ value: UInt64
    ) {
        family(&out, name, kind, help)
        sample(&out, name, "", value)
    }

    // MARK: Summary

    /// One JSON object for people and tools.
    func summary() -> [UInt8] {
        var out = ByteBuffer(capacity: 4096)
        out.append("{\"outcomes\":{")
        for (position, outcome) in DeliveryOutcome.allCases.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append(text: "\"\(outcome.name)\":\(sum { $0.outcomes[Int(outcome.rawValue)] })")
        }
        out.append(text: "},\"retried\":\(sum { $0.retried }),\"dead\":\(sum { $0.dead }),\"lanes\":[")
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
        var latency = Histogram()
        for shard in shards { latency.merge(shard.latency) }
        out.append(
            text: "],\"latency_ms\":{\"p50\":\(latency.quantile(0.5)),\"p99\":\(latency.quantile(0.99))},"
                + "\"cpu_ms\":\(Clock.processCPUNs / 1_000_000),\"rss_bytes\":\(Clock.residentBytes),"
                + "\"draining\":\(isStopping)}\n")
        return out.array
    }
}
