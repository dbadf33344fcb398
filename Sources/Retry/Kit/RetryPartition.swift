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
    /// Whether it is paused because its open offsets span too far.
    var isPausedForSpan = false

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
