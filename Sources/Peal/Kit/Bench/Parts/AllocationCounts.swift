internal import EventLoop

/// The kinds of threads that a worker's allocations are told apart by.
enum AllocationThread: String, CaseIterable, Sendable {
    case lane
    case shard
    /// librdkafka's own.
    case kafka
    /// What belongs to no notification: health, logs, credentials, the main thread.
    case other

    /// - Parameter name: as the kernel has it, such as `lane-normal` or `rdk:broker1`.
    init(threadName name: String) {
        if name.hasPrefix("lane-") {
            self = .lane
        } else if name.hasPrefix("shard-") {
            self = .shard
        } else if name.hasPrefix("rdk:") {
            self = .kafka
        } else {
            self = .other
        }
    }
}

/// Heap allocations, counted since a process began or between two moments.
struct AllocationCounts: Equatable, Sendable {
    /// Calls for a block.
    var all: UInt64 = 0
    /// Those of them that the code of C libraries made itself: all but the program's and Swift's.
    var library: UInt64 = 0
    /// What was asked for.
    var bytes: UInt64 = 0

    static func + (left: Self, right: Self) -> Self {
        Self(
            all: left.all &+ right.all, library: left.library &+ right.library,
            bytes: left.bytes &+ right.bytes)
    }

    static func - (left: Self, right: Self) -> Self {
        Self(
            all: left.all &- right.all, library: left.library &- right.library,
            bytes: left.bytes &- right.bytes)
    }
}

/// Reads the counts of a process that runs with `libpeal-allocations.so` in front of its allocator.
struct AllocationReader {
    /// The file that is the counters' memory.
    let path: String
    /// Where the library is.
    let libraryPath: String

    /// What a process needs in its environment to be counted: one process a file.
    var environment: [String: String] { ["LD_PRELOAD": libraryPath, "PEAL_ALLOCATIONS": path] }

    /// - Parameters:
    ///   - path: a file that doesn't exist yet.
    ///   - programDirectory: where the programs are, and the library beside them.
    /// - Throws: `.program` when there is no library.
    init(path: String, programDirectory: String?) throws(StackFailure) {
        self.path = path
        libraryPath = "\(programDirectory ?? StackOptions.ownDirectory)/libpeal-allocations.so"
        guard Files.exists(libraryPath) else {
            throw StackFailure(.program, "there is no \(libraryPath); build it with 'make build'")
        }
    }

    /// The counts so far by kind of thread. Threads that have ended count as ``AllocationThread/other``.
    /// - Throws: `.files` when the process has not begun to count.
    func counts(of process: Int32) throws(StackFailure) -> [AllocationThread: AllocationCounts] {
        let bytes: [UInt8]
        do throws(SystemFailure) { bytes = try Files.read(path: path) } catch {
            throw StackFailure(.files, "the worker does not count its allocations: \(error)")
        }
        var counts: [AllocationThread: AllocationCounts] = [:]
        for (thread, slot) in Self.slots(bytes) {
            let name = try? Files.readText(path: "/proc/\(process)/task/\(thread)/comm", maxBytes: 64)
            counts[AllocationThread(threadName: name ?? ""), default: .init()] =
                (counts[AllocationThread(threadName: name ?? "")] ?? .init()) + slot
        }
        return counts
    }

    /// The used slots of the file: the kernel's id of the thread, and its counts.
    static func slots(_ bytes: [UInt8]) -> [(thread: Int64, counts: AllocationCounts)] {
        // `struct peal_allocations` of CAllocations.h.
        let slotBytes = 64
        return stride(from: 0, through: bytes.count - slotBytes, by: slotBytes).compactMap { start in
            func word(_ index: Int) -> UInt64 {
                (0..<8).reduce(0) { $0 | UInt64(bytes[start + index * 8 + $1]) << UInt64($1 * 8) }
            }
            let thread = Int64(bitPattern: word(0))
            guard thread != 0 else { return nil }
            return (thread, AllocationCounts(all: word(1), library: word(2), bytes: word(3)))
        }
    }
}
