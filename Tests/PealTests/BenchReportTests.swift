import Core
import EventLoop
import Terminal
import Testing

@testable import BroadcastKit
@testable import PealKit
@testable import RetryKit

@Suite("The bench's report")
struct BenchReportTests {
    private static let plain = TextStyle(isEnabled: false)
    private static let load = TransportSample(requestsPerSecond: 100_000, cpuUs: 4)

    private static func conditions(load: Double = 0.25, isQuick: Bool = false) -> BenchConditions {
        var made = BenchConditions()
        made.machine = "2 cores, some processor"
        made.system = "Debian \"12\""
        made.commit = "abc1234"
        made.versions = [.init(name: "nghttp2", version: "1.52.0")]
        made.load = load
        made.isQuick = isQuick
        return made
    }

    private static func transport(
        _ connections: Int, _ streams: Int, rate: Double, cpu: Double
    ) -> TransportResult {
        TransportResult(
            shape: .init(connections: connections, streams: streams),
            peal: TransportSample(
                requestsPerSecond: load.requestsPerSecond * rate, cpuUs: load.cpuUs * cpu),
            h2load: load, rateRatios: [rate], cpuRatios: [cpu])
    }

    private static func pipeline(_ kind: BenchJobKind, rate: Double, workerUs: Double) -> PipelineResult {
        PipelineResult(
            kind: kind,
            samples: [
                PipelineSample(
                    perSecond: load.requestsPerSecond * rate, workerUs: workerUs, redisUs: 4, brokerUs: 3,
                    simulatorUs: 3, othersShare: 0.1, workerBytes: 1 << 26, redisBytes: 1 << 24,
                    brokerBytes: 1 << 27, simulatorBytes: 1 << 25, publishUs: 2, h2load: load)
            ])
    }

    private static var full: BenchReport {
        var report = BenchReport(conditions: conditions())
        report.parts = [
            .init(
                name: "transport",
                findings: TransportPart.findings([
                    transport(1, 100, rate: 1.2, cpu: 0.75), transport(1, 1_000, rate: 1.05, cpu: 0.95),
                    transport(4, 100, rate: 0.8, cpu: 0.9),
                ])),
            .init(
                name: "pipeline",
                findings: PipelinePart.findings([
                    pipeline(.recipient, rate: 0.3, workerUs: 9.5),
                    pipeline(.token, rate: 0.44, workerUs: 6),
                ])),
        ]
        return report
    }

    // MARK: - JSON

    @Test("The JSON has the headline figures, and beside each with a target whether it was met")
    func json() throws {
        let value = try JSONValue.parse(text: Self.full.json)
        #expect(value["load_average"] == .number("0.25"))
        #expect(value["commit"]?.string == "abc1234")
        #expect(value["versions"]?["nghttp2"]?.string == "1.52.0")
        #expect(value["quick"]?.bool == false)
        let figures: [(String, String, Bool)] = [
            ("transport_rps_ratio", "1.200", true), ("transport_cpu_ratio", "0.750", true),
            ("transport_1000_rps_ratio", "1.050", false), ("transport_1000_cpu_ratio", "0.950", false),
            ("pipeline_rps_ratio", "0.300", true), ("worker_cpu_us", "9.50", false),
            ("pipeline_token_rps_ratio", "0.440", false), ("worker_token_cpu_us", "6.00", true),
        ]
        for (key, number, isMet) in figures {
            #expect(value[key] == .number(number), "\(key)")
            #expect(value["\(key)_met"]?.bool == isMet, "\(key)")
        }
        #expect(value["transport"]?.array?.count == 3)
        #expect(value["transport"]?.array?.first?["streams"]?.integer == 100)
        #expect(value["pipeline"]?.array?.first?["jobs_to"]?.string == "recipient")
        #expect(value["pipeline"]?.array?.last?["worker_rss_bytes"]?.integer == 1 << 26)
        #expect(value["targets"]?.array?.count == figures.count)
        #expect(value["targets"]?.array?.map { $0["key"]?.string } == figures.map(\.0))
        #expect(value["failed"] == nil)
    }

    @Test("The record is the same JSON with a line for each member")
    func record() throws {
        let report = Self.full
        #expect(try JSONValue.parse(text: report.record) == JSONValue.parse(text: report.json))
        #expect(report.json.split(separator: "\n").count == 1)
        let members = try JSONValue.parse(text: report.record).members?.count
        #expect(report.record.split(separator: "\n").count == (members ?? 0) + 2)
    }

    @Test("No member's name comes twice")
    func memberNames() throws {
        let names = try JSONValue.parse(text: Self.full.json).members?.map(\.name) ?? []
        #expect(Set(names).count == names.count)
        #expect(!names.isEmpty)
    }

    @Test("What isn't a number is null, and meets no target")
    func notANumber() throws {
        var findings = BenchFindings()
        findings.add("a", .nan, places: 2, target: "a", .atLeast(0), unit: "x")
        findings.add("b", .infinity, places: 2, target: "b", .atLeast(0), unit: "x")
        findings.add("c", -.infinity, places: 2, target: "c", .atMost(0), unit: "x")
        var report = BenchReport(conditions: Self.conditions())
        report.parts = [.init(name: "odd", findings: findings)]
        let value = try JSONValue.parse(text: report.json)
        for key in ["a", "b", "c"] {
            #expect(value[key] == .null)
            #expect(value["\(key)_met"]?.bool == false)
        }
        #expect(report.text(style: Self.plain).contains("0 of 3 met"))
    }

    // MARK: - Targets

    @Test("A bound is met by itself and by what is better")
    func bounds() {
        #expect(BenchBound.atLeast(1.1).isMet(by: 1.1))
        #expect(BenchBound.atLeast(1.1).isMet(by: 2))
        #expect(!BenchBound.atLeast(1.1).isMet(by: 1.09))
        #expect(BenchBound.atMost(0.9).isMet(by: 0.9))
        #expect(BenchBound.atMost(0.9).isMet(by: 0))
        #expect(!BenchBound.atMost(0.9).isMet(by: 0.91))
        #expect(BenchBound.atLeast(1.1).text(unit: "x") == ">= 1.1 x")
        #expect(BenchBound.atMost(9).text(unit: "us") == "<= 9 us")
        #expect(BenchBound.atLeast(300_000).text(unit: "/s") == ">= 300,000 /s")
    }

    @Test("Every part's targets hold their bounds")
    func partTargets() {
        let drain = RetryBench.Result(
            records: 300_000, elapsedMs: 2_000, perSecond: 99_999, cpuMicroseconds: 5,
            residentBytes: 1 << 28)
        let due = RetryBench.DueError(records: 50_000, p50Ms: 7, p99Ms: 11, highestMs: 30, lastMs: 3)
        let retry = RetryPart.findings([drain], due)
        #expect(retry.targets.map(\.key) == ["retry_drain_per_s"])
        #expect(retry.targets.first?.measured == "99,999 /s")
        #expect(retry.targets.first?.isMet == false)
        let sample = ProducerPart.Sample(
            perSecond: 300_000, producerUs: 2, brokerUs: 1, bytesPerJob: 330)
        let producer = ProducerPart.findings([sample], jobs: 600_000)
        #expect(producer.targets.map(\.key) == ["producer_per_s"])
        #expect(producer.targets.first?.isMet == true)
        #expect(producer.targets.first?.bound == ">= 300,000 /s")
    }

    @Test("Two sessions of the client are compared where there are two")
    func sessions() {
        let result = SessionResult(
            names: ("own", "nghttp2"), first: .init(requestsPerSecond: 2, cpuUs: 1),
            second: .init(requestsPerSecond: 1, cpuUs: 2), rateRatio: 2, cpuRatio: 0.5)
        let findings = TransportPart.findings([], sessions: result)
        #expect(findings.targets.map(\.key) == ["session_cpu_ratio"])
        #expect(findings.targets.first?.isMet == true)
        #expect(findings.sections.last?.table.render().contains("nghttp2") == true)
        #expect(TransportPart.findings([]).targets.isEmpty)
    }

    @Test("The parts without a target give their figures")
    func others() {
        var broadcast = BroadcastBench.Result()
        broadcast.recipients = 1_000
        broadcast.milliseconds = 10
        #expect(BroadcastPart.findings([broadcast]).members.map(\.key).contains("broadcast_per_s"))
        var lanes = LaneMeasurement.Result(bulk: 1_000)
        lanes.timesMs = [0, 1, 5, 900]
        let plot = LanesPart.findings(lanes).plots.first
        #expect(plot?.series.first?.points.map(\.y) == [25, 50, 75, 100])
        #expect(plot?.series.first?.points.map(\.x) == [1, 1, 5, 900])
        let peers = PeersPart.findings(
            PeersPart.Result(
                setting: .init(inFlight: 100, loop: "uvloop"),
                peer: .init(
                    requestsPerSecond: 4_000, cpuUs: 250, connections: 1, version: "4.0", python: "3.11"),
                peal: Self.load, rateRatio: 25, cpuRatio: 0.016))
        #expect(peers.members.map(\.key) == ["peer_rps_ratio", "peer_cpu_ratio", "peers"])
        #expect(peers.sections.first?.table.render().contains("aioapns 4.0, Python 3.11, uvloop") == true)
        let skipped = PeersPart.skipped("python3 can't be run\nTraceback")
        #expect(skipped.members.first?.json == "\"python3 can't be run\"")
        #expect(skipped.sections.first?.table.render().contains("skipped: python3 can't be run") == true)
    }

    // MARK: - Text

    @Test("The text has every table, the targets last, and colours only where they are wanted")
    func text() {
        let report = Self.full
        let plain = report.text(style: Self.plain)
        for piece in [
            "2 cores, some processor, Debian \"12\"", "Peal abc1234, nghttp2 1.52.0", "HTTP/2 transport",
            "CPU of a notification by process", "Memory by process", "Targets: 4 of 8 met", "missed",
        ] {
            #expect(plain.contains(piece), "\(piece)")
        }
        #expect(!plain.contains("\u{1B}"))
        #expect(!plain.contains("Other programs"))
        let coloured = report.text(style: TextStyle(isEnabled: true))
        #expect(coloured.contains("\u{1B}[32mmet\u{1B}[0m"))
        #expect(coloured.contains("\u{1B}[31mmissed\u{1B}[0m"))
    }

    @Test("A busy machine and a quick run are told")
    func warnings() {
        let text = BenchReport(conditions: Self.conditions(load: 3, isQuick: true)).text(style: Self.plain)
        #expect(text.contains("load 3.00"))
        #expect(text.contains("Other programs"))
        #expect(text.contains("quick run"))
        #expect(!text.contains("Targets"))
        #expect(!text.contains("debug"))
        var debug = Self.conditions()
        debug.isDebug = true
        #expect(BenchReport(conditions: debug).text(style: Self.plain).contains("A debug build"))
    }

    @Test("A part that could not be measured is named with its reason")
    func failures() throws {
        var report = Self.full
        report.failures = [.init(name: "lanes", message: "the worker has ended")]
        #expect(report.text(style: Self.plain).contains("lanes was not measured: the worker has ended"))
        let value = try JSONValue.parse(text: report.json)
        #expect(value["failed"]?["lanes"]?.string == "the worker has ended")
    }

    private enum Good: BenchPart {
        static let name = "good"
        static let summary = "measures one"

        static func run(
            _ options: BenchOptions, say: (String) -> Void
        ) throws(StackFailure) -> BenchFindings {
            var out = BenchFindings()
            out.add("one", Double(options.pairs), places: 0, target: "one", .atLeast(1), unit: "x")
            return out
        }
    }

    private enum Bad: BenchPart {
        static let name = "bad"
        static let summary = "fails"

        static func run(
            _ options: BenchOptions, say: (String) -> Void
        ) throws(StackFailure) -> BenchFindings {
            throw StackFailure(.program, "there is no such program")
        }
    }

    @Test("A part that fails doesn't keep the others from being measured")
    func oneFails() {
        var options = BenchOptions()
        options.isVerbose = false
        let bench = Bench(options: options, parts: [Bad.self, Good.self])
        let report = bench.run(Self.conditions())
        #expect(report.parts.map(\.name) == ["good"])
        #expect(report.targets.map(\.isMet) == [true])
        #expect(report.failures.map(\.name) == ["bad"])
        #expect(report.failures.first?.message == "there is no such program")
    }

    // MARK: - Comparison

    @Test("Every number that both have is compared")
    func comparison() throws {
        let old = """
            {"machine":"2 cores, some processor","load_average":0.1,"quick":false,"commit":"0000000",
             "transport_rps_ratio":0.6,"worker_cpu_us":0,"pipeline_rps_ratio":"text","gone":7}
            """
        let comparison = BenchComparison(try BenchRecord(text: old, path: "old.json"), Self.full)
        #expect(comparison.rows.map(\.key) == ["transport_rps_ratio", "worker_cpu_us"])
        #expect(comparison.rows.first?.ratio == 2)
        #expect(comparison.rows.last?.ratio == nil)
        #expect(comparison.notes == ["that one was of 0000000"])
        let text = Self.full.text(style: Self.plain, comparison: comparison)
        #expect(text.contains("transport_rps_ratio     0.600  1.200   2.00"))
    }

    @Test("Numbers within an object are compared, too, and nothing else is")
    func nestedComparison() throws {
        var findings = BenchFindings()
        findings.members = [
            .init(key: "start", json: #"{"own_ms":300,"join_ms":40,"name":"x","deep":{"a":1}}"#),
            .init(key: "list", json: "[1,2]"), .init(key: "odd", json: "not JSON"),
            .init(key: "was_object", json: "4"),
        ]
        var report = BenchReport(conditions: Self.conditions())
        report.parts = [.init(name: "start", findings: findings)]
        let old = """
            {"machine":"2 cores, some processor","load_average":0,"start":{"own_ms":200,"name":"y","deep":{"a":2}},
             "list":[1,2],"odd":1,"was_object":{"a":4}}
            """
        let comparison = BenchComparison(try BenchRecord(text: old, path: "old.json"), report)
        #expect(comparison.rows == [.init(key: "start.own_ms", before: 200, now: 300)])
    }

    @Test("What speaks against comparing is told")
    func comparisonNotes() throws {
        let old = #"{"machine":"other","load_average":2.5,"quick":true}"#
        let comparison = BenchComparison(try BenchRecord(text: old, path: "old.json"), Self.full)
        #expect(comparison.rows.isEmpty)
        #expect(
            comparison.notes == [
                "on another machine: other", "that one was a quick run", "with a load of 2.50 before it",
            ])
        #expect(comparison.text(style: Self.plain).contains("none of these figures"))
    }

    @Test("A run can be compared with its own record")
    func roundTrip() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-record")
        defer { Files.removeTree(directory) }
        let path = "\(directory)/bench.json"
        #expect(try BenchRecord(path: path) == nil)
        let report = Self.full
        try BenchOutput.replace(path, text: report.record)
        let comparison = BenchComparison(try #require(try BenchRecord(path: path)), report)
        #expect(comparison.rows.count == 8)
        #expect(comparison.rows.allSatisfy { $0.ratio == 1 })
    }

    @Test("A file that is no record is refused, so that no other is replaced")
    func brokenRecord() throws {
        for text in ["", "{", "[]", "{}", "null", "# A title", #"{"machine":"x"}"#, #"{"load_average":1}"#] {
            let failure = #expect(throws: StackFailure.self) { try BenchRecord(text: text, path: "x.json") }
            #expect(failure?.message.hasPrefix("x.json isn't a record") == true, "\(text)")
            #expect(failure?.message.contains("name another file") == true, "\(text)")
        }
        #expect(throws: StackFailure.self) { try BenchRecord(path: "/") }
    }
}

@Suite("The bench's command line")
struct BenchArgumentTests {
    private static func run(_ words: String...) -> Result<Int32, UsageFailure> {
        do throws(UsageFailure) {
            guard
                case .run(let arguments) = try ArgumentParser.parse(
                    ["bench"] + words, for: PealCommand.command)
            else { return .failure(UsageFailure("nothing to run")) }
            return .success(try BenchCommand.run(arguments))
        } catch {
            return .failure(error)
        }
    }

    private static func message(_ result: Result<Int32, UsageFailure>) -> String {
        if case .failure(let failure) = result { failure.message } else { "" }
    }

    private static func options(_ words: String...) throws -> BenchOptions {
        let request = try ArgumentParser.parse(["bench"] + words, for: PealCommand.command)
        guard case .run(let arguments) = request else { throw UsageFailure("nothing to run") }
        return try BenchOptions(arguments)
    }

    @Test("An unknown part is named with those that there are")
    func unknownPart() {
        let message = Self.message(Self.run("transport", "pipelines"))
        #expect(message.contains("no part \"pipelines\""))
        for name in BenchParts.names { #expect(message.contains(name)) }
    }

    @Test("What can't be meant is refused before anything runs")
    func contradictions() {
        #expect(Self.message(Self.run("--record", "a", "--compare", "b")).contains("leave out --compare"))
        #expect(Self.message(Self.run("retry", "--record", "a")).contains("--compare"))
        #expect(Self.message(Self.run("--pairs", "0")).contains("--pairs"))
        #expect(Self.message(Self.run("--jobs", "many")).contains("--jobs"))
        #expect(Self.message(Self.run("--fast")).contains("--fast"))
    }

    @Test("A file that is in the way ends the run before it begins, with 2")
    func filesInTheWay() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-bench-arguments")
        defer { Files.removeTree(directory) }
        let path = "\(directory)/notes.txt"
        try Files.write(path: path, text: "not a record")
        for option in ["--record", "--compare"] {
            guard case .success(let code) = Self.run(option, path) else {
                Issue.record("\(option) was refused")
                continue
            }
            #expect(code == 2)
        }
        #expect(try Files.readText(path: path) == "not a record")
        guard case .success(let code) = Self.run("--plots", path) else {
            Issue.record("--plots was refused")
            return
        }
        #expect(code == 2)
    }

    @Test("Parts are chosen by name, each once and in their order; none means all")
    func chosenParts() throws {
        #expect(try BenchParts.named([]).map { $0.name } == BenchParts.names)
        #expect(
            try BenchParts.named(["retry", "transport", "retry"]).map { $0.name } == ["transport", "retry"])
        #expect(Set(BenchParts.names).count == BenchParts.names.count)
        #expect(BenchParts.all.allSatisfy { !$0.summary.isEmpty && !$0.name.contains(" ") })
    }

    @Test("The help lists every part")
    func help() throws {
        let request = try ArgumentParser.parse(["bench", "--help"], for: PealCommand.command)
        guard case .help(let text) = request else {
            Issue.record("no help")
            return
        }
        for part in BenchParts.all { #expect(text.contains(part.summary)) }
    }

    @Test("A quick run is shorter, and what is asked for counts more")
    func quick() throws {
        let usual = try Self.options()
        let quick = try Self.options("--quick")
        #expect(usual.pairs >= 5 && usual.rounds >= 5)
        #expect(quick.isQuick && !usual.isQuick)
        #expect(quick.pairs < usual.pairs && quick.requests < usual.requests && quick.jobs < usual.jobs)
        let own = try Self.options("--quick", "--pairs", "9", "--jobs", "5000")
        #expect(own.pairs == 9)
        #expect(own.jobs(unlessGiven: 1) == 5_000)
        #expect(usual.jobs(unlessGiven: 1) == 1)
        #expect(usual.recipients(unlessGiven: 2) == 2)
    }
}
