internal import EventLoop
internal import Synchronization

/// The directory in force, which a reload replaces while the shards work.
///
/// - Threading: any thread. A shard compares ``version`` once a tick and takes a snapshot only when it
///   changed.
package final class LiveDirectory: Sendable {
    private let state: Locked<ProviderDirectory>
    private let counter = Atomic<UInt32>(1)
    private let proven: Locked<Set<Int32>> = Locked([])

    /// Starts with a directory.
    package init(_ directory: ProviderDirectory) { state = Locked(directory) }

    /// Changes with every replacement.
    package var version: UInt32 { counter.load(ordering: .relaxed) }

    /// The directory of now.
    package func snapshot() -> ProviderDirectory { state.withLock { $0 } }

    /// Puts another in force.
    func replace(_ directory: ProviderDirectory) {
        state.withLock { $0 = directory }
        counter.wrappingAdd(1, ordering: .relaxed)
    }

    /// Says that the provider accepted a request by a route that took another's place.
    package func proved(_ route: Int32) { proven.withLock { _ = $0.insert(route) } }

    func isProven(_ route: Int32) -> Bool { proven.withLock { $0.contains(route) } }
}
