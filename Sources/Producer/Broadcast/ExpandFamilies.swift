internal import Core
internal import HTTPServer
package import Metrics
internal import Services
internal import Terminal

/// What the broadcast stage exposes.
package enum ExpandFamilies {
    private static func gauge(_ name: String, _ help: String) -> MetricFamily {
        .gauge(name, help, by: [.expand])
    }

    private static func counter(_ name: String, _ help: String) -> MetricFamily {
        .counter(name, help, by: [.expand])
    }

    static let values: [(family: MetricFamily, value: @Sendable (ExpandSnapshot) -> UInt64)] = [
        (
            counter("peal_expand_recipients_total", "Jobs written to the bulk lane."),
            { $0.recipients }
        ),
        (counter("peal_expand_planned_total", "Broadcasts divided into parts."), { $0.planned }),
        (
            counter("peal_expand_repeated_plans_total", "Broadcasts that were known."),
            { $0.repeatedPlans }
        ),
        (counter("peal_expand_parts_done_total", "Parts finished."), { $0.partsDone }),
        (
            counter("peal_expand_repeated_parts_total", "Parts that were known."),
            { $0.repeatedParts }
        ),
        (counter("peal_expand_dead_total", "Records in the dead topic."), { $0.dead }),
        (
            counter("peal_expand_produce_failures_total", "Produce attempts that failed."),
            { $0.produceFailures }
        ),
        (
            counter("peal_expand_redis_failures_total", "Questions asked again."),
            { $0.redisFailures }
        ),
        (
            counter("peal_expand_commit_failures_total", "Commits that failed."),
            { $0.commitFailures }
        ),
        (gauge("peal_expand_parts", "Parts in memory."), { UInt64(clamping: $0.parts) }),
        (
            gauge("peal_expand_parts_paused", "Parts that an operator holds back."),
            { UInt64(clamping: $0.partsPaused) }
        ),
        (
            gauge("peal_expand_loaded_recipients", "Recipients in memory."),
            { UInt64(clamping: $0.loaded) }
        ),
        (
            gauge("peal_expand_in_flight", "Records not acknowledged yet."),
            { UInt64(clamping: $0.inFlight) }
        ),
        (gauge("peal_expand_unread", "Records not read yet."), { UInt64(clamping: $0.unread) }),
        (
            gauge("peal_expand_partitions", "Partitions that this process owns."),
            { UInt64(clamping: $0.partitions) }
        ),
    ]

    /// All of them.
    package static let all = values.map(\.family)
}

extension ExpandSnapshot {
    /// Writes the families.
    func write(to writer: inout MetricWriter) {
        for (family, value) in ExpandFamilies.values { writer.single(family, value(self)) }
    }

    /// The text of `/statusz`.
    func page(live: Health, ready: Health) -> String {
        var page = StatusPage(.expand, live: live, ready: ready)
        func number(_ value: UInt64) -> String { Human.grouped(Int(clamping: value)) }
        page.add([
            ("jobs written", number(recipients)),
            ("broadcasts", "\(number(planned)) divided, \(number(partsDone)) parts finished"),
            ("parts", "\(parts) in memory" + (partsPaused > 0 ? ", \(partsPaused) held back" : "")),
            (
                "in flight",
                "\(Human.grouped(inFlight)) records, \(Human.grouped(loaded)) recipients in memory"
            ),
            ("unread", "\(Human.grouped(Int(max(0, unread)))) records in \(partitions) partitions"),
            ("dead", dead == 0 ? "" : number(dead)),
            ("control", controlVersion < 0 ? "not known yet" : "version \(controlVersion)"),
        ])
        return page.rendered
    }
}
