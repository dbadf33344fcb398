import HTTP2

/// An answer that waits.
struct DelayedAnswer {
    var dueMs: UInt64
    var order: UInt64
    var answer: Answer
    var stream: Int32
    var id: RequestID
    var rule: FaultRule?
    var connection: HTTP2ServerConnection
    var state: ConnectionState
}

/// The answers that wait, earliest first; answers due at once keep their order.
///
/// A binary heap: with one delay for all, each insertion ends where it begins.
struct DelayQueue {
    private var heap: [DelayedAnswer] = []
    private var order: UInt64 = 0

    var count: Int { heap.count }
    /// When the earliest is due, or nil.
    var nextDueMs: UInt64? { heap.first?.dueMs }

    private static func precedes(_ a: DelayedAnswer, _ b: DelayedAnswer) -> Bool {
        (a.dueMs, a.order) < (b.dueMs, b.order)
    }

    mutating func push(_ entry: DelayedAnswer) {
        var entry = entry
        entry.order = order
        order += 1
        heap.append(entry)
        var child = heap.count - 1
        while child > 0, Self.precedes(heap[child], heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Takes the earliest if it is due.
    mutating func pop(nowMs: UInt64) -> DelayedAnswer? {
        guard let first = heap.first, first.dueMs <= nowMs, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && Self.precedes(heap[child], heap[least]) { least = child }
            if least == parent { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    /// Forgets what waits on a connection that is gone.
    mutating func remove(connection: HTTP2ServerConnection) {
        guard heap.contains(where: { $0.connection === connection }) else { return }
        heap.removeAll { $0.connection === connection }
        heap.sort(by: Self.precedes)
    }
}
