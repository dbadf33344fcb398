/// Requests counted again and again at one place, and the rates that follow from them: a pure value.
struct RateTrace: Sendable {
    /// A count and when it was taken.
    struct Mark: Equatable, Sendable {
        let atMs: UInt64
        let count: Int
    }

    private(set) var marks: [Mark] = []

    /// Notes a count. One that is not later than the last is left out.
    mutating func note(atMs: UInt64, count: Int) {
        if let last = marks.last, atMs <= last.atMs { return }
        marks.append(Mark(atMs: atMs, count: count))
    }

    /// Requests a second between two times, by the marks nearest to them; 0 when there are no two.
    func rate(fromMs: UInt64, toMs: UInt64) -> Double {
        guard let first = marks.first(where: { $0.atMs >= fromMs }),
            let last = marks.last(where: { $0.atMs <= toMs }), last.atMs > first.atMs
        else { return 0 }
        return Double(last.count - first.count) * 1_000 / Double(last.atMs - first.atMs)
    }

    /// Takes the marks of a later trace.
    mutating func append(_ other: RateTrace) {
        for mark in other.marks { note(atMs: mark.atMs, count: mark.count) }
    }

    /// The rates of one window after the other, with the seconds from `originMs` to each one's middle.
    func curve(originMs: UInt64, windowMs: UInt64) -> [(x: Double, y: Double)] {
        guard let first = marks.first, let last = marks.last, windowMs > 0 else { return [] }
        return stride(from: first.atMs, to: last.atMs, by: Int(clamping: windowMs)).map { startMs in
            let middleMs = Double(startMs) + Double(windowMs) / 2 - Double(originMs)
            return (x: middleMs / 1_000, y: rate(fromMs: startMs, toMs: startMs + windowMs))
        }
    }

    /// How long after `sinceMs` the rate reaches `perSecond` and keeps it over `windowMs`, in ms; nil when it
    /// does not within the trace. The time is that of the window's beginning.
    func recovery(sinceMs: UInt64, perSecond: Double, windowMs: UInt64) -> UInt64? {
        for mark in marks where mark.atMs >= sinceMs {
            let endMs = mark.atMs + windowMs
            guard let last = marks.last, last.atMs >= endMs else { return nil }
            if rate(fromMs: mark.atMs, toMs: endMs) >= perSecond { return mark.atMs - sinceMs }
        }
        return nil
    }
}
