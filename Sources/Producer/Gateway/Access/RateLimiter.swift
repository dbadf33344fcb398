/// Token buckets by name: each fills at the same rate up to a second's worth, and a request takes one token.
///
/// A value without a clock: time is milliseconds of a clock that never steps back. Its size is bounded: what
/// was not seen for longest is forgotten, which gives it a full bucket.
package struct RateLimiter: Sendable {
    private struct Bucket {
        /// In millionths of a token.
        var level: Int64
        var atMs: Int64
    }

    /// Tokens in a thousand seconds, which is millionths of a token in a millisecond.
    private let rate: Int64
    private let depth: Int64
    private let namesMax: Int
    private var recent: [String: Bucket] = [:]
    private var older: [String: Bucket] = [:]

    /// Allows `perThousandSeconds` requests of each name in a thousand seconds, and remembers at most
    /// `namesMax` names; 0 allows everything.
    package init(perThousandSeconds: Int64, namesMax: Int = 20_000) {
        rate = perThousandSeconds
        depth = max(1_000_000, perThousandSeconds * 1000)
        self.namesMax = max(2, namesMax)
    }

    /// How many names are remembered.
    package var count: Int { recent.count + older.count }

    /// Takes a token; nil when there was one, else the milliseconds until there will be.
    package mutating func take(_ name: String, nowMs: Int64) -> Int64? {
        guard rate > 0 else { return nil }
        var bucket = recent[name] ?? older.removeValue(forKey: name) ?? Bucket(level: depth, atMs: nowMs)
        let passed = max(0, nowMs - bucket.atMs)
        let (gain, overflow) = passed.multipliedReportingOverflow(by: rate)
        bucket.level = overflow ? depth : min(depth, bucket.level + min(gain, depth))
        bucket.atMs = max(bucket.atMs, nowMs)
        var wait: Int64?
        if bucket.level >= 1_000_000 {
            bucket.level -= 1_000_000
        } else {
            wait = max(1, (1_000_000 - bucket.level + rate - 1) / rate)
        }
        if recent[name] == nil, recent.count >= namesMax / 2 {
            older = recent
            recent = [:]
        }
        recent[name] = bucket
        return wait
    }
}
