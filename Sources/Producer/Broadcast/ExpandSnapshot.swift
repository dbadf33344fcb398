internal import Core

/// What the broadcast stage did and holds, at a moment. Counters since the start.
package struct ExpandSnapshot: Sendable, Equatable {
    /// Jobs in the bulk lane, acknowledged by the broker; repeated ones count again.
    package var recipients: UInt64 = 0
    /// Broadcasts whose parts were published.
    package var planned: UInt64 = 0
    /// Records of broadcasts that were known already.
    package var repeatedPlans: UInt64 = 0
    /// Parts that were finished, and records of parts that had been or were under way.
    package var partsDone: UInt64 = 0
    package var repeatedParts: UInt64 = 0
    /// Records that went to the dead topic.
    package var dead: UInt64 = 0
    /// Records that the broker refused and that were produced again.
    package var produceFailures: UInt64 = 0
    /// Questions that Redis did not answer and that were asked again.
    package var redisFailures: UInt64 = 0
    /// Commits that failed for another reason than a rebalance.
    package var commitFailures: UInt64 = 0
    /// Parts in memory, and those of them that an operator holds back.
    package var parts = 0
    package var partsPaused = 0
    /// Recipients in memory.
    package var loaded = 0
    /// Records produced and not acknowledged yet.
    package var inFlight = 0
    /// Records of both topics that were not read yet, in the partitions of this process.
    package var unread: Int64 = 0
    /// Partitions that this process owns.
    package var partitions = 0
    /// Whether the group has been joined.
    package var isMember = false
    /// Whether Redis answers, and why not.
    package var isRedisReady = false
    package var redisFailure = ""
    /// Whether it is known what an operator holds back: nothing is expanded before.
    package var isControlKnown = false
    /// The version of `peal:control` that is obeyed; -1 when none is known.
    package var controlVersion: Int64 = -1
    /// When the thread last went round, in monotonic ms.
    package var tickMs: UInt64 = 0

    /// A stage that did nothing yet.
    package init() {}
}

extension ExpandSnapshot {
    /// One JSON object for tools.
    package func json() -> [UInt8] {
        var out = ByteBuffer(capacity: 512)
        out.append(text: "{\"recipients\":\(recipients),\"planned\":\(planned),\"parts_done\":\(partsDone)")
        out.append(text: ",\"parts\":\(parts),\"parts_paused\":\(partsPaused),\"loaded\":\(loaded)")
        out.append(text: ",\"in_flight\":\(inFlight),\"unread\":\(unread),\"partitions\":\(partitions)")
        out.append(text: ",\"dead\":\(dead),\"control_version\":\(controlVersion)")
        out.append(text: ",\"redis_ready\":\(isRedisReady)}\n")
        return out.array
    }
}
