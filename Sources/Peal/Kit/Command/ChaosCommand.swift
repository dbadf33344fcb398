internal import EventLoop
internal import Terminal

/// `peal chaos`: the whole pipeline under seeded faults, and every promise checked.
enum ChaosCommand {
    static let command = Command(
        "chaos", summary: "run the pipeline under seeded faults and check every promise",
        options: [
            Option("seed", .value("N"), help: "what jobs and faults follow from (a new one)"),
            Option("jobs", .value("N"), help: "jobs to send (10000)"),
            Option("faults", .value("N"), help: "faults to inject (25)"),
            Option("workers", .value("N"), help: "worker processes (3)"),
            Option("only", .values("KIND"), help: "inject only these: worker, redis.kill, ... (all)."),
            Option("seconds-max", .value("N"), help: "give up after so many seconds (300)"),
            Option("dir", .value("DIR"), help: "put configuration, records and logs here, and leave them"),
            Option("keep", help: "leave the temporary directory although all is well"),
            Option("log-level", .value("LEVEL"), help: "of the programs' logs: trace to critical (info)"),
            Option("json", help: "print the report as one JSON object"),
            Option("quiet", short: "q", help: "no progress on standard error"),
        ],
        details: """
            Workers, retry service, redis-server, providers and producers are processes of their own; Kafka is
            the embedded stand-in. The same seed gives the same jobs and the same faults at the same times;
            what they hit depends on the machine. docs/reliability.md says what is checked.

            Exits with 1 when a promise is broken, and with 2 when the run could not be made.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        var options = ChaosOptions()
        options.seed = RandomSource.seed() % 1_000_000
        if let text = arguments.string("seed") {
            guard let seed = UInt64(text) else { throw UsageFailure("--seed takes a whole number") }
            options.seed = seed
        }
        options.jobs = try arguments.integer("jobs", in: 1...1_000_000) ?? options.jobs
        options.faults = try arguments.integer("faults", in: 0...10_000) ?? options.faults
        options.workers = try arguments.integer("workers", in: 1...16) ?? options.workers
        options.secondsMax = try arguments.integer("seconds-max", in: 10...86_400) ?? options.secondsMax
        options.only = arguments.all("only")
        if let unknown = options.only.first(where: { !ChaosOptions.isKnown($0) }) {
            throw UsageFailure("no fault is called \(unknown); docs/reliability.md lists them")
        }
        options.directory = arguments.string("dir")
        options.keeps = arguments.flag("keep")
        options.logLevel =
            try arguments.choice(
                "log-level", of: ["trace", "debug", "info", "notice", "warning", "error", "critical"])
            ?? options.logLevel
        options.isVerbose = !arguments.flag("quiet")
        do throws(StackFailure) {
            let report = try ChaosRun(options).run()
            return report.show(asJSON: arguments.flag("json"))
        } catch {
            Console.complain("peal chaos (seed \(options.seed)): \(error)")
            return 2
        }
    }
}
