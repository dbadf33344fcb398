/// Which offsets of one partition are finished, and up to where that can be committed.
///
/// ```
///   base (the lowest unfinished offset)              next (the lowest offset not seen yet)
///    |  begun, some of them finished                  |
///    +------------------------------------------------+
///      at most `capacity` offsets
/// ```
///
/// Offsets may have gaps (compaction, transaction markers); a gap counts as finished. The bits live in a ring
/// that is allocated once; nothing is allocated per offset.
///
/// - Threading: one owner.
/// - Cost: `begin` and `finish` are O(1) amortised.
package struct OffsetTracker: Sendable {
    /// How many offsets may lie between the lowest unfinished and the highest begun: 8 KiB of bits a
    /// partition.
    package static let capacity: Int64 = 65_536
    private static let wordCount = Int(capacity / 64)

    /// One bit an offset of `base..<next`: finished. All other bits are 0.
    private var words: [UInt64]
    /// One bit a word: changed since `drainChanges`.
    private var changed: [UInt64]
    /// The assignment this tracker belongs to; answers to an older one are ignored.
    package let epoch: UInt32
    /// The lowest unfinished offset: what can be committed (Kafka commits the next offset to read).
    package private(set) var base: Int64
    /// The lowest offset that was not begun.
    package private(set) var next: Int64
    /// Offsets begun and not finished.
    package private(set) var inFlight = 0

    /// Starts a new assignment at the offset where reading starts; a negative one is taken as 0.
    package init(firstOffset: Int64, epoch: UInt32) {
        words = [UInt64](repeating: 0, count: Self.wordCount)
        changed = [UInt64](repeating: 0, count: Self.wordCount / 64)
        base = max(0, firstOffset)
        next = base
        self.epoch = epoch
    }

    /// The offset to commit: everything below it is finished.
    package var committable: Int64 { base }
    /// Whether everything begun is finished.
    package var isIdle: Bool { base == next }
    /// How many offsets the ring spans now.
    package var span: Int64 { next - base }

    /// Whether `begin(offset)` would be accepted for a new offset.
    package func canAccept(_ offset: Int64) -> Bool { offset >= next && offset - base < Self.capacity }

    /// Notes that work on the offset starts; offsets that were skipped since the last one count as finished.
    /// - Returns: false when the offset was begun before (redelivered within the assignment) or lies too far
    ///   above the lowest unfinished one; the caller then drops the record, or pauses the partition and gives
    ///   it again later.
    package mutating func begin(_ offset: Int64) -> Bool {
        guard offset >= next, offset < Int64.max else { return false }
        if inFlight == 0 {
            // Nothing is open, so whatever was skipped is finished, however far the jump.
            base = offset
            next = offset + 1
            inFlight = 1
            return true
        }
        guard offset - base < Self.capacity else { return false }
        var gap = next
        while gap < offset {
            set(gap)
            gap += 1
        }
        next = offset + 1
        inFlight += 1
        return true
    }

    /// Notes that the offset has its outcome.
    /// - Returns: false when it is unknown, finished before, or of another assignment.
    @discardableResult
    package mutating func finish(_ offset: Int64, epoch: UInt32) -> Bool {
        guard epoch == self.epoch, offset >= base, offset < next, !isSet(offset) else { return false }
        inFlight -= 1
        if offset == base {
            // The usual case, in order: no bit needs to be set and cleared again.
            base += 1
            if base < next, isSet(base) { advance() }
        } else {
            set(offset)
        }
        return true
    }

    /// Whether the offset is finished; false for one that was not begun.
    package func isFinished(_ offset: Int64) -> Bool {
        offset < base || (offset < next && isSet(offset))
    }

    /// Calls `body` with each finished offset above the committable one, in order.
    package func forEachFinishedAboveBase(_ body: (Int64) -> Void) {
        var offset = base
        while offset < next {
            if isSet(offset) { body(offset) }
            offset += 1
        }
    }

    /// Calls `body` with each word of bits that changed since the last call and still lies above the
    /// committable offset: the word's first offset (a multiple of 64) and its bits, lowest offset in the
    /// lowest bit.
    package mutating func drainChanges(_ body: (_ firstOffset: Int64, _ bits: UInt64) -> Void) {
        for group in changed.indices where changed[group] != 0 {
            var bits = changed[group]
            changed[group] = 0
            while bits != 0 {
                let index = group * 64 + bits.trailingZeroBitCount
                bits &= bits - 1
                guard words[index] != 0 else { continue }
                body(firstOffset(ofWord: index), words[index])
            }
        }
    }

    private func firstOffset(ofWord index: Int) -> Int64 {
        let start = base & ~63
        let behind = (Int64(index) - (start >> 6)) & Int64(Self.wordCount - 1)
        return start + behind << 6
    }

    private mutating func advance() {
        while base < next {
            let index = Int(base >> 6) & (Self.wordCount - 1)
            let shift = UInt64(base & 63)
            let run = Int64((~(words[index] >> shift)).trailingZeroBitCount)
            let step = min(run, 64 - Int64(shift), next - base)
            guard step > 0 else { return }
            words[index] &= ~(Self.mask(step) << shift)
            base += step
        }
    }

    private static func mask(_ bits: Int64) -> UInt64 { bits >= 64 ? .max : (1 << UInt64(bits)) - 1 }

    private func isSet(_ offset: Int64) -> Bool {
        words[Int(offset >> 6) & (Self.wordCount - 1)] & (1 << UInt64(offset & 63)) != 0
    }

    private mutating func set(_ offset: Int64) {
        let index = Int(offset >> 6) & (Self.wordCount - 1)
        words[index] |= 1 << UInt64(offset & 63)
        changed[index >> 6] |= 1 << UInt64(index & 63)
    }
}
