/// About when the records of one partition were written: marks of offset and time, so thin that they cost a
/// comparison a record and a few kilobytes a partition.
///
/// - Threading: one owner.
package struct OffsetTimes: Sendable {
    /// Marks that are kept; with more, every other one goes and the gap between new ones doubles.
    package static let marksMax = 256
    private static let firstGapMs: Int64 = 250

    private struct Mark {
        var offset: Int64
        var timestampMs: Int64
    }

    /// By rising offset; at least one as soon as there was a record.
    private var marks: [Mark] = []
    private var gapMs = Self.firstGapMs

    /// No records yet.
    package init() {}

    /// Notes a record; offsets rise. A time below 0 is none.
    package mutating func note(offset: Int64, timestampMs: Int64) {
        guard timestampMs >= 0 else { return }
        if let last = marks.last, timestampMs < last.timestampMs + gapMs { return }
        if marks.count >= Self.marksMax { thin() }
        marks.append(Mark(offset: offset, timestampMs: timestampMs))
    }

    /// When the record at the offset was written, at most a gap too early; nil when nothing is known of it.
    /// Forgets what lies below it.
    package mutating func timestampMs(of offset: Int64) -> Int64? {
        guard let above = marks.firstIndex(where: { $0.offset > offset }) else {
            if marks.count > 1 { marks.removeFirst(marks.count - 1) }
            settle()
            return marks.last?.timestampMs
        }
        guard above > 0 else { return nil }
        if above > 1 { marks.removeFirst(above - 1) }
        settle()
        return marks.first?.timestampMs
    }

    /// With few marks left they may lie close again.
    private mutating func settle() {
        if marks.count < Self.marksMax / 8 { gapMs = Self.firstGapMs }
    }

    private mutating func thin() {
        marks = marks.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        gapMs = min(gapMs * 2, 3_600_000)
    }
}
