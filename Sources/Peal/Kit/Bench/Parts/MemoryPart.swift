internal import Core
internal import EventLoop
internal import Terminal

/// `peal bench memory`: a worker's resident memory while it works off a long backlog with many deliveries in
/// flight.
///
/// The provider takes its time, so that what is in flight fills up. The backlog is kept at its size until all
/// jobs are published, so that a run of any length needs no more of the embedded broker.
enum MemoryPart: BenchPart {
    static let name = "memory"
    static let summary = "a worker's memory over a long backlog with 20,000 deliveries in flight"

    /// How much is measured.
    struct Plan: Sendable {
        var jobs = 3_000_000
        /// Jobs that wait in Kafka while there are enough left.
        var backlog = 1_000_000
        /// Jobs before the line is fitted: buffers, tables and caches get their size meanwhile.
        var warmUp = 1_000_000
        var sampleEvery = 100_000
        var inFlight = 20_000
        var recipients = 100_000
        var partitions = 64
        var answerMs = 600
    }

    /// The worker at one number of finished jobs.
    struct Sample: Equatable, Sendable {
        let done: Int
        let residentBytes: Double
        let inFlight: Double
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        if options.isQuick {
            plan.jobs = 600_000
            plan.backlog = 300_000
            plan.warmUp = 300_000
            plan.sampleEvery = 25_000
        }
        plan.jobs = options.jobs(unlessGiven: plan.jobs)
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let arguments = ["--delay-ms", "\(plan.answerMs)"]
        return try Bench.inDirectory(options, arguments: arguments) {
            (directory, simulator) throws(StackFailure) in
            var setup = PartBench.Setup()
            setup.kind = .recipient
            setup.recipients = plan.recipients
            setup.partitions = plan.partitions
            setup.settings["worker"] = [
                // A lane gets nine tenths of it: the rest is kept for urgent jobs.
                "in_flight: \(plan.inFlight * 10 / 9 + 1)", "in_flight_app_share: 1",
            ]
            setup.settings["providers.apns"] = [
                "connections_max: \(plan.inFlight / 1_000 + 4)", "pending_max: \(plan.inFlight * 5 / 4)",
            ]
            let bench = try PartBench(options, setup, directory: directory, simulator: simulator)
            defer { bench.stop() }
            return try measure(plan, bench, say)
        }
    }

    private static func measure(
        _ plan: Plan, _ bench: PartBench, _ say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        say("memory: publishing \(Human.grouped(min(plan.jobs, plan.backlog))) jobs")
        try bench.topUp(to: min(plan.jobs, plan.backlog), done: 0)
        try bench.flush()
        let workers = try bench.startWorkers()
        guard let worker = workers.first else { return BenchFindings() }
        var samples: [Sample] = []
        var next = plan.sampleEvery
        while true {
            // The options' deadline is that of the way from one sample to the next.
            _ = try bench.run(workers, backlog: 0) { (mark) throws(StackFailure) in
                try bench.topUp(to: min(plan.backlog, plan.jobs - mark.count), done: mark.count)
                return mark.count < next
            }
            samples.append(
                Sample(
                    done: next, residentBytes: Double(worker.residentBytes ?? 0),
                    inFlight: bench.metric("peal_deliveries_open", port: bench.stack.workerPorts[0]) ?? 0))
            if let last = samples.last {
                say(
                    "memory: \(Human.grouped(last.done)) done,"
                        + " \(PartFindings.megabytes(last.residentBytes, places: 1)),"
                        + " \(Human.grouped(Int(last.inFlight))) in flight")
            }
            guard next < plan.jobs else { break }
            next = min(plan.jobs, next + plan.sampleEvery)
        }
        let peak = Double(ProcessTime.peakResidentBytes(of: worker.processID))
        bench.stop(workers)
        return findings(samples, peakBytes: peak, plan: plan)
    }

    // MARK: - Findings

    /// How many bytes more there are after a million further jobs; nil with too few samples to tell.
    static func slope(_ samples: [Sample], warmUp: Int) -> Double? {
        let points = samples.filter { $0.done > warmUp }.map {
            (x: Double($0.done) / 1e6, y: $0.residentBytes)
        }
        return points.count >= 3 ? LinearFit(points).slope : nil
    }

    static func findings(_ samples: [Sample], peakBytes: Double, plan: Plan) -> BenchFindings {
        var found = BenchFindings()
        let slope = slope(samples, warmUp: plan.warmUp)
        let inFlight = Statistics.median(samples.dropLast().map(\.inFlight))
        found.targets = [
            BenchTarget(
                key: "memory_peak",
                title: "a worker's highest memory, \(Human.grouped(Int(inFlight))) deliveries in flight",
                bound: "<= 150 MB", measured: PartFindings.megabytes(peakBytes, places: 1),
                isMet: peakBytes > 0 && peakBytes <= 150e6),
            BenchTarget(
                key: "memory_slope", title: "its growth over a million jobs, after the warm-up",
                bound: "< 1 MB", measured: slope.map { PartFindings.megabytes($0, places: 2) } ?? "too short",
                isMet: slope.map { $0 < 1e6 } ?? false),
        ]
        var table = TextTable([.init("done", .right), .init("memory", .right), .init("in flight", .right)])
        for sample in samples {
            table.add([
                Human.grouped(sample.done), PartFindings.megabytes(sample.residentBytes, places: 1),
                Human.grouped(Int(sample.inFlight)),
            ])
        }
        found.sections = [
            BenchFindings.Section(
                title: "Memory of a worker, answers after \(plan.answerMs) ms,"
                    + " a backlog of \(Human.grouped(min(plan.jobs, plan.backlog))) jobs",
                table: table)
        ]
        found.members = [
            BenchFindings.Member(
                key: "memory",
                json: PartFindings.object([
                    ("jobs", Double(plan.jobs)), ("in_flight", inFlight), ("peak_bytes", peakBytes),
                    ("bytes_per_million_jobs", (slope ?? .nan).rounded()),
                ]))
        ]
        found.plots = [
            BenchPlot(
                name: "memory", title: "Memory of a worker", xLabel: "million jobs done", yLabel: "MB",
                series: [
                    BenchPlot.Series(
                        name: "resident",
                        points: samples.map { (x: Double($0.done) / 1e6, y: $0.residentBytes / 1e6) })
                ])
        ]
        return found
    }
}
