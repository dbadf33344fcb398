/// Records by the time at which something is to be done about them: a binary heap.
///
/// An entry whose record is gone stays until its time or the next `rebuild`; the owner recognises it by its
/// generation.
package struct DueHeap: Sendable {
    /// One record's place.
    package struct Entry: Equatable, Sendable {
        package let atMs: Int64
        package let slot: UInt32
        package let generation: UInt32

        package init(atMs: Int64, slot: UInt32, generation: UInt32) {
            self.atMs = atMs
            self.slot = slot
            self.generation = generation
        }
    }

    private var entries: [Entry] = []

    package init() {}

    /// How many entries there are, those of records that are gone included.
    package var count: Int { entries.count }
    /// The earliest time; nil when empty.
    package var nextMs: Int64? { entries.first?.atMs }

    /// Adds an entry.
    package mutating func push(_ entry: Entry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].atMs < entries[parent].atMs else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the earliest entry when its time has come.
    package mutating func pop(nowMs: Int64) -> Entry? {
        guard let first = entries.first, first.atMs <= nowMs else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink(0)
        }
        return first
    }

    /// Keeps only the entries that `isLive` says yes to.
    package mutating func rebuild(_ isLive: (Entry) -> Bool) {
        entries.removeAll { !isLive($0) }
        for index in stride(from: entries.count / 2, through: 0, by: -1) { sink(index) }
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            let left = 2 * parent + 1
            if left < entries.count, entries[left].atMs < entries[least].atMs { least = left }
            if left + 1 < entries.count, entries[left + 1].atMs < entries[least].atMs { least = left + 1 }
            guard least != parent else { return }
            entries.swapAt(least, parent)
            parent = least
        }
    }
}
