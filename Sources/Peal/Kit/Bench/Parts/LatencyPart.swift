internal import Core
internal import EventLoop
internal import Glibc
internal import Terminal

/// `peal bench latency`: how long a job takes from its sender to the provider, from little load to nearly all
/// that one worker carries.
///
/// A job's time runs from just before the sender's client takes it until its request arrives at the
/// simulator, which stamps arrivals in whole milliseconds; each time counts as if the request had come at the
/// end of its millisecond. It is found again by its `apns-id`.
enum LatencyPart: BenchPart {
    static let name = "latency"
    static let summary = "time from a job's publishing to its request, at several loads"

    /// How much is measured.
    struct Plan: Sendable {
        var recipients = 10_000
        /// Twice the workers, as for a deployment. The embedded broker gives no more than one batch of a
        /// partition for a fetch: with many partitions and small batches it would be the one measured.
        var partitions = 2
        /// Jobs kept waiting while the maximum is found.
        var backlog = 20_000
        var maximumMs: UInt64 = 10_000
        /// Parts of the maximum.
        var shares = [0.1, 0.25, 0.5, 0.75, 0.9]
        var loadMs: UInt64 = 8_000
        /// The most jobs of one load, which bounds memory here and in the simulator's record.
        var jobsMax = 1_000_000
    }

    /// What one load came to. Times are in microseconds.
    struct Load: Sendable {
        let share: Double
        let offered: Double
        /// Requests a second.
        let arrived: Double
        let workerUs: Double
        let times: Histogram
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        if options.isQuick {
            plan.maximumMs = 4_000
            plan.loadMs = 3_000
        }
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        try Bench.inDirectory(options, recordMax: plan.jobsMax) {
            (directory, simulator) throws(StackFailure) in
            var setup = PartBench.Setup()
            setup.kind = .recipient
            setup.recipients = plan.recipients
            setup.partitions = plan.partitions
            setup.lingerMs = 1
            // A real broker answers a waiting fetch when a record comes. The embedded one looks again only
            // when the wait is over, so a longer one would be measured instead of Peal.
            setup.settings["kafka"] = ["fetch.wait.max.ms: 1"]
            let bench = try PartBench(options, setup, directory: directory, simulator: simulator)
            defer { bench.stop() }
            return try measure(plan, bench, say)
        }
    }

    private static func measure(
        _ plan: Plan, _ bench: PartBench, _ say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let workers = try bench.startWorkers()
        let endMs = Clock.monotonicMs + plan.maximumMs
        let trace = try bench.run(workers, backlog: plan.backlog) { $0.atMs < endMs }
        // What comes first includes connecting.
        let maximum = trace.rate(fromMs: endMs - plan.maximumMs * 2 / 3, toMs: endMs)
        try bench.wait(workers, forRequests: bench.published)
        say("latency: at most \(Human.rate(maximum))")
        var loads: [Load] = []
        for share in plan.shares {
            let load = try measure(plan, bench, workers, share: share, maximum: maximum)
            loads.append(load)
            say(
                "latency: at \(percent(share)) of it \(ms(load, 0.5)) median,"
                    + " \(ms(load, 0.99)) 99th percentile")
        }
        bench.stop(workers)
        return findings(loads, maximum: maximum)
    }

    private static func measure(
        _ plan: Plan, _ bench: PartBench, _ workers: [ChildProcess], share: Double, maximum: Double
    ) throws(StackFailure) -> Load {
        let pace = SendingPace(perSecond: max(1, maximum * share))
        let clock = WallClock()
        var stamps = RecordStamps()
        try bench.simulator.clearRecord()
        let cpuUs = workers.map { ProcessTime.cpuUs(of: $0.processID) }.reduce(0, +)
        let before = bench.published
        let startUs = clock.nowUs
        let warmUs = startUs + plan.loadMs * 200
        while true {
            let elapsedUs = clock.nowUs - startUs
            if elapsedUs >= plan.loadMs * 1_000 { break }
            let due = min(pace.due(elapsedUs: elapsedUs), plan.jobsMax)
            while bench.published - before < due {
                let nowUs = clock.nowUs
                let id = try bench.publish()
                stamps.published(job: id.text, device: "phone", atUs: nowUs)
            }
            try bench.drain()
            usleep(500)
        }
        let sentUs = clock.nowUs - startUs
        let sent = bench.published - before
        try bench.wait(workers, forRequests: bench.published)
        let usedUs = workers.map { ProcessTime.cpuUs(of: $0.processID) }.reduce(0, +) - cpuUs
        var times = Histogram(.fine)
        var (first, last) = (UInt64.max, UInt64(0))
        try eachRequest(bench, &stamps) { publishedUs, arrivedMs in
            (first, last) = (min(first, arrivedMs), max(last, arrivedMs))
            // What comes first may meet a worker that was idle, and finds connections that were.
            guard publishedUs >= warmUs else { return }
            let arrivedUs = (arrivedMs + 1) * 1_000
            times.record(arrivedUs > publishedUs ? arrivedUs - publishedUs : 0)
        }
        if stamps.openCount > 0 {
            throw StackFailure(
                .program, "\(stamps.openCount) of \(sent) requests are not in the simulator's record")
        }
        return Load(
            share: share, offered: Double(sent) * 1e6 / Double(max(1, sentUs)),
            arrived: Double(sent) * 1_000 / Double(max(1, last > first ? last - first : 0)),
            workerUs: usedUs / Double(max(1, sent)), times: times)
    }

    private static func eachRequest(
        _ bench: PartBench, _ stamps: inout RecordStamps, _ take: (UInt64, UInt64) -> Void
    ) throws(StackFailure) {
        var seen = 0
        while true {
            let page = try bench.simulator.record(from: seen, limit: 10_000)
            let count = stamps.match(page: page, take: take)
            if count == 0 { return }
            seen += count
        }
    }

    // MARK: - Findings

    static func findings(_ loads: [Load], maximum: Double) -> BenchFindings {
        var found = BenchFindings()
        if let half = loads.min(by: { abs($0.share - 0.5) < abs($1.share - 0.5) }) {
            for (key, quantile, boundUs) in [("latency_p50", 0.5, 5_000.0), ("latency_p99", 0.99, 25_000)] {
                found.targets.append(
                    BenchTarget(
                        key: key,
                        title: "publish to request at \(percent(half.share)) of the maximum,"
                            + " \(quantile == 0.5 ? "median" : "99th percentile")",
                        bound: "<= \(Human.decimal(boundUs / 1_000, places: 0)) ms",
                        measured: ms(half, quantile),
                        isMet: half.times.total > 0 && Double(half.times.quantile(quantile)) <= boundUs))
            }
        }
        var table = TextTable([
            .init("load", .right), .init("offered", .right), .init("arrived", .right),
            .init("median", .right), .init("90th", .right), .init("99th", .right), .init("highest", .right),
            .init("worker CPU", .right),
        ])
        for load in loads {
            table.add([
                percent(load.share), Human.rate(load.offered), Human.rate(load.arrived), ms(load, 0.5),
                ms(load, 0.9), ms(load, 0.99), ms(load, 1), Human.decimal(load.workerUs, places: 1) + " us",
            ])
        }
        found.sections = [
            BenchFindings.Section(
                title: "Latency, jobs to recipients, one worker; at most \(Human.rate(maximum))", table: table
            )
        ]
        found.members = [
            BenchFindings.Member(
                key: "latency",
                json: PartFindings.array(loads.map { object($0) })),
            BenchFindings.Member(key: "latency_maximum_per_s", json: PartFindings.number(maximum.rounded())),
        ]
        found.plots = plots(loads)
        return found
    }

    private static func object(_ load: Load) -> String {
        func ms(_ quantile: Double) -> Double { Double(load.times.quantile(quantile)) / 1_000 }
        return PartFindings.object([
            ("share", load.share), ("offered_per_s", load.offered.rounded()),
            ("arrived_per_s", load.arrived.rounded()), ("p50_ms", ms(0.5)), ("p90_ms", ms(0.9)),
            ("p99_ms", ms(0.99)), ("highest_ms", ms(1)), ("worker_cpu_us", load.workerUs),
        ])
    }

    private static func plots(_ loads: [Load]) -> [BenchPlot] {
        let quantiles = [("median", 0.5), ("90th percentile", 0.9), ("99th percentile", 0.99)]
        return [
            BenchPlot(
                name: "latency", title: "Latency against load", xLabel: "jobs a second",
                yLabel: "publish to request, ms",
                series: quantiles.map { name, quantile in
                    BenchPlot.Series(
                        name: name,
                        points: loads.map {
                            (x: $0.offered, y: Double($0.times.quantile(quantile)) / 1_000)
                        })
                }),
            BenchPlot(
                name: "throughput", title: "Throughput against offered load", xLabel: "jobs a second",
                yLabel: "requests a second",
                series: [
                    BenchPlot.Series(
                        name: "one worker", points: loads.map { (x: $0.offered, y: $0.arrived) })
                ]),
        ]
    }

    private static func percent(_ share: Double) -> String { Human.decimal(share * 100, places: 0) + " %" }

    private static func ms(_ load: Load, _ quantile: Double) -> String {
        Human.decimal(Double(load.times.quantile(quantile)) / 1_000, places: 1) + " ms"
    }
}
