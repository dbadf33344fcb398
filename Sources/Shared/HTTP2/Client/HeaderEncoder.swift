internal import Glibc

/// Where a header block is being written. The caller has made room for all of it.
@safe
struct BlockCursor {
    private(set) var at: UnsafeMutablePointer<UInt8>

    init(_ at: UnsafeMutablePointer<UInt8>) { unsafe self.at = unsafe at }

    /// Bytes that an integer or a string's length takes at most; lengths stay below 2^31.
    static let integerMax = 6

    /// An integer behind a pattern of high bits (RFC 7541 section 5.1).
    @inline(__always)
    mutating func integer(_ value: Int, bits: Int, pattern: UInt8) {
        let limit = (1 << bits) - 1
        if value < limit {
            unsafe at[0] = pattern | UInt8(truncatingIfNeeded: value)
            unsafe at += 1
        } else {
            longInteger(value, limit, pattern)
        }
    }

    private mutating func longInteger(_ value: Int, _ limit: Int, _ pattern: UInt8) {
        unsafe at[0] = pattern | UInt8(truncatingIfNeeded: limit)
        unsafe at += 1
        var rest = value - limit
        while rest >= 128 {
            unsafe at[0] = UInt8(truncatingIfNeeded: rest & 127) | 128
            unsafe at += 1
            rest >>= 7
        }
        unsafe at[0] = UInt8(truncatingIfNeeded: rest)
        unsafe at += 1
    }

    /// A string without Huffman coding (RFC 7541 section 5.2).
    @inline(__always)
    mutating func string(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        integer(count, bits: 7, pattern: 0)
        unsafe memcpy(at, bytes, count)
        unsafe at += count
    }

    mutating func raw(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        unsafe memcpy(at, bytes, count)
        unsafe at += count
    }
}

/// How a header goes into a block.
enum HeaderUse: Equatable {
    /// The value comes again and again: index it while the table has room.
    case repeats
    /// Values hardly repeat: index the first for the sake of the name, and none after it.
    case changes
    /// A secret: never in a table, not even a proxy's (RFC 7541 section 7.1.3).
    case secret
}

/// Compresses the header blocks of one connection (RFC 7541), exact about what the server's table holds.
///
/// Nothing is ever evicted: a header that doesn't fit any more is sent as a literal. So an entry's number
/// only depends on how many came after it, and a block that inserts nothing stays valid until ``generation``
/// changes. A smaller table of the server empties ours, announced as a size of zero in front of the new
/// size.
///
/// Strings are not Huffman coded: that would save a fifth of a token's bytes for most of the CPU that the
/// whole block costs now.
///
/// - Ownership: owns its memory.
@safe
struct HeaderEncoder: ~Copyable {
    private struct Entry {
        var start: Int32
        var nameCount: Int32
        var valueCount: Int32
    }

    /// The protocol's table, and the most we use of a larger one.
    static let tableMax = 4096
    /// What an entry counts on top of its bytes (RFC 7541 section 4.1).
    static let entryOverhead = 32
    /// A header that would take more of the table isn't indexed.
    static let entryMax = 1024
    /// Bytes that a field takes at most on top of its name and value.
    static let fieldOverhead = 3 * BlockCursor.integerMax
    /// Bytes that a change of the table's size takes at most.
    static let updateMax = 1 + BlockCursor.integerMax
    private static let staticCount = 61

    private let bytes: UnsafeMutablePointer<UInt8>
    private var entries: [Entry] = []
    private var stored = 0
    private var limit = HeaderEncoder.tableMax
    private(set) var used = 0
    private(set) var needsUpdate = false
    /// Changes whenever the number of an entry may have changed.
    private(set) var generation: UInt64 = 1

    init() {
        unsafe bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.tableMax)
        entries.reserveCapacity(Self.tableMax / Self.entryOverhead)
    }

    deinit { unsafe bytes.deallocate() }

    /// The server's SETTINGS_HEADER_TABLE_SIZE. Takes effect at the start of the next block.
    mutating func setTable(_ size: UInt32) {
        let wanted = Int(min(size, UInt32(Self.tableMax)))
        guard wanted != limit else { return }
        limit = wanted
        needsUpdate = true
        entries.removeAll(keepingCapacity: true)
        stored = 0
        used = 0
        generation &+= 1
    }

    /// Announces a changed table; must be the first of a block (RFC 7541 section 4.2).
    mutating func writeUpdate(_ cursor: inout BlockCursor) {
        guard needsUpdate else { return }
        needsUpdate = false
        cursor.integer(0, bits: 5, pattern: 0x20)
        if limit > 0 { cursor.integer(limit, bits: 5, pattern: 0x20) }
    }

    /// Writes one header.
    mutating func write(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int,
        _ use: HeaderUse, _ cursor: inout BlockCursor
    ) {
        let known = unsafe StaticHeader.find(name, nameCount, value, valueCount)
        if known.isWhole, use != .secret { return cursor.integer(known.index, bits: 7, pattern: 0x80) }
        var nameIndex = known.index
        if use != .secret {
            let found = unsafe find(name, nameCount, value, valueCount, use)
            if found.isWhole { return cursor.integer(found.index, bits: 7, pattern: 0x80) }
            if nameIndex == 0 { nameIndex = found.index }
            let size = Self.entryOverhead + nameCount + valueCount
            let isWanted = use == .repeats || nameIndex == 0
            if isWanted, size <= Self.entryMax, used + size <= limit {
                cursor.integer(nameIndex, bits: 6, pattern: 0x40)
                if nameIndex == 0 { unsafe cursor.string(name, nameCount) }
                unsafe cursor.string(value, valueCount)
                return unsafe insert(name, nameCount, value, valueCount, size)
            }
        }
        cursor.integer(nameIndex, bits: 4, pattern: use == .secret ? 0x10 : 0)
        if nameIndex == 0 { unsafe cursor.string(name, nameCount) }
        unsafe cursor.string(value, valueCount)
    }

    /// Writes a header whose name has a number in the static table and whose value is not indexed.
    @inline(__always)
    func writeLiteral(
        name index: Int, _ value: UnsafePointer<UInt8>, _ count: Int, _ cursor: inout BlockCursor
    ) {
        cursor.integer(index, bits: 4, pattern: 0)
        unsafe cursor.string(value, count)
    }

    private func number(_ entry: Int) -> Int { Self.staticCount + entries.count - entry }

    private func find(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int,
        _ use: HeaderUse
    ) -> (index: Int, isWhole: Bool) {
        var nameIndex = 0
        for index in 0..<entries.count {
            let entry = entries[index]
            guard Int(entry.nameCount) == nameCount,
                unsafe memcmp(bytes + Int(entry.start), name, nameCount) == 0
            else { continue }
            nameIndex = number(index)
            if use == .changes { break }
            if Int(entry.valueCount) == valueCount,
                unsafe memcmp(bytes + Int(entry.start) + nameCount, value, valueCount) == 0
            {
                return (nameIndex, true)
            }
        }
        return (nameIndex, false)
    }

    private mutating func insert(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int,
        _ size: Int
    ) {
        entries.append(
            Entry(
                start: Int32(truncatingIfNeeded: stored), nameCount: Int32(truncatingIfNeeded: nameCount),
                valueCount: Int32(truncatingIfNeeded: valueCount)))
        // What is stored is less than `used`, which is within the table's bound.
        unsafe memcpy(bytes + stored, name, nameCount)
        unsafe memcpy(bytes + stored + nameCount, value, valueCount)
        stored += nameCount + valueCount
        used += size
        generation &+= 1
    }
}

/// The part of RFC 7541's static table (appendix A) that push requests use.
enum StaticHeader {
    static let path = 4
    static let contentLength = 28

    private static let names: [(name: StaticString, index: Int)] = [
        (":authority", 1), (":method", 2), (":path", path), (":scheme", 6), ("accept", 19),
        ("authorization", 23), ("content-length", contentLength), ("content-type", 31), ("user-agent", 58),
    ]
    private static let whole: [(name: Int, value: StaticString, index: Int)] = [
        (2, "GET", 2), (2, "POST", 3), (6, "https", 7),
    ]

    /// The header's number; 0 when not even the name has one.
    static func find(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int
    ) -> (index: Int, isWhole: Bool) {
        guard let found = names.first(where: { unsafe equal($0.name, name, nameCount) }) else {
            return (0, false)
        }
        for entry in whole where entry.name == found.index {
            if unsafe equal(entry.value, value, valueCount) { return (entry.index, true) }
        }
        return (found.index, false)
    }

    private static func equal(_ text: StaticString, _ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        unsafe text.utf8CodeUnitCount == count && memcmp(text.utf8Start, bytes, count) == 0
    }
}
