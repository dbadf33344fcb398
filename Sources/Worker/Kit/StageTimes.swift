internal import Core

/// How long jobs took for each part of their way, by lane, in milliseconds.
struct StageTimes: Sendable {
    /// A part of the way.
    enum Stage: Int, CaseIterable {
        /// From the record's time to its being read.
        case queue
        /// From there until the devices are known: the recipient's other jobs, room, Redis.
        case admit
        /// From the request to the provider's answer.
        case provider
        /// From the first publication to the provider's acceptance.
        case total

        /// The label.
        var name: String { "\(self)" }
    }

    /// By lane, then by stage; there are three lanes.
    private var buckets = InlineArray<12, TimeBuckets>(repeating: TimeBuckets())

    /// Counts a time.
    @inline(__always)
    mutating func record(_ stage: Stage, lane: Int8, ms: Int64) {
        buckets[Int(lane) * 4 + stage.rawValue].record(ms: ms)
    }

    /// The times of one stage and lane; of a lane that there isn't, none.
    func times(_ stage: Stage, lane: Int) -> TimeBuckets {
        let place = lane * 4 + stage.rawValue
        return buckets.indices.contains(place) ? buckets[place] : TimeBuckets()
    }
}
