import Decisions
import Testing

@Suite("Offset tracker") struct OffsetTrackerTests {
    @Test("the commit is the lowest unfinished offset")
    func contiguous() {
        var tracker = OffsetTracker(firstOffset: 100, epoch: 1)
        for offset in Int64(100)..<105 { #expect(tracker.begin(offset) == true) }
        #expect(tracker.committable == 100)
        tracker.finish(102, epoch: 1)
        tracker.finish(101, epoch: 1)
        #expect(tracker.committable == 100)
        tracker.finish(100, epoch: 1)
        #expect(tracker.committable == 103)
        #expect(tracker.inFlight == 2)
        tracker.finish(104, epoch: 1)
        tracker.finish(103, epoch: 1)
        #expect(tracker.committable == 105)
        #expect(tracker.isIdle)
    }

    @Test("a gap counts as finished")
    func gaps() {
        var tracker = OffsetTracker(firstOffset: 0, epoch: 1)
        #expect(tracker.begin(5) == true)
        #expect(tracker.committable == 5)
        #expect(tracker.begin(9) == true)
        #expect(tracker.begin(200) == true)
        #expect(tracker.isFinished(150))
        tracker.finish(5, epoch: 1)
        #expect(tracker.committable == 9)
        tracker.finish(9, epoch: 1)
        #expect(tracker.committable == 200)
        tracker.finish(200, epoch: 1)
        #expect(tracker.committable == 201)
    }

    @Test("a gap larger than the ring waits until nothing is open")
    func hugeGap() {
        var tracker = OffsetTracker(firstOffset: 0, epoch: 1)
        #expect(tracker.begin(0) == true)
        #expect(!tracker.canAccept(1_000_000))
        #expect(tracker.begin(1_000_000) == false)
        tracker.finish(0, epoch: 1)
        #expect(tracker.begin(1_000_000) == true)
        #expect(tracker.committable == 1_000_000)
    }

    @Test("answers of another assignment, of unknown offsets and second answers are ignored")
    func stale() {
        var tracker = OffsetTracker(firstOffset: 10, epoch: 2)
        #expect(tracker.begin(10) == true)
        #expect(tracker.begin(11) == true)
        #expect(tracker.finish(10, epoch: 1) == false)
        #expect(tracker.finish(9, epoch: 2) == false)
        #expect(tracker.finish(12, epoch: 2) == false)
        #expect(tracker.finish(11, epoch: 2) == true)
        #expect(tracker.finish(11, epoch: 2) == false)
        #expect(tracker.finish(10, epoch: 2) == true)
        #expect(tracker.finish(10, epoch: 2) == false)
        #expect(tracker.committable == 12)
        #expect(tracker.inFlight == 0)
    }

    @Test("an offset is begun once")
    func redelivery() {
        var tracker = OffsetTracker(firstOffset: 10, epoch: 2)
        #expect(tracker.begin(10) == true)
        #expect(tracker.begin(10) == false)
        #expect(tracker.begin(3) == false)
        #expect(tracker.begin(11) == true)
        tracker.finish(10, epoch: 2)
        #expect(tracker.begin(10) == false)
    }

    @Test("the ring refuses what lies too far above and goes round")
    func bound() {
        var tracker = OffsetTracker(firstOffset: 7, epoch: 1)
        let last = 7 + OffsetTracker.capacity - 1
        for offset in Int64(7)...last { #expect(tracker.begin(offset) == true) }
        #expect(!tracker.canAccept(last + 1))
        #expect(tracker.begin(last + 1) == false)
        for offset in Int64(8)...last { tracker.finish(offset, epoch: 1) }
        #expect(tracker.committable == 7)
        tracker.finish(7, epoch: 1)
        #expect(tracker.committable == last + 1)
        for offset in (last + 1)...(last + 70_000) {
            #expect(tracker.begin(offset) == true)
            tracker.finish(offset, epoch: 1)
        }
        #expect(tracker.committable == last + 70_001)
    }

    @Test("the highest offset and a negative start do not trap")
    func extremes() {
        var tracker = OffsetTracker(firstOffset: -1001, epoch: 1)
        #expect(tracker.committable == 0)
        #expect(tracker.begin(.max) == false)
        #expect(tracker.begin(.max - 1) == true)
        tracker.finish(.max - 1, epoch: 1)
        #expect(tracker.committable == .max)
        #expect(tracker.begin(-1) == false)
    }

    @Test("finished offsets above the commit are listed")
    func listing() {
        var tracker = OffsetTracker(firstOffset: 60, epoch: 1)
        for offset in Int64(60)..<70 { #expect(tracker.begin(offset) == true) }
        for offset in [Int64(62), 64, 69] { tracker.finish(offset, epoch: 1) }
        var list: [Int64] = []
        tracker.forEachFinishedAboveBase { list.append($0) }
        #expect(list == [62, 64, 69])
    }

    @Test("changed words are given once, aligned to 64, without what is below the commit")
    func changes() {
        var tracker = OffsetTracker(firstOffset: 60, epoch: 1)
        for offset in Int64(60)..<200 { #expect(tracker.begin(offset) == true) }
        for offset in [Int64(62), 64, 130] { tracker.finish(offset, epoch: 1) }
        var words: [Int64: UInt64] = [:]
        tracker.drainChanges { words[$0] = $1 }
        #expect(words == [0: 1 << 62, 64: 1, 128: 1 << 2])
        words = [:]
        tracker.drainChanges { words[$0] = $1 }
        #expect(words.isEmpty)
        tracker.finish(60, epoch: 1)
        tracker.finish(61, epoch: 1)
        tracker.finish(131, epoch: 1)
        tracker.drainChanges { words[$0] = $1 }
        #expect(tracker.committable == 63)
        #expect(words == [128: 0b1100])
    }

    @Test("it agrees with a plain set over random work", arguments: [UInt64(1), 2, 3, 4, 5])
    func model(_ seed: UInt64) {
        var random = Generator(state: seed)
        var tracker = OffsetTracker(firstOffset: Int64(random.next() % 100_000), epoch: 9)
        var open: Set<Int64> = []
        var finished: Set<Int64> = []
        var next = tracker.committable
        for _ in 0..<20_000 {
            if random.next() % 100 < 52 {
                let offset = next + (random.next() % 20 == 0 ? Int64(random.next() % 300) : 0)
                let accepted = tracker.begin(offset)
                #expect(accepted == (open.isEmpty || offset - (open.min() ?? 0) < OffsetTracker.capacity))
                if accepted {
                    finished.formUnion(next..<offset)
                    open.insert(offset)
                    next = offset + 1
                }
            } else if let offset = open.randomElement(using: &random) {
                #expect(tracker.finish(offset, epoch: 9) == true)
                open.remove(offset)
                finished.insert(offset)
            }
            #expect(tracker.committable == open.min() ?? next)
        }
        var listed: Set<Int64> = []
        tracker.forEachFinishedAboveBase { listed.insert($0) }
        #expect(listed == finished.filter { $0 >= tracker.committable })
        #expect(tracker.inFlight == open.count)
    }
}

/// SplitMix64, so that a failure can be repeated.
struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
