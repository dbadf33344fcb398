package import Redis

/// The fields of the live counters.
///
/// Outcomes have the names of the outcome events; on top come what happens on the way, and `reason:<name>`
/// for each reason of a failure.
package enum CounterFields {
    /// What every stream entry and every dashboard may count on.
    package static let standard = [
        "jobs", "accepted", "expired", "muted", "capped", "duplicate", "no_device", "invalid_token",
        "rejected",
        "dead", "cancelled", "sent", "failed", "retried", "tokens_removed",
    ]

    /// The bounds by which accepted deliveries are counted, in ms from publication to acceptance.
    package static let latencyBoundsMs: [Int64] = [
        10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000,
    ]
    /// One field for each bound, of which a delivery counts in the first that holds it, and the last one for
    /// those that took longer.
    package static let latency = latencyBoundsMs.map { "latency:\($0)" } + ["latency:inf"]
    /// The sum of those latencies, in ms.
    package static let latencySum = "latency_ms"
    /// What jobs and reads added to unread counters, and took from them.
    package static let unreadAdded = "unread_added"
    package static let unreadCleared = "unread_cleared"

    /// Deliveries of campaigns that were not counted by campaign: an app has too many of them.
    package static let campaignsUncounted = "campaigns_uncounted"

    /// The deliveries of a lane that ended.
    package static func lane(_ name: String) -> String { "lane:\(name)" }
}

/// Counts of a second or so, on their way to the live counters in Redis.
///
/// Counting is an addition in an array. The counters are statistics: a flush whose outcome is unknown isn't
/// repeated.
/// - Threading: one thread; each shard has one.
package struct CounterBatch {
    /// Seconds that the counters of a minute are kept: two days.
    package static let keepSeconds: Int64 = 172_800
    private let apps: [String]
    private let fields: [String]
    private var counts: [UInt64]
    private var isTouched: [Bool]
    private var touched: [Int] = []

    /// Makes a batch for these apps and fields, which are counted by their index.
    package init(apps: [String], fields: [String]) {
        self.apps = apps
        self.fields = fields
        counts = Array(repeating: 0, count: apps.count * fields.count)
        isTouched = Array(repeating: false, count: apps.count)
    }

    /// Whether there is nothing to flush.
    package var isEmpty: Bool { touched.isEmpty }

    /// Counts; an app or a field that doesn't exist is ignored.
    package mutating func add(app: Int, field: Int, _ count: UInt64 = 1) {
        guard app >= 0, app < apps.count, field >= 0, field < fields.count, count > 0 else { return }
        counts[app * fields.count + field] &+= count
        if !isTouched[app] {
            isTouched[app] = true
            touched.append(app)
        }
    }

    /// One app's count on its way to Redis.
    package struct Count {
        package let app: Int
        package let field: Int
        package let count: UInt64
    }

    /// Takes a command, which the second argument encodes; false when it was not taken.
    package typealias Issue = (Count?, (inout RedisCommandBuffer) -> Void) -> Bool

    /// Hands one command after the other to `issue`, which says whether it was taken. What wasn't stays
    /// counted. The command of a total comes with the count in it: when Redis refuses that one later on, it
    /// can be added again.
    ///
    /// Each count goes to `peal:stat:{app}:<minute>`, `peal:total:{app}` and the same of all apps, `{*}`.
    /// `minute` is in minutes since 1970.
    package mutating func flush(
        minute: Int64, _ issue: Issue
    ) {
        var sums = [UInt64](repeating: 0, count: fields.count)
        var rest: [Int] = []
        // Also after a refusal: another app's counters may lie on another node of a cluster.
        for app in touched {
            if flush(app: app, minute, &sums, issue) { isTouched[app] = false } else { rest.append(app) }
        }
        touched = rest
        write(app: "*", sums, minute, issue)
    }

    private mutating func flush(
        app: Int, _ minute: Int64, _ sums: inout [UInt64],
        _ issue: Issue
    ) -> Bool {
        let base = app * fields.count
        for field in fields.indices where counts[base + field] > 0 {
            let count = counts[base + field]
            guard increment(app: apps[app], place: app, field, count, minute, issue) else { return false }
            sums[field] &+= count
            counts[base + field] = 0
        }
        return expire(app: apps[app], minute, issue)
    }

    /// The total is asked for first and the minute follows: after a refusal the count stays whole for the
    /// next time.
    private func increment(
        app: String, place: Int?, _ field: Int, _ count: UInt64, _ minute: Int64, _ issue: Issue
    ) -> Bool {
        let value = Int64(clamping: count)
        let name = fields[field]
        let total = RegistryKeys.totals(app: app)
        let own = place.map { Count(app: $0, field: field, count: count) }
        guard issue(own, { Self.increment(total, name, value, &$0) }) else { return false }
        let minutes = RegistryKeys.statistics(app: app, minute: minute)
        _ = issue(nil) { Self.increment(minutes, name, value, &$0) }
        return true
    }

    private func expire(
        app: String, _ minute: Int64, _ issue: Issue
    ) -> Bool {
        issue(nil) { out in
            out.begin(3)
            out.argument("EXPIRE")
            out.argument(text: RegistryKeys.statistics(app: app, minute: minute))
            out.argument(decimal: Self.keepSeconds)
        }
    }

    private func write(
        app: String, _ sums: [UInt64], _ minute: Int64, _ issue: Issue
    ) {
        var isAny = false
        for field in fields.indices where sums[field] > 0 {
            isAny = increment(app: app, place: nil, field, sums[field], minute, issue) || isAny
        }
        if isAny { _ = expire(app: app, minute, issue) }
    }

    private static func increment(
        _ key: String, _ field: String, _ count: Int64, _ out: inout RedisCommandBuffer
    ) {
        out.begin(4)
        out.argument("HINCRBY")
        out.argument(text: key)
        out.argument(text: field)
        out.argument(decimal: count)
    }
}
