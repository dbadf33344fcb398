package import Decisions
package import Registry

/// How the whole pipeline stands at one moment, as its documented keys in Redis tell: what pages, tools and
/// the diagnosis look at.
///
/// Values only: neither I/O nor a clock. ``OverviewReader`` makes it. Whatever Redis holds, counts are never
/// negative and lists and texts are bounded.
package struct Overview: Equatable, Sendable {
    /// The app that ``minutes``, ``totals``, ``campaigns`` and ``broadcasts`` are about; `*` for all of them.
    package var app: String
    /// Redis' time when this was read, in ms since 1970.
    package var nowMs: Int64
    /// Every line of `peal:pods` that could be read, by name; also of pods that are gone (see
    /// ``Pod/isAlive(nowMs:)``).
    package var pods: [Pod] = []
    /// The counters by minute, oldest first, without a gap; the last one is the minute that is under way.
    package var minutes: [Minute] = []
    /// The counters since the beginning.
    package var totals = Counts()
    /// What an operator paused or cancelled; also what has ended.
    package var control = ControlState()
    /// The apps that workers know, the busiest of the last minutes first.
    package var apps: [App] = []
    /// The campaigns that were last counted, the latest first.
    package var campaigns: [Campaign] = []
    /// The broadcasts that were last begun, the latest first.
    package var broadcasts: [Broadcast] = []
    /// What was left out or could not be read, in sentences.
    package var notes: [String] = []

    /// An overview of nothing at all.
    package init(app: String = "*", nowMs: Int64 = 0) {
        self.app = app
        self.nowMs = nowMs
    }

    /// The counters of one minute.
    package struct Minute: Equatable, Sendable {
        /// Minutes since 1970.
        package var minute: Int64
        package var counts: Counts

        package init(minute: Int64, counts: Counts = Counts()) {
            self.minute = minute
            self.counts = counts
        }

        /// When it began, in ms since 1970.
        package var startMs: Int64 { minute * 60_000 }
    }

    /// One app, in short.
    package struct App: Equatable, Sendable {
        package var name: String
        /// When a worker that knows it was last there, in ms since 1970.
        package var seenMs: Int64
        /// The last minutes: see ``Overview/appMinutes``.
        package var recent: Counts
        /// Since the beginning.
        package var totals: Counts

        package init(
            name: String, seenMs: Int64 = 0, recent: Counts = Counts(), totals: Counts = Counts()
        ) {
            self.name = name
            self.seenMs = seenMs
            self.recent = recent
            self.totals = totals
        }
    }

    /// How many minutes ``App/recent`` adds up: the one that is under way and those before it.
    package static let appMinutes = 5

    /// What became of a campaign's deliveries.
    package struct Campaign: Equatable, Sendable {
        package var app: String
        package var name: String
        /// When the first and the last of its deliveries were counted, in ms since 1970.
        package var firstMs: Int64
        package var lastMs: Int64
        /// By outcome; those without a delivery are left out.
        package var outcomes: [DeliveryOutcome: Int64]

        package init(
            app: String, name: String, firstMs: Int64 = 0, lastMs: Int64 = 0,
            outcomes: [DeliveryOutcome: Int64] = [:]
        ) {
            self.app = app
            self.name = name
            self.firstMs = firstMs
            self.lastMs = lastMs
            self.outcomes = outcomes
        }

        /// All deliveries that ended.
        package var deliveries: Int64 { outcomes.values.reduce(0) { $0.adding($1) } }
    }

    /// A broadcast and how far it has got.
    package struct Broadcast: Equatable, Sendable {
        package var app: String
        package var id: String
        package var status: BroadcastStatus

        package init(app: String, id: String, status: BroadcastStatus) {
            self.app = app
            self.id = id
            self.status = status
        }
    }
}

extension Overview {
    /// The pods whose last beat is recent.
    package var alivePods: [Pod] { pods.filter { $0.isAlive(nowMs: nowMs) } }

    /// The living workers and what they say, by name.
    package var workers: [(pod: Pod, facts: Pod.Worker)] {
        var found: [(pod: Pod, facts: Pod.Worker)] = []
        for pod in alivePods {
            if case .worker(let facts) = pod.detail { found.append((pod, facts)) }
        }
        return found
    }

    /// What is paused or cancelled now.
    package var orders: [ControlEntry] { control.entries.filter { $0.isInForce(nowMs: nowMs) } }

    /// The counters of the last `count` minutes added up; the minute that is under way is one of them.
    package func sum(lastMinutes count: Int) -> Counts {
        var sum = Counts()
        for minute in minutes.suffix(max(0, count)) { sum.add(minute.counts) }
        return sum
    }

    /// Deliveries that ended a second, over the last seconds, as the living workers say.
    package var rate: Double { workers.reduce(0) { $0 + $1.facts.rate } }

    /// Unfinished jobs by lane, over all living workers.
    package var lagByLane: [String: Int64] {
        var sum: [String: Int64] = [:]
        for (_, facts) in workers {
            for (lane, lag) in facts.lagByLane { sum[lane] = (sum[lane] ?? 0).adding(lag) }
        }
        return sum
    }

    /// The age of the oldest unfinished job by lane, in ms, over all living workers.
    package var oldestMsByLane: [String: Int64] {
        var oldest: [String: Int64] = [:]
        for (_, facts) in workers {
            for (lane, age) in facts.oldestMs { oldest[lane] = max(oldest[lane] ?? 0, age) }
        }
        return oldest
    }

    /// Records in the retry topics by tier. All retry pods tell of the partitions that they have, so it is
    /// their sum.
    package var retryDepth: [String: Int64] {
        var sum: [String: Int64] = [:]
        for case .retry(let facts) in alivePods.map(\.detail) {
            for (tier, depth) in facts.depth { sum[tier] = (sum[tier] ?? 0).adding(depth) }
        }
        return sum
    }
}

extension Int64 {
    /// The sum; the largest number when that is too large.
    func adding(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other < 0 ? .min : .max) : sum
    }
}
