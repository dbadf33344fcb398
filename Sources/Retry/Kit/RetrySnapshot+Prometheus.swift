import Core

extension RetrySnapshot {
    /// Prometheus text, version 0.0.4.
    package func prometheus() -> [UInt8] {
        var out = ByteBuffer(capacity: 4096)
        gauge(&out, "peal_retry_held_records", "Records in memory that wait for their time.") {
            Int64($0.held)
        }
        gauge(&out, "peal_retry_held_bytes", "Bytes of the records in memory.") { Int64($0.heldBytes) }
        gauge(&out, "peal_retry_in_flight", "Records produced and not acknowledged.") { Int64($0.inFlight) }
        gauge(&out, "peal_retry_depth", "Records that wait in the tier.") { $0.depth }
        gauge(&out, "peal_retry_partitions", "Partitions that this process owns.") { Int64($0.partitions) }
        counter(&out, "peal_retry_handed_over_total", "Records back in their job topics.") { $0.handedOver }
        counter(&out, "peal_retry_hopped_total", "Records moved on to a retry topic.") { $0.hopped }
        counter(&out, "peal_retry_yielded_total", "Records moved on for lack of room.") { $0.yielded }
        counter(&out, "peal_retry_produce_failures_total", "Failed produces.") { $0.produceFailures }
        counter(&out, "peal_retry_commit_failures_total", "Failed commits.") { $0.commitFailures }
        counter(&out, "peal_retry_headers_cut_total", "Headers that did not fit.") { $0.headersCut }
        counter(&out, "peal_retry_repeated_total", "Records given twice and dropped.") { $0.repeated }
        counter(&out, "peal_retry_pauses_total", "Pauses of reading for lack of room.") { $0.pauses }
        appendDead(&out)
        appendDueError(&out)
        return out.array
    }

    private func head(
        _ out: inout ByteBuffer, _ name: StaticString, _ help: StaticString, _ type: StaticString
    ) {
        out.append("# HELP ")
        out.append(name)
        out.append(" ")
        out.append(help)
        out.append("\n# TYPE ")
        out.append(name)
        out.append(" ")
        out.append(type)
        out.append("\n")
    }

    private func gauge(
        _ out: inout ByteBuffer, _ name: StaticString, _ help: StaticString,
        _ value: (RetryTierSnapshot) -> Int64
    ) {
        head(&out, name, help, "gauge")
        for tier in tiers {
            out.append(name)
            out.append(text: "{tier=\"\(tier.tier)\"} ")
            out.append(decimal: value(tier))
            out.append("\n")
        }
    }

    private func counter(
        _ out: inout ByteBuffer, _ name: StaticString, _ help: StaticString,
        _ value: (RetryTierSnapshot) -> UInt64
    ) {
        head(&out, name, help, "counter")
        for tier in tiers {
            out.append(name)
            out.append(text: "{tier=\"\(tier.tier)\"} ")
            out.append(unsigned: value(tier))
            out.append("\n")
        }
    }

    private func appendDead(_ out: inout ByteBuffer) {
        head(&out, "peal_retry_dead_total", "Records that could not be handed over.", "counter")
        for tier in tiers {
            for (fault, count) in zip(RetryHeaders.Fault.allCases, tier.dead) {
                out.append(text: "peal_retry_dead_total{tier=\"\(tier.tier)\",fault=\"\(fault.rawValue)\"} ")
                out.append(unsigned: count)
                out.append("\n")
            }
        }
    }

    private func appendDueError(_ out: inout ByteBuffer) {
        head(&out, "peal_retry_due_error_seconds", "From the due time to the job topic.", "summary")
        for tier in tiers {
            for quantile in [0.5, 0.99, 0.999] {
                let seconds = Double(tier.dueErrorMs.quantile(quantile)) / 1000
                let labels = "tier=\"\(tier.tier)\",quantile=\"\(quantile)\""
                out.append(text: "peal_retry_due_error_seconds{\(labels)} \(seconds)\n")
            }
            let sum = Double(tier.dueErrorMs.sum) / 1000
            out.append(text: "peal_retry_due_error_seconds_sum{tier=\"\(tier.tier)\"} \(sum)\n")
            out.append(
                text: "peal_retry_due_error_seconds_count{tier=\"\(tier.tier)\"} \(tier.dueErrorMs.total)\n")
        }
    }
}
