internal import Core
internal import HTTPServer
internal import Registry

/// Makes a worker's line in `peal:pods` out of its reports: what counts since the start becomes what happened
/// lately.
struct PodMemory {
    private var latency = RecentHistogram()
    private var ended = RecentRate()

    /// The line at the report's time. `startedMs` is in ms since 1970; `control` is the version of the kill
    /// switch that is obeyed.
    mutating func line(of report: WorkerReport, startedMs: Int64, control: Int64) -> [UInt8] {
        let facts = report.podFacts
        let recent = latency.take(facts.latency, nowMs: report.nowMs)
        var line = PodLine(role: "worker", startedMs: startedMs, ready: report.readiness.sentence)
        line.set("lanes", facts.lanes.map { $0.name })
        line.set("in_flight", facts.lanes.reduce(Int64(0)) { $0 + Int64($1.inFlight) })
        line.set("lag", facts.lanes.reduce(Int64(0)) { $0 + $1.lag })
        line.set("lag_by_lane", facts.lanes.map { ($0.name, $0.lag) })
        line.set("oldest_ms", facts.lanes.map { ($0.name, $0.oldestMs) })
        line.set("rate", tenths: ended.take(facts.ended, nowMs: report.nowMs))
        line.set("p50_ms", Int64(clamping: recent.quantile(0.5)))
        line.set("p99_ms", Int64(clamping: recent.quantile(0.99)))
        line.set("connections", facts.connections)
        line.set("streams", facts.streams)
        line.set("circuits", facts.circuits)
        line.set("paused", facts.lanes.filter { $0.isPaused }.map { $0.name })
        line.set("faults", facts.faults)
        line.set("redis", facts.redis)
        line.set("control", control)
        return line.end()
    }
}

/// What a worker's line in `peal:pods` tells of it.
struct PodFacts {
    var lanes: [(name: String, inFlight: Int, lag: Int64, oldestMs: Int64, isPaused: Bool)] = []
    /// Deliveries that ended, or left for a retry topic, since the start.
    var ended: UInt64 = 0
    var latency = Histogram()
    var connections: Int64 = 0
    var streams: Int64 = 0
    var circuits: [String] = []
    var faults: [String] = []
    var redis = ""
}
