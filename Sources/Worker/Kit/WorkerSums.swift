internal import Metrics
internal import Providers
internal import Redis

/// The families without labels: each a sum over the shards, or what the process knows once.
enum WorkerSums {
    typealias Row = (family: MetricFamily, value: @Sendable (WorkerReport) -> UInt64)

    static let all: [Row] = jobs + limits + control + redis + credentials

    private static func counter(
        _ name: String, _ help: String, _ value: @escaping @Sendable (ShardStatus) -> UInt64
    ) -> Row { (.counter(name, help, by: [.worker]), { $0.sum(value) }) }

    private static func gauge(
        _ name: String, _ help: String, _ value: @escaping @Sendable (ShardStatus) -> Int
    ) -> Row { (.gauge(name, help, by: [.worker]), { $0.sum { UInt64(clamping: value($0)) } }) }

    private static let jobs: [Row] = [
        counter("peal_jobs_finished_total", "Jobs done with.") { $0.jobsFinished },
        gauge("peal_jobs_open", "Jobs in the shards.") { $0.jobs },
        gauge("peal_deliveries_open", "Deliveries in the shards.") { $0.deliveries },
        gauge("peal_records_unsent", "Records that Kafka had no room for.") { $0.unsentRecords },
        counter("peal_broadcasts_total", "Jobs handed to the broadcast stage.") { $0.broadcasts },
        counter("peal_resends_total", "Immediate resends.") { $0.resends },
        counter("peal_environment_probes_total", "Tokens that APNs' other environment was asked about.") {
            $0.probes
        },
        counter("peal_environments_corrected_total", "Devices whose APNs environment was corrected.") {
            $0.environmentsCorrected
        },
        counter(
            "peal_quarantined_total",
            "Deliveries to tokens refused lately, sent by connections of their own."
        ) { $0.quarantined },
        counter(
            "peal_screened_total", "Deliveries to tokens never accepted, sent by connections of their own."
        ) { $0.screened },
        counter("peal_headers_dropped_total", "Record headers that did not fit.") { $0.headersDropped },
        counter("peal_duplicate_hops_total", "Second copies of retry hops.") { $0.duplicateHops },
        gauge("peal_tokens_suspect", "Refused tokens that are removed within seconds.") { $0.suspects },
        gauge("peal_apps_stuck", "Apps that fill their share of a shard and hardly move.") { $0.stuckApps },
    ]

    private static let limits: [Row] = [
        counter("peal_cap_waits_total", "Jobs put off by a recipient's cap.") { $0.capWaits },
        counter("peal_quiet_waits_total", "Jobs put off by quiet hours.") { $0.quietWaits },
        counter("peal_duplicate_waits_total", "Jobs put off by another one with their dedup key or id.") {
            $0.duplicateWaits
        },
        counter("peal_quota_questions_total", "Leases of provider quotas asked of Redis.") {
            $0.quotaQuestions
        },
        counter("peal_quota_tokens_total", "Tokens of provider quotas leased.") { $0.quotaTokens },
        counter("peal_quota_waits_total", "Deliveries that waited for a token in memory.") { $0.quotaWaits },
        counter("peal_quota_put_off_total", "Deliveries that a quota sent to a retry topic.") {
            $0.quotaPutOffs
        },
        counter("peal_quota_refusals_total", "Refusals by a provider for its quota.") { $0.quotaRefusals },
        gauge("peal_quota_waiting", "Deliveries that wait for a token in memory.") { $0.quotaWaiting },
    ]

    private static let control: [Row] = [
        (
            .gauge("peal_kafka_away", "Whether a lane can't reach Kafka.", by: [.worker]),
            { $0.isKafkaAway ? 1 : 0 }
        ),
        (
            .gauge(
                "peal_control_version", "The version of the kill switch that every shard obeys.",
                by: [.worker]), { UInt64(clamping: $0.shards.map(\.controlVersion).min() ?? 0) }
        ),
        (
            .gauge(
                "peal_control_entries", "What is paused or cancelled for this worker's apps.", by: [.worker]),
            { UInt64(clamping: $0.shards.map(\.controlEntries).max() ?? 0) }
        ),
        counter("peal_jobs_paused_total", "Jobs kept back by a pause, each time they came.") {
            $0.jobsPaused
        },
        counter("peal_deliveries_paused_total", "Deliveries kept back by a pause, each time they came.") {
            $0.deliveriesPaused
        },
        counter(
            "peal_circuit_waits_total",
            "Jobs and deliveries that waited because their provider is left alone."
        ) { $0.circuitWaits },
        counter(
            "peal_share_waits_total",
            "Jobs and deliveries that left because their app or provider is stuck at its share."
        ) { $0.shareWaits },
    ]

    private static let redis: [Row] = [
        gauge("peal_redis_ready", "Shards with a Redis connection.") { $0.isRedisReady ? 1 : 0 },
        gauge("peal_redis_shards", "Shards that want one.") { _ in 1 },
        counter("peal_redis_scripts_total", "Admissions and claims asked of Redis.") { $0.redisScripts },
        counter("peal_redis_commands_total", "Commands given to Redis.") { $0.redis.commands },
        counter("peal_redis_errors_total", "Error replies of Redis.") { $0.redis.errorReplies },
        counter("peal_redis_timeouts_total", "Deadlines that Redis missed.") { $0.redis.timeouts },
        counter("peal_redis_refused_total", "Commands not taken: no connection, or a bound was reached.") {
            $0.redis.refusedUnavailable &+ $0.redis.refusedInFlight &+ $0.redis.refusedBuffer
        },
        counter("peal_redis_connects_total", "Connections to Redis that were ready.") { $0.redis.connects },
        counter("peal_redis_connect_failures_total", "Attempts to connect that failed.") {
            $0.redis.connectFailures
        },
        counter("peal_redis_disconnects_total", "Ready connections to Redis that were lost.") {
            $0.redis.disconnects
        },
        counter("peal_redis_script_reloads_total", "Scripts that Redis had forgotten.") {
            $0.redis.scriptReloads
        },
        counter("peal_redis_moved_total", "Commands sent on after MOVED.") { $0.redis.moved },
        counter("peal_redis_asked_total", "Commands sent on after ASK.") { $0.redis.asked },
        counter("peal_redis_slot_maps_total", "Slot maps of the cluster taken over.") { $0.redis.slotMaps },
        counter("peal_redis_held_total", "Times that a job was held because of Redis.") { $0.redisHeld },
    ]

    private static let credentials: [Row] = [
        (
            .counter(
                "peal_bearers_minted_total", "Provider tokens signed or traded here.", by: [.worker]),
            { $0.credentials.minted }
        ),
        (
            .counter(
                "peal_bearers_adopted_total", "Provider tokens taken over from other pods.", by: [.worker]),
            { $0.credentials.adopted }
        ),
        (
            .counter(
                "peal_bearer_fallbacks_total",
                "Provider tokens made for this pod alone because Redis could not be used.", by: [.worker]),
            { $0.credentials.fallbacks }
        ),
        (
            .counter(
                "peal_credential_rotations_total", "Reloads that put a changed credential in force.",
                by: [.worker]), { $0.reloads.rotations }
        ),
        (
            .counter(
                "peal_credential_reload_failures_total",
                "Reloads refused because a file could not be used.", by: [.worker]), { $0.reloads.failures }
        ),
        (
            .gauge(
                "peal_credential_reload_failed", "Whether the last reload was refused.", by: [.worker]),
            { $0.reloads.failure.isEmpty ? 0 : 1 }
        ),
        (
            .gauge(
                "peal_uploaded_credentials_unusable",
                "Apps whose uploaded credentials can't be used as they are stored.", by: [.worker]),
            { UInt64($0.reloads.uploads.count) }
        ),
        counter(
            "peal_rotation_fallbacks_total",
            "Deliveries sent by an old credential because the new one was refused."
        ) { $0.rotationFallbacks },
    ]
}
