/// How often something may be connected: a few at once, then one in a while.
///
/// Providers take many connects in a short time for an attack. A pure value: time is an argument.
struct ConnectBudget {
    let burst: Int
    /// Milliseconds until one more is allowed; 0 for no bound.
    let everyMs: UInt64
    private var left: Int
    private var countedMs: UInt64

    init(burst: Int, everyMs: UInt64, nowMs: UInt64) {
        self.burst = max(1, burst)
        self.everyMs = everyMs
        left = self.burst
        countedMs = nowMs
    }

    /// Whether one may be made now.
    mutating func allows(nowMs: UInt64) -> Bool {
        guard everyMs > 0 else { return true }
        guard left < burst else {
            countedMs = nowMs
            return true
        }
        let earned = nowMs > countedMs ? (nowMs - countedMs) / everyMs : 0
        left = Int(clamping: min(UInt64(burst), UInt64(left) + earned))
        countedMs &+= earned &* everyMs
        return left > 0
    }

    /// Counts one that is made. Call ``allows(nowMs:)`` first.
    mutating func spend() { if everyMs > 0 { left = max(0, left - 1) } }
}
