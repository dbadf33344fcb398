internal import Decisions
internal import Registry

/// What waits: lanes, retry topics, broadcasts, and what an operator holds back.
struct BacklogRules {
    /// What holds lanes up, the likeliest first. Waiting that one of these explains is told with it.
    private static let blockages: [Finding.Cause] = [
        .redisAway, .podsNone, .kafkaAway, .workerGone, .providerUnavailable, .appStuck, .credentialRefused,
        .quotaRefused,
    ]

    private let overview: Overview
    private let limits: Diagnosis.Limits
    private let history: DiagnosisHistory

    init(_ overview: Overview, _ limits: Diagnosis.Limits, _ history: DiagnosisHistory) {
        self.overview = overview
        self.limits = limits
        self.history = history
    }

    private var nowMs: Int64 { overview.nowMs }

    /// Adds what is found about waiting to what is known: a finding of its own, or the end of the sentence of
    /// the one that is its reason.
    func add(to findings: inout [Finding]) {
        findings += paused
        findings += broadcasts
        let lanes = lateLanes
        let cause = Self.blockage(in: findings)
        if let cause {
            let late = lanes.filter { $0.name != "bulk" } + lanes.filter { $0.name == "bulk" }
            if let first = late.first {
                findings[cause].sentence =
                    Words.clause(findings[cause].sentence) + "; \(first.waiting) in the \(first.name) lane."
            }
        } else {
            findings += lanes.map(finding)
        }
        findings += retries
    }

    /// The worst finding of the likeliest cause that holds lanes up; nil without one.
    private static func blockage(in findings: [Finding]) -> Int? {
        for cause in blockages {
            let own = findings.indices.filter {
                findings[$0].cause == cause && findings[$0].severity >= .warning
            }
            if let worst = own.max(by: { findings[$0].severity < findings[$1].severity }) { return worst }
        }
        return nil
    }

    // MARK: Lanes

    /// A lane whose jobs wait longer than they should.
    private struct Lane {
        let name: String
        let lag: Int64
        let oldestMs: Int64
        /// Jobs more, or fewer, than `agoMs` before; nil when nobody watched.
        let change: (jobs: Int64, agoMs: Int64)?

        var waiting: String {
            let jobs = Words.count(lag, "job") + (lag == 1 ? " waits" : " wait")
            return oldestMs > 0 ? "\(jobs), the oldest for \(Words.span(ms: oldestMs))" : jobs
        }
    }

    private var lateLanes: [Lane] {
        let lags = overview.lagByLane
        let ages = overview.oldestMsByLane
        return Set(lags.keys).union(ages.keys).sorted(by: Self.isBefore).compactMap { name in
            let lag = lags[name] ?? 0
            let age = ages[name] ?? 0
            let limit = limits.oldestMs[name] ?? limits.oldestOtherMs
            let isLate = age > limit || name == "bulk" && lag >= limits.bulkJobs && age > limit / 10
            guard isLate, lag > 0 else { return nil }
            let change = history.before(lane: name).map {
                (jobs: lag - $0.lag, agoMs: $0.agoMs)
            }
            return Lane(name: name, lag: lag, oldestMs: age, change: change)
        }
    }

    private static func isBefore(_ one: String, _ other: String) -> Bool {
        let order = ["urgent", "normal", "bulk"]
        let places = (order.firstIndex(of: one) ?? 3, order.firstIndex(of: other) ?? 3)
        return places.0 != places.1 ? places.0 < places.1 : one < other
    }

    private func finding(_ lane: Lane) -> Finding {
        if lane.name == "bulk" { return bulk(lane) }
        let isFalling = lane.change.map { Double($0.jobs) * 20 < -Double(lane.lag) } ?? false
        let isGrowing = lane.change.map { Double($0.jobs) * 20 > Double(lane.lag) } ?? false
        let limit = limits.oldestMs[lane.name] ?? limits.oldestOtherMs
        let rate = Words.number(Int64(min(1e15, overview.rate.rounded())))
        var sentence = "The \(lane.name) lane is late: \(lane.waiting)"
        if let change = lane.change, isGrowing {
            sentence += ", \(Words.number(change.jobs)) more than \(Words.span(ms: change.agoMs)) ago"
        } else if isFalling {
            sentence += ", and getting fewer"
        }
        sentence += ". \(Words.count(Int64(overview.workers.count), "worker")) "
        sentence += "\(overview.workers.count == 1 ? "does" : "do") \(rate)/s and nothing holds them up"
        sentence += isFalling ? "." : ": there is more to do than they can; add workers."
        let severity: Finding.Severity =
            isFalling ? .info : lane.oldestMs > 6 * limit || isGrowing ? .critical : .warning
        return Finding(
            severity, .lagGrowing, .lane(lane.name), sentence,
            sinceMs: lane.oldestMs > 0 ? nowMs - lane.oldestMs : nil, lever: isFalling ? "" : "peal size")
    }

    private func bulk(_ lane: Lane) -> Finding {
        let urgent = overview.oldestMsByLane["urgent"] ?? 0
        let isFine = urgent <= limits.oldestMs["urgent"] ?? limits.oldestOtherMs
        var sentence = "Much bulk work is under way: \(lane.waiting)"
        if let change = lane.change, change.jobs < 0 {
            let left = Double(lane.lag) / Double(-change.jobs) * Double(change.agoMs)
            sentence += "; at this pace it is done in \(Words.span(ms: Int64(min(left, 9e15))))"
        }
        sentence += isFine ? ". Urgent jobs pass it." : "."
        return Finding(
            isFine ? .info : .warning, .bulkBacklog, .lane("bulk"), sentence,
            sinceMs: lane.oldestMs > 0 ? nowMs - lane.oldestMs : nil)
    }

    // MARK: Retry topics

    private var retries: [Finding] {
        let pods = overview.alivePods.compactMap { pod in
            if case .retry(let facts) = pod.detail { (pod: pod, facts: facts) } else { nil }
        }
        let retried = overview.sum(lastMinutes: limits.recentMinutes)[.retried]
        if pods.isEmpty {
            guard retried > 0 || overview.pods.contains(where: { $0.role == "retry" }) else { return [] }
            let last = overview.pods.filter { $0.role == "retry" }.map(\.beatMs).max()
            return [
                Finding(
                    .critical, .retryBacklog, .everything,
                    "No retry pod is running, so what has to wait is never tried again"
                        + (retried > 0 ? ": \(Words.number(retried)) in the last minutes." : "."),
                    sinceMs: last, lever: "peal-retry --config peal.yaml")
            ]
        }
        var found: [Finding] = []
        let late = pods.filter { $0.facts.dueErrorP99Ms > limits.retryLateMs }
        if let worst = late.max(by: { $0.facts.dueErrorP99Ms < $1.facts.dueErrorP99Ms }) {
            found.append(
                Finding(
                    .warning, .retryBacklog, late.count == 1 ? .pod(worst.pod.name) : .pods(role: "retry"),
                    "Retry pods hand jobs back \(Words.span(ms: worst.facts.dueErrorP99Ms)) after they were "
                        + "due: they have more to do than they can, or Kafka is slow."))
        }
        let depth = overview.retryDepth.values.reduce(Int64(0)) { $0.adding($1) }
        if depth >= limits.retryRecords {
            let tiers = overview.retryDepth.filter { $0.value > 0 }
                .sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { "\($0.key) \(Words.number($0.value))" }
            found.append(
                Finding(
                    .info, .retryBacklog, .everything,
                    "\(Words.count(depth, "job")) wait in the retry topics (\(Words.list(tiers)))."))
        }
        return found
    }

    // MARK: Broadcasts and orders

    private var broadcasts: [Finding] {
        let stages = overview.alivePods.filter { $0.role == "expand" }
        return overview.broadcasts.compactMap { cast in
            guard cast.status.state == .planned || cast.status.state == .running else { return nil }
            let subject = Finding.Subject.broadcast(app: cast.app, id: cast.id)
            let how = "broadcast \(cast.id) of \(cast.app)"
            let far =
                "\(Words.number(Int64(cast.status.partsDone))) of "
                + "\(Words.count(Int64(cast.status.parts), "part")) done, "
                + "\(Words.count(cast.status.recipients, "recipient"))"
            if stages.isEmpty {
                return Finding(
                    .warning, .broadcastStuck, subject,
                    "The \(how) can't go on (\(far)): no broadcast stage is running.",
                    sinceMs: cast.status.startedMs > 0 ? cast.status.startedMs : nil,
                    lever: "peal-producer expand --config peal.yaml")
            }
            guard let moved = history.progress[subject]?.atMs, nowMs - moved >= limits.broadcastMs else {
                return nil
            }
            return Finding(
                .warning, .broadcastStuck, subject,
                "The \(how) has stood still for \(Words.span(ms: nowMs - moved)) (\(far)).", sinceMs: moved)
        }
    }

    private var paused: [Finding] {
        let orders = overview.orders.filter { $0.action == .pause }
        var found = orders.prefix(20).map(order)
        let newest = orders.map(\.atMs).max() ?? 0
        let version = overview.control.version
        let late = overview.workers.filter { $0.facts.control < version }
        // A pod gets a second to read an order, and another to tell.
        if newest > 0, nowMs - newest > 5000, let first = late.first {
            found.append(
                Finding(
                    .warning, .paused, late.count == 1 ? .pod(first.pod.name) : .pods(role: "worker"),
                    "\(Words.list(late.map(\.pod.name))) \(late.count == 1 ? "does" : "do") not obey "
                        + "the last order yet: it knows version \(first.facts.control) of \(version).",
                    lever: "peal control list"))
        }
        return found
    }

    private func order(_ entry: ControlEntry) -> Finding {
        var words: String
        var options: [String?] = []
        let subject: Finding.Subject
        switch entry.subject {
        case .app(let app):
            words = "App \(app) is paused"
            options = ["--app", Words.shell(app)]
            subject = .app(app)
        case .provider(let provider, let app):
            words =
                "\(ProviderRules.title("\(provider.name)")) is paused for "
                + (app.map { "app \($0)" } ?? "every app")
            options = ["--provider", "\(provider.name)"] + (app.map { ["--app", Words.shell($0)] } ?? [])
            subject = app.map { .route("\(provider.name)/\($0)") } ?? .provider("\(provider.name)")
        case .campaign(let app, let name):
            words = "Campaign \(name) of \(app) is paused"
            options = ["--app", Words.shell(app), "--campaign", Words.shell(name)]
            subject = .app(app)
        case .job(let app, let id):
            words = "Job \(id) of \(app) is paused"
            options = ["--app", Words.shell(app), "--job", Words.shell(id)]
            subject = .app(app)
        }
        if !entry.by.isEmpty { words += " by \(entry.by)" }
        if !entry.reason.isEmpty { words += ": \(Words.clause(entry.reason))" }
        if let until = entry.untilMs { words += "; it ends in \(Words.span(ms: until - nowMs))" }
        let known = options.compactMap { $0 }
        return Finding(
            .info, .paused, subject, words + ".", sinceMs: entry.atMs > 0 ? entry.atMs : nil,
            lever: known.count == options.count ? "peal control resume " + known.joined(separator: " ") : "")
    }
}
