internal import Core
internal import EventLoop
internal import Overview
internal import Redis
internal import Terminal

/// `peal top`: how the pipeline stands, live.
enum TopCommand {
    static let command = Command(
        "top", summary: "show live how the pipeline stands: problems first, then lanes, apps, retries, pods",
        options: ToolSettings.options + [
            Option("interval", short: "i", .value("TIME"), help: "how often it is read (1s)"),
            Option("once", help: "print everything once and end"),
            Option("json", help: "print everything once as one JSON object"),
            Option("minutes", .value("N"), help: "minutes of counters that are read (60)"),
        ],
        details: """
            Reads Redis and nothing else: what every process tells of itself each second, and the counters by
            minute. Without a terminal it prints once. In it: q leaves, tab and the arrows choose a part and
            scroll it, s sorts it, space holds the picture, ? tells the rest.

              peal top --config peal.yaml
              peal top --redis redis://127.0.0.1:6379 --once

            Exit codes: 0 all is well, 1 there are warnings or worse (--once and --json), 2 Redis can't be
            read, 64 wrong usage, 78 wrong configuration.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        guard arguments.operands.isEmpty else { throw UsageFailure("top takes no argument") }
        let interval = try arguments.durationMs("interval") ?? 1000
        guard (100...3_600_000).contains(interval) else {
            throw UsageFailure("--interval takes a time from 100ms to 1h")
        }
        let minutes = try arguments.integer("minutes", in: 1...OverviewReader.minutesMax) ?? 60
        do throws(ToolFailure) {
            let tools = try ToolSettings(arguments)
            let options = try tools.redis(timeoutMs: 5000)
            let address =
                options.clusterSeeds.isEmpty ? "\(options.endpoint)" : "Redis Cluster at \(options.endpoint)"
            let model = TopModel(address: address, intervalMs: interval)
            if arguments.flag("json") || arguments.flag("once") || !Console.isTerminal(1) {
                return once(options, model, minutes: minutes, isJSON: arguments.flag("json"))
            }
            return try TopLive.run(options, model, minutes: minutes)
        } catch {
            Console.complain("peal top: \(error)")
            return error.exitCode
        }
    }

    private static func once(
        _ options: RedisClientOptions, _ model: TopModel, minutes: Int, isJSON: Bool
    ) -> Int32 {
        var model = model
        do throws(RedisFailure) {
            let session = try RedisSession(options: options)
            defer { session.close() }
            model.take(try OverviewReader(session: session).read(minutes: minutes))
        } catch {
            if isJSON {
                Console.write(TopJSON.object(failure: error.message).line)
            } else {
                Console.complain("peal top: Redis at \(model.address) can't be read: \(error.message)")
            }
            return 2
        }
        if isJSON, let overview = model.overview {
            Console.write(TopJSON.object(overview, model.findings).line)
        } else {
            let width = TerminalScreen.size(of: 1)?.columns ?? 100
            let lines = TopScreen(model, width: width, height: nil, style: Console.style).lines
            Console.write(lines.map { $0 + "\n" }.joined())
        }
        return model.findings.contains { $0.severity >= .warning } ? 1 : 0
    }
}
