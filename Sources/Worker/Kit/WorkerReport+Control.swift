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
    }
}
