internal import Core
internal import Jobs
internal import Terminal

/// What `peal dead` shows.
enum DeadReport {
    // MARK: A list

    /// A table, the newest letter at its head.
    static func list(_ letters: [DeadLetter], matched: Int, nowMs: Int64, style: TextStyle) -> String {
        guard matched > 0 else { return "No dead letters.\n" }
        var table = TextTable([
            .init("letter"), .init("age", .right), .init("app"), .init("reason"), .init("for"),
            .init("attempts", .right), .init("origin"), .init("why"),
        ])
        for letter in letters {
            table.add([
                "\(letter.place)", age(nowMs - letter.deadMs), letter.app, letter.reason, target(letter),
                "\(letter.attempt)", letter.origin, cut(letter.detail, 72),
            ])
        }
        let rest = matched - letters.count
        let more =
            rest > 0 ? "\(Human.grouped(rest)) older ones are not shown; see --limit, --summary.\n" : ""
        return table.render(style: style) + more
    }

    /// One line of JSON a letter.
    static func lines(_ letters: [DeadLetter]) -> String {
        letters.map { object($0, isFull: false, withJob: false).text + "\n" }.joined()
    }

    // MARK: A summary

    static func summary(_ scan: DeadScan, nowMs: Int64, style: TextStyle) -> String {
        guard scan.matched > 0 else { return "No dead letters.\n" }
        var table = TextTable([
            .init("app"), .init("reason"), .init("letters", .right), .init("share", .right),
            .init("first", .right), .init("last", .right),
        ])
        for (group, count) in sorted(scan) {
            table.add([
                group.app.isEmpty ? "(no key)" : group.app, group.reason, Human.grouped(count.letters),
                Human.percent(count.letters, of: scan.matched), age(nowMs - count.firstMs),
                age(nowMs - count.lastMs),
            ])
        }
        return table.render(style: style) + "\(Human.grouped(scan.matched)) letters.\n"
    }

    static func summaryJSON(_ scan: DeadScan) -> String {
        let groups = sorted(scan).map { group, count -> JSONValue in
            .object([
                .init(name: "app", value: .string(group.app)),
                .init(name: "reason", value: .string(group.reason)),
                .init(name: "letters", value: .number("\(count.letters)")),
                .init(name: "first_ms", value: .number("\(count.firstMs)")),
                .init(name: "last_ms", value: .number("\(count.lastMs)")),
            ])
        }
        return JSONValue.object([
            .init(name: "letters", value: .number("\(scan.matched)")),
            .init(name: "groups", value: .array(groups)),
        ]).text + "\n"
    }

    private static func sorted(_ scan: DeadScan) -> [(key: DeadScan.Group, value: DeadScan.Count)] {
        scan.counts.sorted {
            ($1.value.letters, $0.key.app, $0.key.reason) < ($0.value.letters, $1.key.app, $1.key.reason)
        }
    }

    // MARK: One letter

    /// All of one letter; tokens are shortened unless `isFull`.
    static func show(
        _ letter: DeadLetter, verdict: String, nowMs: Int64, isFull: Bool, style: TextStyle
    ) -> String {
        func line(_ name: String, _ value: String) -> String {
            let pad = String(repeating: " ", count: max(1, 12 - name.count))
            return style(.dim, name) + pad + value + "\n"
        }
        let hide = isFull ? { $0 } : TokenMask.mask
        var out = line("letter", "\(letter.place)")
        out += line("reason", style(.red, letter.reason))
        if !letter.detail.isEmpty { out += line("why", letter.detail) }
        out += line("died", "\(Timestamp.rfc3339(ms: letter.deadMs)), \(age(nowMs - letter.deadMs)) ago")
        out += line("published", Timestamp.rfc3339(ms: letter.firstMs))
        out += line("origin", letter.origin)
        out += line("attempts", "\(letter.attempt)")
        if let devices = letter.devices { out += line("devices", devices) }
        out += line("key", hide(letter.record.keyText))
        out += line("replay", verdict)
        out += line("", "peal dead replay \(letter.place)")
        out += style(.dim, "headers") + "\n"
        for header in letter.record.headers {
            out += "  \(header.name): \(hide(String(decoding: header.value, as: UTF8.self)))\n"
        }
        out += style(.dim, "job") + "\n"
        return out + job(letter, isFull: isFull) + "\n"
    }

    static func showJSON(_ letter: DeadLetter, verdict: String, isFull: Bool) -> String {
        guard case .object(var members) = object(letter, isFull: isFull, withJob: true) else { return "" }
        members.append(.init(name: "replay", value: .string(verdict)))
        return JSONValue.object(members).text + "\n"
    }

    private static func job(_ letter: DeadLetter, isFull: Bool) -> String {
        guard let value = letter.record.value else { return "(none)" }
        let text = String(decoding: value, as: UTF8.self).filter { !isControl($0) }
        return isFull ? text : TokenMask.mask(text)
    }

    /// A terminal obeys control characters, and whoever wrote the letter may have put some in.
    private static func isControl(_ character: Character) -> Bool {
        character != "\n" && character != "\t"
            && character.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
    }

    private static func object(_ letter: DeadLetter, isFull: Bool, withJob: Bool) -> JSONValue {
        let hide = isFull ? { $0 } : TokenMask.mask
        var members: [JSONValue.Member] = [
            .init(name: "letter", value: .string("\(letter.place)")),
            .init(name: "partition", value: .number("\(letter.place.partition)")),
            .init(name: "offset", value: .number("\(letter.place.offset)")),
            .init(name: "app", value: .string(letter.app)),
            .init(name: "key", value: .string(hide(letter.record.keyText))),
            .init(name: "reason", value: .string(letter.reason)),
            .init(name: "detail", value: .string(letter.detail)),
            .init(name: "dead_ms", value: .number("\(letter.deadMs)")),
            .init(name: "first_ms", value: .number("\(letter.firstMs)")),
            .init(name: "origin", value: .string(letter.origin)),
            .init(name: "attempts", value: .number("\(letter.attempt)")),
        ]
        if let devices = letter.devices {
            members.append(.init(name: "devices", value: .string(devices)))
        }
        guard withJob else { return .object(members) }
        let headers = letter.record.headers.map {
            JSONValue.Member(name: $0.name, value: .string(hide(String(decoding: $0.value, as: UTF8.self))))
        }
        members.append(.init(name: "headers", value: .object(headers)))
        members.append(.init(name: "job", value: .string(job(letter, isFull: isFull))))
        return .object(members)
    }

    // MARK: A replay

    static func replay(_ summary: DeadReplay.Summary, style: TextStyle) -> String {
        var table = TextTable([.init("letters", .right), .init(""), .init("for example")])
        for verdict in ReplayVerdict.allCases {
            guard let count = summary.counts[verdict] else { continue }
            let words =
                verdict == .replay && summary.isDry ? "would be published again" : verdict.words
            table.add([
                Human.grouped(count), words, summary.examples[verdict].map { "\($0)" } ?? "",
            ])
        }
        var out = summary.counts.isEmpty ? "No letter was meant.\n" : table.render(style: style)
        if summary.stoppedAtLimit { out += "Stopped at --limit; there may be more.\n" }
        if summary.isAppUnchecked {
            out += "Whether their apps exist was not checked: no configuration with apps was given.\n"
        }
        return out
    }

    static func replayJSON(_ summary: DeadReplay.Summary) -> String {
        let counts = ReplayVerdict.allCases.map {
            JSONValue.Member(name: $0.rawValue, value: .number("\(summary.counts[$0] ?? 0)"))
        }
        return JSONValue.object([
            .init(name: "dry_run", value: .bool(summary.isDry)),
            .init(name: "stopped_at_limit", value: .bool(summary.stoppedAtLimit)),
            .init(name: "apps_checked", value: .bool(!summary.isAppUnchecked)),
            .init(name: "duration_ms", value: .number("\(summary.durationMs)")),
            .init(name: "letters", value: .object(counts)),
        ]).text + "\n"
    }

    // MARK: Words

    private static func target(_ letter: DeadLetter) -> String {
        let key = letter.record.keyText
        let name = key.firstIndex(of: "/").map { String(key[key.index(after: $0)...]) } ?? key
        return cut(TokenMask.mask(name.filter { !isControl($0) }), 40)
    }

    static func age(_ ms: Int64) -> String { Human.duration(ms: Double(max(0, ms) / 1000 * 1000)) }

    private static func cut(_ text: String, _ width: Int) -> String {
        text.count <= width ? text : text.prefix(width - 1) + "…"
    }
}
