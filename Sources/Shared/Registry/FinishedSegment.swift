internal import Core
internal import Redis

/// One segment of ``FinishedOffsets``.
struct FinishedSegment {
    /// What is known about the bits that a predecessor left.
    private enum Inheritance {
        case none
        /// They count when the record at the lowest offset carries the timestamp. Nothing is written
        /// meanwhile: a lower offset of ours would vouch for bits that nobody has checked.
        case unproven
        case proven
    }

    private static let bytes = Int(FinishedOffsets.segmentSize / 8)
    private static let blockBytes = 64

    let number: Int64
    private var own = [UInt8](repeating: 0, count: bytes)
    private var inherited: [UInt8] = []
    private var inheritance = Inheritance.none
    private var inheritedLowest: Int64 = 0
    private var inheritedTimestampMs: Int64 = 0
    private var ownLowest: Int64?
    private var ownTimestampMs: Int64 = 0
    /// One bit for each 64 bytes of `own` that Redis doesn't have.
    private var dirty: (UInt64, UInt64) = (0, 0)
    private var isHeaderDirty = false
    private var needsWhole = true
    private var needsDeletion = false

    init(number: Int64) { self.number = number }

    private var first: Int64 { number * FinishedOffsets.segmentSize }

    private func index(_ offset: Int64) -> Int? {
        let index = offset - first
        return index >= 0 && index < FinishedOffsets.segmentSize ? Int(index) : nil
    }

    private static func isSet(_ bits: [UInt8], _ index: Int) -> Bool {
        index / 8 < bits.count && bits[index / 8] & (0x80 >> UInt8(index % 8)) != 0
    }

    // MARK: What a predecessor left

    mutating func load(_ value: UnsafeRawBufferPointer, startOffset: Int64, startedAtCommit: Bool) {
        guard value.count > FinishedOffsets.headerBytes,
            value.count <= FinishedOffsets.headerBytes + Self.bytes
        else {
            needsDeletion = true
            return
        }
        inheritedLowest = unsafe Int64(littleEndian: value.loadUnaligned(as: Int64.self))
        inheritedTimestampMs = unsafe Int64(
            littleEndian: value.loadUnaligned(fromByteOffset: 8, as: Int64.self))
        inherited = unsafe Array(value.dropFirst(FinishedOffsets.headerBytes))
        guard let index = index(inheritedLowest), Self.isSet(inherited, index) else {
            void()
            return
        }
        if inheritedLowest >= startOffset {
            inheritance = .unproven
        } else if startedAtCommit {
            inheritance = .proven
        } else {
            void()
        }
    }

    private mutating func void() {
        inherited = []
        inheritance = .none
        needsWhole = true
        needsDeletion = ownLowest == nil
    }

    mutating func wasFinished(_ offset: Int64, _ timestampMs: Int64) -> Bool {
        if inheritance == .unproven, offset >= inheritedLowest {
            if offset == inheritedLowest, timestampMs == inheritedTimestampMs {
                inheritance = .proven
            } else {
                void()
            }
        }
        guard inheritance == .proven, let index = index(offset) else { return false }
        return Self.isSet(inherited, index)
    }

    // MARK: What we finish

    mutating func finish(_ offset: Int64, _ timestampMs: Int64) {
        guard let index = index(offset) else { return }
        own[index / 8] |= 0x80 >> UInt8(index % 8)
        needsDeletion = false
        let block = index / 8 / Self.blockBytes
        if block < 64 { dirty.0 |= 1 << UInt64(block) } else { dirty.1 |= 1 << UInt64(block - 64) }
        if ownLowest.map({ offset < $0 }) ?? true {
            ownLowest = offset
            ownTimestampMs = timestampMs
            isHeaderDirty = true
        }
    }

    mutating func rewrite() {
        if ownLowest != nil { needsWhole = true }
        if ownLowest == nil, inheritance == .none { needsDeletion = true }
    }

    // MARK: Writing

    private var hasDirtyBlocks: Bool { dirty.0 != 0 || dirty.1 != 0 }

    var hasWrites: Bool {
        if inheritance == .unproven { return false }
        if needsDeletion { return true }
        return ownLowest != nil && (needsWhole || isHeaderDirty || hasDirtyBlocks)
    }

    mutating func encodeNextWrite(of key: FinishedOffsetsKey, into out: inout RedisCommandBuffer) {
        if needsDeletion {
            needsDeletion = false
            out.begin(2)
            out.argument("DEL")
            out.argument { key.append(number, to: &$0) }
        } else if needsWhole {
            encodeWhole(key, &out)
        } else if isHeaderDirty {
            isHeaderDirty = false
            encodeRange(key, &out, at: 0) { appendHeader(to: &$0) }
        } else {
            encodeDirtyRun(key, &out)
        }
    }

    private func encodeRange(
        _ key: FinishedOffsetsKey, _ out: inout RedisCommandBuffer, at offset: Int,
        _ build: (inout ByteBuffer) -> Void
    ) {
        out.begin(4)
        out.argument("SETRANGE")
        out.argument { key.append(number, to: &$0) }
        out.argument(decimal: Int64(offset))
        out.argument(build: build)
    }

    private mutating func encodeWhole(_ key: FinishedOffsetsKey, _ out: inout RedisCommandBuffer) {
        out.begin(5)
        out.argument("SET")
        out.argument { key.append(number, to: &$0) }
        out.argument {
            appendHeader(to: &$0)
            appendBits(0..<Self.bytes, to: &$0)
        }
        out.argument("EX")
        out.argument(decimal: FinishedOffsets.keepSeconds)
        needsWhole = false
        isHeaderDirty = false
        dirty = (0, 0)
    }

    private func isDirty(_ block: Int) -> Bool {
        block < 64 ? dirty.0 >> UInt64(block) & 1 != 0 : dirty.1 >> UInt64(block - 64) & 1 != 0
    }

    private mutating func encodeDirtyRun(_ key: FinishedOffsetsKey, _ out: inout RedisCommandBuffer) {
        let blocks = Self.bytes / Self.blockBytes
        let from = dirty.0 != 0 ? dirty.0.trailingZeroBitCount : 64 + dirty.1.trailingZeroBitCount
        var end = min(from, blocks)
        while end < blocks, isDirty(end) {
            if end < 64 { dirty.0 &= ~(1 << UInt64(end)) } else { dirty.1 &= ~(1 << UInt64(end - 64)) }
            end += 1
        }
        let range = from * Self.blockBytes..<end * Self.blockBytes
        encodeRange(key, &out, at: FinishedOffsets.headerBytes + range.lowerBound) {
            appendBits(range, to: &$0)
        }
    }

    /// The lowest offset, ours or a proven predecessor's.
    private func appendHeader(to out: inout ByteBuffer) {
        var lowest = ownLowest ?? inheritedLowest
        var timestamp = ownLowest == nil ? inheritedTimestampMs : ownTimestampMs
        if inheritance == .proven, inheritedLowest < lowest {
            lowest = inheritedLowest
            timestamp = inheritedTimestampMs
        }
        for value in [lowest, timestamp] {
            for shift in 0..<8 { out.append(byte: UInt8(truncatingIfNeeded: value >> Int64(shift * 8))) }
        }
    }

    private func appendBits(_ range: Range<Int>, to out: inout ByteBuffer) {
        for index in range {
            let before = inheritance == .proven && index < inherited.count ? inherited[index] : 0
            out.append(byte: own[index] | before)
        }
    }
}
