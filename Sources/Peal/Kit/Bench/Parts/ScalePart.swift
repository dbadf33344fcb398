internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Terminal

/// `peal bench scale`: whether a notification costs a worker more CPU when there are more recipients in the
/// registry, or more jobs in Kafka.
///
/// Each question has two benches of its own, one small and one large, whose workers take turns. A large one
/// may well cost less: a worker that never runs out of jobs does more of them at a time.
enum ScalePart: BenchPart {
    static let name = "scale"
    static let summary = "a worker's CPU with few and with millions of recipients, and of waiting jobs"

    /// How much is measured.
    struct Plan: Sendable {
        var rounds = 3
        /// Notifications of one run that are measured.
        var window = 200_000
        var fewRecipients = 1_000
        var manyRecipients = 5_000_000
        var shortBacklog = 10_000
        var longBacklog = 5_000_000
        var partitions = 64
        /// The embedded broker keeps 5 MiB of a partition: a long backlog needs many.
        var backlogPartitions = 256
    }

    /// The CPU of a notification in the runs of both sides, in microseconds and in the order of the runs.
    struct Comparison: Equatable, Sendable {
        var small: [Double] = []
        var large: [Double] = []

        /// The median over the rounds of the large side's cost divided by the small side's.
        var ratio: Double { Statistics.median(zip(large, small).map { $0 / max(1e-9, $1) }) }
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        if options.isQuick {
            plan.rounds = 2
            plan.window = 100_000
            plan.manyRecipients = 500_000
            plan.longBacklog = 500_000
        }
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let recipients = try compareRecipients(plan, options, say: say)
        let backlog = try compareBacklogs(plan, options, say: say)
        return findings(recipients, backlog, plan)
    }

    /// A directory for one of two benches, with the credentials of their common simulator.
    private static func folder(
        _ name: String, of directory: String, _ simulator: BenchSimulator
    ) throws(StackFailure) -> String {
        let path = "\(directory)/\(name)"
        let link = "\(path)/credentials"
        guard unsafe mkdir(path, 0o700) == 0, unsafe symlink(simulator.credentialDirectory, link) == 0 else {
            throw StackFailure(.files, "the directory \(path) could not be made; is there room in /tmp?")
        }
        return path
    }

    // MARK: - Recipients

    static func compareRecipients(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> Comparison {
        try Bench.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            try compareRecipients(plan, options, directory, simulator, say)
        }
    }

    private static func compareRecipients(
        _ plan: Plan, _ options: BenchOptions, _ directory: String, _ simulator: BenchSimulator,
        _ say: (String) -> Void
    ) throws(StackFailure) -> Comparison {
        func bench(_ recipients: Int, _ name: String) throws(StackFailure) -> PartBench {
            var setup = PartBench.Setup()
            setup.kind = .recipient
            setup.recipients = recipients
            setup.partitions = plan.partitions
            // Jobs of one recipient go one after the other. With no more in flight than the small registry
            // has recipients, that holds up neither side, and both send in batches of one size.
            setup.settings["worker"] = ["in_flight: \(max(64, plan.fewRecipients))"]
            return try PartBench(
                options, setup, directory: try folder(name, of: directory, simulator), simulator: simulator)
        }
        let small = try bench(plan.fewRecipients, "few")
        defer { small.stop() }
        say("scale: registering \(Human.grouped(plan.manyRecipients)) recipients")
        let large = try bench(plan.manyRecipients, "many")
        defer { large.stop() }
        return try alternate(plan, small, large, "recipients", say) { (bench) throws(StackFailure) in
            // A prime apart, so that the recipients of a run lie all over the registry.
            try bench.topUp(to: plan.window * 11 / 10, done: try bench.requests(), stride: 7_919)
            try bench.flush()
            return 0
        }
    }

    // MARK: - Backlogs

    static func compareBacklogs(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> Comparison {
        try Bench.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            try compareBacklogs(plan, options, directory, simulator, say)
        }
    }

    private static func compareBacklogs(
        _ plan: Plan, _ options: BenchOptions, _ directory: String, _ simulator: BenchSimulator,
        _ say: (String) -> Void
    ) throws(StackFailure) -> Comparison {
        func bench(_ name: String) throws(StackFailure) -> PartBench {
            var setup = PartBench.Setup()
            setup.partitions = plan.backlogPartitions
            return try PartBench(
                options, setup, directory: try folder(name, of: directory, simulator), simulator: simulator)
        }
        let small = try bench("short")
        defer { small.stop() }
        let large = try bench("long")
        defer { large.stop() }
        say("scale: publishing \(Human.grouped(plan.longBacklog)) jobs")
        try large.topUp(to: plan.longBacklog, done: 0)
        try large.flush()
        try checkBroker(large)
        return try alternate(plan, small, large, "backlog", say) { bench in
            bench === small ? plan.shortBacklog : 0
        }
    }

    /// What does not fit into the embedded broker is dropped without a word.
    private static func checkBroker(_ bench: PartBench) throws(StackFailure) {
        var kept: Int64 = 0
        do throws(KafkaFailure) {
            let inspector = try KafkaInspector(
                .tool(brokers: bench.stack.broker.bootstrapServers, group: "peal-bench"))
            defer { inspector.close() }
            for partition in 0..<bench.setup.partitions {
                let marks = try inspector.watermarks(
                    topic: bench.stack.topics.jobs(lane: BenchJobs.lane),
                    partition: Int32(clamping: partition),
                    timeoutMs: 10_000)
                kept += marks.high - marks.low
            }
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
        guard kept == Int64(bench.published) else {
            throw StackFailure(
                .broker,
                "the embedded broker kept \(kept) of \(bench.published) jobs: give it more partitions")
        }
    }

    // MARK: - Runs

    /// Runs a worker at each of the two in turns. `prepare` publishes what has to wait before a run, and
    /// tells how many jobs must go on waiting meanwhile.
    private static func alternate(
        _ plan: Plan, _ small: PartBench, _ large: PartBench, _ what: String, _ say: (String) -> Void,
        prepare: (PartBench) throws(StackFailure) -> Int
    ) throws(StackFailure) -> Comparison {
        var result = Comparison()
        try small.pause()
        try large.pause()
        for round in 1...max(1, plan.rounds) {
            let few = try measure(small, plan, try prepareAfterPause(small, prepare))
            result.small.append(few)
            let many = try measure(large, plan, try prepareAfterPause(large, prepare))
            result.large.append(many)
            say(
                "scale: \(what) \(round)/\(plan.rounds): small \(us(few)), large \(us(many)),"
                    + " \(PartFindings.change(many / max(1e-9, few)))")
        }
        return result
    }

    private static func prepareAfterPause(
        _ bench: PartBench, _ prepare: (PartBench) throws(StackFailure) -> Int
    ) throws(StackFailure) -> Int {
        try bench.resume()
        return try prepare(bench)
    }

    /// One worker's CPU a notification, in microseconds.
    private static func measure(
        _ bench: PartBench, _ plan: Plan, _ backlog: Int
    ) throws(StackFailure) -> Double {
        let before = try bench.requests()
        try bench.topUp(to: backlog, done: before)
        let workers = try bench.startWorkers()
        let warm = before + plan.window / 20
        let end = before + plan.window * 21 / 20
        var first: (count: Int, us: Double)?
        var last: (count: Int, us: Double)?
        _ = try bench.run(workers, backlog: 0) { (mark) throws(StackFailure) in
            // A burst at a time: jobs that trickle in make small batches in the log, which cost a consumer
            // more each, and the long backlog was published in large ones.
            if bench.published - mark.count <= backlog / 10 { try bench.topUp(to: backlog, done: mark.count) }
            let us = workers.map { ProcessTime.cpuUs(of: $0.processID) }.reduce(0, +)
            if first == nil, mark.count >= warm { first = (mark.count, us) }
            last = (mark.count, us)
            return mark.count < end
        }
        bench.stop(workers)
        try bench.pause()
        guard let first, let last, last.count > first.count else { return .nan }
        return (last.us - first.us) / Double(last.count - first.count)
    }

    // MARK: - Findings

    static func findings(
        _ recipients: Comparison, _ backlog: Comparison, _ plan: Plan
    ) -> BenchFindings {
        let rows = [
            (
                "scale_recipients", "recipients", recipients, Human.grouped(plan.fewRecipients),
                Human.grouped(plan.manyRecipients)
            ),
            (
                "scale_backlog", "waiting jobs", backlog, Human.grouped(plan.shortBacklog),
                Human.grouped(plan.longBacklog)
            ),
        ]
        var found = BenchFindings()
        var table = TextTable([
            .init("what"), .init("few", .right), .init("many", .right), .init("CPU with few", .right),
            .init("with many", .right), .init("difference", .right),
        ])
        for (key, what, comparison, few, many) in rows {
            let ratio = comparison.ratio
            found.targets.append(
                BenchTarget(
                    key: key, title: "worker's CPU a notification, \(many) \(what) against \(few)",
                    bound: "at most 10 % more", measured: PartFindings.change(ratio),
                    isMet: ratio > 0 && ratio <= 1.1))
            let (small, large) = (Statistics.median(comparison.small), Statistics.median(comparison.large))
            table.add([what, few, many, us(small), us(large), PartFindings.change(ratio)])
            found.members.append(
                BenchFindings.Member(
                    key: key + "_cpu",
                    json: PartFindings.object([
                        ("ratio", ratio), ("few_cpu_us", small), ("many_cpu_us", large),
                    ])))
        }
        found.sections = [BenchFindings.Section(title: "A worker's CPU a notification", table: table)]
        return found
    }

    private static func us(_ value: Double) -> String { Human.decimal(value, places: 2) + " us" }
}
