import Core
import Foundation
import Terminal
import Testing

@testable import PealKit

@Suite struct SizeTests {
    private static func request(_ words: [String]) throws -> SizeRequest {
        let request = try ArgumentParser.parse(words, for: SizeCommand.command, environment: [:])
        guard case .run(let arguments) = request else { throw UsageFailure("no run") }
        return try SizeRequest(arguments)
    }

    private static func share(_ name: String, _ plan: SizePlan) -> Double {
        plan.limits.first { $0.name == name }?.share ?? 0
    }

    @Test func whatIsAskedForIsRead() throws {
        let plain = try Self.request(["--rate", "1000"])
        #expect(plain == SizeRequest(rate: 1_000))
        #expect(plain.devices == 100_000 && plain.recipients == 100_000)
        let full = try Self.request([
            "--rate", "5", "--devices", "9", "--recipients", "7", "--fcm", "0", "--round-trip", "1",
            "--retries", "100", "--gateway", "3", "--broadcast", "4", "--job-bytes", "6", "--load", "100",
            "--cores", "8", "--retention", "2", "--replication", "1", "--redis-memory", "10",
        ])
        #expect(full.devices == 9 && full.recipients == 7 && full.fcmPercent == 0 && full.redisGiB == 10)
        #expect(full.retryPercent == 100 && full.gatewayPercent == 3 && full.broadcast == 4)
        #expect(full.loadPercent == 100 && full.coresPerPod == 8 && full.retentionHours == 2)
        #expect(full.jobBytes == 6 && full.replication == 1 && full.roundTripMs == 1)
    }

    @Test(arguments: [
        [], ["--rate", "0"], ["--rate", "many"], ["--rate", "-1"], ["--rate", "10", "--load", "0"],
        ["--rate", "10", "--fcm", "101"], ["--rate", "10", "--cores", "0"],
        ["--rate", "10", "--devices", "5", "--recipients", "6"],
        ["--rate", "10", "--replication", "0"], ["--rate", "99999999999"],
    ])
    func whatMakesNoSenseIsRefused(words: [String]) {
        #expect(throws: UsageFailure.self) { try Self.request(words) }
    }

    /// No limit is used beyond what was allowed, whatever is asked for; a project's quota is not ours to raise.
    @Test(arguments: [1, 1_000, 12_345, 100_000, 1_000_000, 100_000_000], [1, 2, 16, 256])
    func everyPlanHasTheRoomThatWasAskedFor(rate: Int, cores: Int) {
        for load in [1, 60, 100] {
            for roundTripMs in [1, 60, 60_000] {
                var request = SizeRequest(rate: rate)
                request.coresPerPod = cores
                request.loadPercent = load
                request.roundTripMs = roundTripMs
                request.broadcast = rate * 10
                let plan = SizePlan(request)
                for limit in plan.limits where !limit.name.hasPrefix("FCM") {
                    let most = limit.name == "Redis' memory" ? 1 : Double(load) / 100
                    #expect(limit.share <= most + 1e-9, "\(limit.name)")
                }
                #expect(plan.partitions >= plan.workerPods && plan.partitions.nonzeroBitCount == 1)
                #expect(plan.workerPods >= 2 && plan.retryPods >= 2 && plan.redisShards >= 1)
                #expect(Double(plan.connections) * UnitCosts.streamsPerConnection >= plan.inFlight)
            }
        }
    }

    @Test func moreOfAnythingNeverNeedsLess() {
        var before = SizePlan(SizeRequest(rate: 1))
        for step in 1...40 {
            let plan = SizePlan(SizeRequest(rate: 1 << (step / 2)))
            #expect(plan.workerPods >= before.workerPods && plan.redisShards >= before.redisShards)
            #expect(plan.redisBytes >= before.redisBytes && plan.kafkaDiskBytes >= before.kafkaDiskBytes)
            before = plan
        }
    }

    @Test func aLongRoundTripNeedsPodsThatWait() {
        var request = SizeRequest(rate: 100_000)
        request.roundTripMs = 5_000
        let plan = SizePlan(request)
        #expect(plan.limits.first { !$0.name.hasPrefix("FCM") }?.name == "deliveries in flight")
        #expect(plan.workerPods > SizePlan(SizeRequest(rate: 100_000)).workerPods)
    }

    @Test func bytesFollowFromDevices() {
        var request = SizeRequest(rate: 1)
        request.devices = 1_000_000
        request.recipients = 0
        request.fcmPercent = 100
        #expect(SizePlan(request).redisBytes == 194_000_000)
        request.fcmPercent = 0
        #expect(SizePlan(request).redisBytes == 100_000_000)
        #expect(Self.share("FCM's quota of one project", SizePlan(request)) == 0)
        request.devices = 1_000_000_000
        #expect(SizePlan(request).redisShards == 12)
    }

    @Test func theJSONHasEveryFigure() throws {
        let report = SizeReport(plan: SizePlan(SizeRequest(rate: 50_000)))
        let json = try JSONValue.parse(text: report.json)
        #expect(json["rate"]?.integer == 50_000)
        #expect(json["worker_pods"]?.integer == Int64(report.plan.workerPods))
        guard case .array(let limits)? = json["limits"] else {
            Issue.record("no limits")
            return
        }
        #expect(limits.count == report.plan.limits.count)
        #expect(limits.first?["name"]?.string == report.plan.limits.first?.name)
        let text = report.text(style: TextStyle(isEnabled: false))
        #expect(text.contains("50,000 notifications a second") && text.contains("First to give way"))
    }

    @Test func theLargestPlanCanBeTold() throws {
        let request = try Self.request([
            "--rate", "100000000", "--devices", "100000000000", "--job-bytes", "1000000", "--load", "1",
            "--retention", "8760", "--replication", "10", "--round-trip", "60000", "--cores", "1",
            "--broadcast", "100000000000", "--gateway", "100", "--retries", "100",
        ])
        let report = SizeReport(plan: SizePlan(request))
        #expect(report.text(style: TextStyle(isEnabled: false)).contains("over 16 EiB"))
        #expect(try JSONValue.parse(text: report.json)["kafka_disk_bytes"] == .null)
        var week = SizeRequest(rate: 1_000_000)
        week.retentionHours = 168
        let json = try JSONValue.parse(text: SizeReport(plan: SizePlan(week)).json)
        #expect((json["kafka_disk_bytes"]?.integer ?? 0) > 1_000_000_000_000_000)
    }

    @Test func theSignsNameMetricsThatWorkersHave() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/Worker/Kit")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let sources = try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        let signs = SizePlan(SizeRequest(rate: 1_000)).limits.map(\.sign).joined(separator: " ")
        let names = signs.split { !$0.isLetter && $0 != "_" }.filter { $0.hasPrefix("peal_") }
        #expect(Set(names).count >= 4)
        for name in names { #expect(sources.contains("\"\(name)\""), "\(name)") }
    }

    /// Run with PEAL_TEST_WRITE=1 to write the tables anew after a change of ``UnitCosts``.
    @Test func theDocumentHasWhatTheCommandSays() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/scaling.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        var written = ""
        var isSkipping = false
        var count = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "<!-- end -->" { isSkipping = false }
            if !isSkipping { written += line + "\n" }
            guard line.hasPrefix("<!-- peal size "), line.hasSuffix(" -->") else { continue }
            let words = line.dropFirst(15).dropLast(4).split(separator: " ").map(String.init)
            written += SizeReport(plan: SizePlan(try Self.request(words))).markdown
            isSkipping = true
            count += 1
        }
        written.removeLast()
        if ProcessInfo.processInfo.environment["PEAL_TEST_WRITE"] == "1" {
            try written.write(to: file, atomically: true, encoding: .utf8)
        } else {
            #expect(text == written)
        }
        #expect(count == 3)
    }
}
