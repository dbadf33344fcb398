internal import Core
package import Redis

/// The offsets of a partition that are finished above the committed one, mirrored in Redis within
/// milliseconds, so that a successor skips them after a crash.
///
/// In Redis it is one string for each 65,536 offsets, `peal:done:<group>:<topic>:<partition>:<segment>`:
/// ```
/// 0   lowest finished offset of the segment, 8 bytes, little-endian
/// 8   timestamp of the record at that offset, milliseconds since 1970, 8 bytes, little-endian
/// 16  one bit an offset, the highest bit of a byte first: GETBIT key (128 + offset % 65536)
/// ```
/// Offsets mean something within one life of the topic only. What a predecessor left counts when the record
/// at its lowest offset carries the stored timestamp, or when that offset lies below a committed one, since
/// nobody commits past it without having compared. Otherwise it is void and gets overwritten.
///
/// No I/O: the owner reads the segments of ``segmentsToLoad`` before it takes the first record, asks about
/// each record in order, tells what finished, and sends what ``encodeNextWrite(of:into:)`` gives until
/// ``hasWrites`` is false. After a failed write it calls ``rewrite()``; also once an hour, which keeps the
/// keys from expiring.
/// - Cost: 8 KiB a segment, two or three segments; no allocation a record.
package struct FinishedOffsets {
    /// Offsets a segment.
    package static let segmentSize: Int64 = 65_536
    /// Seconds that a segment is kept after its last rewriting.
    package static let keepSeconds: Int64 = 7 * 86_400
    static let headerBytes = 16
    static let maximumSegments = 4

    private let startOffset: Int64
    private let startedAtCommit: Bool
    private var segments: [FinishedSegment] = []
    private var deletions: [Int64] = []

    /// Makes the mirror of a partition that is read from `startOffset` on.
    ///
    /// `startedAtCommit` says whether the group had committed that offset; it is false when the group had
    /// none and begins at an end of the log.
    package init(startOffset: Int64, startedAtCommit: Bool) {
        self.startOffset = max(0, startOffset)
        self.startedAtCommit = startedAtCommit
    }

    /// The segments to read with ``encodeRead(segment:of:into:)`` and to hand to ``load(segment:_:)``.
    package var segmentsToLoad: [Int64] {
        let first = startOffset / Self.segmentSize
        return [first, first + 1]
    }

    /// Takes what a predecessor left; an empty value is no segment. A value that isn't one is overwritten
    /// later.
    package mutating func load(segment number: Int64, _ value: UnsafeRawBufferPointer) {
        guard unsafe !value.isEmpty, find(number) == nil else { return }
        var segment = FinishedSegment(number: number)
        unsafe segment.load(value, startOffset: startOffset, startedAtCommit: startedAtCommit)
        segments.append(segment)
    }

    /// Whether the record had been finished by a predecessor. Asked once for each record, in the order of
    /// offsets.
    package mutating func wasFinished(offset: Int64, timestampMs: Int64) -> Bool {
        guard offset >= 0, let index = find(offset / Self.segmentSize) else { return false }
        return segments[index].wasFinished(offset, timestampMs)
    }

    /// Notes that the record is finished.
    package mutating func finish(offset: Int64, timestampMs: Int64) {
        guard offset >= startOffset else { return }
        let number = offset / Self.segmentSize
        if let index = find(number) {
            segments[index].finish(offset, timestampMs)
            return
        }
        // Offsets in flight span one segment, so more than a few mean that nobody commits; they are only a
        // help.
        guard segments.count < Self.maximumSegments else { return }
        var segment = FinishedSegment(number: number)
        segment.finish(offset, timestampMs)
        segments.append(segment)
    }

    /// Notes that everything below `offset` is committed: whole segments below it go.
    package mutating func committed(_ offset: Int64) {
        let number = offset / Self.segmentSize
        guard segments.contains(where: { $0.number < number }) else { return }
        deletions += segments.filter { $0.number < number }.map(\.number)
        segments.removeAll { $0.number < number }
    }

    /// Whether there is something to send.
    package var hasWrites: Bool { !deletions.isEmpty || segments.contains { $0.hasWrites } }

    /// Sends everything again, because a write may have been lost or the keys grow old.
    package mutating func rewrite() {
        for index in segments.indices { segments[index].rewrite() }
    }

    private func find(_ number: Int64) -> Int? { segments.firstIndex { $0.number == number } }
}

/// The name of a partition in the keys of its finished offsets.
package struct FinishedOffsetsKey: Sendable, Equatable {
    /// The key up to the segment's number.
    let prefix: [UInt8]

    /// Makes the key of a partition as one consumer group sees it.
    package init(group: String, topic: String, partition: Int32) {
        prefix = Array("peal:done:\(group):\(topic):\(partition):".utf8)
    }

    func append(_ segment: Int64, to out: inout ByteBuffer) {
        out.append(array: prefix)
        out.append(decimal: segment)
    }
}

extension FinishedOffsets {
    /// Appends the command that reads a segment; its reply goes to ``load(segment:_:)``.
    package static func encodeRead(
        segment: Int64, of key: FinishedOffsetsKey, into out: inout RedisCommandBuffer
    ) {
        out.begin(2)
        out.argument("GET")
        out.argument { key.append(segment, to: &$0) }
    }

    /// Appends one command and takes it off; call it only while ``hasWrites``.
    package mutating func encodeNextWrite(of key: FinishedOffsetsKey, into out: inout RedisCommandBuffer) {
        if let number = deletions.popLast() {
            out.begin(2)
            out.argument("DEL")
            out.argument { key.append(number, to: &$0) }
            return
        }
        guard let index = segments.firstIndex(where: { $0.hasWrites }) else { return }
        segments[index].encodeNextWrite(of: key, into: &out)
    }
}
