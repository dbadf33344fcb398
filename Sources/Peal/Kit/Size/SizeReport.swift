internal import Core
internal import Terminal

/// A plan for people and for machines.
struct SizeReport {
    let plan: SizePlan

    /// What there is to be, each with what decides it.
    var rows: [(what: String, count: String, why: String)] {
        let request = plan.request
        func cores(_ value: Double) -> String { Human.decimal(value, places: 2) + " cores busy" }
        let pod = "\(request.coresPerPod) cores, \(Self.bytes(plan.workerBytes)) each"
        var rows = [
            ("worker pods", "\(plan.workerPods)", "\(cores(plan.workerCores)); \(pod)"),
            (
                "connections to providers", "\(plan.connections)",
                "\(Human.short(plan.inFlight)) requests wait for \(request.roundTripMs) ms"
            ),
            ("partitions of each jobs topic", "\(plan.partitions)", "four for each worker pod"),
            (
                "Redis shards", "\(plan.redisShards)",
                "\(cores(plan.redisCores)); \(Self.bytes(plan.redisBytes)) of data"
            ),
            (
                "Kafka writes", Self.bytes(plan.kafkaInPerSecond) + "/s",
                "jobs, outcomes and retries, before replication"
            ),
            (
                "Kafka's disks", Self.bytes(plan.kafkaDiskBytes),
                "\(request.retentionHours) h, \(request.replication) copies, not compressed"
            ),
            ("retry pods", "\(plan.retryPods)", "two, so that one may be lost"),
        ]
        if plan.gatewayPods > 0 {
            rows.append(("gateway pods", "\(plan.gatewayPods)", "one busy core each, one job in a request"))
        }
        if request.broadcast > 0 {
            rows.append(
                (
                    "largest broadcast", Human.duration(ms: plan.broadcastSeconds * 1_000),
                    "to expand with one process; sending takes "
                        + Human.duration(ms: Double(request.broadcast) / Double(request.rate) * 1_000)
                ))
        }
        return rows
    }

    /// A size in words; there are larger ones than 64 bits can count.
    private static func bytes(_ value: Double) -> String {
        value < 1.8e19 ? Human.bytes(UInt64(value)) : "over 16 EiB"
    }

    /// A size as JSON; null beyond what whole numbers hold.
    private static func whole(_ value: Double) -> String {
        value < 9e18 ? "\(Int(value.rounded()))" : "null"
    }

    private static func percent(_ share: Double) -> String {
        Human.decimal(share * 100, places: 0) + " %"
    }

    /// For people.
    func text(style: TextStyle) -> String {
        let request = plan.request
        var table = TextTable([.init(""), .init("", .right), .init("")])
        for row in rows { table.add([row.what, row.count, row.why]) }
        var limits = TextTable([.init("limit"), .init("used", .right), .init("it is near when")])
        for limit in plan.limits {
            let used = Self.percent(limit.share)
            limits.add([limit.name, limit.share > 1 ? style(.red, used) : used, limit.sign])
        }
        var text = "\(Human.grouped(request.rate)) notifications a second to "
        text += "\(Human.grouped(request.devices)) devices, "
        text += "at \(request.loadPercent) % of what was measured\n\n"
        text += table.render(style: style, indent: 2) + "\n" + limits.render(style: style, indent: 2)
        if let first = plan.limits.first {
            text += "\nFirst to give way: \(first.name). What helps: \(first.lever).\n"
        }
        return text
    }

    /// A heading, a table and a sentence in Markdown, as docs/scaling.md has them.
    var markdown: String {
        var text = "| what | how much | why |\n|---|---:|---|\n"
        for row in rows { text += "| \(row.what) | \(row.count) | \(row.why) |\n" }
        text += "\n| limit | used | it is near when | what helps |\n|---|---:|---|---|\n"
        for limit in plan.limits {
            text += "| \(limit.name) | \(Self.percent(limit.share)) | \(limit.sign) | \(limit.lever) |\n"
        }
        if let first = plan.limits.first { text += "\nFirst to give way: \(first.name).\n" }
        return text
    }

    /// One JSON object.
    var json: String {
        var out = BenchJSON()
        let request = plan.request
        out.add("rate", Double(request.rate), places: 0)
        out.add("devices", Double(request.devices), places: 0)
        out.add("recipients", Double(request.recipients), places: 0)
        out.add("worker_pods", Double(plan.workerPods), places: 0)
        out.add("worker_cores_busy", plan.workerCores, places: 3)
        out.add("worker_pod_bytes", plan.workerBytes, places: 0)
        out.add("in_flight", plan.inFlight, places: 0)
        out.add("connections", Double(plan.connections), places: 0)
        out.add("partitions", Double(plan.partitions), places: 0)
        out.add("redis_shards", Double(plan.redisShards), places: 0)
        out.add("redis_cores_busy", plan.redisCores, places: 3)
        out.add("redis_bytes", json: Self.whole(plan.redisBytes))
        out.add("kafka_bytes_per_s", json: Self.whole(plan.kafkaInPerSecond))
        out.add("kafka_disk_bytes", json: Self.whole(plan.kafkaDiskBytes))
        out.add("retry_pods", Double(plan.retryPods), places: 0)
        out.add("gateway_pods", Double(plan.gatewayPods), places: 0)
        out.add("broadcast_s", plan.broadcastSeconds, places: 1)
        out.add(
            "limits",
            objects: plan.limits.map { limit in
                var one = BenchJSON()
                one.add("name", text: limit.name)
                one.add("used", limit.share, places: 3)
                one.add("sign", text: limit.sign)
                one.add("lever", text: limit.lever)
                return one.finished
            })
        return out.finished + "\n"
    }
}
