internal import Core
internal import EventLoop
internal import Redis
internal import Registry
internal import Terminal

/// `peal bench redis`: what a job costs the store, with redis-benchmark on the same server as the yardstick.
///
/// Both send the same commands to the same `redis-server` over its Unix socket, in pipelines of the same
/// depth and in turns; then a worker works off jobs to recipients. What counts is the server's own CPU.
enum RedisPart: BenchPart {
    static let name = "redis"
    static let summary = "what a job costs Redis, against redis-benchmark on the same server"

    /// How much is measured.
    struct Plan: Sendable {
        var rounds = 5
        /// Commands of one run.
        var commands = 300_000
        /// Commands that wait for their replies at once.
        var depth = 128
        /// Of the worker: how many jobs are done before the first look, and how many until the second.
        var warmUp = 50_000
        var window = 200_000
        /// Jobs that wait beyond them.
        var rest = 20_000
        var recipients = 10_000
        var partitions = 64

        var jobs: Int { warmUp + window + rest }
    }

    /// What one run of a command cost, in microseconds of CPU.
    struct Cost: Sendable {
        let serverUs: Double
        let clientUs: Double
    }

    /// What both sides came to.
    struct Row: Sendable {
        let command: RedisBenchCommand
        /// Peal's client first.
        let pairs: [(Cost, Cost)]

        var pealUs: Double { Statistics.median(pairs.map(\.0.serverUs)) }
        var benchmarkUs: Double { Statistics.median(pairs.map(\.1.serverUs)) }
        var ratios: [Double] { Statistics.ratios(pairs) { $0.serverUs } }
    }

    /// What a worker asked of its store, divided by its jobs.
    struct Job: Sendable {
        var serverUs = 0.0
        /// As the server counts them: those within scripts, too.
        var commands = 0.0
        var scripts = 0.0
        var lookUps = 0.0
        var bytesIn = 0.0
        var bytesOut = 0.0
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        plan.rounds = options.rounds
        if options.isQuick {
            plan.commands = 100_000
            plan.warmUp = 20_000
            plan.window = 50_000
        }
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let rows = try compare(plan, options, say: say)
        let job = try measureJobs(plan, options)
        say("redis: \(us(job.serverUs)) a job, \(Human.decimal(job.commands, places: 2)) commands")
        return findings(rows, job)
    }

    // MARK: - Commands

    private static func compare(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> [Row] {
        try Bench.inDirectory(options) { (directory) throws(StackFailure) in
            let server: PrivateRedisServer
            do throws(RedisFailure) { server = try PrivateRedisServer() } catch {
                throw StackFailure(.redis, "\(error)")
            }
            defer { server.stop() }
            let commands = RedisBenchCommand.all
            try prepare(commands, at: server.endpoint)
            var rows: [Row] = []
            for command in commands {
                let row = try compare(command, plan, options, server, logPath: "\(directory)/redis.log")
                say("redis: \(command.key) \(us(row.pealUs)), by redis-benchmark \(us(row.benchmarkUs))")
                rows.append(row)
            }
            return rows
        }
    }

    /// Loads the scripts, registers the device, and sees that the server takes each of the commands:
    /// redis-benchmark would count refusals as well.
    private static func prepare(
        _ commands: [RedisBenchCommand], at endpoint: RedisEndpoint
    ) throws(StackFailure) {
        try RegistryFiller.fill(endpoint, app: BenchJobs.app, recipients: 1)
        do throws(RedisFailure) {
            let session = try RedisSession(endpoint)
            defer { session.close() }
            for script in [RedisBenchCommand.emptyScript, RegistryScripts.admit] {
                _ = try session.command("SCRIPT", "LOAD", script.source)
            }
            var numbers = RedisBenchCommand.Numbers()
            for command in commands { _ = try session.run { command.encode(&numbers, into: &$0) } }
        } catch {
            throw StackFailure(.redis, "\(error)")
        }
    }

    private static func compare(
        _ command: RedisBenchCommand, _ plan: Plan, _ options: BenchOptions, _ server: PrivateRedisServer,
        logPath: String
    ) throws(StackFailure) -> Row {
        guard let process = server.processID else { throw StackFailure(.redis, "redis-server has ended") }
        func cost(_ isWarmUp: Bool, _ send: (Int) throws(StackFailure) -> Double) throws(StackFailure)
            -> Cost
        {
            // Whole pipelines: redis-benchmark takes what it has sent beyond its number for a lost connection
            // when it happens to look then.
            let count = max(1, plan.commands / (isWarmUp ? 10 : 1) / plan.depth) * plan.depth
            let beforeUs = ProcessTime.cpuUs(of: process)
            let clientUs = try send(count)
            return Cost(
                serverUs: (ProcessTime.cpuUs(of: process) - beforeUs) / Double(count), clientUs: clientUs)
        }
        let pairs = try Turns.run(
            pairs: plan.rounds,
            { (isWarmUp) throws(StackFailure) in
                try cost(isWarmUp) { (count) throws(StackFailure) in
                    try RedisSender.run(command, count: count, depth: plan.depth, at: server.endpoint)
                }
            },
            { (isWarmUp) throws(StackFailure) in
                try cost(isWarmUp) { (count) throws(StackFailure) in
                    try benchmark(command, count, plan, options, server, logPath)
                }
            }, tell: { _, _ in })
        return Row(command: command, pairs: pairs)
    }

    /// - Returns: redis-benchmark's own CPU, in microseconds a command.
    private static func benchmark(
        _ command: RedisBenchCommand, _ count: Int, _ plan: Plan, _ options: BenchOptions,
        _ server: PrivateRedisServer, _ logPath: String
    ) throws(StackFailure) -> Double {
        let words = [
            "redis-benchmark", "-s", server.socketPath, "-n", "\(count)", "-c", "1", "-P", "\(plan.depth)",
            "-r", "\(RedisBenchCommand.numbers)", "-q",
        ]
        do throws(StackFailure) {
            let run = try MeasuredRun(
                words + command.words, logPath: logPath, deadlineMs: options.runDeadlineMs)
            return run.cpuUs / Double(count)
        } catch {
            throw StackFailure(
                .program, "\(error.description); redis-benchmark is in the Debian package redis-tools")
        }
    }

    // MARK: - Jobs

    private static func measureJobs(_ plan: Plan, _ options: BenchOptions) throws(StackFailure) -> Job {
        try Bench.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            var setup = PartBench.Setup()
            setup.kind = .recipient
            setup.recipients = plan.recipients
            setup.partitions = plan.partitions
            let bench = try PartBench(options, setup, directory: directory, simulator: simulator)
            defer { bench.stop() }
            try bench.topUp(to: plan.jobs, done: 0)
            try bench.flush()
            let workers = try bench.startWorkers()
            try bench.wait(workers, forRequests: plan.warmUp)
            let (first, before) = (try bench.requests(), try look(bench))
            try bench.wait(workers, forRequests: plan.jobs - plan.rest)
            let (last, after) = (try bench.requests(), try look(bench))
            guard last - first >= plan.window / 2 else {
                throw StackFailure(
                    .program, "the worker was done before it could be looked at; use more jobs")
            }
            bench.stop(workers)
            let jobs = Double(last - first)
            func each(_ value: (Look) -> Double) -> Double { (value(after) - value(before)) / jobs }
            return Job(
                serverUs: each(\.serverUs), commands: each { $0.value("total_commands_processed") },
                scripts: each { $0.calls("evalsha") }, lookUps: each { $0.calls("hget") },
                bytesIn: each { $0.value("total_net_input_bytes") },
                bytesOut: each { $0.value("total_net_output_bytes") })
        }
    }

    /// The server's counters at one moment.
    struct Look {
        let serverUs: Double
        /// The text of INFO.
        let info: String

        func value(_ name: String) -> Double { Self.number(after: "\(name):", in: info) }

        func calls(_ command: String) -> Double {
            Self.number(after: "cmdstat_\(command):calls=", in: info)
        }

        /// The number that follows at the start of a line; 0 where there is no such line.
        private static func number(after start: String, in text: String) -> Double {
            for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix(start) {
                return Double(line.dropFirst(start.count).prefix { $0.isNumber }) ?? 0
            }
            return 0
        }
    }

    private static func look(_ bench: PartBench) throws(StackFailure) -> Look {
        do throws(RedisFailure) {
            let session = try RedisSession(bench.stack.redis.endpoint)
            defer { session.close() }
            let stats = try session.command("INFO", "stats").text ?? ""
            let commands = try session.command("INFO", "commandstats").text ?? ""
            return Look(
                serverUs: bench.stack.redis.processID.map { ProcessTime.cpuUs(of: $0) } ?? 0,
                info: stats + "\r\n" + commands)
        } catch {
            throw StackFailure(.redis, "\(error)")
        }
    }

    static func us(_ value: Double) -> String { Human.decimal(value, places: 2) + " us" }
}
