package import Core

/// What one tier did and holds, at a moment.
package struct RetryTierSnapshot: Sendable {
    /// The tier's name, such as `10s`.
    package var tier: String
    /// Records in memory that wait for their time.
    package var held = 0
    /// Records produced and not acknowledged yet.
    package var inFlight = 0
    /// Bytes of the records in memory.
    package var heldBytes = 0
    /// Records in the topic that were not read yet.
    package var unread: Int64 = 0
    /// Records given back to their job topics.
    package var handedOver: UInt64 = 0
    /// Records that moved on to a retry topic.
    package var hopped: UInt64 = 0
    /// Of these, those that moved on because there was no room.
    package var yielded: UInt64 = 0
    /// Records that went to the dead topic, by fault.
    package var dead: [UInt64] = Array(repeating: 0, count: RetryHeaders.Fault.allCases.count)
    /// Produce attempts that failed and were made again.
    package var produceFailures: UInt64 = 0
    /// Headers that did not fit.
    package var headersCut: UInt64 = 0
    /// Records that were given again within one assignment and dropped.
    package var repeated: UInt64 = 0
    /// How often reading was paused for lack of room.
    package var pauses: UInt64 = 0
    /// Commits that failed for another reason than a rebalance.
    package var commitFailures: UInt64 = 0
    /// Partitions of the topic that this process owns.
    package var partitions = 0
    /// Whether the group has been joined.
    package var isMember = false
    /// Whether no broker has answered for some seconds.
    package var areBrokersAway = false
    /// When the tier's thread last went round, in monotonic ms.
    package var tickMs: UInt64 = 0
    /// Milliseconds from the due time to the broker's acknowledgement in the job topic.
    package var dueErrorMs = Histogram()

    /// Everything of a tier that did nothing yet.
    package init(tier: String) { self.tier = tier }

    /// Records of the tier that are neither handed over nor moved on, as far as is known.
    package var depth: Int64 { Int64(clamping: held + inFlight) + unread }
}

/// What the retry service did and holds, at a moment.
package struct RetrySnapshot: Sendable {
    /// The tiers that this process serves, by growing delay.
    package var tiers: [RetryTierSnapshot]

    /// Puts the tiers together.
    package init(tiers: [RetryTierSnapshot]) { self.tiers = tiers }

    /// Records given back to their job topics, over all tiers.
    package var handedOver: UInt64 { tiers.reduce(0) { $0 &+ $1.handedOver } }
    /// Records that went to the dead topic, over all tiers.
    package var dead: UInt64 { tiers.reduce(0) { $0 &+ $1.dead.reduce(0, &+) } }
    /// Records that wait, over all tiers.
    package var depth: Int64 { tiers.reduce(0) { $0 &+ $1.depth } }

    /// The due errors of all tiers.
    package var dueErrorMs: Histogram {
        var all = Histogram()
        for tier in tiers { all.merge(tier.dueErrorMs) }
        return all
    }

    /// One JSON object for tools: a member for each tier.
    package func json() -> [UInt8] {
        var out = ByteBuffer(capacity: 1024)
        out.append("{\"tiers\":[")
        for (index, tier) in tiers.enumerated() {
            out.append(index == 0 ? "{\"tier\":" : ",{\"tier\":")
            out.append(jsonString: tier.tier)
            let members: [(StaticString, Int64)] = [
                ("depth", tier.depth), ("held", Int64(tier.held)), ("held_bytes", Int64(tier.heldBytes)),
                ("in_flight", Int64(tier.inFlight)), ("unread", tier.unread),
                ("partitions", Int64(tier.partitions)), ("handed_over", Int64(clamping: tier.handedOver)),
                ("hopped", Int64(clamping: tier.hopped)),
                ("dead", Int64(clamping: tier.dead.reduce(0, &+))),
                ("produce_failures", Int64(clamping: tier.produceFailures)),
                ("due_error_p50_ms", Int64(clamping: tier.dueErrorMs.quantile(0.5))),
                ("due_error_p99_ms", Int64(clamping: tier.dueErrorMs.quantile(0.99))),
            ]
            for (name, value) in members {
                out.append(",\"")
                out.append(name)
                out.append("\":")
                out.append(decimal: value)
            }
            out.append(tier.isMember ? ",\"is_member\":true}" : ",\"is_member\":false}")
        }
        out.append("]}\n")
        return out.array
    }
}
