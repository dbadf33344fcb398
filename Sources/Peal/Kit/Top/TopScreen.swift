internal import Core
internal import Overview
internal import Terminal

/// Draws the picture: a pure function of the model and a size.
struct TopScreen {
    private let model: TopModel
    private let width: Int
    /// Nil for as many lines as there are.
    private let height: Int?
    private let style: TextStyle

    /// A picture of `width` columns and `height` lines; nil for no bound, as for a print.
    init(_ model: TopModel, width: Int, height: Int?, style: TextStyle) {
        self.model = model
        self.width = max(20, min(width, 500))
        self.height = height.map { max(4, min($0, 500)) }
        self.style = style
    }

    /// The lines; never more than the height, none wider than the width.
    var lines: [String] {
        if model.showsHelp, let height { return Array(help.prefix(height)) }
        var out = header
        guard let overview = model.overview else {
            out += findings(most: 6)
            if model.failure == nil { out.append(style(.dim, "Redis is asked…")) }
            return Array(out.prefix(height ?? .max))
        }
        if let height {
            out += findings(most: max(2, (height - out.count) / 3))
            out += body(overview, height - out.count - 1)
            out = Array(out.prefix(height - 1))
            while out.count < height - 1 { out.append("") }
            out.append(footer)
            return out
        }
        return out + findings(most: .max) + body(overview, nil) + notes(overview)
    }

    // MARK: Head

    private var header: [String] {
        var lines = [title, verdict]
        if let overview = model.overview { lines.append(flow(overview)) }
        return lines
    }

    private var title: String {
        let clock = model.overview.map { Self.clock($0.nowMs) } ?? ""
        let held = model.isHeld ? "held  " : ""
        let right =
            height == nil ? clock : "\(held)\(clock)  every \(Human.duration(ms: Double(model.intervalMs)))"
        let left = DisplayWidth.fit(
            "peal top  \(OneLine.text(model.address))", to: max(0, width - DisplayWidth.of(right) - 1))
        return style(.dim, left + " " + DisplayWidth.clip(right, to: width - 1))
    }

    private static func clock(_ ms: Int64) -> String {
        let text = Timestamp.rfc3339(ms: ms)
        return text.split(separator: "T").last.map { String($0.prefix(8)) + " UTC" } ?? text
    }

    /// One line on whether all is well.
    private var verdict: String {
        let counts = Finding.Severity.allCases.reversed().map { severity in
            (severity, model.findings.filter { $0.severity == severity }.count)
        }
        if model.failure != nil, model.overview != nil {
            let text = "✖ Redis doesn't answer; what is below is old."
            return style(.red, DisplayWidth.clip(text, to: width))
        }
        let critical = counts[0].1
        let warnings = counts[1].1
        guard model.overview != nil || critical > 0 else { return "" }
        if critical + warnings == 0 {
            let more = counts[2].1 == 0 ? "" : " \(Self.plural(counts[2].1, "thing")) worth knowing."
            return DisplayWidth.of("● All is well.\(more)") <= width
                ? style(.green, "● All is well.") + more : style(.green, "● All is well.")
        }
        var parts: [String] = []
        if critical > 0 { parts.append(style(.red, "✖ \(critical) critical")) }
        if warnings > 0 { parts.append(style(.yellow, "▲ \(Self.plural(warnings, "warning"))")) }
        return parts.joined(separator: "  ")
    }

    private static func plural(_ count: Int, _ one: String) -> String {
        "\(count) \(one)\(count == 1 ? "" : "s")"
    }

    /// The throughput with its history, and how well it goes.
    private func flow(_ overview: Overview) -> String {
        let recent = overview.sum(lastMinutes: Overview.appMinutes)
        var parts: [String] = []
        if recent.deliveries > 0 {
            let share = Human.percent(
                Int(clamping: recent[.accepted]), of: Int(clamping: recent.deliveries))
            parts.append("accepted \(share)")
        }
        if let half = recent.latencyMs(fraction: 0.5), let most = recent.latencyMs(fraction: 0.99) {
            parts.append("p50 \(Human.duration(ms: half)), p99 \(Human.duration(ms: most))")
        }
        let flight = overview.workers.reduce(Int64(0)) {
            $0.addingReportingOverflow($1.facts.inFlight).partialValue
        }
        parts.append("in flight \(Human.grouped(Int(clamping: flight)))")
        let tail = parts.joined(separator: "  ")
        let rate = DisplayWidth.fit(Human.rate(overview.rate), to: 8, right: true)
        let room = width - DisplayWidth.of(rate) - DisplayWidth.of(tail) - 4
        guard room >= 8 else { return DisplayWidth.clip("\(rate)  \(tail)", to: width) }
        // Minutes until there is a history of one's own.
        let isLive = height != nil && model.samples.count > 3
        let values =
            isLive ? model.samples : overview.minutes.map { Double($0.counts.deliveries) / 60 }
        let bars = Sparkline.render(values, width: min(room, isLive ? 120 : 60))
        let pad = String(repeating: " ", count: max(0, room - DisplayWidth.of(bars)))
        return style(.bold, rate) + "  " + style(.cyan, bars) + pad + "  " + tail
    }

    // MARK: Findings

    private func findings(most: Int) -> [String] {
        var lines: [String] = []
        for (place, finding) in model.findings.enumerated() {
            let block = block(finding)
            let left = model.findings.count - place
            // The last line says how many there was no room for.
            if lines.count + block.count > most - (left > 1 ? 1 : 0) {
                if lines.isEmpty { lines += block.prefix(max(1, most - 1)) }
                let hidden = left - (place == 0 ? 1 : 0)
                if hidden > 0, lines.count < most {
                    lines.append(
                        style(.dim, DisplayWidth.clip("  and \(hidden) more (peal top --once)", to: width)))
                }
                return lines
            }
            lines += block
        }
        return lines
    }

    private func block(_ finding: Finding) -> [String] {
        let (mark, kind): (String, TextStyle.Kind) =
            switch finding.severity {
            case .critical: ("✖", .red)
            case .warning: ("▲", .yellow)
            case .info: ("·", .dim)
            }
        var text = OneLine.text(finding.sentence)
        // Waiting tells its age in its own sentence.
        let isWaiting = finding.cause == .lagGrowing || finding.cause == .bulkBacklog
        if !isWaiting, let since = finding.sinceMs, let now = model.overview?.nowMs, now - since >= 1000 {
            text += " (\(Human.duration(ms: Double((now - since) / 1000 * 1000))))"
        }
        var lines = DisplayWidth.wrap(text, width: width - 2).enumerated().map { row, line in
            row == 0 ? style(kind, mark) + " " + line : "  " + line
        }
        // In a small picture rows say more than what to do about nothing.
        let isTold = finding.severity > .info || (height ?? .max) >= 40
        if !finding.lever.isEmpty, isTold {
            lines.append(style(.dim, DisplayWidth.clip("  ➜ \(OneLine.text(finding.lever))", to: width)))
        }
        return lines
    }

    // MARK: Panes

    private func body(_ overview: Overview, _ room: Int?) -> [String] {
        let panes = model.panes.map { ($0, TopTable($0, model, overview)) }
        let retry = retryLine(overview)
        guard let room else {
            return panes.flatMap { [""] + pane($0.1, $0.0, lines: nil, width: width) } + ["", retry]
        }
        guard room > 1 else { return [] }
        guard width >= 150 else {
            return TopLayout.stack(panes, room: room - 1, focus: model.focus).flatMap { part in
                pane(part.table, part.pane, lines: part.lines, width: width)
            } + [retry]
        }
        // Side by side: what is sent on the left, who sends it on the right.
        let leftWidth = (width - 3) * 45 / 100
        let rightWidth = width - 3 - leftWidth
        let right: Set<TopModel.Pane> = [.pods, .broadcasts, .campaigns]
        func side(_ isRight: Bool, _ columns: Int) -> [String] {
            let mine = panes.filter { right.contains($0.0) == isRight }
            return TopLayout.stack(mine, room: room - 1, focus: model.focus).flatMap { part in
                pane(part.table, part.pane, lines: part.lines, width: columns)
            }
        }
        let left = side(false, leftWidth)
        let other = side(true, rightWidth)
        var lines: [String] = []
        for row in 0..<max(left.count, other.count) {
            let text = row < left.count ? left[row] : ""
            let pad = String(repeating: " ", count: max(0, leftWidth - DisplayWidth.of(text)))
            lines.append(text + pad + style(.dim, " │ ") + (row < other.count ? other[row] : ""))
        }
        return lines + [retry]
    }

    /// The title with the columns' names, and as many rows as there is room for.
    private func pane(_ table: TopTable, _ pane: TopModel.Pane, lines: Int?, width: Int) -> [String] {
        let isFocus = height != nil && pane == model.focus
        let columns = TopLayout.columns(table, width: width)
        let room = lines.map { max(0, $0 - 1) } ?? table.rows.count
        let first = height == nil ? 0 : min(model.offsets[pane] ?? 0, max(0, table.rows.count - room))
        var out = [heading(table, columns, isFocus: isFocus, first: first, room: room, width: width)]
        if table.rows.isEmpty, room > 0 { out.append(style(.dim, "  none")) }
        for row in table.rows.dropFirst(first).prefix(room) {
            var line = ""
            for (place, column) in columns.enumerated() {
                let cell = row[column.index]
                let isRight = table.columns[column.index].isRight
                let text = DisplayWidth.fit(cell.text, to: column.width, right: isRight)
                line += (place == 0 ? "" : "  ") + (cell.kind.map { style($0, text) } ?? text)
            }
            out.append(line)
        }
        return out
    }

    /// The columns' names; the first one gives way to the pane's own.
    private func heading(
        _ table: TopTable, _ columns: [TopLayout.Place], isFocus: Bool, first: Int, room: Int, width: Int
    ) -> String {
        var text = table.title
        if room < table.rows.count, room > 0 {
            text += " (\(first + 1)-\(min(table.rows.count, first + room)) of \(table.rows.count))"
        }
        let all = columns.dropFirst().map { column in
            DisplayWidth.fit(
                table.columns[column.index].title, to: column.width,
                right: table.columns[column.index].isRight)
        }
        let tail = all.map { "  " + $0 }.joined()
        let own = max(0, width - DisplayWidth.of(tail))
        let firstWidth = columns.first?.width ?? 0
        // A title that is too long for its column runs over the names of the next ones.
        var line: String
        if DisplayWidth.of(text) <= firstWidth {
            line = DisplayWidth.fit(text, to: min(own, firstWidth)) + tail
        } else {
            let rest = DisplayWidth.of(tail) + firstWidth - DisplayWidth.of(text)
            line = text + (rest > 0 ? Self.suffix(tail, columns: rest) : "")
        }
        line = DisplayWidth.fit(line, to: width)
        return isFocus ? style(.inverse, line) : style(.bold, line)
    }

    /// The end of a line of single columns, with a name that was cut in two left out.
    private static func suffix(_ text: String, columns: Int) -> String {
        var rest = Array(text.suffix(columns))
        guard columns < text.count, let first = rest.first, first != " " else { return String(rest) }
        for place in rest.indices {
            if rest[place] == " " { break }
            rest[place] = " "
        }
        return String(rest)
    }

    private func retryLine(_ overview: Overview) -> String {
        let depth = overview.retryDepth
        let hasPods = overview.alivePods.contains { $0.role == "retry" }
        guard hasPods else { return style(.dim, "RETRY  no retry pod is running") }
        let tiers = depth.sorted { Self.delay($0.key) < Self.delay($1.key) }.map { tier, count in
            "\(OneLine.text(tier)) \(Human.grouped(Int(clamping: count)))"
        }
        let text = tiers.isEmpty ? "nothing waits" : tiers.joined(separator: "  ")
        return style(.bold, "RETRY") + "  " + DisplayWidth.clip(text, to: width - 7)
    }

    private static func delay(_ tier: String) -> Int { Human.parseDurationMs(tier) ?? .max }

    private func notes(_ overview: Overview) -> [String] {
        overview.notes.flatMap { DisplayWidth.wrap(OneLine.text($0), width: width) }.map { style(.dim, $0) }
    }

    // MARK: Foot and help

    private var footer: String {
        let sort = TopTable.sorts(model.focus)
        let by = sort[(model.sorts[model.focus] ?? 0) % sort.count]
        let order = sort.count > 1 ? "  s sort: \(by)" : ""
        return style(
            .dim,
            DisplayWidth.clip(
                "q quit  tab pane  ↑↓ scroll\(order)  space hold  r now  ? help", to: width))
    }

    private var help: [String] {
        [
            "peal top", "",
            "tab, ← →     the next part, or the one before",
            "↑ ↓, j k     scroll it; also page up and down",
            "s            sort it by something else", "space        hold the picture, and let it go again",
            "r            read now", "q, Ctrl-C    leave", "",
            "✖ critical   somebody gets no notifications, or soon won't",
            "▲ warning    something is slower, later or in part not delivered",
            "· worth knowing", "", "A finding's ➜ is a command to copy.", "", "Any key goes back.",
        ].map { DisplayWidth.clip($0, to: width) }
    }
}
