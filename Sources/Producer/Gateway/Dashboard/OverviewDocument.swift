internal import Core
internal import Decisions
internal import Overview
internal import Registry

/// An overview as the JSON that the page and `GET /v1/overview` show: a value without I/O.
struct OverviewDocument {
    /// The minutes that one point of the series adds up, so that a page has about a hundred of them.
    static func step(minutes: Int) -> Int {
        switch minutes {
        case ...120: 1
        case ...720: 5
        case ...1_440: 15
        default: 30
        }
    }

    /// How many minutes have to be read for a page of `minutes`: its first point is a whole one.
    static func window(minutes: Int) -> Int {
        min(OverviewReader.minutesMax, minutes + step(minutes: minutes) - 1)
    }

    private let overview: Overview
    private let minutes: Int
    private let step: Int
    private let shown: [Overview.Minute]
    private let sum: Overview.Counts
    private let findings: [Finding]

    /// The document of the last `minutes` minutes of an overview that has at least these, with what a
    /// diagnosis found in it.
    init(_ overview: Overview, minutes: Int, findings: [Finding]) {
        self.overview = overview
        self.findings = findings
        self.minutes = minutes
        step = Self.step(minutes: minutes)
        let last = overview.minutes.last?.minute ?? overview.nowMs / 60_000
        let wanted = last - Int64(minutes) + 1
        let first = wanted - wanted % Int64(step)
        shown = overview.minutes.filter { $0.minute >= first }
        var sum = Overview.Counts()
        for minute in shown { sum.add(minute.counts) }
        self.sum = sum
    }

    /// The document in one line.
    var json: [UInt8] {
        var out = AnswerObject()
        out.set("now_ms", overview.nowMs)
        out.set("app", overview.app)
        out.set("minutes", Int64(minutes))
        out.set("step", Int64(step))
        out.set("series", series.value)
        out.set("sum", counts(sum, hasReasons: true).value)
        out.set("totals", counts(overview.totals, hasReasons: false).value)
        out.set("rate", .number(Self.decimal(overview.rate)))
        out.set("problems", .array(problems))
        out.set("lanes", .array(lanes))
        out.set("retry", retry.value)
        out.set("apps", .array(overview.apps.map(app)))
        out.set("campaigns", .array(overview.campaigns.map(campaign)))
        out.set("broadcasts", .array(overview.broadcasts.map(broadcast)))
        out.set("pods", .array(overview.pods.map(pod)))
        out.set("orders", .array(overview.orders.prefix(Self.ordersMax).map(order)))
        out.set("orders_in_all", Int64(overview.orders.count))
        out.set("notes", .array(overview.notes.map { JSONValue.string($0) }))
        var buffer = ByteBuffer(capacity: 16_384)
        out.value.append(to: &buffer)
        return buffer.array
    }

    private static let ordersMax = 100
    private static let reasonsMax = 20

    // MARK: Counters

    /// One list for each counter, of the sums of ``step`` minutes each.
    private var series: AnswerObject {
        var points: [Overview.Counts] = []
        for minute in shown {
            if points.isEmpty || minute.minute % Int64(step) == 0 { points.append(Overview.Counts()) }
            points[points.count - 1].add(minute.counts)
        }
        var out = AnswerObject()
        out.set("start_ms", (shown.first?.minute ?? 0) * 60_000)
        func list(_ name: String, _ value: (Overview.Counts) -> Int64) {
            out.set(name, .array(points.map { JSONValue.number("\(value($0))") }))
        }
        list("accepted") { $0[.accepted] }
        list("failed") { $0[.failed] }
        list("retried") { $0[.retried] }
        list("dead") { $0[.dead].addingClamped($0[.rejected]) }
        list("unread_added") { $0[.unreadAdded] }
        list("unread_cleared") { $0[.unreadCleared] }
        for (name, fraction) in [("p50_ms", 0.5), ("p99_ms", 0.99)] {
            let values = points.map { $0.latencyMs(fraction: fraction) }
            out.set(
                name, .array(values.map { $0.map { JSONValue.number(Self.decimal($0)) } ?? JSONValue.null }))
        }
        return out
    }

    private func counts(_ counts: Overview.Counts, hasReasons: Bool) -> AnswerObject {
        var out = AnswerObject()
        for field in Overview.Counts.Field.allCases { out.set(field.name, counts[field]) }
        for (name, fraction) in [("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)] {
            let value = counts.latencyMs(fraction: fraction)
            out.set(name, value.map { JSONValue.number(Self.decimal($0)) } ?? JSONValue.null)
        }
        out.set("latency_bounds_ms", .array(CounterFields.latencyBoundsMs.map { JSONValue.number("\($0)") }))
        out.set("latency", .array(counts.latency.map { JSONValue.number("\($0)") }))
        guard hasReasons else { return out }
        let ranked = counts.reasons.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
        out.set("reasons", .array(ranked.prefix(Self.reasonsMax).map { reason($0.key, $0.value) }))
        return out
    }

    private func reason(_ name: String, _ count: Int64) -> JSONValue {
        var out = AnswerObject()
        out.set("reason", name)
        out.set("count", count)
        let known = Reason.allCases.first { "\($0.label)" == name }
        out.set("text", known.map { "\($0.text)" } ?? "")
        return out.value
    }

    // MARK: The pipeline

    private var problems: [JSONValue] {
        var list = findings
        if !list.contains(where: { $0.severity > .info }) {
            // What no finding explains, such as a pod that is still joining its groups.
            for pod in overview.alivePods.prefix(Self.ordersMax) where !pod.ready.isEmpty {
                list.append(Finding(.warning, .lagGrowing, .pod(pod.name), "\(pod.name): \(pod.ready)"))
            }
        }
        return list.map(problem)
    }

    private func problem(_ finding: Finding) -> JSONValue {
        var out = AnswerObject()
        let level: StaticString =
            switch finding.severity {
            case .critical: "bad"
            case .warning: "warn"
            case .info: "note"
            }
        out.set("level", "\(level)")
        out.set("code", finding.cause.rawValue)
        out.set("about", "\(finding.subject.kind)")
        out.set("whom", finding.subject.name)
        out.set("sentence", finding.sentence)
        out.set("since_ms", finding.sinceMs.map { JSONValue.number("\($0)") } ?? JSONValue.null)
        out.set("lever", finding.lever)
        return out.value
    }

    private var lanes: [JSONValue] {
        let lag = overview.lagByLane
        let oldest = overview.oldestMsByLane
        let known: [(String, Overview.Counts.Field)] = [
            ("urgent", .urgent), ("normal", .normal), ("bulk", .bulk),
        ]
        return known.map { (name, field) -> JSONValue in
            var out = AnswerObject()
            let readers = overview.workers.filter { $0.facts.lanes.contains(name) }
            out.set("lane", name)
            out.set("lag", lag[name] ?? 0)
            out.set("oldest_ms", oldest[name] ?? 0)
            out.set("deliveries", sum[field])
            out.set("workers", Int64(readers.count))
            out.set("full", Int64(readers.count { $0.facts.paused.contains(name) }))
            return out.value
        }
    }

    private var retry: AnswerObject {
        var out = AnswerObject()
        var held: Int64 = 0
        var late: Int64 = 0
        var pods: Int64 = 0
        for case .retry(let facts) in overview.alivePods.map(\.detail) {
            held = held.addingClamped(facts.held)
            late = max(late, facts.dueErrorP99Ms)
            pods += 1
        }
        let tiers = overview.retryDepth.sorted { Self.seconds($0.key) < Self.seconds($1.key) }
        out.set("pods", pods)
        out.set("held", held)
        out.set("due_error_p99_ms", late)
        out.set(
            "tiers",
            .array(
                tiers.map { (name, records) -> JSONValue in
                    var tier = AnswerObject()
                    tier.set("tier", name)
                    tier.set("records", records)
                    return tier.value
                }))
        return out
    }

    /// The delay of a tier by its name, such as `15m`; a name that says none comes last.
    private static func seconds(_ tier: String) -> Int64 {
        if tier.hasSuffix("ms") { return 0 }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        guard let unit = tier.last.flatMap({ units[$0] }), let number = Int32(tier.dropLast()) else {
            return .max
        }
        return Int64(number) * unit
    }

    private func pod(_ pod: Overview.Pod) -> JSONValue {
        var out = AnswerObject()
        out.set("name", pod.name)
        out.set("role", pod.role)
        out.set("version", pod.version)
        out.set("alive", pod.isAlive(nowMs: overview.nowMs))
        out.set("beat_ms", pod.beatMs)
        out.set("started_ms", pod.startedMs)
        out.set("rss_bytes", pod.rssBytes)
        out.set("cpu_ms", pod.cpuMs)
        out.set("ready", pod.ready)
        switch pod.detail {
        case .worker(let facts):
            out.set("lanes", .array(facts.lanes.map { JSONValue.string($0) }))
            out.set("rate", .number(Self.decimal(facts.rate)))
            out.set("in_flight", facts.inFlight)
            out.set("lag", facts.lag)
            out.set("p50_ms", facts.p50Ms)
            out.set("p99_ms", facts.p99Ms)
            out.set("connections", facts.connections)
            out.set("streams", facts.streams)
            out.set("circuits", .array(facts.circuits.map { JSONValue.string($0) }))
            out.set("faults", .array(facts.faults.map { JSONValue.string($0) }))
            out.set("redis", facts.redis)
        case .retry(let facts):
            out.set("held", facts.held)
            out.set("due_error_p99_ms", facts.dueErrorP99Ms)
        case .gateway(let facts):
            out.set("rate", .number(Self.decimal(facts.requestsPerSecond)))
            out.set("in_flight", facts.inFlight)
            out.set("jobs", facts.jobs)
        case .expand(let facts):
            out.set("parts", facts.parts)
            out.set("parts_paused", facts.partsPaused)
            out.set("recipients", facts.recipients)
        case .other: break
        }
        return out.value
    }

    // MARK: Apps, campaigns, broadcasts, orders

    private func app(_ app: Overview.App) -> JSONValue {
        var out = AnswerObject()
        out.set("app", app.name)
        out.set("seen_ms", app.seenMs)
        for (name, counts) in [("recent", app.recent), ("totals", app.totals)] {
            var part = AnswerObject()
            for field in OverviewReader.appFields { part.set(field.name, counts[field]) }
            out.set(name, part.value)
        }
        return out.value
    }

    private func campaign(_ campaign: Overview.Campaign) -> JSONValue {
        var out = AnswerObject()
        out.set("app", campaign.app)
        out.set("campaign", campaign.name)
        out.set("first_ms", campaign.firstMs)
        out.set("last_ms", campaign.lastMs)
        out.set("deliveries", campaign.deliveries)
        var outcomes = AnswerObject()
        for outcome in DeliveryOutcome.allCases {
            if let count = campaign.outcomes[outcome] { outcomes.set("\(outcome.name)", count) }
        }
        out.set("outcomes", outcomes.value)
        out.set("state", state(of: campaign))
        return out.value
    }

    /// `running`, `paused` or `cancelled`, as an operator has ordered.
    private func state(of campaign: Overview.Campaign) -> String {
        let orders = overview.orders.filter {
            $0.subject == .campaign(app: campaign.app, name: campaign.name)
                || $0.subject == .app(campaign.app)
        }
        if orders.contains(where: { $0.action == .cancel }) { return "cancelled" }
        return orders.isEmpty ? "running" : "paused"
    }

    private func broadcast(_ broadcast: Overview.Broadcast) -> JSONValue {
        var out = AnswerObject()
        out.set("app", broadcast.app)
        out.set("id", broadcast.id)
        out.set("state", broadcast.status.state.rawValue)
        out.set("audience", broadcast.status.audience)
        out.set("campaign", broadcast.status.campaign)
        out.set("recipients", broadcast.status.recipients)
        out.set("parts", Int64(broadcast.status.parts))
        out.set("parts_done", Int64(broadcast.status.partsDone))
        out.set("started_ms", broadcast.status.startedMs)
        out.set(
            "finished_ms", broadcast.status.finishedMs.map { JSONValue.number("\($0)") } ?? JSONValue.null)
        return out.value
    }

    private func order(_ entry: ControlEntry) -> JSONValue {
        var out = AnswerObject()
        out.set("subject", entry.subject.field)
        out.set("action", entry.action.rawValue)
        out.set("by", entry.by)
        out.set("reason", entry.reason)
        out.set("at_ms", entry.atMs)
        out.set("until_ms", entry.untilMs.map { JSONValue.number("\($0)") } ?? JSONValue.null)
        return out.value
    }

    /// With one digit behind the point.
    private static func decimal(_ value: Double) -> String {
        let tenths = Int64((min(max(0, value.isFinite ? value : 0), 1e15) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension Int64 {
    /// The sum; the largest number when that is too large.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? .max : sum
    }
}
