package import Core

/// How an app drops second jobs of one id: within a window, in buckets of so many ids.
package struct JobIDWindow: Sendable, Equatable, BitwiseCopyable {
    /// Milliseconds within which a second job is dropped; 0 for never. It may be recognised for up to twice
    /// as long.
    package var windowMs: Int64 = 0
    /// Buckets of one window.
    package var buckets: UInt64 = 1

    /// The ids of a bucket on average. Redis stores a hash of at most 128 entries as one piece of memory;
    /// with 80 on average practically no bucket has more.
    package static let idsPerBucket: UInt64 = 80

    /// Never drops anything.
    package init() {}

    /// Drops second jobs within the window; `expected` jobs a window give 16 bytes or less a job.
    package init(windowMs: Int64, expected: Int64) {
        self.windowMs = max(0, windowMs)
        buckets = max(1, UInt64(clamping: expected) / Self.idsPerBucket)
    }
}

/// A job's id among the jobs of its app, and the record that claims it.
///
/// The id is kept as 48 bits of a hash in one of many buckets, so that two ids are taken for one with a
/// probability of about one in 2^60 for each pair.
package struct JobIDClaim: Sendable, Equatable {
    /// The bucket's number.
    package let bucket: UInt64
    /// The window that the job was published in, counted from 1970.
    package let slice: Int64
    /// When the bucket goes, milliseconds since 1970.
    package let expiresMs: Int64
    /// The claiming record: 1...2^31-1.
    package let tag: UInt32
    private let field: UInt64

    /// Makes a claim. `keyHash` is a hash of the record's key, since the same id under another recipient is
    /// another job; `origin` the position that the job first had, and `publishedMs` when it was first
    /// published, milliseconds since 1970.
    package init(
        id: UnsafeRawBufferPointer, keyHash: UInt64, origin: JobPosition, publishedMs: Int64,
        window: JobIDWindow
    ) {
        let hash = unsafe Hash64.mix(Hash64.of(id), keyHash | 1)
        field = hash & 0xFFFF_FFFF_FFFF
        bucket = Hash64.mix(hash, 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: window.buckets).high
        let length = max(1, window.windowMs)
        slice = publishedMs / length
        // Until the end of the next window; the rest makes up for clocks that differ.
        expiresMs = (slice + 2) * length + 60_000
        let place = Hash64.mix(
            UInt64(bitPattern: origin.offset),
            UInt64(bitPattern: Int64(origin.partition)) << 16 ^ UInt64(origin.topicHash))
        let record = Hash64.mix(place ^ 0xA076_1D64_78BD_642F, UInt64(bitPattern: origin.timestampMs))
        tag = UInt32(truncatingIfNeeded: record >> 33) | 1
    }

    /// Appends the six bytes that stand for the id.
    package func appendField(to out: inout ByteBuffer) {
        for shift in stride(from: 0 as UInt64, to: 48, by: 8) {
            out.append(byte: UInt8(truncatingIfNeeded: field >> shift))
        }
    }
}

/// What the registry says about a job's id.
package enum IDVerdict: Int64, Sendable, CaseIterable {
    /// New, or claimed by this very record.
    case proceed = 0
    /// A job with this id has been delivered.
    case done = 1
    /// Another record with this id is under way.
    case inProgress = 2
}
