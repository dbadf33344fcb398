internal import Decisions
internal import Registry

/// One assigned partition of a lane: what of it is open, finished and committed.
///
/// - Threading: the lane's.
final class LanePartition {
    /// How far the finished offsets that a predecessor left have been read.
    enum Memory: Equatable {
        /// Nothing was asked yet, or it has to be asked again.
        case unread
        /// So many segments are being read.
        case reading(Int)
        /// Everything is known; records may go to the shards.
        case known
    }

    let number: Int32
    let key: FinishedOffsetsKey
    /// Tells the answers about this assignment from those about earlier ones.
    let serial: UInt64
    var tracker: OffsetTracker
    /// When its records were written.
    var times = OffsetTimes()
    private let firstOffset: Int64
    var finished: FinishedOffsets
    var memory = Memory.unread
    /// The last offset that was handed to a commit; -1 for none.
    var committed: Int64 = -1
    /// Records that wait until ``memory`` is known, in the order of their offsets.
    var pending: RecordBatch?

    init(number: Int32, key: FinishedOffsetsKey, serial: UInt64, firstOffset: Int64, epoch: UInt32) {
        self.number = number
        self.key = key
        self.serial = serial
        self.firstOffset = firstOffset
        tracker = OffsetTracker(firstOffset: firstOffset, epoch: epoch)
        finished = FinishedOffsets(startOffset: firstOffset, startedAtCommit: false)
    }

    /// Takes note of the group's commit as of the assignment, before anything is read or finished. One above
    /// the first record belongs to an earlier life of the topic: it vouches for nothing.
    func start(committed: Int64?) {
        guard let committed, committed >= 0, committed <= firstOffset else { return }
        finished = FinishedOffsets(startOffset: committed, startedAtCommit: true)
    }

    /// When the oldest record was written that is not finished, milliseconds since 1970; nil when all are.
    func oldestMs() -> Int64? {
        tracker.inFlight > 0 ? times.timestampMs(of: tracker.base) : nil
    }

    /// Jobs that the shards have.
    var openJobs: Int { tracker.inFlight - (pending?.entries.count ?? 0) }

    /// The offset to commit; nil when there is nothing new.
    var dueCommit: Int64? {
        let offset = tracker.committable
        return offset > committed && offset > 0 ? offset : nil
    }
}
