internal import EventLoop
internal import Glibc
internal import Terminal

/// `peal bench`: throughput and CPU, with h2load on the same server as the yardstick.
enum BenchCommand {
    static let command = Command(
        "bench", summary: "measure the HTTP/2 transport and the whole pipeline against h2load",
        operands: "[transport|pipeline|retry|lanes|broadcast]",
        options: [
            Option("requests", .value("N"), help: "requests of one transport run (300000)"),
            Option("pairs", .value("N"), help: "transport runs of each side, taken in turns (5)"),
            Option(
                "jobs", .value("N"), help: "jobs of one pipeline run (200000), bulk jobs of lanes (1000000)"),
            Option("rounds", .value("N"), help: "pipeline runs of each kind (3)"),
            Option(
                "recipients", .value("N"),
                help: "recipients with a device each (10000), followers of broadcast (1000000)"),
            Option("shards", .value("N"), help: "sending threads of the worker (1)"),
            Option("partitions", .value("N"), help: "partitions of each topic (64)"),
            Option("json", help: "print one JSON object on standard output"),
            Option("quiet", short: "q", help: "no progress on standard error"),
            Option("keep", help: "leave the temporary directory with configuration and logs"),
        ],
        details: """
            Needs h2load (Debian: nghttp2-client). Everything runs on this machine, over loopback: what others
            do on it at the same time shows, most of all in requests a second. The ratios come from runs taken
            in turns and are medians; retry, lanes and broadcast measure by themselves, without h2load. Exits with 2 when a run could not be made.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        if arguments.operands.first == TransportClient.operand {
            return TransportClient.run(Array(arguments.operands.dropFirst()))
        }
        if arguments.operands.first == "retry" {
            return RetryMeasurement.run(isJSON: arguments.flag("json"), isVerbose: !arguments.flag("quiet"))
        }
        var options = try options(arguments)
        let isJSON = arguments.flag("json")
        if arguments.operands.first == "lanes" {
            if arguments.string("jobs") == nil { options.jobs = 1_000_000 }
            return LaneMeasurement.run(options, isJSON: isJSON)
        }
        if arguments.operands.first == "broadcast" {
            if arguments.string("recipients") == nil { options.recipients = 1_000_000 }
            return BroadcastMeasurement.run(options, isJSON: isJSON)
        }
        do throws(StackFailure) {
            let report = try Bench(options).run()
            Console.write(isJSON ? report.json : report.text(style: Console.style))
            return 0
        } catch {
            Console.complain("peal bench: \(error)")
            return 2
        }
    }

    private static func options(_ arguments: Arguments) throws(UsageFailure) -> BenchOptions {
        var options = BenchOptions()
        switch arguments.operands.first {
        case nil, "lanes", "broadcast": break
        case "transport": options.hasPipeline = false
        case "pipeline": options.hasTransport = false
        case .some(let other):
            throw UsageFailure("bench takes transport, pipeline, retry, lanes or broadcast, not \"\(other)\"")
        }
        options.requests = try arguments.integer("requests", in: 1_000...100_000_000) ?? options.requests
        options.pairs = try arguments.integer("pairs", in: 1...1_000) ?? options.pairs
        options.jobs = try arguments.integer("jobs", in: 1_000...2_000_000) ?? options.jobs
        options.rounds = try arguments.integer("rounds", in: 1...1_000) ?? options.rounds
        options.recipients = try arguments.integer("recipients", in: 1...1_000_000) ?? options.recipients
        options.shards = try arguments.integer("shards", in: 1...256) ?? options.shards
        options.partitions = try arguments.integer("partitions", in: 1...1_000) ?? options.partitions
        options.isVerbose = !arguments.flag("quiet")
        options.keepsDirectory = arguments.flag("keep")
        return options
    }
}
