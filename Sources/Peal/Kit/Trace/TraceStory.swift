/// The events of one job in their order, and what is still open. No I/O.
struct TraceStory: Equatable {
    /// What becomes of one publication of the job.
    enum State: Equatable {
        /// Every delivery that the log knows of has ended.
        case ended
        /// The record has no sign of a worker after it.
        case inLane
        /// Until when, in ms since 1970.
        case inRetry(tier: String, dueMs: Int64)
        /// Deliveries that were under way when the log was read.
        case owes([String])
        case withBroadcasts
    }

    /// One publication: a job that was published twice, or replayed, has several.
    struct Run: Equatable {
        var origin: String
        var events: [TraceEvent]
        var state: State

        /// The last record that the job itself lay in.
        var hop: TraceEvent? { events.last { !$0.isEnd } }
    }

    private(set) var runs: [Run] = []

    init(_ events: [TraceEvent]) {
        var order: [String] = []
        var groups: [String: [TraceEvent]] = [:]
        for event in events.sorted(by: Self.isBefore) {
            if groups[event.origin] == nil { order.append(event.origin) }
            // A repeated outcome after a kill is told twice, a record read twice isn't.
            if groups[event.origin]?.contains(event) != true {
                groups[event.origin, default: []].append(event)
            }
        }
        for origin in order {
            let own = groups[origin] ?? []
            runs.append(Run(origin: origin, events: own, state: Self.state(own)))
        }
    }

    /// By time; what lies in a topic comes before what ends, so that one clock's error of a moment doesn't
    /// turn the story round.
    private static func isBefore(_ a: TraceEvent, _ b: TraceEvent) -> Bool {
        if a.atMs != b.atMs { return a.atMs < b.atMs }
        if a.isEnd != b.isEnd { return !a.isEnd }
        return (a.topic, a.partition, a.offset) < (b.topic, b.partition, b.offset)
    }

    private static func state(_ events: [TraceEvent]) -> State {
        let ends = events.filter(\.isEnd)
        let hop = events.filter { !$0.isEnd }.max {
            // Clocks differ; attempts don't. A pause leaves the number as it is, and the time decides.
            ($0.attempt, $0.atMs) < ($1.attempt, $1.atMs)
        }
        guard let hop else { return .ended }
        switch hop.kind {
        case .broadcast: return .withBroadcasts
        case .retry(let tier): return .inRetry(tier: tier, dueMs: hop.dueMs)
        case .lane, .dead, .outcome: break
        }
        // The end of the whole job names no device.
        let ended = Set(ends.flatMap(\.devices))
        let isOver = ends.contains { $0.devices.isEmpty }
        if hop.devices.isEmpty {
            return ends.isEmpty ? .inLane : .ended
        }
        let open = hop.devices.filter { !ended.contains($0) }
        if open.isEmpty || isOver { return .ended }
        return open.count == hop.devices.count ? .inLane : .owes(open)
    }

    /// Whether nothing is known to be open.
    var isEnded: Bool {
        !runs.isEmpty && runs.allSatisfy { $0.state == .ended || $0.state == .withBroadcasts }
    }

    /// The last event, in ms since 1970.
    var lastMs: Int64 { runs.flatMap(\.events).map(\.atMs).max() ?? 0 }

    /// How long after the last event another one of the same attempt may come: a provider's slowest answer
    /// and clocks that differ, in ms.
    static let settleMs: Int64 = 120_000

    /// Whether no more events are to be expected of a log that was read up to this time; nil is its end.
    func isSettled(readUntilMs: Int64?) -> Bool {
        guard isEnded, let readUntilMs else { return false }
        return readUntilMs >= lastMs + Self.settleMs
    }

    /// Ended deliveries by outcome.
    var outcomes: [String: Int] {
        var counts: [String: Int] = [:]
        for case .outcome(let name) in runs.flatMap(\.events).map(\.kind) { counts[name, default: 0] += 1 }
        return counts
    }
}
