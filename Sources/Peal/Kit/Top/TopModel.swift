internal import Decisions
internal import Overview
internal import Terminal

/// What `peal top` knows and how it is looked at: everything that a picture is made of, and what keys and
/// answers change. A value without I/O or a clock.
struct TopModel {
    /// The parts of the picture that have rows.
    enum Pane: Int, CaseIterable { case lanes, apps, reasons, pods, broadcasts, campaigns }

    /// What a key asks for beyond the picture.
    enum Action: Equatable { case none, quit, refresh }

    /// How many pictures the live sparkline keeps.
    static let samplesMax = 400

    /// Where Redis is, without a password.
    let address: String
    let intervalMs: Int

    private(set) var overview: Overview?
    private(set) var findings: [Finding] = []
    /// Why the last read failed; nil when it didn't. The overview is then an old one.
    private(set) var failure: String?
    private(set) var diagnosis = Diagnosis()
    /// Deliveries a second, one value a read.
    private(set) var samples: [Double] = []
    /// By lane and by app, and the processor share of pods.
    private(set) var laneRates: [String: Double] = [:]
    private(set) var appRates: [String: Double] = [:]
    private(set) var podCPU: [String: Double] = [:]
    private var laneMeter = RateMeter()
    private var appMeter = RateMeter()
    private var cpuMeter = RateMeter()

    private(set) var focus = Pane.apps
    private(set) var offsets: [Pane: Int] = [:]
    private(set) var sorts: [Pane: Int] = [:]
    private(set) var isHeld = false
    private(set) var showsHelp = false

    init(address: String, intervalMs: Int) {
        self.address = address
        self.intervalMs = intervalMs
    }

    // MARK: Answers

    mutating func take(_ overview: Overview) {
        failure = nil
        findings = diagnosis.take(overview)
        samples.append(overview.rate)
        if samples.count > Self.samplesMax { samples.removeFirst() }
        let now = overview.nowMs
        let fields: [(String, Overview.Counts.Field)] = [
            ("urgent", .urgent), ("normal", .normal), ("bulk", .bulk),
        ]
        laneRates = laneMeter.take(
            Dictionary(uniqueKeysWithValues: fields.map { ($0.0, overview.totals[$0.1]) }), atMs: now)
        appRates = appMeter.take(
            Dictionary(
                overview.apps.map { ($0.name, $0.totals.deliveries) }, uniquingKeysWith: { one, _ in one }),
            atMs: now)
        podCPU = cpuMeter.take(
            Dictionary(overview.pods.map { ($0.name, $0.cpuMs) }, uniquingKeysWith: { one, _ in one }),
            atMs: now)
        self.overview = overview
    }

    mutating func take(failure: String) {
        self.failure = failure
        samples.append(0)
        if samples.count > Self.samplesMax { samples.removeFirst() }
        findings = [.unreadable(failure)]
    }

    // MARK: Keys

    /// The panes that have something to show.
    var panes: [Pane] { Pane.allCases.filter { $0.rawValue <= Pane.pods.rawValue || count($0) > 0 } }

    mutating func handle(_ key: TerminalKey) -> Action {
        if showsHelp {
            showsHelp = false
            return key == .interrupt || key == .character("q") ? .quit : .none
        }
        switch key {
        case .interrupt, .character("q"), .character("Q"): return .quit
        case .character(" "), .character("h"): isHeld.toggle()
        case .character("?"): showsHelp = true
        case .character("r"): return .refresh
        case .tab, .right: step(1)
        case .backTab, .left: step(-1)
        case .character("s"):
            sorts[focus, default: 0] = (sorts[focus, default: 0] + 1) % TopTable.sorts(focus).count
        case .up, .character("k"): scroll(-1)
        case .down, .character("j"): scroll(1)
        case .pageUp: scroll(-10)
        case .pageDown: scroll(10)
        case .home: offsets[focus] = 0
        case .end: scroll(.max / 2)
        default: break
        }
        return .none
    }

    private mutating func step(_ by: Int) {
        let all = panes
        guard let at = all.firstIndex(of: focus) else {
            focus = .apps
            return
        }
        focus = all[(at + by + all.count) % all.count]
    }

    private mutating func scroll(_ by: Int) {
        offsets[focus] = min(max(0, (offsets[focus] ?? 0) + by), max(0, count(focus) - 1))
    }

    /// How many rows a pane has.
    private func count(_ pane: Pane) -> Int { overview.map { TopTable(pane, self, $0).rows.count } ?? 0 }
}
