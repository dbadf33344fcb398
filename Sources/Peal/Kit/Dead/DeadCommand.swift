internal import Configuration
internal import Core
internal import EventLoop
internal import Jobs
internal import Kafka
internal import Redis
internal import Terminal

/// `peal dead`: what will never be sent, why, and its way back.
enum DeadCommand {
    static let command = Command(
        "dead", summary: "list, show, replay and purge dead letters",
        operands: "list|show|replay|purge [PARTITION/OFFSET...]",
        options: ToolAccess.options + DeadFilter.options + [
            Option("limit", .value("N"), help: "list: the newest N (50); replay: publish N at most"),
            Option("summary", help: "list: counts by app and reason instead of letters"),
            Option("full", help: "show: device tokens and other long words in full"),
            Option("all", help: "replay, purge: every letter there is"),
            Option("rate", .value("N"), help: "replay: letters a second (500)"),
            Option("again", help: "replay: also what was replayed before"),
            Option("dry-run", help: "replay, purge: say what would be done"),
            Option("yes", short: "y", help: "replay, purge: don't ask"),
            Option("json", help: "print JSON: a line a letter, else one object"),
        ],
        details: """
            Letters are named PARTITION/OFFSET of the dead-letter topic. Reading joins no group and disturbs
            nobody. 'replay' checks each letter (it can be read, its app is known, its deadline and a device
            are there, it isn't muted), publishes its job again and remembers that in Redis for 30 days:
            begun again after a stop, it goes on where it was. A replayed job is not counted as unread a
            second time and goes only to the devices that its letter is about. 'purge' deletes everything
            before a time or before a letter: Kafka can't delete single records.

              peal dead list --summary --since 6h
              peal dead show 3/1742
              peal dead replay --app shop --reason unknown_app --since 6h --rate 2000
              peal dead purge --until 7d --dry-run

            Exit codes: 0 good, 1 no such letter, or some that need a hand (unreadable, unknown app, refused),
            2 Kafka or Redis can't be reached or can't do it, 64 wrong usage, 78 wrong configuration.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let order = try DeadOrder(arguments, nowMs: Clock.wallMs)
        do throws(ToolFailure) {
            let access = try ToolAccess(try ToolAccess.settings(arguments))
            return try carryOut(order, access)
        } catch {
            Console.complain("peal dead: \(error)")
            return error.exitCode
        }
    }

    private static func carryOut(_ order: DeadOrder, _ access: ToolAccess) throws(ToolFailure) -> Int32 {
        switch order.verb {
        case .list: return try list(order, access)
        case .show: return try show(order, access)
        case .replay:
            guard try mayGoOn(order, access) else { return 1 }
            let summary = try replay(order, access)
            Console.write(
                order.isJSON
                    ? DeadReport.replayJSON(summary) : DeadReport.replay(summary, style: Console.style))
            return summary.exitCode
        case .purge: return try purge(order, access)
        }
    }

    /// The stretches of the dead-letter topic that the filter may find something in.
    static func scan(_ filter: DeadFilter, _ access: ToolAccess) throws(ToolFailure) -> LogScan {
        let inspector = try access.inspector()
        defer { inspector.close() }
        // A letter is written when it dies, so its record's time is the time of its death.
        var scan = try LogScan.plan(
            [.init(topic: access.names.dead)],
            sinceMs: filter.sinceMs.map { $0 - LogScan.clockSpareMs }, untilMs: filter.untilMs, by: inspector)
        if scan.topics.isEmpty {
            throw ToolFailure(away: "there is no topic \(access.names.dead); see 'peal topics check'")
        }
        filter.narrow(&scan)
        return scan
    }

    /// Reads the filter's letters, and keeps the newest of them.
    static func read(_ order: DeadOrder, _ access: ToolAccess, limit: Int) throws(ToolFailure) -> DeadScan {
        guard let parser = JobParser() else { throw ToolFailure(away: "there is no memory for the parser") }
        let sink = DeadScan(order.filter, limit: limit, parser: parser)
        try scan(order.filter, access).read(into: sink, by: access.tool(), title: "reading")
        return sink
    }

    private static func list(_ order: DeadOrder, _ access: ToolAccess) throws(ToolFailure) -> Int32 {
        let found = try read(order, access, limit: order.isSummary ? 0 : order.limit ?? 50)
        let now = Clock.wallMs
        if order.isSummary {
            Console.write(
                order.isJSON
                    ? DeadReport.summaryJSON(found)
                    : DeadReport.summary(found, nowMs: now, style: Console.style))
        } else {
            let letters = found.newest()
            Console.write(
                order.isJSON
                    ? DeadReport.lines(letters)
                    : DeadReport.list(letters, matched: found.matched, nowMs: now, style: Console.style))
        }
        return 0
    }

    private static func show(_ order: DeadOrder, _ access: ToolAccess) throws(ToolFailure) -> Int32 {
        guard let letter = try read(order, access, limit: 1).newest().first else {
            Console.complain("peal dead: there is no such letter; see 'peal dead list'")
            return 1
        }
        let verdict = outlook(letter, access)
        let now = Clock.wallMs
        Console.write(
            order.isJSON
                ? DeadReport.showJSON(letter, verdict: verdict, isFull: order.isFull)
                : DeadReport.show(
                    letter, verdict: verdict, nowMs: now, isFull: order.isFull, style: Console.style))
        return 0
    }

    /// What a replay would make of the letter now, in words.
    private static func outlook(_ letter: DeadLetter, _ access: ToolAccess) -> String {
        do throws(ToolFailure) {
            guard let parser = JobParser() else { return "" }
            let session = try access.redis()
            defer { session.close() }
            let apps = access.settings.apps.isEmpty ? nil : Set(access.settings.apps.map(\.name))
            let check = ReplayCheck(
                memory: ReplayMemory(topic: access.names.dead), session: session, parser: parser, apps: apps)
            let results = try RedisFailure.told { () throws(RedisFailure) in
                try check.check([letter], nowMs: Clock.wallMs)
            }
            guard let verdict = results.first?.verdict else { return "" }
            guard verdict == .replay else { return "no: \(verdict.words)" }
            return "to \(letter.lane(access.names) ?? access.names.jobs(lane: "normal"))"
        } catch {
            return "not known: \(error)"
        }
    }

    static func replay(_ order: DeadOrder, _ access: ToolAccess) throws(ToolFailure) -> DeadReplay.Summary {
        let session = try access.redis()
        defer { session.close() }
        // Nothing is published that could not be remembered.
        _ = try RedisFailure.told { () throws(RedisFailure) in try session.command("PING") }
        let replay = try DeadReplay(order.replay, access: access, session: session)
        return try replay.carryOut(try scan(order.filter, access), order.filter)
    }

    private static func purge(_ order: DeadOrder, _ access: ToolAccess) throws(ToolFailure) -> Int32 {
        var filter = DeadFilter()
        filter.untilMs = order.filter.untilMs
        let inspector = try access.inspector()
        defer { inspector.close() }
        var scan = try LogScan.plan([.init(topic: access.names.dead)], by: inspector)
        if let until = order.filter.untilMs {
            // Without the spare of a search: nothing younger may go.
            scan = try LogScan.plan(
                [.init(topic: access.names.dead)], untilMs: until - LogScan.clockSpareMs, by: inspector)
            if !scan.findsTimes {
                throw ToolFailure(
                    away: "the broker finds no offsets by time; name the first letter that stays of each "
                        + "partition instead of --until")
            }
        }
        var purge = DeadPurge(topic: access.names.dead, scan: scan, places: order.filter.places)
        purge.isDry = order.replay.isDry
        if !purge.isDry, !purge.cuts.isEmpty {
            guard order.isConfirmed || ask("Delete \(Human.grouped(Int(clamping: purge.letters))) letters?")
            else { return 1 }
            try purge.carryOut(access)
        }
        Console.write(order.isJSON ? purge.json : purge.text(style: Console.style))
        return purge.exitCode
    }

    /// Whether the operator agrees, who is told how many letters it is about.
    private static func mayGoOn(_ order: DeadOrder, _ access: ToolAccess) throws(ToolFailure) -> Bool {
        if order.isConfirmed || order.replay.isDry { return true }
        let count = try read(order, access, limit: 0).matched
        return ask("Replay \(Human.grouped(count)) letters, \(order.replay.rate) a second at most?")
    }

    private static func ask(_ question: String) -> Bool {
        Console.write("\(question) [y/N] ", to: 2)
        let answer = readLine()?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }
}
