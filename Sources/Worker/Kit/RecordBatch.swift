internal import Core

/// Where one record of a batch lies, and where it came from.
struct RecordEntry: BitwiseCopyable {
    var keyAt: UInt32 = 0
    var keyLength: UInt32 = 0
    var valueAt: UInt32 = 0
    /// -1 for a null value.
    var valueLength: Int32 = -1
    var headersAt: UInt32 = 0
    var headersLength: UInt32 = 0
    var partition: Int32 = 0
    var offset: Int64 = 0
    /// The record's timestamp, milliseconds since 1970; -1 without one. Never above ``latestMs``.
    var timestampMs: Int64 = -1
    /// The end of the year 9999. A producer may write any 64-bit number as a time; below this one, sums of
    /// times can't overflow.
    static let latestMs: Int64 = 253_402_300_799_999
    /// The hash of the key: which shard, and which recipient's queue.
    var keyHash: UInt64 = 0
}

/// A run of records copied out of Kafka's buffers into one piece of memory, on its way from a lane to a
/// shard.
///
/// The lane fills it and lets go of it when it hands it over; after that the shard alone reads it, and keeps
/// it for as long as one of its jobs is open.
/// - Threading: one thread at a time. The hand-over through an ``Inbox`` orders the accesses, which is what
///   makes the unchecked conformance true.
@safe
final class RecordBatch: @unchecked Sendable {
    /// Readable bytes past every value, which the JSON reader asks for.
    static let padding = 64
    /// The most bytes of memory that a batch of ordinary records takes.
    static let capacityMax = 1 << 16

    /// The lane's index.
    let lane: Int
    /// The lane's assignment that the records belong to.
    let epoch: UInt32
    private(set) var entries: [RecordEntry] = []
    private var memory: ByteBuffer
    /// Jobs of this batch that are not finished; the shard's own count.
    var openJobs = 0

    init(lane: Int, epoch: UInt32, capacity: Int) {
        self.lane = lane
        self.epoch = epoch
        memory = ByteBuffer(capacity: capacity + Self.padding)
        entries.reserveCapacity(min(256, max(4, capacity / 256)))
    }

    /// Bytes held.
    var byteCount: Int { memory.count }

    /// Whether it should go to its shard: another record might need more memory.
    var isFull: Bool { memory.count > Self.capacityMax - (4 << 10) }

    /// The memory for a batch that is about as large as one with so many bytes. Batches live for as long as
    /// their slowest job, so they come in a few sizes only: what one leaves behind fits another.
    static func capacity(for bytes: Int) -> Int {
        var capacity = 1 << 10
        while capacity < bytes, capacity < capacityMax { capacity *= 2 }
        return capacity
    }

    /// Copies one record in. `headers` appends the record's headers in the form that ``RecordHeaders`` reads.
    func add(
        _ template: RecordEntry, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?,
        headers: (inout ByteBuffer) -> Void
    ) {
        var entry = template
        entry.keyAt = UInt32(truncatingIfNeeded: memory.count)
        entry.keyLength = UInt32(truncatingIfNeeded: key.count)
        unsafe memory.append(key)
        if let value = unsafe value {
            entry.valueAt = UInt32(truncatingIfNeeded: memory.count)
            entry.valueLength = Int32(clamping: value.count)
            unsafe memory.append(value)
        }
        entry.headersAt = UInt32(truncatingIfNeeded: memory.count)
        headers(&memory)
        entry.headersLength = UInt32(truncatingIfNeeded: memory.count) - entry.headersAt
        entries.append(entry)
    }

    /// Makes the padding after the last value readable. Call once, before the hand-over.
    func seal() { memory.reserve(Self.padding) }

    /// A record's key.
    func key(_ entry: RecordEntry) -> UnsafeRawBufferPointer {
        unsafe slice(entry.keyAt, Int(entry.keyLength))
    }

    /// A record's value; nil for a null value.
    func value(_ entry: RecordEntry) -> UnsafeRawBufferPointer? {
        entry.valueLength < 0 ? nil : unsafe slice(entry.valueAt, Int(entry.valueLength))
    }

    /// A record's headers in packed form.
    func headers(_ entry: RecordEntry) -> RecordHeaders {
        unsafe RecordHeaders(packed: slice(entry.headersAt, Int(entry.headersLength)))
    }

    private func slice(_ at: UInt32, _ length: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: memory.bytes[Int(at)..<Int(at) + length])
    }
}

/// A record's headers in one run of bytes: for each, two lengths of two bytes, then the name and the value.
///
/// - Valid: as long as the bytes it was made over.
@safe
struct RecordHeaders {
    private let packed: UnsafeRawBufferPointer

    init(packed: UnsafeRawBufferPointer) { unsafe self.packed = packed }

    var isEmpty: Bool { unsafe packed.isEmpty }
    /// The packed form itself.
    var bytes: UnsafeRawBufferPointer { unsafe packed }

    /// Appends one header in packed form; one that is too long to count is left out.
    static func pack(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, into buffer: inout ByteBuffer
    ) {
        guard name.count <= 0xFFFF, value.count <= 0xFFFF else { return }
        for length in [name.count, value.count] {
            buffer.append(byte: UInt8(length >> 8))
            buffer.append(byte: UInt8(length & 255))
        }
        unsafe buffer.append(name)
        unsafe buffer.append(value)
    }

    /// Calls `body` with each name and value.
    func forEach(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        var at = 0
        while unsafe at + 4 <= packed.count {
            let nameLength = unsafe Int(packed[at]) << 8 | Int(packed[at + 1])
            let valueLength = unsafe Int(packed[at + 2]) << 8 | Int(packed[at + 3])
            at += 4
            guard unsafe at + nameLength + valueLength <= packed.count else { return }
            let name = unsafe UnsafeRawBufferPointer(rebasing: packed[at..<at + nameLength])
            let value = unsafe UnsafeRawBufferPointer(
                rebasing: packed[at + nameLength..<at + nameLength + valueLength])
            unsafe body(name, value)
            at += nameLength + valueLength
        }
    }

    /// The last value under that name; nil when there is none.
    func value(_ wanted: StaticString) -> UnsafeRawBufferPointer? {
        var found: UnsafeRawBufferPointer?
        let name = unsafe UnsafeRawBufferPointer(start: wanted.utf8Start, count: wanted.utf8CodeUnitCount)
        unsafe forEach { candidate, value in
            if candidate.count == name.count, unsafe candidate.elementsEqual(name) { unsafe found = value }
        }
        return unsafe found
    }
}
