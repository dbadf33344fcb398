internal import Configuration
internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Kafka
internal import Terminal

/// `peal trace`: the story of one push, from the log.
enum TraceCommand {
    static let command = Command(
        "trace", summary: "tell the story of one push, from the log",
        operands: "JOB-ID",
        options: ToolAccess.options + [
            Option("app", .value("APP"), help: "with --recipient: read only the partitions of that key"),
            Option("recipient", .value("NAME"), help: "with --app"),
            Option(
                "since", .value("TIME"),
                help: "when it was published, at the earliest; an id that is no ULID needs it"),
            Option("until", .value("TIME"), help: "read no further than then"),
            Option("for", .value("TIME"), help: "give up after that long (5m)"),
            Option("to-the-end", help: "read on when every delivery has ended, for a second publication"),
            Option("json", help: "print one JSON object"),
        ],
        details: """
            There is no index: a ULID says when its job was made, and from then on every record of the job
            lanes, the retry topics, the outcomes and the dead letters is searched for the id, until every
            delivery has ended. --app and --recipient read one partition of each topic instead of all.

              peal trace 01J9ZK3V8Q7M4X2C6B5N1A0D9F
              peal trace order-77 --since 3h --app shop --recipient user-123

            Exit codes: 0 found, 1 nothing found, 2 Kafka can't be reached, 64 wrong usage,
            78 wrong configuration.
            """)

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        let order = try TraceOrder(arguments, nowMs: Clock.wallMs)
        do throws(ToolFailure) {
            let access = try ToolAccess(try ToolAccess.settings(arguments))
            let report = try carryOut(order, access)
            Console.write(
                arguments.flag("json")
                    ? report.json : report.text(nowMs: Clock.wallMs, style: Console.style))
            return report.exitCode
        } catch {
            Console.complain("peal trace: \(error)")
            return error.exitCode
        }
    }

    /// The topics to search, those first in which stories begin.
    static func topics(_ access: ToolAccess) -> [(name: String, role: TraceSearch.Role)] {
        let names = access.names
        return TopicNames.lanes.map { (names.jobs(lane: $0), .lane($0)) }
            + access.settings.topics.retryTiers.map { (names.retry(tier: $0.name), .retry($0.name)) }
            + [(names.broadcasts, .broadcast), (names.dead, .dead), (names.outcomes, .outcomes)]
    }

    static func carryOut(_ order: TraceOrder, _ access: ToolAccess) throws(ToolFailure) -> TraceReport {
        guard let parser = JobParser() else { throw ToolFailure(away: "there is no memory for the parser") }
        let search = TraceSearch(id: order.id, parser: parser)
        var notes: [String] = []
        let all = topics(access)
        try read(order, access, all, key: order.key, search, &notes)
        let isFoundInLane = search.events.contains {
            if case .lane = $0.kind { return true }
            return false
        }
        if order.key != nil, !isFoundInLane {
            // Its sender's partitioner may be another one; what workers write is by Peal's.
            let lanes = all.filter {
                if case .lane = $0.role { return true }
                return false
            }
            try read(order, access, lanes, key: nil, search, &notes)
        }
        if search.isFull {
            notes.append("More than \(TraceSearch.eventsMax) records have this id; the rest is left out.")
        }
        var report = TraceReport(id: order.id, job: search.job, story: TraceStory(search.events))
        report.seen = search.seen
        report.notes = notes
        guard let job = search.job else { return report }
        do throws(ToolFailure) {
            try report.facts.askGroups(report.story, access)
        } catch {
            report.notes.append("How far the workers are is not known: \(error).")
        }
        do throws(ToolFailure) {
            try report.facts.askRedis(id: order.id, job, report.story, access)
        } catch {
            report.notes.append("What Redis knows is not shown: \(error).")
        }
        return report
    }

    private static func read(
        _ order: TraceOrder, _ access: ToolAccess, _ wanted: [(name: String, role: TraceSearch.Role)],
        key: [UInt8]?, _ search: TraceSearch, _ notes: inout [String]
    ) throws(ToolFailure) {
        let inspector = try access.inspector()
        defer { inspector.close() }
        let scan = try LogScan.plan(
            wanted.map { LogScan.Wanted(topic: $0.name, key: key) }, sinceMs: order.sinceMs,
            untilMs: order.untilMs, by: inspector)
        if !scan.missing.isEmpty {
            let note = "Not there, so not read: \(scan.missing.joined(separator: ", "))."
            if !notes.contains(note) { notes.append(note) }
        }
        if !scan.findsTimes {
            let note = "The broker finds no offsets by time, so everything that is there was read."
            if !notes.contains(note) { notes.append(note) }
        }
        search.begin(scan.topics.map { name in (name, wanted.first { $0.name == name }?.role ?? .outcomes) })
        let endMs = Clock.monotonicMs + order.patienceMs
        var isOverdue = false
        var count = -1
        var story = TraceStory([])
        let configuration = try access.tool()
        let isFinished = try scan.read(into: search, by: configuration, title: "searching") {
            (reader: KafkaLogReader) throws(ToolFailure) -> Bool in
            isOverdue = Clock.monotonicMs >= endMs
            if isOverdue || search.isFull { return true }
            guard !order.readsAll else { return false }
            if search.events.count != count {
                count = search.events.count
                story = TraceStory(search.events)
            }
            return count > 0 && story.isSettled(readUntilMs: reader.readUntilMs)
        }
        if isOverdue, !isFinished {
            notes.append(
                "Given up after \(Human.duration(ms: Double(order.patienceMs))) with records unread; narrow "
                    + "the search by --app and --recipient, or raise --for.")
        }
    }
}
