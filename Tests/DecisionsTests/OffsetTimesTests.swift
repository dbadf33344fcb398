import Testing

@testable import Decisions

@Suite struct OffsetTimesTests {
    @Test func nothingIsKnownOfNothing() {
        var times = OffsetTimes()
        #expect(times.timestampMs(of: 0) == nil)
        times.note(offset: 5, timestampMs: -1)
        #expect(times.timestampMs(of: 5) == nil)
    }

    @Test func theTimeIsThatOfTheLastMarkAtOrBelow() {
        var times = OffsetTimes()
        times.note(offset: 10, timestampMs: 1_000)
        // Within the gap of a quarter of a second: no mark of its own.
        times.note(offset: 11, timestampMs: 1_249)
        times.note(offset: 12, timestampMs: 1_250)
        times.note(offset: 20, timestampMs: 9_000)
        #expect(times.timestampMs(of: 9) == nil)
        #expect(times.timestampMs(of: 10) == 1_000)
        #expect(times.timestampMs(of: 11) == 1_000)
        #expect(times.timestampMs(of: 12) == 1_250)
        #expect(times.timestampMs(of: 19) == 1_250)
        #expect(times.timestampMs(of: 20) == 9_000)
        #expect(times.timestampMs(of: 900) == 9_000)
    }

    /// A producer may write any time; a lower one makes no mark.
    @Test func timesThatFallMakeNoMarks() {
        var times = OffsetTimes()
        times.note(offset: 1, timestampMs: 10_000)
        times.note(offset: 2, timestampMs: 3)
        #expect(times.timestampMs(of: 2) == 10_000)
    }

    /// However long the window stays open, the marks are few and the answer is off by little.
    @Test func manyRecordsAreThinnedOut() {
        var times = OffsetTimes()
        for offset in Int64(0)..<65_536 { times.note(offset: offset, timestampMs: offset * 1000) }
        for offset in [Int64(0), 1, 777, 30_000, 65_535] {
            let found = times.timestampMs(of: offset) ?? -1
            #expect(found <= offset * 1000)
            // 65,536 s over at least 128 marks.
            #expect(found >= offset * 1000 - 512_000, "\(offset)")
        }
        // What was given up is gone; then the marks lie close again.
        #expect(times.timestampMs(of: 0) == nil)
        times.note(offset: 70_000, timestampMs: 70_000_000)
        times.note(offset: 70_001, timestampMs: 70_000_250)
        #expect(times.timestampMs(of: 70_001) == 70_000_250)
    }
}
