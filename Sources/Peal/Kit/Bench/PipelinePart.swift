internal import Terminal

/// `peal bench pipeline`: Kafka, Redis, a worker and the simulator together, against h2load on the same
/// simulator.
enum PipelinePart: BenchPart {
    static let name = "pipeline"
    static let summary = "Kafka, Redis, one worker and the simulator, against h2load"

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let results = try Bench.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            let generator = try LoadGenerator(directory: directory, simulator: simulator, options: options)
            let bench = try PipelineBench(options: options, directory: directory, simulator: simulator)
            defer { bench.stop() }
            return try bench.run(generator, say: say)
        }
        return findings(results)
    }

    /// What the results come to.
    static func findings(_ results: [PipelineResult]) -> BenchFindings {
        var out = BenchFindings()
        for row in results {
            let isRecipient = row.kind == .recipient
            out.add(
                isRecipient ? "pipeline_rps_ratio" : "pipeline_token_rps_ratio", row.rateRatio, places: 3,
                target: "pipeline to \(row.kind.rawValue)s: notifications/s against h2load",
                .atLeast(isRecipient ? 0.3 : 0.45), unit: "x")
            out.add(
                isRecipient ? "worker_cpu_us" : "worker_token_cpu_us", row.median { $0.workerUs }, places: 2,
                target: "pipeline to \(row.kind.rawValue)s: the worker's CPU", .atMost(isRecipient ? 9 : 6),
                unit: "us")
        }
        out.add("pipeline", objects: results.map { object($0) })
        let title = "Whole pipeline, one worker; h2load with one connection and 100 streams"
        out.sections = [
            .init(title: title, table: rates(results)),
            .init(title: "CPU of a notification by process", table: processes(results)),
            .init(title: "Memory by process after the last notification", table: memory(results)),
        ]
        return out
    }

    private static func rates(_ results: [PipelineResult]) -> TextTable {
        var table = TextTable([
            .init("jobs to"), .init("notifications", .right), .init("h2load", .right),
            .init("ratio", .right), .init("other programs", .right),
        ])
        for row in results {
            table.add([
                "a \(row.kind.rawValue)", Human.rate(row.median { $0.perSecond }),
                Human.rate(row.median { $0.h2load.requestsPerSecond }),
                Statistics.text(row.rateRatios),
                Human.decimal(row.median { $0.othersShare * 100 }, places: 0) + " %",
            ])
        }
        return table
    }

    private static func processes(_ results: [PipelineResult]) -> TextTable {
        var table = TextTable([
            .init("jobs to"), .init("worker", .right), .init("Redis", .right), .init("broker", .right),
            .init("simulator", .right), .init("together", .right), .init("publishing before", .right),
        ])
        for row in results {
            let figures: [(PipelineSample) -> Double] = [
                { $0.workerUs }, { $0.redisUs }, { $0.brokerUs }, { $0.simulatorUs }, { $0.togetherUs },
                { $0.publishUs },
            ]
            table.add(
                ["a \(row.kind.rawValue)"]
                    + figures.map { Human.decimal(row.median($0), places: 2) + " us" })
        }
        return table
    }

    private static func memory(_ results: [PipelineResult]) -> TextTable {
        var table = TextTable([
            .init("jobs to"), .init("worker", .right), .init("Redis", .right), .init("broker", .right),
            .init("simulator", .right),
        ])
        for row in results {
            let figures: [(PipelineSample) -> UInt64] = [
                { $0.workerBytes }, { $0.redisBytes }, { $0.brokerBytes }, { $0.simulatorBytes },
            ]
            table.add(
                ["a \(row.kind.rawValue)"]
                    + figures.map { figure in Human.bytes(UInt64(row.median { Double(figure($0)) })) })
        }
        return table
    }

    private static func object(_ row: PipelineResult) -> String {
        var out = BenchJSON()
        out.add("jobs_to", text: row.kind.rawValue)
        out.add("rps_ratio", row.rateRatio, places: 3)
        out.add("rps_ratio_lowest", row.rateRatios.min() ?? .nan, places: 3)
        out.add("rps_ratio_highest", row.rateRatios.max() ?? .nan, places: 3)
        out.add("notifications_per_s", row.median { $0.perSecond }, places: 0)
        out.add("h2load_rps", row.median { $0.h2load.requestsPerSecond }, places: 0)
        out.add("worker_cpu_us", row.median { $0.workerUs }, places: 2)
        out.add("redis_cpu_us", row.median { $0.redisUs }, places: 2)
        out.add("broker_cpu_us", row.median { $0.brokerUs }, places: 2)
        out.add("simulator_cpu_us", row.median { $0.simulatorUs }, places: 2)
        out.add("together_cpu_us", row.median { $0.togetherUs }, places: 2)
        out.add("other_programs_share", row.median { $0.othersShare }, places: 3)
        out.add("publish_cpu_us", row.median { $0.publishUs }, places: 2)
        out.add("worker_rss_bytes", row.median { Double($0.workerBytes) }, places: 0)
        out.add("redis_rss_bytes", row.median { Double($0.redisBytes) }, places: 0)
        out.add("broker_rss_bytes", row.median { Double($0.brokerBytes) }, places: 0)
        out.add("simulator_rss_bytes", row.median { Double($0.simulatorBytes) }, places: 0)
        return out.finished
    }
}
