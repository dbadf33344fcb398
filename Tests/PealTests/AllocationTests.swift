import Core
import EventLoop
import Glibc
import Testing

@testable import PealKit

/// How often a worker asks for memory: it must not creep up.
@Suite("Allocations", .serialized)
struct AllocationTests {
    private static var isSanitized: Bool {
        dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
    }

    /// Of a debug build, whose generic code allocates where the release build's doesn't: `peal bench
    /// allocations` has the bounds of that one. Runs differ by a tenth or two; one more allocation for each
    /// notification is too much.
    @Test(
        "A warm worker allocates no more for a notification than is known",
        .disabled(if: isSanitized, "sanitizers replace the allocator that is counted"),
        .timeLimit(.minutes(3)))
    func gate() throws {
        var plan = AllocationsPart.Plan()
        plan.warmUp = 6_000
        plan.window = 12_000
        plan.rest = 4_000
        plan.recipients = 2_000
        plan.partitions = 8
        plan.inFlight = 1_000
        let sample = try AllocationsPart.measure(.recipient, plan, try BenchPartsRunTests().options())
        let each = AllocationThread.allCases.map { thread in
            let counts = sample.counts[thread] ?? .init()
            return "\(thread) \(sample.each(counts.all)), of libraries \(sample.each(counts.library))"
        }
        func own(_ thread: AllocationThread) -> Double {
            let counts = sample.counts[thread] ?? .init()
            return sample.each(counts.all - counts.library)
        }
        // librdkafka has two for each record that it reads, for its headers, and one for each that it writes:
        // less means that nothing was counted.
        #expect(sample.each(sample.sum.library) >= 2, "\(each)")
        #expect(sample.each(sample.sum.library) <= 4.5, "\(each)")
        #expect(own(.lane) <= 4.6, "\(each)")
        #expect(own(.shard) <= 34.8, "\(each)")
        #expect(own(.kafka) + own(.other) <= 0.5, "\(each)")
    }

    @Test("Threads are told apart by their names")
    func threads() {
        #expect(AllocationThread(threadName: "lane-normal\n") == .lane)
        #expect(AllocationThread(threadName: "shard-0\n") == .shard)
        #expect(AllocationThread(threadName: "rdk:broker1\n") == .kafka)
        #expect(AllocationThread(threadName: "rdk:main\n") == .kafka)
        #expect(AllocationThread(threadName: "peal-worker\n") == .other)
        #expect(AllocationThread(threadName: "") == .other)
    }

    @Test("The counters' file is read as it is written")
    func slots() {
        func slot(_ words: [UInt64]) -> [UInt8] {
            (words + Array(repeating: 0, count: 8 - words.count)).flatMap { word in
                (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
            }
        }
        let bytes =
            slot([258, 1_000, 10, 1 << 40]) + slot([0, 5]) + slot([UInt64(bitPattern: -1), 7, 7, 7])
        let read = AllocationReader.slots(bytes)
        #expect(read.map(\.thread) == [258, -1])
        #expect(
            read.map(\.counts) == [
                .init(all: 1_000, library: 10, bytes: 1 << 40), .init(all: 7, library: 7, bytes: 7),
            ])
        // A file that was cut off.
        #expect(AllocationReader.slots(Array(bytes.dropLast())).count == 1)
        #expect(AllocationReader.slots([]).isEmpty)
    }

    @Test("Without the library the part says what to do")
    func noLibrary() {
        #expect {
            _ = try AllocationReader(path: "/nowhere/counts", programDirectory: "/nowhere")
        } throws: { error in
            "\(error)".contains("/nowhere/libpeal-allocations.so; build it with 'make build'")
        }
    }

    @Test("The figures are of one notification, and each bound has its target")
    func findings() {
        let counts: [AllocationThread: AllocationCounts] = [
            .lane: .init(all: 2_000, library: 2_000, bytes: 10_000),
            .shard: .init(all: 1_200, library: 1_000, bytes: 100),
            .kafka: .init(all: 1_100, library: 1_090, bytes: 100),
        ]
        let sample = AllocationsPart.Sample(kind: .recipient, notifications: 1_000, counts: counts)
        #expect(abs(sample.all - 4.3) < 1e-9)
        #expect(abs(sample.own - 0.21) < 1e-9)
        let found = AllocationsPart.findings([sample])
        #expect(found.targets.map(\.key) == ["allocations", "allocations_own"])
        #expect(found.targets.map(\.isMet) == [true, false])
        #expect(found.members.map(\.key) == ["allocations", "allocations_own", "allocations_by_thread"])
        #expect(found.members.last?.json.contains("\"shard\":1.200,\"shard_own\":0.200") == true)
    }
}
