internal import Core
internal import EventLoop
internal import Terminal

/// `peal bench slow`: one worker against a provider that answers in 40 ms, and how soon it is back at its
/// rate after the provider had shrunk its connections to one stream because of rejections.
enum SlowPart: BenchPart {
    static let name = "slow"
    static let summary = "one worker against a slow provider, and against one that shrinks its connections"

    /// How much is measured.
    struct Plan: Sendable {
        var answerMs = 40
        var streams = 1_000
        /// How long the rate is measured.
        var forMs: UInt64 = 10_000
        var warmMs: UInt64 = 3_000
        /// How long part of the requests is rejected.
        var rejectedMs: UInt64 = 5_000
        var rejectedShare = 0.02
        /// Successes in a row after which the simulator gives a connection its streams back.
        var successes = 100
        /// How long the recovery is waited for.
        var recoveryMs: UInt64 = 15_000
        /// Over which the recovered rate must hold.
        var windowMs: UInt64 = 1_000
        var backlog = 100_000
        var partitions = 64
    }

    /// What was measured.
    struct Result: Sendable {
        /// Notifications a second before the rejections.
        var perSecond = 0.0
        /// Those while requests were rejected.
        var rejectedPerSecond = 0.0
        /// From the end of the rejections to four fifths of the rate, in ms; nil when that took too long.
        var recoveryMs: UInt64?
        /// Notifications a second by seconds from the first rejection.
        var curve: [(x: Double, y: Double)] = []
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        if options.isQuick {
            plan.forMs = 4_000
            plan.rejectedMs = 3_000
        }
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let arguments = [
            "--delay-ms", "\(plan.answerMs)", "--streams", "\(plan.streams)", "--shrink-on-errors",
            "--successes-to-recover", "\(plan.successes)",
        ]
        return try Bench.inDirectory(options, arguments: arguments) {
            (directory, simulator) throws(StackFailure) in
            var setup = PartBench.Setup()
            setup.partitions = plan.partitions
            let bench = try PartBench(options, setup, directory: directory, simulator: simulator)
            defer { bench.stop() }
            let result = try measure(plan, bench, say)
            return findings(result, plan)
        }
    }

    private static func measure(
        _ plan: Plan, _ bench: PartBench, _ say: (String) -> Void
    ) throws(StackFailure) -> Result {
        var result = Result()
        let workers = try bench.startWorkers()
        let startMs = Clock.monotonicMs
        let fullMs = startMs + plan.warmMs + plan.forMs
        var trace = try bench.run(workers, backlog: plan.backlog) { $0.atMs < fullMs }
        result.perSecond = trace.rate(fromMs: startMs + plan.warmMs, toMs: fullMs)
        say("slow: \(Human.rate(result.perSecond)) with answers after \(plan.answerMs) ms")

        // A token that is refused is what costs a sender its streams most often.
        let share = Human.decimal(plan.rejectedShare, places: 4)
        try bench.simulator.setFaults(
            #"{"rules":[{"provider":"apns","share":\#(share),"answer":{"reason":"BadDeviceToken"}}]}"#)
        let rejectedMs = Clock.monotonicMs
        trace.append(
            try bench.run(workers, backlog: plan.backlog) { $0.atMs < rejectedMs + plan.rejectedMs })
        result.rejectedPerSecond = trace.rate(fromMs: rejectedMs, toMs: rejectedMs + plan.rejectedMs)
        try bench.simulator.setFaults("")
        let endedMs = Clock.monotonicMs
        let goal = result.perSecond * 0.8
        say("slow: \(Human.rate(result.rejectedPerSecond)) while \(share) of the requests are rejected")

        var seen = RateTrace()
        trace.append(
            try bench.run(workers, backlog: plan.backlog) { mark in
                seen.note(atMs: mark.atMs, count: mark.count)
                return mark.atMs < endedMs + plan.recoveryMs
                    && seen.recovery(sinceMs: endedMs, perSecond: goal, windowMs: plan.windowMs) == nil
            })
        result.recoveryMs = seen.recovery(sinceMs: endedMs, perSecond: goal, windowMs: plan.windowMs)
        result.curve = trace.curve(originMs: rejectedMs, windowMs: 250)
        let text = result.recoveryMs.map { "after \(Human.duration(ms: Double($0)))" } ?? "not reached"
        say("slow: four fifths of the rate \(text)")
        bench.stop(workers)
        return result
    }

    // MARK: - Findings

    static func findings(_ result: Result, _ plan: Plan) -> BenchFindings {
        var found = BenchFindings()
        let recovery = result.recoveryMs.map { Human.duration(ms: Double($0)) }
        found.targets = [
            BenchTarget(
                key: "slow_rate",
                title: "one worker, answers after \(plan.answerMs) ms, \(plan.streams) streams a connection",
                bound: ">= 20,000/s", measured: Human.rate(result.perSecond),
                isMet: result.perSecond >= 20_000),
            BenchTarget(
                key: "shrink_recovery", title: "from the end of rejections to 80 % of that rate",
                bound: "<= 10 s",
                measured: recovery ?? "not within \(Human.duration(ms: Double(plan.recoveryMs)))",
                isMet: result.recoveryMs.map { $0 <= 10_000 } ?? false),
        ]
        var table = TextTable([.init("phase"), .init("measured", .right)])
        table.add(["before", Human.rate(result.perSecond)])
        table.add([
            "while \(Human.decimal(plan.rejectedShare * 100, places: 1)) % are rejected",
            Human.rate(result.rejectedPerSecond),
        ])
        table.add(["four fifths again after", recovery ?? "-"])
        found.sections = [
            BenchFindings.Section(
                title: "Slow provider: answers after \(plan.answerMs) ms; a rejection shrinks a connection to"
                    + " one stream until \(plan.successes) successes",
                table: table)
        ]
        found.members = [
            BenchFindings.Member(
                key: "slow",
                json: PartFindings.object([
                    ("per_s", result.perSecond.rounded()),
                    ("rejected_per_s", result.rejectedPerSecond.rounded()),
                    ("recovery_ms", result.recoveryMs.map { Double($0) } ?? .nan),
                ]))
        ]
        found.plots = [
            BenchPlot(
                name: "shrink", title: "A provider that shrinks its connections for a while",
                xLabel: "seconds from the first rejection", yLabel: "requests a second",
                series: [BenchPlot.Series(name: "one worker", points: result.curve)])
        ]
        return found
    }
}
