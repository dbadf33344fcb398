package import Core

/// Where a job's record lies in the log, with its timestamp.
///
/// Offsets are comparable within one partition and one life of a topic only; the timestamp tells the lives
/// apart.
package struct JobPosition: Sendable, Equatable {
    /// A letter for the lane, for example `n` for normal; jobs of one lane and recipient come in order.
    package var lane: UInt8
    /// A hash of the topic's name, so that positions of another topic aren't compared.
    package var topicHash: UInt16
    /// The partition.
    package var partition: Int32
    /// The offset.
    package var offset: Int64
    /// The record's timestamp, milliseconds since 1970.
    package var timestampMs: Int64

    /// Makes a position.
    @inlinable package init(
        lane: UInt8, topicHash: UInt16, partition: Int32, offset: Int64, timestampMs: Int64
    ) {
        self.lane = lane
        self.topicHash = topicHash
        self.partition = partition
        self.offset = offset
        self.timestampMs = timestampMs
    }

    /// Reads what ``appendIdentity(to:)`` wrote; nil when it isn't one.
    package init?(identity: UnsafeRawBufferPointer, lane: UInt8) {
        let parts = unsafe String(decoding: identity, as: UTF8.self)
            .split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, let partition = Int32(parts[0]), let hash = UInt16(parts[1], radix: 16),
            let offset = Int64(parts[2]), let timestamp = Int64(parts[3])
        else { return nil }
        self.init(
            lane: lane, topicHash: hash, partition: partition, offset: offset, timestampMs: timestamp)
    }

    /// Whether the record was published after the other one: by their offsets where these can be compared,
    /// else by their times.
    package func isNewer(than other: JobPosition) -> Bool {
        guard topicHash == other.topicHash, partition == other.partition else {
            return timestampMs > other.timestampMs
        }
        // A higher offset that is an hour older comes from an earlier life of the topic.
        if offset > other.offset { return timestampMs > other.timestampMs - 3_600_000 }
        return offset < other.offset && timestampMs > other.timestampMs + 3_600_000
    }

    /// The hash of a topic's name.
    package static func hash(topic: String) -> UInt16 { UInt16(truncatingIfNeeded: Hash64.of(text: topic)) }

    /// Appends `<partition>.<topic hash>`.
    @inlinable package func appendPartition(to out: inout ByteBuffer) {
        out.append(decimal: Int64(partition))
        out.append(byte: UInt8(ascii: "."))
        out.append(byte: Hex.digit(UInt8(truncatingIfNeeded: topicHash >> 12)))
        out.append(byte: Hex.digit(UInt8(truncatingIfNeeded: topicHash >> 8)))
        out.append(byte: Hex.digit(UInt8(truncatingIfNeeded: topicHash >> 4)))
        out.append(byte: Hex.digit(UInt8(truncatingIfNeeded: topicHash)))
    }

    /// Appends `<partition>.<topic hash>.<offset>.<timestamp>`: the identity of the record among all records.
    @inlinable package func appendIdentity(to out: inout ByteBuffer) {
        appendPartition(to: &out)
        out.append(byte: UInt8(ascii: "."))
        out.append(decimal: offset)
        out.append(byte: UInt8(ascii: "."))
        out.append(decimal: timestampMs)
    }
}
