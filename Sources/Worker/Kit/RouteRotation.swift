internal import Decisions
internal import Providers

/// A shard's view of its routes while credentials are replaced: all definitions so far, which of them apps
/// go by, and the overlaps that are under way.
struct RouteRotation {
    /// By route; only ever longer.
    private(set) var definitions: [RouteDefinition]
    /// By route; nil when nothing can stand in for it.
    private var overlaps: [RotationOverlap?]
    private(set) var inUse: Set<Int32>
    /// The directory's version that this is of.
    var version: UInt32 = 0
    /// Whether any overlap is under way; the one comparison that a delivery pays for all this.
    private(set) var isUnderWay = false

    init(_ directory: ProviderDirectory) {
        definitions = directory.routes
        overlaps = Array(repeating: nil, count: directory.routes.count)
        inUse = directory.routesInUse
        take(definitions[...])
    }

    /// Takes a later state of the directory over.
    mutating func follow(_ directory: ProviderDirectory) {
        let fresh = directory.routes[definitions.count...]
        definitions += fresh
        overlaps += Array(repeating: nil, count: fresh.count)
        inUse = directory.routesInUse
        take(fresh)
    }

    private mutating func take(_ fresh: ArraySlice<RouteDefinition>) {
        for (index, definition) in zip(fresh.indices, fresh) where definition.predecessor >= 0 {
            overlaps[index] = RotationOverlap(endMs: definition.overlapUntilMs)
        }
        isUnderWay = overlaps.contains { $0 != nil }
    }

    func predecessor(of route: Int32) -> Int32? {
        overlaps[Int(route)] == nil ? nil : definitions[Int(route)].predecessor
    }

    /// Whether the predecessor sends now.
    mutating func usesOld(_ route: Int32, nowMs: Int64, isUsable: Bool) -> Bool {
        overlaps[Int(route)]?.usesOld(nowMs: nowMs, isUsable: isUsable) ?? false
    }

    /// Notes that the provider refused the route's credential: whether the predecessor stands in, and whether
    /// it did not do so already.
    mutating func refused(_ route: Int32, nowMs: Int64) -> (standsIn: Bool, isNews: Bool) {
        let before = overlaps[Int(route)]?.refusals
        let standsIn = overlaps[Int(route)]?.refused(nowMs: nowMs) ?? false
        return (standsIn, overlaps[Int(route)]?.refusals != before)
    }

    /// Notes that the provider accepted a request; whether that ended the overlap.
    mutating func accepted(_ route: Int32) -> Bool {
        guard overlaps[Int(route)] != nil else { return false }
        end(route)
        return true
    }

    /// Ends the overlaps whose time is up.
    mutating func expire(nowMs: Int64) {
        for (index, overlap) in overlaps.enumerated() {
            if let overlap, nowMs >= overlap.endMs { end(Int32(index)) }
        }
    }

    private mutating func end(_ route: Int32) {
        overlaps[Int(route)] = nil
        isUnderWay = overlaps.contains { $0 != nil }
    }

    /// Whether nothing new goes by the route any more.
    func isReplaced(_ route: Int32) -> Bool {
        if inUse.contains(route) { return false }
        return !overlaps.indices.contains { overlaps[$0] != nil && definitions[$0].predecessor == route }
    }
}
