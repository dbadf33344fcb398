internal import Decisions
internal import Overview
internal import Registry
internal import Terminal

/// The rows of one pane, not yet cut to a width.
struct TopTable {
    struct Column {
        let title: String
        var isRight = true
        /// How many columns it takes at least before the table drops others.
        var least = 0
        /// The first to go when there is no room; 0 stays.
        var rank = 0
    }

    struct Cell {
        var text: String
        var kind: TextStyle.Kind?

        init(_ text: String, _ kind: TextStyle.Kind? = nil) {
            self.text = text
            self.kind = kind
        }
    }

    private(set) var title: String
    private(set) var columns: [Column] = []
    private(set) var rows: [[Cell]] = []

    private let model: TopModel
    private let overview: Overview

    init(_ pane: TopModel.Pane, _ model: TopModel, _ overview: Overview) {
        self.model = model
        self.overview = overview
        title = ""
        switch pane {
        case .lanes: lanes()
        case .apps: apps()
        case .reasons: reasons()
        case .pods: pods()
        case .broadcasts: broadcasts()
        case .campaigns: campaigns()
        }
    }

    /// What a pane can be sorted by; the first is where it begins.
    static func sorts(_ pane: TopModel.Pane) -> [String] {
        switch pane {
        case .lanes: ["urgency"]
        case .apps: ["deliveries", "retried", "failed", "name"]
        case .reasons: ["count", "name"]
        case .pods: ["role", "rate", "lag", "memory"]
        case .broadcasts, .campaigns: ["time"]
        }
    }

    private func sort(_ pane: TopModel.Pane) -> String {
        let all = Self.sorts(pane)
        return all[(model.sorts[pane] ?? 0) % all.count]
    }

    private static func rate(_ value: Double?) -> String { value.map { Human.rate($0) } ?? "-" }

    private static func age(_ ms: Int64) -> String { ms > 0 ? Human.duration(ms: Double(ms)) : "-" }

    private static func number(_ value: Int64) -> String {
        value < 10_000_000 ? Human.grouped(Int(clamping: value)) : Human.short(Double(value))
    }

    // MARK: Panes

    private mutating func lanes() {
        title = "LANES"
        columns = [
            Column(title: "lane", isRight: false, least: 8), Column(title: "waiting"),
            Column(title: "oldest"), Column(title: "rate"),
            Column(title: "", isRight: false, rank: 1),
        ]
        let lags = overview.lagByLane
        let ages = overview.oldestMsByLane
        let order = ["urgent", "normal", "bulk"]
        let others = Set(lags.keys).union(ages.keys).subtracting(order).sorted()
        for name in order + others {
            let limit = Diagnosis.Limits().oldestMs[name] ?? Diagnosis.Limits().oldestOtherMs
            let age = ages[name] ?? 0
            let served = overview.workers.filter { $0.facts.lanes.contains(name) }.count
            let held = overview.workers.filter { $0.facts.paused.contains(name) }.count
            let notes =
                served == 0 ? "no worker reads it" : held > 0 ? "not read now by \(held) of \(served)" : ""
            let isKnown = overview.workers.contains { $0.facts.lanes.contains(name) }
            rows.append([
                Cell(OneLine.text(name)), Cell(isKnown ? Self.number(lags[name] ?? 0) : "-"),
                Cell(Self.age(age), age > limit ? .yellow : nil),
                Cell(Self.rate(model.laneRates[name] ?? minuteRate(name))), Cell(notes, .dim),
            ])
        }
    }

    /// The rate of the last whole minute, for a first look.
    private func minuteRate(_ lane: String) -> Double? {
        guard overview.minutes.count > 1 else { return nil }
        let counts = overview.minutes[overview.minutes.count - 2].counts
        switch lane {
        case "urgent": return Double(counts[.urgent]) / 60
        case "normal": return Double(counts[.normal]) / 60
        case "bulk": return Double(counts[.bulk]) / 60
        default: return nil
        }
    }

    private mutating func apps() {
        title = "APPS, last \(Overview.appMinutes) minutes"
        columns = [
            Column(title: "app", isRight: false, least: 10), Column(title: "rate"),
            Column(title: "ended"), Column(title: "accepted"), Column(title: "retried"),
            Column(title: "invalid", rank: 2), Column(title: "dead", rank: 1),
            Column(title: "unread", rank: 3),
        ]
        let key = sort(.apps)
        let sorted = overview.apps.sorted { one, other in
            let values: (Int64, Int64) =
                switch key {
                case "retried": (one.recent[.retried], other.recent[.retried])
                case "failed": (one.recent[.failed], other.recent[.failed])
                case "name": (0, 0)
                default: (one.recent.deliveries, other.recent.deliveries)
                }
            return values.0 != values.1 ? values.0 > values.1 : one.name < other.name
        }
        let paused = Set(
            overview.orders.compactMap { entry in
                if case .app(let app) = entry.subject, entry.action == .pause { app } else { nil }
            })
        for app in sorted {
            let ended = app.recent.deliveries
            let accepted = app.recent[.accepted]
            let isPaused = paused.contains(app.name)
            let isIdle = ended == 0 && app.recent[.retried] == 0
            rows.append([
                Cell(OneLine.text(app.name) + (isPaused ? " (paused)" : ""), isIdle ? .dim : nil),
                Cell(Self.rate(model.appRates[app.name])), Cell(Self.number(ended)),
                Cell(
                    Human.percent(Int(clamping: accepted), of: Int(clamping: ended)),
                    ended > 0 && accepted * 100 < ended * 95 ? .yellow : nil),
                Cell(Self.number(app.recent[.retried]), app.recent[.retried] > ended / 10 ? .yellow : nil),
                Cell(Self.number(app.recent[.invalidToken])),
                Cell(
                    Self.number(app.recent.deadLetters), app.recent.deadLetters > 0 ? .yellow : nil),
                Cell("+\(Self.number(app.recent[.unreadAdded])) -\(Self.number(app.recent[.unreadCleared]))"),
            ])
        }
    }

    private mutating func reasons() {
        title = "REASONS, last \(Diagnosis.Limits().recentMinutes) minutes"
        columns = [
            Column(title: "reason", isRight: false, least: 24), Column(title: "count"),
            Column(title: "share", rank: 1),
        ]
        let recent = overview.sum(lastMinutes: Diagnosis.Limits().recentMinutes)
        let whole = recent.deliveries.addingReportingOverflow(recent[.retried]).partialValue
        let byName = sort(.reasons) == "name"
        let sorted = recent.reasons.filter { $0.value > 0 && $0.key != "accepted" }.sorted { one, other in
            byName || one.value == other.value ? one.key < other.key : one.value > other.value
        }
        for (name, count) in sorted {
            rows.append([
                Cell(OneLine.text(name)), Cell(Self.number(count)),
                Cell(Human.percent(Int(clamping: count), of: Int(clamping: max(count, whole)))),
            ])
        }
    }

    private mutating func pods() {
        title = "PODS"
        columns = [
            Column(title: "pod", isRight: false, least: 14), Column(title: "role", isRight: false),
            Column(title: "rate"), Column(title: "in flight"), Column(title: "lag", rank: 2),
            Column(title: "p99", rank: 1), Column(title: "cpu", rank: 3), Column(title: "memory", rank: 4),
            Column(title: "up", rank: 5), Column(title: "state", isRight: false, least: 10),
        ]
        let key = sort(.pods)
        let sorted = overview.pods.sorted { one, other in
            let values: (Double, Double) =
                switch key {
                case "rate": (one.rate, other.rate)
                case "lag": (Double(one.lag), Double(other.lag))
                case "memory": (Double(one.rssBytes), Double(other.rssBytes))
                default: (0, 0)
                }
            if values.0 != values.1 { return values.0 > values.1 }
            let roles = (one.place, other.place)
            return roles.0 != roles.1 ? roles.0 < roles.1 : one.name < other.name
        }
        for pod in sorted { rows.append(row(pod)) }
    }

    private func row(_ pod: Overview.Pod) -> [Cell] {
        let isAlive = pod.isAlive(nowMs: overview.nowMs)
        let silence = Human.duration(ms: Double(max(0, overview.nowMs - pod.beatMs)))
        let state =
            isAlive
            ? pod.ready.isEmpty ? Cell("ready", .green) : Cell(OneLine.text(pod.ready), .yellow)
            : Cell("silent for \(silence)", .red)
        var flight: Int64?
        var p99: Int64 = 0
        switch pod.detail {
        case .worker(let facts):
            flight = facts.inFlight
            p99 = facts.p99Ms
        case .gateway(let facts): flight = facts.inFlight
        case .retry(let facts):
            flight = facts.held
            p99 = facts.dueErrorP99Ms
        case .expand(let facts): flight = facts.parts
        case .other: break
        }
        let up = pod.startedMs > 0 ? Human.duration(ms: Double(max(0, overview.nowMs - pod.startedMs))) : "-"
        let cpu = model.podCPU[pod.name].map { Human.decimal($0 / 10, places: 0) + " %" } ?? "-"
        let isWorker = if case .worker = pod.detail { true } else { false }
        return [
            Cell(OneLine.text(pod.name), isAlive ? nil : .dim), Cell(OneLine.text(pod.role)),
            Cell(isAlive && pod.hasRate ? Human.rate(pod.rate) : "-"),
            Cell(isAlive ? flight.map(Self.number) ?? "-" : "-"),
            Cell(isAlive && isWorker ? Self.number(pod.lag) : "-"),
            Cell(isAlive && p99 > 0 ? Human.duration(ms: Double(p99)) : "-"), Cell(isAlive ? cpu : "-"),
            Cell(pod.rssBytes > 0 ? Human.bytes(UInt64(clamping: pod.rssBytes)) : "-"), Cell(up), state,
        ]
    }

    private mutating func broadcasts() {
        title = "BROADCASTS"
        columns = [
            Column(title: "broadcast", isRight: false, least: 14),
            Column(title: "app", isRight: false), Column(title: "state", isRight: false),
            Column(title: "parts"), Column(title: "recipients"), Column(title: "began", rank: 1),
        ]
        for cast in overview.broadcasts {
            let ago = Human.duration(ms: Double(overview.nowMs) - Double(max(0, cast.status.startedMs)))
            let kind: TextStyle.Kind? =
                switch cast.status.state {
                case .done: .dim
                case .paused, .cancelled: .yellow
                case .planned, .running: nil
                }
            rows.append([
                Cell(OneLine.text(cast.id)), Cell(OneLine.text(cast.app)),
                Cell(cast.status.state.rawValue, kind),
                Cell("\(cast.status.partsDone) of \(cast.status.parts)"),
                Cell(Self.number(cast.status.recipients)), Cell("\(ago) ago"),
            ])
        }
    }

    private mutating func campaigns() {
        title = "CAMPAIGNS"
        columns = [
            Column(title: "campaign", isRight: false, least: 14), Column(title: "app", isRight: false),
            Column(title: "ended"), Column(title: "accepted"), Column(title: "last", rank: 1),
        ]
        for campaign in overview.campaigns {
            let accepted = campaign.outcomes[.accepted] ?? 0
            let ago = Human.duration(ms: Double(max(0, overview.nowMs - campaign.lastMs)))
            rows.append([
                Cell(OneLine.text(campaign.name)), Cell(OneLine.text(campaign.app)),
                Cell(Self.number(campaign.deliveries)),
                Cell(Human.percent(Int(clamping: accepted), of: Int(clamping: campaign.deliveries))),
                Cell("\(ago) ago"),
            ])
        }
    }
}

extension Overview.Pod {
    /// Workers first.
    fileprivate var place: Int {
        ["worker", "retry", "gateway", "expand"].firstIndex(of: role) ?? 4
    }

    fileprivate var hasRate: Bool {
        switch detail {
        case .worker, .gateway: true
        case .retry, .expand, .other: false
        }
    }

    /// Deliveries or requests a second.
    fileprivate var rate: Double {
        switch detail {
        case .worker(let facts): facts.rate
        case .gateway(let facts): facts.requestsPerSecond
        case .retry, .expand, .other: 0
        }
    }

    fileprivate var lag: Int64 { if case .worker(let facts) = detail { facts.lag } else { 0 } }
}
