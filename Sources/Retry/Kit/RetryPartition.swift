import Decisions

/// One partition of a tier's topic, while this process owns it.
struct RetryPartition {
    /// How far the open offsets may span before the partition is paused: the rest is for what is on its way.
    static let spanPause = OffsetTracker.capacity * 3 / 4
    /// Where reading goes on.
    static let spanResume = OffsetTracker.capacity / 2

    var isOwned = false
    var epoch: UInt32 = 0
    var tracker = OffsetTracker(firstOffset: 0, epoch: 0)
    /// Whether anything was read in this assignment.
    var hasBegun = false
    /// What was last committed; -1 for nothing.
    var committed: Int64 = -1
    /// The highest finished offset; -1 for none.
    var highestFinished: Int64 = -1
    /// Records whose offsets can't be tracked yet, in order.
    var untracked: [Int] = []
    /// Whether it is paused because too many of its records are open, or their offsets span too far.
    var isPausedForSpan = false

    /// Whether reading is to be paused.
    func isFull(recordsMax: Int) -> Bool {
        !untracked.isEmpty || tracker.span >= Self.spanPause || tracker.inFlight >= recordsMax
    }

    /// Whether there is room enough to read on.
    func hasRoom(recordsMax: Int) -> Bool {
        untracked.isEmpty && tracker.span <= Self.spanResume && tracker.inFlight <= recordsMax / 2
    }

    /// A new assignment begins.
    mutating func take(epoch: UInt32) {
        self = RetryPartition()
        isOwned = true
        self.epoch = epoch
        tracker = OffsetTracker(firstOffset: 0, epoch: epoch)
    }

    /// The offset to commit now; nil when nothing changed.
    var commitDue: Int64? {
        isOwned && hasBegun && tracker.committable > committed && tracker.committable > 0
            ? tracker.committable : nil
    }
}
