/// Limits how often lines that say the same are written, and counts the others. None of a count is lost.
///
/// Of a key, `burst` lines are written in a second. When more came, one line is written for the next 10
/// seconds, and one a minute for as long as it goes on; each says how many were left out before it. A flood
/// that has ended is told by ``takeOwed(nowMs:)``.
///
/// A pure value; time is an argument. Its memory is bounded: an event has at most `keysPerEvent` keys, and
/// what goes beyond shares one; so do the events when there are too many of them.
package struct RepetitionLimiter: Sendable {
    /// What to do with a line.
    package enum Decision: Equatable, Sendable {
        /// Write it, and say that so many were left out before it.
        case write(suppressed: UInt64)
        /// Leave it out.
        case suppress
    }

    /// What says the same: an event, and what of it differs.
    package struct Key: Hashable, Sendable {
        package var event: UInt64
        package var detail: UInt64

        package init(event: UInt64, detail: UInt64 = 0) {
            self.event = event
            self.detail = detail
        }
    }

    private struct Window: Sendable {
        var startMs: Int64
        /// An index of ``lengthsMs``.
        var step = 0
        var written: UInt32 = 1
        var suppressed: UInt64 = 0
        /// The last line that was written, to be written again with the count.
        var line: LogRecord?

        func hasEnded(_ nowMs: Int64) -> Bool {
            // The clock may be set back; an elapsed time below zero ends a window too.
            let elapsed = nowMs &- startMs
            return elapsed >= RepetitionLimiter.lengthsMs[step] || elapsed < 0
        }
    }

    private static let lengthsMs: [Int64] = [1_000, 10_000, 60_000]
    /// The key of what is beyond the bounds.
    private static let rest = UInt64.max

    /// Lines of one key in its first second.
    package let burst: UInt32
    private let keysPerEvent: Int
    private let keysMax: Int
    private var windows: [Key: Window] = [:]
    private var perEvent: [UInt64: Int] = [:]
    /// When room was made last.
    private var forgottenMs: Int64 = 0
    /// Lines left out since the start.
    package private(set) var suppressedTotal: UInt64 = 0

    /// Makes a limiter that knows at most `keysMax` keys at a time, `keysPerEvent` of one event.
    package init(burst: UInt32 = 10, keysPerEvent: Int = 64, keysMax: Int = 1_024) {
        self.burst = max(1, burst)
        self.keysPerEvent = max(1, keysPerEvent)
        self.keysMax = max(2, keysMax)
    }

    /// Keys that are known.
    package var keyCount: Int { windows.count }

    /// Decides about one line of a key, of which `most` are written in the first second instead of ``burst``.
    package mutating func decide(_ wanted: Key, nowMs: Int64, most: UInt32? = nil) -> Decision {
        let key = place(wanted, nowMs: nowMs)
        guard var window = windows[key] else {
            windows[key] = Window(startMs: nowMs)
            perEvent[key.event, default: 0] += 1
            return .write(suppressed: 0)
        }
        defer { windows[key] = window }
        if window.hasEnded(nowMs) {
            let suppressed = window.suppressed
            window = Self.following(window, nowMs: nowMs)
            return .write(suppressed: suppressed)
        }
        if window.step == 0, window.written < most ?? burst {
            window.written += 1
            return .write(suppressed: 0)
        }
        window.suppressed &+= 1
        suppressedTotal &+= 1
        return .suppress
    }

    /// Keeps the line that was written for a key, so that a count can be told after the last one.
    package mutating func keep(_ line: LogRecord, for wanted: Key, nowMs: Int64) {
        windows[place(wanted, nowMs: nowMs)]?.line = line
    }

    /// The lines to write again, with the counts of what was left out in windows that have ended; with
    /// `isLast` those of all windows.
    package mutating func takeOwed(nowMs: Int64, isLast: Bool = false) -> [LogRecord] {
        var owed: [LogRecord] = []
        for (key, window) in windows where window.suppressed > 0 && (isLast || window.hasEnded(nowMs)) {
            guard let line = window.line else { continue }
            // The line itself stands for one of those that were left out.
            owed.append(line.again(wallMs: nowMs, suppressed: window.suppressed - 1))
            var next = Self.following(window, nowMs: nowMs)
            next.line = line
            windows[key] = next
        }
        return owed.sorted { $0.event < $1.event }
    }

    /// The window after one that has ended: a longer one when something was left out.
    private static func following(_ window: Window, nowMs: Int64) -> Window {
        var next = Window(startMs: nowMs)
        if window.suppressed > 0 { next.step = min(window.step + 1, lengthsMs.count - 1) }
        return next
    }

    /// The key that stands for the wanted one within the bounds.
    private mutating func place(_ wanted: Key, nowMs: Int64) -> Key {
        if windows[wanted] != nil { return wanted }
        let isCrowded =
            windows.count >= keysMax - 1 || perEvent[wanted.event, default: 0] >= keysPerEvent
        if isCrowded, abs(nowMs &- forgottenMs) >= 1_000 { forget(nowMs: nowMs) }
        // One place is kept for the rest of all events.
        if windows.count >= keysMax - 1 { return Key(event: Self.rest, detail: Self.rest) }
        if perEvent[wanted.event, default: 0] >= keysPerEvent {
            return Key(event: wanted.event, detail: Self.rest)
        }
        return wanted
    }

    /// Forgets keys whose window has passed and that owe no count.
    private mutating func forget(nowMs: Int64) {
        forgottenMs = nowMs
        windows = windows.filter { $0.value.suppressed > 0 || !$0.value.hasEnded(nowMs) }
        perEvent = [:]
        for key in windows.keys { perEvent[key.event, default: 0] += 1 }
    }
}
