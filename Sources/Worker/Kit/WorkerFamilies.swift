internal import Core
internal import Decisions
internal import HTTP2
package import Metrics

/// What the worker exposes, but for the plain sums of ``WorkerSums``.
package enum WorkerFamilies {
    /// Every lane; a worker may serve some of them.
    private static let lane = MetricLabel.closed("lane", ["urgent", "normal", "bulk"])
    private static let app = MetricLabel.open(
        "app",
        "an app of the configuration; `*unknown` for jobs that name none, `*other` for what had no room for "
            + "series of its own")
    private static let provider = MetricLabel.closed(
        "provider", Provider.allCases.map { "\($0.name)" } + ["none"])
    private static let reason = MetricLabel.closed("reason", Reason.allCases.map { "\($0.label)" })
    private static let route = MetricLabel.open("route", "a provider's endpoint with one credential")
    private static let credential = MetricLabel.open("credential", "a credential, by its name in the log")
    private static let kind = MetricLabel.closed("kind", ["token", "certificate"])

    private static func counter(_ name: String, _ help: String, _ labels: [MetricLabel] = []) -> MetricFamily
    {
        .counter(name, help, labels, by: [.worker])
    }

    private static func gauge(_ name: String, _ help: String, _ labels: [MetricLabel] = []) -> MetricFamily {
        .gauge(name, help, labels, by: [.worker])
    }

    // MARK: Deliveries

    static let deliveries = counter(
        "peal_deliveries_total", "Deliveries that ended; each has one outcome.",
        [
            app, provider, lane, .closed("outcome", DeliveryOutcome.allCases.map { "\($0.name)" }), reason,
        ])
    static let retried = counter(
        "peal_deliveries_retried_total", "Deliveries handed to a retry topic.", [app, provider, lane, reason])
    static let putOff = counter(
        "peal_jobs_put_off_total",
        "Jobs handed to a retry topic before anything of them was sent: paused, their app stuck at its "
            + "share, their provider left alone, a cap, quiet hours.", [app, provider, lane, reason])
    static let deadLetters = counter(
        "peal_dead_letters_total", "Records written to the dead-letter topic.", [app, reason])
    static let tokensRemoved = counter(
        "peal_tokens_removed_total", "Device tokens removed from the registry.", [app, provider])
    static let tokensSpared = counter(
        "peal_tokens_spared_total", "Refused tokens that are kept because too many were refused at once.",
        [app])
    static let seriesDropped = counter(
        "peal_metrics_series_dropped_total",
        "Counts that went to app *other because the worker has no room for more series.")
    static let answers = counter(
        "peal_answers_total", "Answers and ends other than acceptance, retries included.", [reason])
    static let stages = MetricFamily.histogram(
        "peal_stage_duration_seconds",
        "How long a stage took: queue from the record's time to its reading, admit from there until the "
            + "devices are known, provider from the request to its answer, total from publication to "
            + "acceptance.",
        [.closed("stage", StageTimes.Stage.allCases.map(\.name)), lane], boundsUs: MetricBounds.milliseconds,
        by: [.worker])

    // MARK: Lanes

    static let lag = gauge(
        "peal_consumer_lag_records",
        "Records of the lane's topic in this process's partitions that are not "
            + "finished.", [lane])
    static let oldest = gauge(
        "peal_consumer_oldest_job_age_seconds",
        "Age of the oldest job that was read and is not finished; 0 when all are.", [lane])
    static let lanes: [(family: MetricFamily, value: @Sendable (LaneStatus) -> UInt64)] = [
        (
            gauge("peal_consumer_partitions", "Partitions assigned to this process.", [lane]),
            { UInt64(clamping: $0.assignedPartitions) }
        ),
        (
            gauge("peal_lane_in_flight_jobs", "Jobs handed to the shards.", [lane]),
            { UInt64(clamping: $0.inFlight) }
        ),
        (
            gauge("peal_lane_paused", "Whether the lane reads nothing because it is full.", [lane]),
            { $0.isPaused ? 1 : 0 }
        ),
        (
            gauge(
                "peal_lane_unread_partitions", "Partitions that wait for their finished offsets.", [lane]),
            { UInt64(clamping: $0.unreadPartitions) }
        ),
        (counter("peal_lane_records_total", "Records read.", [lane]), { $0.records }),
        (counter("peal_lane_commits_total", "Commits that Kafka took.", [lane]), { $0.commits }),
        (
            counter("peal_lane_commit_failures_total", "Commits that Kafka did not take.", [lane]),
            { $0.commitsFailed }
        ),
        (counter("peal_lane_rebalances_total", "Rebalances.", [lane]), { $0.rebalances }),
        (
            counter("peal_lane_restarts_total", "Consumers that were made anew.", [lane]),
            { $0.restarts }
        ),
        (
            counter("peal_lane_skipped_total", "Records that a predecessor had finished.", [lane]),
            { $0.skipped }
        ),
        (
            counter("peal_lane_stalls_total", "Times that the process stood still for too long.", [lane]),
            { $0.stalls }
        ),
        (
            counter(
                "peal_lane_flush_failures_total", "Writes of finished offsets that Redis did not take.",
                [lane]),
            { $0.flushFailures }
        ),
    ]

    // MARK: Routes

    static let poolGauges: [(family: MetricFamily, value: @Sendable (PoolMetrics) -> Int)] = [
        (gauge("peal_connections", "Connections that take requests.", [route]), { $0.open }),
        (gauge("peal_streams_in_use", "Streams in use.", [route]), { $0.streams }),
        (gauge("peal_streams_limit", "Streams allowed.", [route]), { $0.streamLimit }),
        (gauge("peal_requests_waiting", "Requests that wait for a stream.", [route]), { $0.waiting }),
        (
            gauge(
                "peal_route_draining", "Connections that only finish what is in flight.", [route]),
            { $0.draining }
        ),
        (
            gauge(
                "peal_route_shrunk", "Connections whose stream limit fell and stays low.", [route]),
            { $0.shrunk }
        ),
    ]
    static let sideConnections = gauge(
        "peal_side_connections",
        "Connections for tokens that are likely to be refused, part of "
            + "peal_connections.", [route])
    static let poolCounters: [(family: MetricFamily, value: @Sendable (PoolMetrics) -> UInt64)] = [
        (counter("peal_connects_total", "Connections made.", [route]), { $0.connects }),
        (
            counter("peal_connect_failures_total", "Attempts to connect that failed.", [route]),
            { $0.connectFailures }
        ),
        (counter("peal_route_pings_total", "PING frames sent.", [route]), { $0.pings }),
        (
            counter(
                "peal_route_resends_total", "Requests proved unprocessed and resent.", [route]),
            { $0.resends }
        ),
    ]
    /// Apple's reasons, else the names of HTTP/2's error codes.
    static let goAwayLabels =
        GoAwayReason.codes
        + APNsReason.allCases.filter { $0 != .none && $0 != .unknown }.map {
            "\(Reason(apns: $0, status: 0).label)"
        } + [GoAwayReason.other]
    static let goAways = counter(
        "peal_goaways_total", "GOAWAY frames, by the reason in them or else their error code.",
        [route, .closed("reason", goAwayLabels)])
    static let retired = counter(
        "peal_connections_retired_total", "Connections that took no more requests.",
        [route, .closed("reason", PoolMetrics.retirements)])
    static let http2Limits = counter(
        "peal_http2_limits_total", "Connections ended because the provider passed a bound of HTTP/2 framing.",
        [.closed("limit", SessionLimit.allCases.map(\.label))])
    static let circuit = gauge(
        "peal_circuit_state", "The route's circuit: 0 closed, 1 half open, 2 open.", [route])
    static let circuitOpenings = counter(
        "peal_circuit_openings_total", "How often the circuit opened.", [route])
    static let routePaused = gauge("peal_route_paused", "Whether the route is held up.", [route])
    static let routesKnown = gauge(
        "peal_routes_known", "Routes that a shard knows of, the replaced ones included.",
        [.open("shard", "a shard's number")])

    // MARK: Credentials and Redis

    static let credentialAge = gauge(
        "peal_credential_age_seconds", "Age of the provider token in use.", [credential])
    static let credentialExpiry = gauge(
        "peal_credential_expiry_seconds",
        "Seconds until a provider token or a certificate expires; negative once it has.", [kind, credential])
    static let credentialFaulty = gauge(
        "peal_credential_faulty", "Whether the credential has no usable token.", [credential])
    static let bearerShared = gauge(
        "peal_bearer_shared", "Whether the provider token in use is the one all pods share.", [credential])
    static let clockSkew = gauge(
        "peal_clock_skew_seconds",
        "The providers' time less this machine's, negative when its clock is fast; no sample while unknown.")
    static let redisDuration = MetricFamily.histogram(
        "peal_redis_command_duration_seconds", "From a command's issue to its reply, in whole milliseconds.",
        boundsUs: MetricBounds.milliseconds, by: [.worker])

    /// All of them, and the sums.
    package static let all: [MetricFamily] = {
        let lists =
            lanes.map(\.family) + poolGauges.map(\.family) + poolCounters.map(\.family)
            + WorkerSums.all.map(\.family)
        let delivery = [
            deliveries, retried, putOff, deadLetters, tokensRemoved, tokensSpared, seriesDropped, answers,
            stages,
        ]
        let rest = [
            lag, oldest, sideConnections, goAways, retired, http2Limits, circuit, circuitOpenings,
            routePaused, routesKnown,
            credentialAge, credentialExpiry, credentialFaulty, bearerShared, clockSkew, redisDuration,
        ]
        return delivery + lists + rest
    }()
}
