internal import Core
package import Terminal

/// What a run under faults came to.
package struct ChaosReport: Sendable {
    private let options: ChaosOptions
    let history: ChaosHistory
    let verdict: ChaosVerdict
    /// How long it took, in ms.
    package var elapsedMs: UInt64 = 0
    /// Where configuration, records and logs are; nil when they are gone.
    package var directory: String?

    init(options: ChaosOptions, history: ChaosHistory, verdict: ChaosVerdict) {
        self.options = options
        self.history = history
        self.verdict = verdict
    }

    /// Whether everything is as it must be.
    package var isGood: Bool { verdict.isGood }
    /// Faults that were injected.
    package var faultCount: Int { history.injections.count }

    /// Faults by kind.
    private var faults: [(name: String, count: Int)] {
        ChaosFaultKind.allCases.map { kind in
            (kind.rawValue, history.injections.count { $0.fault.kind == kind })
        }.filter { $0.1 > 0 }
    }

    /// The report as a person reads it.
    package func text(style: TextStyle = TextStyle(isEnabled: false)) -> String {
        var head = TextTable([.init(""), .init("", .right), .init("")])
        head.add(["seed", "\(options.seed)", "peal chaos \(command)"])
        head.add([
            "jobs", Human.grouped(history.plan.jobs.count), "\(Human.grouped(history.copies.count)) records",
        ])
        head.add(["deliveries", Human.grouped(verdict.deliveries), outcomes])
        head.add(["requests", Human.grouped(verdict.requests), "in the providers' record"])
        head.add(["faults", Human.grouped(faultCount), ""])
        for fault in faults { head.add(["  \(fault.name)", "\(fault.count)", ""]) }
        head.add(["sent again", Human.grouped(verdict.repeatedCount), "with a reason"])
        for reason in ChaosReason.allCases {
            if let count = verdict.repeated[reason] { head.add(["", Human.grouped(count), reason.rawValue]) }
        }
        let events = verdict.repeatedEvents.values.reduce(0, +)
        head.add(["outcomes again", Human.grouped(events), "of deliveries that were made again"])
        if verdict.misnamed > 0 {
            head.add([
                "misnamed", Human.grouped(verdict.misnamed), "sent, then called duplicates of themselves",
            ])
        }
        head.add([
            "counters off by", Human.grouped(verdict.counterGap),
            "of \(Human.grouped(verdict.counterRoom)) that the faults explain",
        ])
        for peak in history.peaks { head.add([peak.program, Human.bytes(peak.bytes), "most memory"]) }
        head.add(["elapsed", Human.duration(ms: Double(elapsedMs)), ""])
        var rules = TextTable([.init(""), .init(""), .init("", .right)])
        for rule in ChaosRule.allCases {
            let count = verdict.counts[rule] ?? 0
            rules.add([
                count == 0 ? style(.green, "kept") : style(.red, "BROKEN"), rule.sentence,
                count == 0 ? "" : Human.grouped(count),
            ])
        }
        return head.render(style: style, indent: 2) + "\n" + rules.render(style: style, indent: 2) + remarks
    }

    private var remarks: String {
        var lines: [String] = []
        for note in history.notes { lines.append("note: \(note)") }
        for rule in ChaosRule.allCases {
            for sample in verdict.samples[rule] ?? [] { lines.append("\(rule.rawValue): \(sample)") }
        }
        if let directory {
            lines.append("logs, configuration, the providers' record (record.ndjson) are in \(directory)")
        }
        return lines.isEmpty ? "" : "\n" + lines.map { "  \($0)\n" }.joined()
    }

    private var command: String {
        "--seed \(options.seed) --jobs \(options.jobs) --faults \(options.faults)"
            + " --workers \(options.workers)" + options.only.map { " --only \($0)" }.joined()
    }

    private var outcomes: String {
        verdict.outcomes.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "\(Human.grouped($0.value)) \($0.key)" }.joined(separator: ", ")
    }

    /// The report as one JSON object.
    package var json: String {
        typealias Member = JSONValue.Member
        func numbers(_ pairs: [(String, Int)]) -> JSONValue {
            .object(pairs.map { Member(name: $0.0, value: .number("\($0.1)")) })
        }
        let rules = ChaosRule.allCases.map { ($0.rawValue, verdict.counts[$0] ?? 0) }
        let reasons = ChaosReason.allCases.map { ("\($0)", verdict.repeated[$0] ?? 0) }
        let samples = ChaosRule.allCases.flatMap { rule in
            (verdict.samples[rule] ?? []).map { JSONValue.string("\(rule.rawValue): \($0)") }
        }
        var members = [
            Member(name: "good", value: .bool(isGood)),
            Member(name: "seed", value: .string("\(options.seed)")),
            Member(name: "jobs", value: .number("\(history.plan.jobs.count)")),
            Member(name: "deliveries", value: .number("\(verdict.deliveries)")),
            Member(name: "requests", value: .number("\(verdict.requests)")),
            Member(name: "elapsed_ms", value: .number("\(elapsedMs)")),
            Member(name: "faults", value: numbers(faults.map { ($0.name, $0.count) })),
            Member(
                name: "outcomes", value: numbers(verdict.outcomes.sorted { $0.key < $1.key }.map { ($0, $1) })
            ),
            Member(name: "sent_again", value: numbers(reasons)),
            Member(name: "broken", value: numbers(rules)), Member(name: "samples", value: .array(samples)),
            Member(name: "notes", value: .array(history.notes.map { .string($0) })),
        ]
        if let directory { members.append(Member(name: "directory", value: .string(directory))) }
        return JSONValue.object(members).text + "\n"
    }
}
