import Core
package import Metrics

/// What the retry service exposes.
package enum RetryFamilies {
    private static let tier = MetricLabel.open("tier", "a retry topic's delay, such as 10s")

    private static func gauge(_ name: String, _ help: String) -> MetricFamily {
        .gauge(name, help, [tier], by: [.retry])
    }

    private static func counter(_ name: String, _ help: String) -> MetricFamily {
        .counter(name, help, [tier], by: [.retry])
    }

    static let gauges: [(family: MetricFamily, value: @Sendable (RetryTierSnapshot) -> UInt64)] = [
        (
            gauge("peal_retry_depth_records", "Records that wait in the tier, in memory and in its topic."),
            { UInt64(clamping: $0.depth) }
        ),
        (
            gauge("peal_retry_held_records", "Records in memory that wait for their time."),
            { UInt64(clamping: $0.held) }
        ),
        (
            gauge("peal_retry_held_bytes", "Bytes of the records in memory."),
            { UInt64(clamping: $0.heldBytes) }
        ),
        (
            gauge("peal_retry_in_flight", "Records produced and not acknowledged."),
            { UInt64(clamping: $0.inFlight) }
        ),
        (
            gauge("peal_retry_partitions", "Partitions that this process owns."),
            { UInt64(clamping: $0.partitions) }
        ),
    ]
    static let counters: [(family: MetricFamily, value: @Sendable (RetryTierSnapshot) -> UInt64)] = [
        (
            counter("peal_retry_handed_over_total", "Records back in their job topics."),
            { $0.handedOver }
        ),
        (counter("peal_retry_hopped_total", "Records moved on to a retry topic."), { $0.hopped }),
        (counter("peal_retry_yielded_total", "Records moved on for lack of room."), { $0.yielded }),
        (
            counter("peal_retry_produce_failures_total", "Produce attempts that failed."),
            { $0.produceFailures }
        ),
        (
            counter("peal_retry_commit_failures_total", "Commits that failed."),
            { $0.commitFailures }
        ),
        (counter("peal_retry_headers_cut_total", "Headers that did not fit."), { $0.headersCut }),
        (counter("peal_retry_repeated_total", "Records given twice and dropped."), { $0.repeated }),
        (counter("peal_retry_pauses_total", "Pauses of reading for lack of room."), { $0.pauses }),
    ]
    static let dead = MetricFamily.counter(
        "peal_retry_dead_total", "Records that could not be handed over.",
        [tier, .closed("fault", RetryHeaders.Fault.allCases.map(\.rawValue))], by: [.retry])
    static let dueError = MetricFamily.histogram(
        "peal_retry_due_error_seconds", "From the due time to the acknowledgement in the job topic.", [tier],
        boundsUs: MetricBounds.milliseconds, by: [.retry])

    static let kafkaAway = MetricFamily.gauge(
        "peal_retry_kafka_away", "Whether no broker answers.", by: [.retry])

    /// All of them.
    package static let all = gauges.map(\.family) + counters.map(\.family) + [dead, dueError, kafkaAway]
}

extension RetrySnapshot {
    /// Writes the families.
    package func write(to writer: inout MetricWriter) {
        for (family, value) in RetryFamilies.gauges + RetryFamilies.counters {
            writer.begin(family)
            for tier in tiers { writer.add([tier.tier], value(tier)) }
        }
        writer.single(RetryFamilies.kafkaAway, tiers.contains(where: \.areBrokersAway) ? 1 : 0)
        writer.begin(RetryFamilies.dead)
        for tier in tiers {
            for (fault, count) in zip(RetryHeaders.Fault.allCases, tier.dead) {
                writer.add([tier.tier, fault.rawValue], count)
            }
        }
        writer.begin(RetryFamilies.dueError)
        for tier in tiers { writer.add([tier.tier], tier.dueErrorMs, perSecond: 1000) }
    }
}
