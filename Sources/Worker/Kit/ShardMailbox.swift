internal import EventLoop

/// Where the lanes leave records for one shard, and what the shard shows of itself.
final class ShardMailbox: Sendable {
    let records: Inbox<RecordBatch>
    let status = Locked(ShardStatus())
    /// Set, then the loop is woken, when the shard shall end.
    let isStopping = Locked(false)

    init(waker: Waker) { records = Inbox(waker: waker) }
}
