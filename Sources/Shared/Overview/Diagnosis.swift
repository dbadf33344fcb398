internal import Registry

/// Finds out what is wrong from overviews: the causes rather than their symptoms, the worst first.
///
/// A value without I/O or a clock. One overview is enough; with several, taken one after the other, it also
/// knows what grows and since when.
package struct Diagnosis: Sendable {
    /// From when on something is worth a finding.
    package struct Limits: Sendable {
        /// The age of the oldest unfinished job of a lane, in ms.
        package var oldestMs: [String: Int64] = ["urgent": 10_000, "normal": 60_000, "bulk": 600_000]
        /// The same for a lane that this version does not know.
        package var oldestOtherMs: Int64 = 60_000
        /// Jobs in the bulk lane.
        package var bulkJobs: Int64 = 1000
        /// Deliveries of one kind in ``recentMinutes`` minutes before their share counts.
        package var answersMin: Int64 = 20
        /// Minutes that are looked at together.
        package var recentMinutes = 3
        /// How late a retry pod may hand records back, in ms.
        package var retryLateMs: Int64 = 10_000
        /// Records in the retry topics.
        package var retryRecords: Int64 = 10_000
        /// How far a pod's clock may be ahead of Redis', in ms.
        package var clockAheadMs: Int64 = 5000
        /// How long a pod may take to join its consumer groups, in ms.
        package var joinMs: Int64 = 60_000
        /// How long the line of a pod that is gone for good is worth a warning, in ms.
        package var goneMs: Int64 = 3_600_000
        /// How long a broadcast may stand still, in ms.
        package var broadcastMs: Int64 = 120_000

        package init() {}
    }

    /// The most findings that one call gives.
    package static let findingsMax = 60

    let limits: Limits
    private(set) var history = DiagnosisHistory()
    private var since: [Key: Int64] = [:]

    private struct Key: Hashable {
        let cause: Finding.Cause
        let subject: Finding.Subject
    }

    /// Knows nothing yet.
    package init(limits: Limits = Limits()) { self.limits = limits }

    /// What one overview says by itself.
    package static func findings(in overview: Overview) -> [Finding] {
        var diagnosis = Diagnosis()
        return diagnosis.take(overview)
    }

    /// Takes the next overview and gives what is wrong, the worst first; empty when all is well.
    package mutating func take(_ overview: Overview) -> [Finding] {
        history.take(overview)
        var findings = PodRules(overview, limits, history).findings
        findings += ProviderRules(overview, limits).findings
        BacklogRules(overview, limits, history).add(to: &findings)
        findings.sort(by: Self.isBefore)
        findings.removeSubrange(min(findings.count, Self.findingsMax)...)
        remember(&findings, overview.nowMs)
        return findings
    }

    private static func isBefore(_ one: Finding, _ other: Finding) -> Bool {
        if one.severity != other.severity { return one.severity > other.severity }
        if one.cause != other.cause { return place(one.cause) < place(other.cause) }
        return one.subject.name < other.subject.name
    }

    private static func place(_ cause: Finding.Cause) -> Int {
        Finding.Cause.allCases.firstIndex(of: cause) ?? 0
    }

    /// Fills in when each was first found, where nothing says it better.
    private mutating func remember(_ findings: inout [Finding], _ nowMs: Int64) {
        let isFirst = history.isFirst
        var known: [Key: Int64] = [:]
        for place in findings.indices {
            let key = Key(cause: findings[place].cause, subject: findings[place].subject)
            if let told = findings[place].sinceMs {
                known[key] = min(told, since[key] ?? told)
            } else if let before = since[key] {
                known[key] = before
                findings[place].sinceMs = before < 0 ? nil : before
                continue
            } else {
                // What was there at the first look began some time before.
                known[key] = isFirst ? -1 : nowMs
            }
            if findings[place].sinceMs == nil { findings[place].sinceMs = isFirst ? nil : nowMs }
        }
        since = known
    }
}

/// What former overviews said, as far as it tells what moves.
struct DiagnosisHistory: Sendable {
    /// How far it goes back, in ms, and how many samples it keeps at most.
    static let spanMs: Int64 = 180_000
    static let samplesMax = 400
    /// How long something has to be watched before it counts as growing or standing still, in ms.
    static let watchMs: Int64 = 15_000

    struct Sample: Sendable {
        var atMs: Int64
        var lag: [String: Int64]
    }

    /// How far a broadcast had got, and when it last moved.
    struct Progress: Sendable {
        var recipients: Int64
        var parts: Int
        var atMs: Int64
    }

    private(set) var samples: [Sample] = []
    private(set) var progress: [Finding.Subject: Progress] = [:]
    /// By pod: its last beat, and the beat before that was another one.
    private(set) var beats: [String: (last: Int64, movedAtMs: Int64?)] = [:]

    /// Whether only one overview was seen.
    var isFirst: Bool { samples.count <= 1 }

    mutating func take(_ overview: Overview) {
        let now = overview.nowMs
        // Redis' clock was set back, or it is another server: what was seen says nothing any more.
        if let last = samples.last, now < last.atMs { self = DiagnosisHistory() }
        samples.append(Sample(atMs: now, lag: overview.lagByLane))
        samples.removeAll { now - $0.atMs > Self.spanMs }
        if samples.count > Self.samplesMax { samples.removeFirst(samples.count - Self.samplesMax) }
        var moved: [Finding.Subject: Progress] = [:]
        for cast in overview.broadcasts where cast.status.finishedMs == nil {
            let key = Finding.Subject.broadcast(app: cast.app, id: cast.id)
            let known = progress[key]
            let stands =
                known?.recipients == cast.status.recipients && known?.parts == cast.status.partsDone
                && cast.status.state != .paused
            moved[key] = Progress(
                recipients: cast.status.recipients, parts: cast.status.partsDone,
                atMs: stands ? known?.atMs ?? now : now)
        }
        progress = moved
        var known: [String: (last: Int64, movedAtMs: Int64?)] = [:]
        for pod in overview.pods {
            guard let before = beats[pod.name] else {
                known[pod.name] = (pod.beatMs, nil)
                continue
            }
            known[pod.name] = (pod.beatMs, before.last != pod.beatMs ? now : before.movedAtMs)
        }
        beats = known
    }

    /// How many jobs of a lane there were some time ago, and how long ago that was; nil when nobody watched.
    func before(lane: String) -> (lag: Int64, agoMs: Int64)? {
        guard let last = samples.last, let first = samples.first, last.atMs - first.atMs >= Self.watchMs
        else { return nil }
        return (first.lag[lane] ?? 0, last.atMs - first.atMs)
    }

    /// Whether a pod was seen to beat although its line looks old: its clock is wrong.
    func isBeating(_ pod: Overview.Pod, nowMs: Int64) -> Bool {
        guard let at = beats[pod.name]?.movedAtMs else { return false }
        return nowMs - at < Overview.Pod.aliveMs
    }
}
