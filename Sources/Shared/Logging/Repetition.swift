/// Limits how often one event is written: at most `perSecond` lines in each second, the rest counted.
///
/// A pure value; time is an argument.
package struct RepetitionLimiter: Sendable {
    /// What to do with a line.
    package enum Decision: Equatable, Sendable {
        /// Write it, and say that so many were left out before it.
        case write(suppressed: UInt64)
        /// Leave it out.
        case suppress
    }

    private struct Window: Sendable {
        var startMs: Int64
        var written: UInt32
        var suppressed: UInt64
    }

    /// Lines of one event in a second.
    package let perSecond: UInt32
    private let eventsMax: Int
    private var windows: [String: Window] = [:]

    /// Makes a limiter that knows at most `eventsMax` events at a time.
    package init(perSecond: UInt32 = 10, eventsMax: Int = 512) {
        self.perSecond = max(1, perSecond)
        self.eventsMax = max(1, eventsMax)
    }

    /// Decides about one line of an event.
    package mutating func decide(_ event: String, nowMs: Int64) -> Decision {
        guard var window = windows[event] else {
            if windows.count >= eventsMax { forget(nowMs: nowMs) }
            windows[event] = Window(startMs: nowMs, written: 1, suppressed: 0)
            return .write(suppressed: 0)
        }
        // The clock may be set back; an elapsed time below zero starts a window too.
        let elapsed = nowMs &- window.startMs
        if elapsed >= 1_000 || elapsed < 0 {
            let suppressed = window.suppressed
            windows[event] = Window(startMs: nowMs, written: 1, suppressed: 0)
            return .write(suppressed: suppressed)
        }
        defer { windows[event] = window }
        if window.written < perSecond {
            window.written += 1
            return .write(suppressed: 0)
        }
        window.suppressed &+= 1
        return .suppress
    }

    /// Forgets events whose second has passed and that owe no count; all of them when that makes no room.
    private mutating func forget(nowMs: Int64) {
        windows = windows.filter { abs(nowMs &- $0.value.startMs) < 1_000 || $0.value.suppressed > 0 }
        if windows.count >= eventsMax { windows.removeAll() }
    }
}
