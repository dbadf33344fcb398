internal import Core
internal import EventLoop
internal import Glibc
internal import Terminal

/// `peal bench start`: how long a worker takes from its start to its first request.
///
/// Joining the consumer group is the brokers' business and left out: it lasts from the worker's own log line
/// that it runs to the one that its lane has partitions. What a worker does meanwhile, such as signing its
/// first provider token, is not part of the figure.
enum StartPart: BenchPart {
    static let name = "start"
    static let summary = "a worker's start to its first request, group join left out"

    /// How much is measured.
    struct Plan: Sendable {
        var rounds = 7
        var partitions = 16
    }

    /// One start, in ms.
    struct Sample: Equatable, Sendable {
        let totalMs: Double
        let joinMs: Double

        /// Without the group join.
        var ownMs: Double { totalMs - joinMs }
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        if options.isQuick { plan.rounds = 3 }
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        try Bench.inDirectory(options, recordMax: 1_000) { (directory, simulator) throws(StackFailure) in
            var setup = PartBench.Setup()
            setup.partitions = plan.partitions
            setup.logLevel = "info"
            setup.lingerMs = 1
            setup.settings["log"] = ["format: json"]
            setup.settings["kafka"] = ["fetch.wait.max.ms: 10"]
            let bench = try PartBench(options, setup, directory: directory, simulator: simulator)
            defer { bench.stop() }
            var samples: [Sample] = []
            for round in 1...max(1, plan.rounds) {
                let sample = try measure(bench)
                samples.append(sample)
                say(
                    "start: \(round)/\(plan.rounds): \(ms(sample.ownMs)),"
                        + " and \(ms(sample.joinMs)) for joining the group")
            }
            return findings(samples)
        }
    }

    private static func measure(_ bench: PartBench) throws(StackFailure) -> Sample {
        try bench.simulator.clearRecord()
        // One for each partition, so that the first fetch finds some whichever partition it asks for first.
        for _ in 0..<bench.setup.partitions * 4 { try bench.publish() }
        try bench.flush()
        let startMs = Clock.wallMs
        let worker = try bench.stack.startWorker()
        try bench.wait([worker], forRequests: bench.published)
        bench.stop([worker])
        let first = RecordStamps.firstArrivalMs(page: try bench.simulator.record(from: 0, limit: 1))
        let log = (try? Files.readText(path: worker.logPath)) ?? ""
        guard let first, let join = WorkerLog.join(log, lane: BenchJobs.lane) else {
            throw StackFailure(
                .program,
                "the worker did not tell when it joined its group; its log ends:\n\(worker.logTail())")
        }
        return Sample(
            totalMs: Double(Int64(clamping: first) - startMs),
            joinMs: Double(join.assignedMs - join.startedMs))
    }

    // MARK: - Findings

    static func findings(_ samples: [Sample]) -> BenchFindings {
        var found = BenchFindings()
        let own = Statistics.median(samples.map(\.ownMs))
        let join = Statistics.median(samples.map(\.joinMs))
        found.targets = [
            BenchTarget(
                key: "start", title: "a worker's start to its first request, group join left out",
                bound: "<= 500 ms", measured: ms(own), isMet: !samples.isEmpty && own <= 500)
        ]
        var table = TextTable([
            .init("start", .right), .init("to the first request", .right), .init("group join", .right),
            .init("without it", .right),
        ])
        for (index, sample) in samples.enumerated() {
            table.add(["\(index + 1)", ms(sample.totalMs), ms(sample.joinMs), ms(sample.ownMs)])
        }
        found.sections = [BenchFindings.Section(title: "Start of a worker", table: table)]
        found.members = [
            BenchFindings.Member(
                key: "start",
                json: PartFindings.object([
                    ("own_ms", own), ("join_ms", join),
                    ("highest_ms", samples.map(\.ownMs).max() ?? .nan),
                ]))
        ]
        return found
    }

    private static func ms(_ value: Double) -> String { Human.decimal(value, places: 0) + " ms" }
}
