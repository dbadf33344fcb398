internal import Decisions

/// Which series of a shard's counters a count belongs to, packed into one number.
struct SeriesKey: Equatable {
    /// What is counted.
    enum Kind: UInt8 {
        case delivery, retry, dead, tokenRemoved, tokenSpared, putOff
    }

    /// The app of what names none that is configured, and the one that stands for all without room.
    static let unknownApp: Int32 = -1
    static let otherApp: Int32 = -2
    /// No provider.
    static let noProvider: UInt8 = 15

    /// Never 0.
    let bits: UInt64

    init(_ bits: UInt64) { self.bits = bits }

    /// Parts that a kind doesn't have are 0.
    @inline(__always)
    init(
        _ kind: Kind, app: Int32, provider: UInt8 = 0, lane: Int8 = 0, outcome: DeliveryOutcome = .accepted,
        reason: Reason = .accepted
    ) {
        let what =
            UInt64(kind.rawValue) << 60 | UInt64(provider) << 56 | UInt64(UInt8(bitPattern: lane)) << 48
        let how = UInt64(outcome.rawValue) << 40 | UInt64(reason.rawValue) << 32
        bits = 1 << 63 | what | how | UInt64(UInt32(bitPattern: app))
    }

    var kind: Kind? { Kind(rawValue: UInt8(bits >> 60 & 7)) }
    var provider: UInt8 { UInt8(bits >> 56 & 15) }
    var lane: Int { Int(bits >> 48 & 0xFF) }
    var outcome: Int { Int(bits >> 40 & 0xFF) }
    var reason: Int { Int(bits >> 32 & 0xFF) }
    var app: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: bits)) }

    /// The same for the app that stands for all without room.
    var ofOtherApp: SeriesKey {
        SeriesKey(bits & ~0xFFFF_FFFF | UInt64(UInt32(bitPattern: Self.otherApp)))
    }
}

/// Counters by series: open addressing over integers.
///
/// Adding to a series that is there costs one look and an addition. A new series may double the memory, up
/// to the limit; above it a count goes to the series of ``SeriesKey/otherApp``, of which there are only as
/// many as providers, lanes, outcomes and reasons allow.
/// - Threading: one owner; copied out for scrapes.
struct SeriesTable: Sendable {
    private struct Slot {
        var key: UInt64 = 0
        var count: UInt64 = 0
    }

    /// How many series have an app of their own.
    let limit: Int
    /// Counts that went to another series because the limit was reached.
    private(set) var dropped: UInt64 = 0
    private var slots = [Slot](repeating: Slot(), count: 64)
    private var used = 0
    /// 64 less the binary logarithm of the number of slots.
    private var shift: UInt64 = 58

    init(limit: Int) { self.limit = limit }

    /// Series with a count.
    var count: Int { used }

    /// Adds to a series.
    @inline(__always)
    mutating func add(_ key: SeriesKey, _ count: UInt64 = 1) {
        let place = Int(truncatingIfNeeded: (key.bits &* 0x9E37_79B9_7F4A_7C15) &>> shift)
        if slots[place].key == key.bits {
            slots[place].count &+= count
        } else {
            search(key, count)
        }
    }

    private mutating func search(_ key: SeriesKey, _ count: UInt64) {
        var place = place(of: key.bits)
        if slots[place].key == 0 {
            if used >= limit, key.app != SeriesKey.otherApp {
                dropped &+= count
                return add(key.ofOtherApp, count)
            }
            if used >= slots.count / 2 {
                grow()
                place = self.place(of: key.bits)
            }
            slots[place].key = key.bits
            used += 1
        }
        slots[place].count &+= count
    }

    /// Where the series is, or would be.
    private func place(of bits: UInt64) -> Int {
        let mask = slots.count - 1
        var place = Int(truncatingIfNeeded: (bits &* 0x9E37_79B9_7F4A_7C15) &>> shift)
        while slots[place].key != bits, slots[place].key != 0 { place = (place + 1) & mask }
        return place
    }

    private mutating func grow() {
        let former = slots
        slots = [Slot](repeating: Slot(), count: former.count * 2)
        shift -= 1
        for slot in former where slot.key != 0 { slots[place(of: slot.key)] = slot }
    }

    /// Calls `body` with each series, in no order.
    func forEach(_ body: (SeriesKey, UInt64) -> Void) {
        for slot in slots where slot.key != 0 { body(SeriesKey(slot.key), slot.count) }
    }

    /// Adds the counts of another table.
    mutating func merge(_ other: SeriesTable) {
        other.forEach { add($0, $1) }
        dropped &+= other.dropped
    }

    /// The sum over the series of a kind.
    func sum(_ kind: SeriesKey.Kind) -> UInt64 {
        var sum: UInt64 = 0
        forEach { if $0.kind == kind { sum &+= $1 } }
        return sum
    }

    /// Deliveries by ``DeliveryOutcome``.
    var outcomes: [UInt64] {
        var sums = [UInt64](repeating: 0, count: DeliveryOutcome.allCases.count)
        forEach { if $0.kind == .delivery { sums[$0.outcome] &+= $1 } }
        return sums
    }
}
