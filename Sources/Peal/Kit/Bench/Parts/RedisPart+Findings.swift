internal import Terminal

/// What `peal bench redis` tells.
extension RedisPart {
    static func findings(_ rows: [Row], _ job: Job) -> BenchFindings {
        var out = BenchFindings()
        func row(_ key: String) -> Row? { rows.first { $0.command.key == key } }
        let admission = row("admit").map { Statistics.median($0.ratios) } ?? .nan
        out.add(
            "redis_client_ratio", admission, places: 3,
            target: "Redis' CPU of an admission by Peal's client against redis-benchmark's",
            .atMost(1.1), unit: "x")
        let own = (row("admit")?.benchmarkUs ?? .nan) + (row("devices")?.benchmarkUs ?? .nan)
        out.add(
            "redis_job_ratio", job.serverUs / own, places: 3,
            target: "Redis' CPU of a worker's job against its two commands by redis-benchmark",
            .atMost(1.5), unit: "x")
        out.add(
            "redis_requests_per_job", job.scripts + job.lookUps, places: 3,
            target: "scripts and look-ups of a job", .atMost(2.1), unit: "")
        out.add("redis_cpu_us", job.serverUs, places: 2)
        out.add("redis_commands_per_job", job.commands, places: 3)
        out.add("redis_bytes_in_per_job", job.bytesIn, places: 0)
        out.add("redis_bytes_out_per_job", job.bytesOut, places: 0)
        out.add("redis", objects: rows.map(object))
        out.sections = [
            .init(
                title: "Redis' CPU of a command, Peal's client and redis-benchmark in turns",
                table: table(rows)),
            .init(title: "What a worker asks of Redis for a job", table: table(job)),
        ]
        return out
    }

    private static func table(_ rows: [Row]) -> TextTable {
        var table = TextTable([
            .init("command"), .init("bytes", .right), .init("Peal", .right), .init("redis-benchmark", .right),
            .init("ratio", .right), .init("GETs", .right),
        ])
        let yardstick = rows.first { $0.command.key == "get" }?.benchmarkUs ?? .nan
        for row in rows {
            table.add([
                row.command.title, "\(row.command.byteCount)", us(row.pealUs), us(row.benchmarkUs),
                Statistics.text(row.ratios), Human.decimal(row.benchmarkUs / yardstick, places: 1),
            ])
        }
        return table
    }

    private static func table(_ job: Job) -> TextTable {
        var table = TextTable([.init("of a job"), .init("", .right)])
        table.add(["Redis' CPU", us(job.serverUs)])
        table.add(["scripts", Human.decimal(job.scripts, places: 3)])
        table.add(["look-ups of devices", Human.decimal(job.lookUps, places: 3)])
        table.add(["commands, those within scripts included", Human.decimal(job.commands, places: 3)])
        table.add(["bytes to Redis", Human.decimal(job.bytesIn, places: 0)])
        table.add(["bytes from Redis", Human.decimal(job.bytesOut, places: 0)])
        return table
    }

    private static func object(_ row: Row) -> String {
        var out = BenchJSON()
        out.add("command", text: row.command.key)
        out.add("bytes", Double(row.command.byteCount), places: 0)
        out.add("cpu_us", row.pealUs, places: 3)
        out.add("benchmark_cpu_us", row.benchmarkUs, places: 3)
        out.add("ratio", Statistics.median(row.ratios), places: 3)
        out.add("client_cpu_us", Statistics.median(row.pairs.map(\.0.clientUs)), places: 3)
        out.add("benchmark_client_cpu_us", Statistics.median(row.pairs.map(\.1.clientUs)), places: 3)
        return out.finished
    }
}
