internal import Terminal

/// How long `peal bench` measures, and with what.
struct BenchOptions: Sendable {
    /// Connections and streams on each, for one transport comparison.
    struct Shape: Equatable, Sendable {
        let connections: Int
        let streams: Int
    }

    /// Requests of one transport run.
    var requests = 300_000
    /// Runs of each side that are taken in turns.
    var pairs = 5
    var shapes = [
        Shape(connections: 1, streams: 100), Shape(connections: 1, streams: 1000),
        Shape(connections: 4, streams: 100), Shape(connections: 1, streams: 10),
    ]
    /// Bytes of a request's body in transport runs and of h2load's everywhere.
    var bodyBytes = 228
    /// Jobs of one pipeline run.
    var jobs = 200_000
    /// Runs of what is measured by itself, and of each kind of job in the pipeline.
    var rounds = 5
    var recipients = 10_000
    var shards = 1
    var partitions = 64
    /// How long one run may take, in ms.
    var runDeadlineMs: UInt64 = 300_000
    /// Fewer requests, jobs and runs: for a look, not for a figure.
    var isQuick = false
    /// Where the programs are; nil for the directory of this process's own executable.
    var programDirectory: String?
    var isVerbose = true
    var keepsDirectory = false
    /// Whether the numbers of jobs and recipients are what was asked for, or may be what suits a part.
    var hasOwnJobs = false
    var hasOwnRecipients = false

    /// The jobs that were asked for, or what suits a part.
    func jobs(unlessGiven number: Int) -> Int { hasOwnJobs ? jobs : number }

    /// The recipients that were asked for, or what suits a part.
    func recipients(unlessGiven number: Int) -> Int { hasOwnRecipients ? recipients : number }
}

extension BenchOptions {
    /// What the command line takes.
    static let known = [
        Option("quick", help: "fewer requests, jobs and runs: for a look, not for a figure"),
        Option("requests", .value("N"), help: "requests of one transport run (300000; quick 60000)"),
        Option("pairs", .value("N"), help: "runs of each side, taken in turns (5; quick 3)"),
        Option(
            "jobs", .value("N"),
            help: "jobs of one run: pipeline (200000; quick 50000), producer (600000; 100000), bulk jobs of "
                + "lanes (1000000; 300000)"),
        Option("rounds", .value("N"), help: "runs of what is measured by itself (5; quick 3)"),
        Option(
            "recipients", .value("N"),
            help: "recipients with a device each (10000), followers of broadcast (1000000; quick 100000)"),
        Option("shards", .value("N"), help: "sending threads of the worker (1)"),
        Option("partitions", .value("N"), help: "partitions of each topic (64)"),
        Option("quiet", short: "q", help: "no progress on standard error"),
        Option("keep", help: "leave the temporary directories with configuration and logs"),
    ]

    /// Reads the command line.
    /// - Throws: when a number is none or out of bounds.
    init(_ arguments: Arguments) throws(UsageFailure) {
        self.init()
        isQuick = arguments.flag("quick")
        if isQuick {
            requests = 60_000
            pairs = 3
            jobs = 50_000
            rounds = 3
        }
        requests = try arguments.integer("requests", in: 1_000...100_000_000) ?? requests
        pairs = try arguments.integer("pairs", in: 1...1_000) ?? pairs
        hasOwnJobs = arguments.string("jobs") != nil
        jobs = try arguments.integer("jobs", in: 1_000...100_000_000) ?? jobs
        rounds = try arguments.integer("rounds", in: 1...1_000) ?? rounds
        hasOwnRecipients = arguments.string("recipients") != nil
        recipients = try arguments.integer("recipients", in: 1...1_000_000) ?? recipients
        shards = try arguments.integer("shards", in: 1...256) ?? shards
        partitions = try arguments.integer("partitions", in: 1...1_000) ?? partitions
        isVerbose = !arguments.flag("quiet")
        keepsDirectory = arguments.flag("keep")
    }
}
