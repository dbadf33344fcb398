/// When the next connect may be tried: 1 s after a failure, doubling to 60 s, with jitter; reset by success.
///
/// A pure value: time and chance are arguments.
struct ConnectBackoff {
    let firstMs: UInt64
    let maxMs: UInt64
    /// Failures since the last success.
    private(set) var failures = 0
    /// No connect before this time.
    private(set) var notBeforeMs: UInt64 = 0

    init(firstMs: UInt64, maxMs: UInt64) {
        self.firstMs = max(1, firstMs)
        self.maxMs = max(1, maxMs)
    }

    /// Notes a failed connect. The wait is three to five quarters of the nominal one.
    mutating func failed(nowMs: UInt64, random: UInt64) {
        let doublings = min(failures, 20)
        failures += 1
        let nominal = min(maxMs, firstMs << UInt64(doublings))
        let jitter = random % (nominal / 2 + 1)
        notBeforeMs = nowMs &+ (nominal - nominal / 4) &+ jitter
    }

    /// Notes that a connection proved itself.
    mutating func succeeded() {
        failures = 0
        notBeforeMs = 0
    }

    func mayConnect(nowMs: UInt64) -> Bool { nowMs >= notBeforeMs }
}
