internal import Core
internal import Decisions
internal import Kafka

/// The record that a letter's job goes out with.
///
/// A replay isn't a second job: what was counted stays counted, and devices that have had the push don't get
/// it again. So the record looks like one that comes back from a retry topic, with an origin of its own. A
/// second copy of it, after a crash or by a second operator, is known by that origin, and dropped.
struct ReplayRecord: Equatable {
    /// The topic that it goes to.
    var topic: String
    var headers: [CopiedRecord.Header]

    /// The partition in an origin that stands for a replay; lower ones are those of a repeated replay.
    static let partition: Int32 = -2
    private static let offsetBits: Int64 = 40

    /// What a replay is called that isn't the first of its letter, by when it began.
    static func run(startedMs: Int64) -> Int32 { Int32(truncatingIfNeeded: startedMs / 1000 % 1_000_000_000) }

    /// Makes the record. `run` is nil for the first replay, else `run(startedMs:)`; `schedule` tells where a
    /// job waits whose time is still to come.
    init(
        _ letter: DeadLetter, _ job: ReplayJob, names: TopicNames, schedule: RetrySchedule, run: Int32?,
        nowMs: Int64
    ) {
        let lane = letter.lane(names) ?? names.jobs(lane: "normal")
        topic = lane
        headers = []
        func add(_ name: StaticString, _ value: String) {
            headers.append(.init(name: "\(name)", value: Array(value.utf8)))
        }
        let number = Int64(letter.place.partition) << Self.offsetBits | letter.place.offset
        let partition = run.map { Self.partition - 1 - $0 } ?? Self.partition
        add(PealHeader.origin, "\(lane)/\(partition)/\(number)")
        let isCounted = letter.wasAdmitted && !job.isBroadcast
        add(PealHeader.attempt, isCounted ? "1" : "0")
        if isCounted { add(PealHeader.waits, "1") }
        // The ttl counts from the first publication; the age that jobs without one may reach begins anew.
        if job.hasTTL { add(PealHeader.firstMs, "\(letter.firstMs)") }
        if let devices = letter.devices { add(PealHeader.devices, devices) }
        if job.sendAtMs > nowMs {
            topic = names.retry(tier: schedule.tiers[schedule.tier(forWaitMs: job.sendAtMs - nowMs)].name)
            add(PealHeader.dueMs, "\(job.sendAtMs)")
        }
        headers += letter.record.headers.filter { !$0.name.hasPrefix("peal-") }
    }

    /// The letter that an origin stands for; nil when it isn't that of a replay.
    static func letter(ofOrigin origin: String) -> DeadLetter.Place? {
        let parts = origin.split(separator: "/")
        guard parts.count == 3, let partition = Int32(parts[1]), partition <= Self.partition,
            let number = Int64(parts[2]), number >= 0
        else { return nil }
        return DeadLetter.Place(
            partition: Int32(truncatingIfNeeded: number >> offsetBits),
            offset: number & (1 << offsetBits - 1))
    }
}
