/// A time zone as its file tells it: how far its clocks are ahead of UTC at any time.
///
/// - Source: RFC 9636 (TZif). Leap seconds are left out of account: Unix time has none.
package struct TimeZoneTable: Sendable, Equatable {
    /// The most bytes of a file; the largest one has some 4,000.
    package static let bytesMax = 65_536
    /// Coordinated universal time.
    package static let utc = TimeZoneTable()

    /// When the offset changes, seconds since 1970, ascending, and what it is from then on.
    private var times: [Int64] = []
    private var offsets: [Int64] = []
    /// What it is before the first change.
    private var first: Int64 = 0
    /// What it is from the last change on, where the file says so.
    private var rule: TimeZoneRule?

    private init() {}

    /// Whether the name can be that of a time zone's file: no way leads out of the folder of zones.
    package static func isName(_ name: some StringProtocol) -> Bool {
        guard (1...64).contains(name.utf8.count), name.utf8.first != UInt8(ascii: "/") else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "+"),
                UInt8(ascii: "-"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
    }

    /// Reads a file; nil when it isn't a proper one.
    package init?(file bytes: [UInt8]) {
        guard bytes.count <= Self.bytesMax, let old = Block(bytes, at: 0, timeSize: 4) else { return nil }
        guard old.version >= UInt8(ascii: "2") else {
            guard read(bytes, old) else { return nil }
            return
        }
        // From version 2 on a second block with 64-bit times follows, and then the rule.
        guard let block = Block(bytes, at: old.end, timeSize: 8), read(bytes, block) else { return nil }
        let footer = bytes[block.end...]
        guard footer.first == 0x0A, let end = footer.dropFirst().firstIndex(of: 0x0A) else { return nil }
        let text = footer[(block.end + 1)..<end]
        if !text.isEmpty {
            guard let rule = TimeZoneRule(text) else { return nil }
            self.rule = rule
        }
    }

    private mutating func read(_ bytes: [UInt8], _ block: Block) -> Bool {
        var types: [Int64] = []
        for number in 0..<block.types {
            let offset = Int64(Int32(truncatingIfNeeded: Self.number(bytes, block.typesAt + number * 6, 4)))
            guard abs(offset) < 100_000 else { return false }
            types.append(offset)
        }
        first = types[0]
        for number in 0..<block.times {
            var time = Self.number(bytes, block.timesAt + number * block.timeSize, block.timeSize)
            if block.timeSize == 4 { time = Int64(Int32(truncatingIfNeeded: time)) }
            let type = Int(bytes[block.indicesAt + number])
            guard type < types.count, times.last.map({ $0 < time }) ?? true else { return false }
            times.append(time)
            offsets.append(types[type])
        }
        return true
    }

    private static func number(_ bytes: [UInt8], _ at: Int, _ count: Int) -> Int64 {
        bytes[at..<at + count].reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Seconds ahead of UTC at a time, seconds since 1970.
    package func offset(at seconds: Int64) -> Int64 {
        let later = firstIndex(after: seconds)
        if later == times.count, let rule { return rule.offset(at: seconds) }
        return later == 0 ? first : offsets[later - 1]
    }

    /// When the offset may change next after a time, seconds since 1970; nil for never.
    package func nextChange(after seconds: Int64) -> Int64? {
        let later = firstIndex(after: seconds)
        if later < times.count { return times[later] }
        return rule?.nextChange(after: seconds)
    }

    /// The place of the first change after a time.
    private func firstIndex(after seconds: Int64) -> Int {
        var low = 0
        var high = times.count
        while low < high {
            let middle = (low + high) / 2
            if times[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// One data block of a file, checked for its length.
    private struct Block {
        let version: UInt8
        let times: Int
        let types: Int
        let timeSize: Int
        let timesAt: Int
        let end: Int
        var indicesAt: Int { timesAt + times * timeSize }
        var typesAt: Int { indicesAt + times }

        init?(_ bytes: [UInt8], at start: Int, timeSize: Int) {
            guard bytes.count >= start + 44, bytes[start..<start + 4].elementsEqual("TZif".utf8) else {
                return nil
            }
            let counts = (0..<6).map { Int(TimeZoneTable.number(bytes, start + 20 + $0 * 4, 4)) }
            guard counts.allSatisfy({ $0 <= TimeZoneTable.bytesMax }) else { return nil }
            version = bytes[start + 4]
            times = counts[3]
            types = counts[4]
            self.timeSize = timeSize
            timesAt = start + 44
            let leaps = counts[2] * (timeSize + 4)
            end = timesAt + times * (timeSize + 1) + types * 6 + counts[5] + leaps + counts[1] + counts[0]
            // A version 2 file may have nothing in its first block.
            guard types > 0 || (timeSize == 4 && version >= UInt8(ascii: "2") && times == 0),
                end <= bytes.count
            else { return nil }
        }
    }
}
