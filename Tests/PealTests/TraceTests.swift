import Core
import Decisions
import EventLoop
import Redis
import Registry
import Terminal
import TestSupport
import Testing

@testable import PealKit

/// `peal trace` over the log that a real worker and retry service wrote.
@Suite(.serialized) struct TraceTests {
    private func ulid(_ low: UInt64) -> String {
        ULID(timestampMs: UInt64(Clock.wallMs), randomHigh: 7, randomLow: low).text
    }

    @Test func aPushIsToldFromItsPublicationOverItsRetryToItsOutcomes() throws {
        let rig = try ToolRig()
        defer { rig.stop() }
        try rig.register("anna", "phone", .ios, token: ToolTokens.good)
        try rig.register("anna", "tablet", .android, token: ToolTokens.fcm("~UNAVAILABLE*1"))
        let id = ulid(1)
        let other = ulid(2)
        let job =
            #"{"id":"\#(id)","app":"shop","to":{"recipient":"anna"},"title":"Hi","dedup":"d1","campaign":"spring"}"#
        try rig.publish(job, key: "shop/anna")
        try rig.publish(
            #"{"id":"\#(other)","app":"shop","to":{"recipient":"anna"},"title":"\#(id)"}"#, key: "shop/anna")

        // Nobody has taken it yet.
        let waiting = try rig.trace(id)
        #expect(waiting.story.runs.map(\.state) == [.inLane])
        #expect(waiting.exitCode == 0)
        #expect(!waiting.story.isEnded)
        #expect(waiting.facts.facts.contains { $0.sentence.contains("has never finished a job") })

        try rig.startServices()
        #expect(rig.wait { rig.outcomes("accepted") == 4 })
        let report = try rig.trace(id)
        let run = try #require(report.story.runs.first)
        #expect(report.story.runs.count == 1)
        #expect(run.state == .ended)
        #expect(run.events.count { $0.kind == .lane("normal") } == 2)
        let retry = try #require(run.events.first { $0.kind == .retry("1s") })
        #expect(retry.reason == "fcm_unavailable")
        #expect(retry.devices == ["tablet"])
        #expect(retry.dueMs > retry.atMs - 1000)
        let ends = run.events.filter { $0.kind == .outcome("accepted") }
        #expect(Set(ends.flatMap(\.devices)) == ["phone", "tablet"])
        #expect(ends.contains { $0.provider == "apns" && $0.apnsID.count == 36 })
        #expect(report.job?.recipient == "anna")
        #expect(report.facts.facts.contains { $0.code == "dedup" && $0.sentence.contains("was delivered") })
        let text = report.text(nowMs: Clock.wallMs, style: TextStyle(isEnabled: false))
        #expect(text.contains("published") && text.contains("back in its lane") && text.contains("Ended"))

        let narrow = try rig.trace(id, "--app", "shop", "--recipient", "anna")
        #expect(narrow.story == report.story)
        #expect(narrow.seen <= report.seen)
        // The job that only mentions the id is not taken for it, and another recipient's key finds it by
        // looking into all lanes, for a sender's partitioner may be another.
        #expect(try rig.trace(ulid(3)).exitCode == 1)
        let elsewhere = try rig.trace(id, "--app", "shop", "--recipient", "someone-else-5")
        #expect(elsewhere.story.runs.first?.events.contains { $0.kind == .lane("normal") } == true)
    }

    @Test func whatWaitsAndWhatIsCancelledIsSaid() throws {
        let rig = try ToolRig()
        defer { rig.stop() }
        try rig.register("anna", "phone", .ios, token: ToolTokens.good)
        try rig.startServices()
        let id = ulid(4)
        let due = Clock.wallMs + 3_600_000
        try rig.publish(
            #"{"id":"\#(id)","app":"shop","to":{"recipient":"anna"},"title":"Later","send_at":"\#(Timestamp.rfc3339(ms: due))"}"#,
            key: "shop/anna")
        var report = try rig.trace(id)
        let isWaiting = try rig.wait {
            report = try rig.trace(id)
            if case .inRetry = report.story.runs.first?.state { return true }
            return false
        }
        #expect(isWaiting)
        #expect(report.story.runs.first?.state == .inRetry(tier: "10s", dueMs: due))
        let control = try RedisSession(
            options: .patient(rig.redis.endpoint, scripts: ControlStore.scripts))
        defer { control.close() }
        _ = try ControlStore(session: control).set(
            ControlEntry(.job(app: "shop", id: id), .cancel, by: "ops", atMs: Clock.wallMs, reason: "typo"))
        report = try rig.trace(id, "--app", "shop", "--recipient", "anna")
        #expect(report.facts.facts.contains { $0.code == "cancelled" && $0.sentence.contains("typo") })
        #expect(report.json.contains(#""state":"in_retry""#))
    }
}
