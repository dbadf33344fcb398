internal import Core
internal import Decisions

/// Deliveries by campaign and outcome, between two flushes to Redis.
///
/// - Bounds: ``namesMax`` campaigns between two flushes.
/// - Cost: adding to a known one is a hash of the name, a comparison and an addition.
/// - Threading: the shard's.
struct CampaignCounts {
    /// The most campaigns that are told apart between two flushes.
    static let namesMax = 1_024
    private static let outcomes = DeliveryOutcome.allCases.count
    private static let mask = namesMax * 2 - 1

    /// One campaign that was counted.
    struct Campaign: Equatable {
        let app: Int32
        let name: [UInt8]
        /// By ``DeliveryOutcome``.
        var counts: [UInt64]

        /// All its deliveries.
        var deliveries: UInt64 { counts.reduce(0, &+) }
    }

    private var entries: [(hash: UInt64, app: Int32, name: [UInt8])] = []
    private var counts: [UInt64] = []
    /// By hash: places in ``entries``, -1 for none; made with the first campaign.
    private var table: [Int32] = []

    /// Whether there is nothing to flush.
    var isEmpty: Bool { entries.isEmpty }

    /// Counts a delivery; false when there are too many campaigns.
    mutating func add(app: Int32, name: UnsafeRawBufferPointer, _ outcome: DeliveryOutcome) -> Bool {
        let hash = unsafe Hash64.of(name, seed: UInt64(truncatingIfNeeded: app))
        if table.isEmpty { table = Array(repeating: -1, count: Self.mask + 1) }
        var slot = Int(truncatingIfNeeded: hash) & Self.mask
        while true {
            let place = Int(table[slot])
            if place < 0 { break }
            if entries[place].hash == hash, entries[place].app == app,
                unsafe entries[place].name.elementsEqual(name)
            {
                counts[place * Self.outcomes + Int(outcome.rawValue)] &+= 1
                return true
            }
            slot = (slot &+ 1) & Self.mask
        }
        guard entries.count < Self.namesMax else { return false }
        table[slot] = Int32(entries.count)
        let copy = unsafe Array(name)
        entries.append((hash, app, copy))
        counts.append(contentsOf: repeatElement(0, count: Self.outcomes))
        counts[counts.count - Self.outcomes + Int(outcome.rawValue)] = 1
        return true
    }

    /// Hands one campaign after the other to `take`, which says whether it was taken; what wasn't stays.
    mutating func flush(_ take: (Campaign) -> Bool) {
        guard !entries.isEmpty else { return }
        var left: [Campaign] = []
        for (place, entry) in entries.enumerated() {
            let first = place * Self.outcomes
            let campaign = Campaign(
                app: entry.app, name: entry.name, counts: Array(counts[first..<first + Self.outcomes]))
            if !take(campaign) { left.append(campaign) }
        }
        entries.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        for slot in table.indices { table[slot] = -1 }
        for campaign in left { keep(campaign) }
    }

    private mutating func keep(_ campaign: Campaign) {
        let hash = unsafe campaign.name.withUnsafeBytes {
            unsafe Hash64.of($0, seed: UInt64(truncatingIfNeeded: campaign.app))
        }
        var slot = Int(truncatingIfNeeded: hash) & Self.mask
        while table[slot] >= 0 { slot = (slot &+ 1) & Self.mask }
        table[slot] = Int32(entries.count)
        entries.append((hash, campaign.app, campaign.name))
        counts.append(contentsOf: campaign.counts)
    }
}
