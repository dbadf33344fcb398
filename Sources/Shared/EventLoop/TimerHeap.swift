/// A scheduled timer.
package struct TimerID: Sendable, Equatable {
    let slot: UInt32
    let generation: UInt32
}

/// A binary heap of timers by due time, then by order of scheduling. Cancelling is O(1): the slot is marked
/// and skipped.
struct TimerHeap {
    struct Due {
        let tag: UInt64
        let handler: any TimerHandler
    }

    private struct Node {
        var atMs: UInt64
        var sequence: UInt64
        var slot: UInt32
    }

    private struct Slot {
        var generation: UInt32 = 0
        var tag: UInt64 = 0
        var handler: (any TimerHandler)?
    }

    private var heap: [Node] = []
    private var slots: [Slot] = []
    private var free: [UInt32] = []
    private var sequence: UInt64 = 0

    /// Timers that are neither fired nor cancelled.
    var activeCount: Int { slots.count - free.count - cancelledCount }
    private var cancelledCount = 0

    /// When the earliest timer is due.
    var nextDueMs: UInt64? {
        mutating get {
            dropCancelled()
            return heap.first?.atMs
        }
    }

    mutating func add(atMs: UInt64, tag: UInt64, handler: any TimerHandler) -> TimerID {
        let slot: UInt32
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = UInt32(slots.count)
            slots.append(Slot())
        }
        slots[Int(slot)].tag = tag
        slots[Int(slot)].handler = handler
        sequence &+= 1
        heap.append(Node(atMs: atMs, sequence: sequence, slot: slot))
        siftUp(heap.count - 1)
        return TimerID(slot: slot, generation: slots[Int(slot)].generation)
    }

    mutating func cancel(_ id: TimerID) {
        let index = Int(id.slot)
        guard index < slots.count, slots[index].generation == id.generation, slots[index].handler != nil
        else { return }
        slots[index].handler = nil
        cancelledCount += 1
    }

    mutating func popDue(nowMs: UInt64) -> Due? {
        dropCancelled()
        guard let first = heap.first, first.atMs <= nowMs else { return nil }
        let slot = slots[Int(first.slot)]
        removeFirst()
        guard let handler = slot.handler else { return nil }
        return Due(tag: slot.tag, handler: handler)
    }

    private mutating func dropCancelled() {
        while let first = heap.first, slots[Int(first.slot)].handler == nil {
            cancelledCount -= 1
            removeFirst()
        }
    }

    private mutating func removeFirst() {
        let slot = heap[0].slot
        slots[Int(slot)].handler = nil
        slots[Int(slot)].generation &+= 1
        free.append(slot)
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        siftDown(0)
    }

    private func isBefore(_ a: Node, _ b: Node) -> Bool {
        a.atMs != b.atMs ? a.atMs < b.atMs : a.sequence < b.sequence
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard isBefore(heap[child], heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if isBefore(heap[child], heap[least]) { least = child }
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
