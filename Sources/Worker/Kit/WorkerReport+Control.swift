internal import Core

/// The metrics of what holds deliveries back on purpose.
extension WorkerReport {
    func appendControl(_ out: inout ByteBuffer) {
        single(
            &out, "peal_control_version", "gauge", "The version of the kill switch that every shard obeys.",
            UInt64(max(0, shards.map(\.controlVersion).min() ?? 0)))
        single(
            &out, "peal_control_entries", "gauge", "What is paused or cancelled for this worker's apps.",
            UInt64(shards.map(\.controlEntries).max() ?? 0))
        single(
            &out, "peal_jobs_paused_total", "counter", "Jobs kept back by a pause, each time they came.",
            sum { $0.jobsPaused })
        single(
            &out, "peal_deliveries_paused_total", "counter",
            "Deliveries kept back by a pause, each time they came.", sum { $0.deliveriesPaused })
        single(
            &out, "peal_circuit_waits_total", "counter",
            "Jobs and deliveries that waited because their provider is left alone.", sum { $0.circuitWaits })
        single(
            &out, "peal_share_waits_total", "counter",
            "Jobs and deliveries that left because their app or provider is stuck at its share.",
            sum { $0.shareWaits })
        single(
            &out, "peal_tokens_suspect", "gauge", "Refused tokens that are removed within seconds.",
            sum { UInt64($0.suspects) })
        single(
            &out, "peal_tokens_spared_total", "counter",
            "Refused tokens that are kept because too many were refused at once.", sum { $0.tokensSpared })
        single(
            &out, "peal_apps_stuck", "gauge", "Apps that fill their share of a shard and hardly move.",
            sum { UInt64($0.stuckApps) })
    }
}
