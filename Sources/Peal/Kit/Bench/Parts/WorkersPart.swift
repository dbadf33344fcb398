internal import Core
internal import EventLoop
internal import Terminal

/// `peal bench workers`: one, two and four worker processes against a provider that takes its time.
///
/// A worker gets one connection with few streams, so that waiting for answers limits it and not the machine:
/// whether more workers send that many times more is then a question of how well they share the work.
enum WorkersPart: BenchPart {
    static let name = "workers"
    static let summary = "1, 2 and 4 workers against a provider that answers in 40 ms"

    /// How much is measured.
    struct Plan: Sendable {
        var counts = [1, 2, 4]
        var answerMs = 40
        /// Streams of a worker's one connection.
        var streams = 100
        var partitions = 64
        var forMs: UInt64 = 10_000
        /// Seconds' worth of jobs that wait for each worker.
        var backlogS = 2

        /// What answers that are never late let a worker send in a second.
        var mostPerWorker: Double { Double(streams) * 1_000 / Double(max(1, answerMs)) }
    }

    /// What a number of workers came to.
    struct Result: Equatable, Sendable {
        let workers: Int
        let perSecond: Double
        /// Of all workers together, in cores.
        let cores: Double

        /// How near the rate is to so many times that of one worker; 1 is linear.
        func linearity(one: Double) -> Double { perSecond / (Double(max(1, workers)) * max(1e-9, one)) }
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        if options.isQuick { plan.forMs = 4_000 }
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let arguments = ["--delay-ms", "\(plan.answerMs)"]
        return try Bench.inDirectory(options, arguments: arguments) {
            (directory, simulator) throws(StackFailure) in
            var setup = PartBench.Setup()
            setup.partitions = plan.partitions
            setup.settings["providers.apns"] = ["connections_max: 1", "streams_max: \(plan.streams)"]
            let bench = try PartBench(options, setup, directory: directory, simulator: simulator)
            defer { bench.stop() }
            var results: [Result] = []
            for count in plan.counts {
                let result = try measure(plan, bench, workers: count)
                results.append(result)
                say(
                    "workers: \(count) send \(Human.rate(result.perSecond))"
                        + " with \(Human.decimal(result.cores, places: 2)) cores")
            }
            return findings(results, plan)
        }
    }

    private static func measure(
        _ plan: Plan, _ bench: PartBench, workers count: Int
    ) throws(StackFailure) -> Result {
        let workers = try bench.startWorkers(count)
        // Each gets its part by the keys' partitions, so a backlog for all is one for each.
        let backlog = Int(plan.mostPerWorker) * plan.backlogS * count
        let warmMs = plan.forMs / 4
        let startMs = Clock.monotonicMs
        var cpuUs: (atMs: UInt64, us: Double)?
        let trace = try bench.run(workers, backlog: backlog) { mark in
            if cpuUs == nil, mark.atMs >= startMs + warmMs { cpuUs = (mark.atMs, Self.cpuUs(workers)) }
            return mark.atMs < startMs + plan.forMs
        }
        let endMs = Clock.monotonicMs
        let usedUs = Self.cpuUs(workers) - (cpuUs?.us ?? 0)
        let elapsedMs = Double(max(1, endMs - (cpuUs?.atMs ?? startMs)))
        // All is worked off before the next number of workers begins.
        try bench.wait(workers, forRequests: bench.published)
        bench.stop(workers)
        return Result(
            workers: count, perSecond: trace.rate(fromMs: startMs + warmMs, toMs: endMs),
            cores: usedUs / elapsedMs / 1_000)
    }

    private static func cpuUs(_ workers: [ChildProcess]) -> Double {
        workers.map { ProcessTime.cpuUs(of: $0.processID) }.reduce(0, +)
    }

    // MARK: - Findings

    /// The linearity that is furthest from one.
    static func worst(_ results: [Result]) -> Double {
        guard let one = results.first(where: { $0.workers == 1 }) else { return 0 }
        return results.map { $0.linearity(one: one.perSecond) }
            .max { abs($0 - 1) < abs($1 - 1) } ?? 0
    }

    static func findings(_ results: [Result], _ plan: Plan) -> BenchFindings {
        var found = BenchFindings()
        let worst = worst(results)
        let counts = results.map { "\($0.workers)" }.joined(separator: ", ")
        found.targets = [
            BenchTarget(
                key: "workers_linear", title: "rate of \(counts) workers against as many times one",
                bound: "within 10 %", measured: PartFindings.change(worst), isMet: abs(worst - 1) <= 0.1)
        ]
        var table = TextTable([
            .init("workers", .right), .init("notifications", .right), .init("of linear", .right),
            .init("workers' CPU", .right),
        ])
        let one = results.first { $0.workers == 1 }?.perSecond ?? 0
        for result in results {
            table.add([
                "\(result.workers)", Human.rate(result.perSecond),
                Human.decimal(result.linearity(one: one) * 100, places: 1) + " %",
                Human.decimal(result.cores, places: 2) + " cores",
            ])
        }
        found.sections = [
            BenchFindings.Section(
                title: "Workers, one connection with \(plan.streams) streams each, answers after"
                    + " \(plan.answerMs) ms: at most \(Human.rate(plan.mostPerWorker)) a worker",
                table: table)
        ]
        found.members = [
            BenchFindings.Member(
                key: "workers",
                json: PartFindings.array(
                    results.map {
                        PartFindings.object([
                            ("workers", Double($0.workers)), ("per_s", $0.perSecond.rounded()),
                            ("of_linear", $0.linearity(one: one)), ("cores", $0.cores),
                        ])
                    }))
        ]
        found.plots = [
            BenchPlot(
                name: "workers", title: "Notifications a second by workers", xLabel: "workers",
                yLabel: "notifications a second",
                series: [
                    BenchPlot.Series(
                        name: "measured", points: results.map { (x: Double($0.workers), y: $0.perSecond) }),
                    BenchPlot.Series(
                        name: "so many times one",
                        points: results.map { (x: Double($0.workers), y: Double($0.workers) * one) }),
                ])
        ]
        return found
    }
}
