internal import Core
internal import Decisions
internal import Overview

/// `peal top --json`.
enum TopJSON {
    /// The whole overview in short, with the findings.
    static func object(_ overview: Overview, _ findings: [Finding]) -> JSONObject {
        var out = JSONObject()
        out.set("now_ms", overview.nowMs)
        out.set("good", !findings.contains { $0.severity >= .warning })
        out.set("findings", .array(findings.map(\.json)))
        out.set("rate", number(overview.rate))
        out.set("lanes", lanes(overview).value)
        out.set(
            "apps",
            .array(
                overview.apps.map { app in
                    var object = counts(app.recent)
                    object.set("app", app.name)
                    return object.value
                }))
        let recent = overview.sum(lastMinutes: Overview.appMinutes)
        var all = counts(recent)
        var reasons = JSONObject()
        for (reason, count) in recent.reasons.sorted(by: { $0.key < $1.key }) { reasons.set(reason, count) }
        all.set("reasons", reasons.value)
        for (name, fraction) in [("p50_ms", 0.5), ("p99_ms", 0.99)] {
            all.set(name, recent.latencyMs(fraction: fraction).map(number) ?? .null)
        }
        out.set("recent", all.value)
        out.set("recent_minutes", Overview.appMinutes)
        var tiers = JSONObject()
        for (tier, depth) in overview.retryDepth.sorted(by: { $0.key < $1.key }) { tiers.set(tier, depth) }
        out.set("retry", tiers.value)
        out.set("pods", .array(overview.pods.map { pod($0, overview.nowMs).value }))
        out.set(
            "minutes",
            .array(
                overview.minutes.map { minute in
                    var object = JSONObject()
                    object.set("start_ms", minute.startMs)
                    object.set("ended", minute.counts.deliveries)
                    object.set("accepted", minute.counts[.accepted])
                    return object.value
                }))
        out.set("notes", .array(overview.notes.map { .string($0) }))
        return out
    }

    /// That nothing can be read.
    static func object(failure: String) -> JSONObject {
        var out = JSONObject()
        out.set("good", false)
        out.set("findings", .array([Finding.unreadable(failure).json]))
        return out
    }

    private static func number(_ value: Double) -> JSONValue {
        guard value.isFinite, value.magnitude < 1e15 else { return .null }
        return .number("\((value * 10).rounded() / 10)")
    }

    private static func lanes(_ overview: Overview) -> JSONObject {
        var lanes = JSONObject()
        let lags = overview.lagByLane
        let ages = overview.oldestMsByLane
        for name in Set(lags.keys).union(ages.keys).sorted() {
            var lane = JSONObject()
            lane.set("lag", lags[name] ?? 0)
            lane.set("oldest_ms", ages[name] ?? 0)
            lanes.set(name, lane.value)
        }
        return lanes
    }

    private static func counts(_ counts: Overview.Counts) -> JSONObject {
        var out = JSONObject()
        out.set("ended", counts.deliveries)
        let fields: [Overview.Counts.Field] = [
            .accepted, .failed, .retried, .invalidToken, .rejected, .dead,
        ]
        for field in fields { out.set(field.name, counts[field]) }
        return out
    }

    private static func pod(_ pod: Overview.Pod, _ nowMs: Int64) -> JSONObject {
        var out = JSONObject()
        out.set("pod", pod.name)
        out.set("role", pod.role)
        out.set("alive", pod.isAlive(nowMs: nowMs))
        out.set("beat_ms", pod.beatMs)
        out.set("ready", pod.ready)
        out.set("rss_bytes", pod.rssBytes)
        if case .worker(let facts) = pod.detail {
            out.set("rate", number(facts.rate))
            out.set("in_flight", facts.inFlight)
            out.set("lag", facts.lag)
            out.set("p99_ms", facts.p99Ms)
            out.set("circuits", .array(facts.circuits.map { .string($0) }))
        }
        return out
    }
}
