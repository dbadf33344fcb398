internal import Decisions
internal import EventLoop
internal import Synchronization

/// What the shards of one process share of `peal:control`: one of them reads it, all take it over.
///
/// - Threading: any; readers compare a number first and take the lock only when it changed.
final class ControlBoard: Sendable {
    private struct Content {
        var state = ControlState()
        /// By shard: the version that it obeys.
        var obeyed: [Int: Int64] = [:]
    }

    private let content = Locked(Content())
    /// Grows with every posting; 0 before the first.
    private let stamp = Atomic<UInt64>(0)

    /// The number of the last posting; 0 while nothing is known. Relaxed: the lock orders the content.
    var posting: UInt64 { stamp.load(ordering: .relaxed) }

    /// Counts a shard among those that have to obey.
    func join(shard: Int) { content.withLock { $0.obeyed[shard] = -1 } }

    /// Puts a state up for all shards.
    func post(_ state: ControlState) {
        content.withLock { $0.state = state }
        stamp.add(1, ordering: .relaxed)
    }

    /// The state that was posted last.
    var state: ControlState { content.withLock { $0.state } }

    /// Notes that a shard obeys a version from now on.
    func obey(_ version: Int64, shard: Int) { content.withLock { $0.obeyed[shard] = version } }

    /// The version that every shard obeys; -1 while one knows none.
    var obeyedByAll: Int64 { content.withLock { $0.obeyed.values.min() ?? -1 } }
}
