internal import EventLoop

/// Wall time in microseconds, from the steady clock and a wall clock that tells whole milliseconds.
struct WallClock {
    /// What to add to the steady clock, in microseconds.
    private let offsetUs: UInt64

    /// Waits for the wall clock's next millisecond, where both clocks are known exactly.
    init() {
        let before = Clock.wallMs
        var nowMs = Clock.wallMs
        while nowMs == before { nowMs = Clock.wallMs }
        offsetUs = UInt64(clamping: nowMs) &* 1_000 &- Clock.monotonicNs / 1_000
    }

    /// Microseconds since 1970.
    var nowUs: UInt64 { offsetUs &+ Clock.monotonicNs / 1_000 }
}
