internal import Decisions

/// One partition of one of the stage's topics, while this process owns it.
struct ExpandPartition {
    /// How far the open offsets may span before the partition is paused: a paused broadcast may hold the
    /// lowest one for long. The rest is for what is on its way.
    static let spanPause = OffsetTracker.capacity / 2
    /// Where reading goes on.
    static let spanResume = OffsetTracker.capacity / 4

    var isOwned = false
    var epoch: UInt32 = 0
    var tracker = OffsetTracker(firstOffset: 0, epoch: 0)
    /// Whether anything was read in this assignment.
    var hasBegun = false
    /// What was last committed; -1 for nothing.
    var committed: Int64 = -1
    /// Whether it is paused because its open offsets span too far.
    var isPausedForSpan = false

    /// A new assignment begins.
    mutating func take(epoch: UInt32) {
        self = ExpandPartition()
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
