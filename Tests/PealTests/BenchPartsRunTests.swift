import Core
import Foundation
import Terminal
import Testing

@testable import PealKit

/// Each part with tiny numbers: it measures something and says what. How good it is is no question here.
@Suite("The bench's parts run", .serialized)
struct BenchPartsRunTests {
    func options() throws -> BenchOptions {
        var options = BenchOptions()
        options.isVerbose = false
        options.runDeadlineMs = 120_000
        var folder = URL(fileURLWithPath: StackOptions.ownDirectory)
        for _ in 0..<4 {
            if FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent("peal-worker").path)
            {
                options.programDirectory = folder.path
                return options
            }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    private func check(_ found: BenchFindings, keys: [String], members: [String]) throws {
        #expect(found.targets.map(\.key) == keys)
        #expect(found.members.map(\.key) == members)
        for member in found.members {
            // The parser takes documents, and a number alone is one too.
            #expect(throws: Never.self) { try JSONValue.parse(text: "{\"value\":\(member.json)}") }
        }
        #expect(!found.sections.isEmpty)
        for section in found.sections { #expect(!section.table.render().isEmpty) }
    }

    @Test("Latency", .timeLimit(.minutes(3)))
    func latency() throws {
        var plan = LatencyPart.Plan()
        plan.recipients = 100
        plan.partitions = 4
        plan.backlog = 500
        plan.maximumMs = 600
        plan.shares = [0.2, 0.5]
        plan.loadMs = 400
        let found = try LatencyPart.run(plan, try options()) { _ in }
        try check(
            found, keys: ["latency_p50", "latency_p99"], members: ["latency", "latency_maximum_per_s"])
        #expect(found.plots.allSatisfy { $0.series.allSatisfy { $0.points.count == 2 } })
        #expect(found.plots.first?.series.first?.points.allSatisfy { $0.y > 0 } == true)
    }

    @Test("Memory", .timeLimit(.minutes(3)))
    func memory() throws {
        var plan = MemoryPart.Plan()
        plan.jobs = 3_000
        plan.backlog = 1_000
        plan.warmUp = 1_000
        plan.sampleEvery = 500
        plan.inFlight = 200
        plan.recipients = 500
        plan.partitions = 4
        plan.answerMs = 20
        let found = try MemoryPart.run(plan, try options()) { _ in }
        try check(found, keys: ["memory_peak", "memory_slope"], members: ["memory"])
        #expect(found.plots.first?.series.first?.points.count == 6)
        #expect(found.plots.first?.series.first?.points.allSatisfy { $0.y > 1 } == true)
    }

    private var scalePlan: ScalePart.Plan {
        var plan = ScalePart.Plan()
        plan.rounds = 1
        plan.window = 1_000
        plan.fewRecipients = 100
        plan.manyRecipients = 2_000
        plan.shortBacklog = 200
        plan.longBacklog = 3_000
        plan.partitions = 4
        plan.backlogPartitions = 4
        return plan
    }

    @Test("Scale over recipients", .timeLimit(.minutes(3)))
    func recipients() throws {
        let compared = try ScalePart.compareRecipients(scalePlan, try options()) { _ in }
        #expect(compared.small.count == 1)
        #expect(compared.large.count == 1)
        try check(
            ScalePart.findings(compared, compared, scalePlan), keys: ["scale_recipients", "scale_backlog"],
            members: ["scale_recipients_cpu", "scale_backlog_cpu"])
    }

    @Test("Scale over a backlog", .timeLimit(.minutes(3)))
    func backlog() throws {
        let compared = try ScalePart.compareBacklogs(scalePlan, try options()) { _ in }
        #expect(compared.small.count == 1)
        #expect(compared.large.count == 1)
    }

    @Test("Workers", .timeLimit(.minutes(3)))
    func workers() throws {
        var plan = WorkersPart.Plan()
        // Each number of workers is a group join of some seconds.
        plan.counts = [2]
        plan.partitions = 4
        plan.forMs = 600
        let found = try WorkersPart.run(plan, try options()) { _ in }
        try check(found, keys: ["workers_linear"], members: ["workers"])
        #expect(found.plots.first?.series.first?.points.map(\.x) == [2])
    }

    @Test("A slow provider", .timeLimit(.minutes(3)))
    func slow() throws {
        var plan = SlowPart.Plan()
        plan.forMs = 400
        plan.warmMs = 200
        plan.rejectedMs = 300
        plan.recoveryMs = 1_500
        plan.windowMs = 200
        plan.backlog = 1_000
        plan.partitions = 4
        let found = try SlowPart.run(plan, try options()) { _ in }
        try check(found, keys: ["slow_rate", "shrink_recovery"], members: ["slow"])
    }

    @Test("A start", .timeLimit(.minutes(3)))
    func start() throws {
        var plan = StartPart.Plan()
        plan.rounds = 1
        plan.partitions = 4
        let found = try StartPart.run(plan, try options()) { _ in }
        try check(found, keys: ["start"], members: ["start"])
    }
}
