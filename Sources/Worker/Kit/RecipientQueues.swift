/// Which job of a recipient is being worked on, and which wait behind it, in the order they were published.
///
/// An open-addressing table from a key's hash (mixed with the lane) to the first and last job of its queue;
/// the jobs themselves are linked through ``JobSlot/next``. Two keys with the same 64-bit hash merely wait
/// for each other.
/// - Cost: O(1) a call, no allocation below the capacity.
struct RecipientQueues {
    private struct Entry {
        var hash: UInt64 = 0
        var last: Int32 = -1
    }

    private var table: [Entry]
    private var mask: Int
    /// Recipients that have an open job.
    private(set) var count = 0

    init(capacity: Int) {
        var size = 1024
        while size < capacity * 2 { size *= 2 }
        table = Array(repeating: Entry(), count: size)
        mask = size - 1
    }

    /// Puts a job behind the others of its key.
    /// - Returns: the job that was last until now, or -1 when this one is the first and can go on.
    mutating func append(hash: UInt64, job: Int32) -> Int32 {
        if (count + 1) * 4 > table.count * 3 { grow() }
        var index = Int(truncatingIfNeeded: hash) & mask
        while table[index].last >= 0 {
            if table[index].hash == hash {
                let previous = table[index].last
                table[index].last = job
                return previous
            }
            index = (index + 1) & mask
        }
        table[index] = Entry(hash: hash, last: job)
        count += 1
        return -1
    }

    /// Makes `last` the last job of a key that has some.
    mutating func truncate(hash: UInt64, last: Int32) {
        var index = Int(truncatingIfNeeded: hash) & mask
        while table[index].last >= 0 {
            if table[index].hash == hash {
                table[index].last = last
                return
            }
            index = (index + 1) & mask
        }
    }

    /// Takes the first job of a key out; `next` is the one linked behind it, -1 for none.
    mutating func removeFirst(hash: UInt64, next: Int32) {
        guard next < 0 else { return }
        var index = Int(truncatingIfNeeded: hash) & mask
        while table[index].last >= 0 {
            if table[index].hash == hash {
                removeEntry(at: index)
                return
            }
            index = (index + 1) & mask
        }
    }

    /// Closes the gap that a removed entry would leave in the probe sequence.
    private mutating func removeEntry(at start: Int) {
        count -= 1
        var hole = start
        var index = (start + 1) & mask
        while table[index].last >= 0 {
            let home = Int(truncatingIfNeeded: table[index].hash) & mask
            if (index - home) & mask >= (index - hole) & mask {
                table[hole] = table[index]
                hole = index
            }
            index = (index + 1) & mask
        }
        table[hole] = Entry()
    }

    private mutating func grow() {
        let old = table
        table = Array(repeating: Entry(), count: old.count * 2)
        mask = table.count - 1
        for entry in old where entry.last >= 0 {
            var index = Int(truncatingIfNeeded: entry.hash) & mask
            while table[index].last >= 0 { index = (index + 1) & mask }
            table[index] = entry
        }
    }
}
