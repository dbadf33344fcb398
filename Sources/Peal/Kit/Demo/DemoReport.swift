internal import Core
internal import Decisions
package import Terminal

/// What a run amounts to.
package struct DemoReport: Sendable, Equatable {
    package var jobs = 0
    package var deliveries = 0
    /// Deliveries by outcome, in the order of ``DeliveryOutcome``.
    package var outcomes: [String: Int] = [:]
    /// Deliveries that took more than one attempt.
    package var retried = 0
    /// Deliveries refused for good or given up: their jobs are in the dead-letter topic.
    package var dead = 0
    /// Deliveries without an outcome, and deliveries reported accepted that no device got.
    package var lost = 0
    /// Times a device got a notification again although the sender had been told of the first.
    package var duplicatesUnexplained = 0
    /// Times a device got a notification again after an answer was lost on the way.
    package var duplicatesExplained = 0
    /// Deliveries with more than one outcome.
    package var outcomesRepeated = 0
    /// Deliveries whose payload showed a wrong badge, and recipients whose counter is wrong in the end.
    package var badgeMismatches = 0
    /// Deliveries whose attempts, or whose outcome, carried another `apns-id`.
    package var idMismatches = 0
    /// Deliveries with an outcome that the input doesn't call for.
    package var unexpected = 0
    /// Outcomes and requests of no known job.
    package var strangers = 0
    /// Records in the dead-letter topic.
    package var deadLetters = 0
    package var elapsedMs: UInt64 = 0
    /// The deliveries of the jobs that were published as fast as possible, and the span until the last of
    /// them had its first answer, which leaves the retry waits out.
    package var busyDeliveries = 0
    package var busyMs: UInt64 = 0
    /// How long the slowest delivery took with all its retries.
    package var slowestMs: UInt64 = 0
    package var slowest = ""
    package var latencyP50Ms: UInt64 = 0
    package var latencyP99Ms: UInt64 = 0
    /// Examples of what went wrong.
    package var samples: [String] = []

    /// Accepted deliveries.
    package var accepted: Int { outcomes["accepted"] ?? 0 }

    /// Deliveries a second while there was work to do.
    package var throughput: Double {
        busyMs == 0 ? 0 : Double(busyDeliveries) * 1000 / Double(busyMs)
    }

    /// Whether everything is as it must be.
    package var isGood: Bool {
        lost == 0 && duplicatesUnexplained == 0 && outcomesRepeated == 0 && badgeMismatches == 0
            && idMismatches == 0 && unexpected == 0 && strangers == 0
    }
}

extension DemoLedger {
    /// Adds everything up.
    package func report() -> DemoReport {
        var report = DemoReport()
        report.jobs = plan.jobCount
        report.deliveries = slots.count
        report.strangers = strangers
        report.samples = samples
        report.latencyP50Ms = latencyMs.quantile(0.5)
        report.latencyP99Ms = latencyMs.quantile(0.99)
        report.slowestMs = settlingMs.highest
        report.slowest = slowest
        let paced = min(pacedJobs, plan.jobCount)
        report.busyDeliveries = slots.count - (paced < plan.jobCount ? plan.firstSlot(ofJob: paced) : 0)
        for job in 0..<plan.jobCount {
            let first = plan.firstSlot(ofJob: job)
            for ordinal in 0..<plan.expectation(ofJob: job).slotCount {
                add(slots[first + ordinal], job, ordinal, to: &report)
            }
        }
        return report
    }

    private func add(_ slot: Slot, _ job: Int, _ ordinal: Int, to report: inout DemoReport) {
        let name = plan.template(ofJob: job).id + DemoPlan.suffix(round: plan.round(ofJob: job))
        func sample(_ text: String) {
            if report.samples.count < 20 { report.samples.append("\(text): \(name) slot \(ordinal)") }
        }
        if slot.badgeFault { report.badgeMismatches += 1 }
        if slot.idFault || slot.reportedID != 0 && slot.recordedID != 0 && slot.reportedID != slot.recordedID
        {
            report.idMismatches += 1
        }
        if slot.events > 1 { report.outcomesRepeated += 1 }
        if slot.delivered > 1 {
            if slot.isAmbiguous {
                report.duplicatesExplained += Int(slot.delivered) - 1
            } else {
                report.duplicatesUnexplained += Int(slot.delivered) - 1
                sample("delivered \(slot.delivered) times")
            }
        }
        guard let outcome = slot.outcome else {
            report.lost += 1
            sample("no outcome")
            return
        }
        report.outcomes["\(outcome.name)", default: 0] += 1
        if slot.attempts > 1 { report.retried += 1 }
        if outcome.isDeadLetter { report.dead += 1 }
        if outcome == .accepted, slot.delivered == 0 {
            report.lost += 1
            sample("accepted, but no device got it")
        }
        let expected = plan.expectedOutcomes(job: job, slot: ordinal)
        if !expected.contains("\(outcome.name)") {
            report.unexpected += 1
            sample("\(outcome.name) instead of \(expected.joined(separator: " or "))")
        }
    }
}

// MARK: - Output

extension DemoReport {
    /// The report as one JSON object.
    package var json: String {
        var out = ByteBuffer()
        func number(_ name: StaticString, _ value: Int) {
            out.append(out.isEmpty ? "{\"" : ",\"")
            out.append(name)
            out.append("\":")
            out.append(decimal: Int64(value))
        }
        number("jobs", jobs)
        number("deliveries", deliveries)
        number("accepted", accepted)
        number("retried", retried)
        number("dead", dead)
        number("lost", lost)
        number("duplicates_unexplained", duplicatesUnexplained)
        number("duplicates_explained", duplicatesExplained)
        number("badge_mismatches", badgeMismatches)
        number("id_mismatches", idMismatches)
        number("outcomes_repeated", outcomesRepeated)
        number("outcomes_unexpected", unexpected)
        number("strangers", strangers)
        number("dead_letters", deadLetters)
        number("slowest_ms", Int(clamping: slowestMs))
        number("elapsed_ms", Int(clamping: elapsedMs))
        number("throughput_per_s", Int(throughput.rounded()))
        out.append(",\"outcomes\":{")
        for (index, name) in outcomes.keys.sorted().enumerated() {
            if index > 0 { out.append(",") }
            out.append(jsonString: name)
            out.append(":")
            out.append(decimal: Int64(outcomes[name] ?? 0))
        }
        out.append("},\"latency_ms\":{\"p50\":")
        out.append(unsigned: latencyP50Ms)
        out.append(",\"p99\":")
        out.append(unsigned: latencyP99Ms)
        out.append("},\"ok\":")
        out.append(isGood ? "true" : "false")
        out.append("}\n")
        return out.text
    }

    /// The report for people.
    package func text(style: TextStyle) -> String {
        var table = TextTable([.init(""), .init("", .right), .init("")])
        func row(_ name: String, _ value: Int, _ note: String = "") {
            table.add([name, Human.grouped(value), note])
        }
        func check(_ name: String, _ value: Int, _ note: String) {
            let mark = value == 0 ? style(.green, "ok") : style(.red, "WRONG")
            table.add([name, Human.grouped(value), "\(mark)  \(note)"])
        }
        row("jobs", jobs)
        row("deliveries", deliveries, "one for each device of each job's recipient")
        for outcome in DeliveryOutcome.allCases {
            let count = outcomes["\(outcome.name)"] ?? 0
            if count > 0 { row("  \(outcome.name)", count, Human.percent(count, of: deliveries)) }
        }
        row("retried", retried, "took more than one attempt")
        row("dead letters", deadLetters, "records in the dead-letter topic")
        check("lost", lost, "no outcome, or accepted and in no provider's record")
        check("duplicates, unexplained", duplicatesUnexplained, "sent again although the answer had come")
        row("duplicates, explained", duplicatesExplained, "sent again because an answer was lost on the way")
        check("outcomes repeated", outcomesRepeated, "more than one for a delivery")
        check("outcomes unexpected", unexpected, "not what the input calls for")
        check("badges wrong", badgeMismatches, "every payload and every counter compared")
        check("apns-id wrong", idMismatches, "the same for all attempts of a delivery")
        check("strangers", strangers, "outcomes or requests of no known job")
        table.add(["throughput", Human.rate(throughput), "deliveries, of the jobs sent as fast as possible"])
        table.add(["latency", "\(latencyP50Ms) ms", "median, published to accepted, at 1,000 jobs/s"])
        table.add(["", "\(latencyP99Ms) ms", "99th percentile"])
        table.add([
            "slowest", Human.duration(ms: Double(slowestMs)), slowest,
        ])
        table.add(["elapsed", Human.duration(ms: Double(elapsedMs)), "with all retries"])
        var text = table.render(style: style, indent: 2)
        if !isGood, !samples.isEmpty {
            text += "\n  " + samples.joined(separator: "\n  ") + "\n"
        }
        return text
    }
}
