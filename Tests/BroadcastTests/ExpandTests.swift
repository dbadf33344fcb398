import BroadcastKit
import Core
import Decisions
import EventLoop
import Jobs
import Kafka
import Registry
import Testing

/// The stage in this process, on a real Redis and an embedded broker, whose rebalances take seconds: what
/// needs no stage of its own shares one.
@Suite struct ExpandTests {
    private static func job(_ id: String, _ more: String = "", topic: String = "news") -> String {
        "{\"app\":\"shop\",\"to\":{\"topic\":\"\(topic)\"},\"id\":\"\(id)\",\"body\":\"Hi\"\(more)}"
    }

    @Test func aStageExpandsWhatIsForATopic() throws {
        let fixture = try BroadcastFixture()
        defer { fixture.stop() }
        let service = try fixture.start()
        try repeatedRecordsDoNothing(fixture, service)
        try whatCanNotBeExpandedIsDeadWithAReason(fixture, service)
        try fixture.follow("news", count: 20_000)
        try fixture.follow("other", count: 1_000)
        try everyRecipientGetsOneJob(fixture, count: 20_000)
        try aPausedCampaignWaitsAndACancelledOneEnds(fixture, service, count: 1_000)
        service.stop()
        // The plans, then the parts: everything that came in is committed.
        #expect(try fixture.committed(fixture.names.broadcasts) == 10)
        #expect(try fixture.committed(fixture.names.broadcastParts) == 322)
        #expect(service.snapshot.recipients == 22_000 && service.snapshot.planned == 5)
        let bulk = fixture.names.jobs(lane: "bulk")
        #expect(try fixture.read(bulk, atLeast: 22_000).count == 22_000)
        #expect(service.snapshot.parts == 0 && service.snapshot.loaded == 0)
    }

    /// Nobody follows the topic yet.
    private func repeatedRecordsDoNothing(_ fixture: BroadcastFixture, _ service: ExpandService) throws {
        for _ in 0..<3 { try fixture.publish(fixture.names.broadcasts, Self.job("c0")) }
        #expect(try fixture.wait(for: .done, of: "c0"))
        #expect(fixture.wait { service.snapshot.planned + service.snapshot.repeatedPlans == 3 })
        #expect(service.snapshot.planned == 1 && service.snapshot.repeatedPlans == 2)
        #expect(fixture.wait { service.snapshot.partsDone == 64 })
        #expect(try fixture.status("c0")?.recipients == 0)
        // Parts that are published again find themselves done.
        try fixture.publish(
            fixture.names.broadcastParts, Self.job("c0"),
            headers: [("peal-broadcast", "c0"), ("peal-part", "3/64"), (PealHeader.firstMs, "1")])
        #expect(fixture.wait { service.snapshot.repeatedParts == 1 })
        #expect(try fixture.status("c0")?.partsDone == 64)
    }

    private func whatCanNotBeExpandedIsDeadWithAReason(
        _ fixture: BroadcastFixture, _ service: ExpandService
    ) throws {
        let topic = fixture.names.broadcasts
        let large = String(repeating: "x", count: 65_440)
        try fixture.publish(topic, "not json", headers: [(PealHeader.origin, "peal.jobs.urgent/0/3")])
        try fixture.publish(topic, #"{"app":"shop","to":{"recipient":"r"},"body":"x"}"#)
        try fixture.publish(
            topic, "{\"app\":\"shop\",\"to\":{\"all\":true},\"id\":\"l\",\"body\":\"\(large)\"}")
        try fixture.publish(fixture.names.broadcastParts, Self.job("c1"))
        let records = try fixture.read(fixture.names.dead, atLeast: 4)
        #expect(records.count == 4)
        func dead(_ detail: String) -> BulkRecord? {
            records.first { $0.headers["peal-detail"]?.contains(detail) == true }
        }
        let unreadable = try #require(dead("JSON"))
        #expect(unreadable.value == "not json" && unreadable.headers["peal-reason"] == "malformed_job")
        #expect(unreadable.headers["peal-replay-to"] == "peal.jobs.urgent")
        #expect(unreadable.headers["peal-origin"] == "peal.jobs.urgent/0/3")
        #expect(dead("not for a topic")?.headers["peal-reason"] == "contradictory_job")
        #expect(dead("make it shorter")?.headers["peal-replay-to"] == "peal.jobs.bulk")
        #expect(dead("peal-part")?.headers["peal-reason"] == "malformed_headers")
        #expect(fixture.wait { service.snapshot.inFlight == 0 })
        #expect(service.snapshot.dead == 4)
    }

    private func everyRecipientGetsOneJob(_ fixture: BroadcastFixture, count: Int) throws {
        try fixture.publish(
            fixture.names.broadcasts, Self.job("c1", ",\"ttl\":3600"),
            headers: [
                (PealHeader.origin, "peal.jobs.normal/1/7"), (PealHeader.firstMs, "1704067200000"),
                (PealHeader.traceParent, "00-ab-cd-01"),
            ])
        #expect(try fixture.wait(for: .done, of: "c1"))
        let status = try #require(try fixture.status("c1"))
        #expect(status.recipients == Int64(count) && status.partsDone == 64 && status.parts == 64)
        #expect(status.audience == "topic:news" && status.campaign == "c1" && status.finishedMs != nil)
        let records = try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: count)
        #expect(records.count == count)
        #expect(Set(records.map(\.key)) == Set((0..<count).map { "shop/user-\($0)" }))
        let headers = [
            "peal-origin": BroadcastIdentity(app: "shop", id: "c1").origin(topic: "peal.jobs.bulk"),
            "peal-first-ms": "1704067200000", "traceparent": "00-ab-cd-01",
        ]
        #expect(records.allSatisfy { $0.headers == headers })
        var ids: Set<String> = []
        for record in records {
            let job = try JSONValue.parse(text: record.value)
            #expect("shop/\(job["to"]?["recipient"]?.string ?? "")" == record.key)
            #expect(job["expires_at"]?.string == "2024-01-01T01:00:00.000Z")
            ids.insert(job["id"]?.string ?? "")
        }
        #expect(ids.count == count)
    }

    private func aPausedCampaignWaitsAndACancelledOneEnds(
        _ fixture: BroadcastFixture, _ service: ExpandService, count: Int
    ) throws {
        let store = ControlStore(session: fixture.session)
        let campaign = ControlEntry.Subject.campaign(app: "shop", name: "c2")
        let before = service.snapshot.recipients
        let pause = try store.set(ControlEntry(campaign, .pause))
        #expect(fixture.wait { service.snapshot.controlVersion >= pause })
        try fixture.publish(fixture.names.broadcasts, Self.job("c2", topic: "other"))
        #expect(fixture.wait { service.snapshot.partsPaused == 64 })
        #expect(try fixture.status("c2")?.state == .paused)
        #expect(service.snapshot.recipients == before)
        // Another one isn't held up.
        try fixture.publish(fixture.names.broadcasts, Self.job("c3", topic: "other"))
        #expect(try fixture.wait(for: .done, of: "c3"))
        #expect(service.snapshot.partsPaused == 64)
        // The app's pause holds as well.
        _ = try store.set(ControlEntry(.app("shop"), .pause))
        _ = try store.remove(campaign)
        #expect(try fixture.status("c2")?.state == .paused)
        _ = try store.remove(.app("shop"))
        #expect(try fixture.wait(for: .done, of: "c2"))
        #expect(try fixture.status("c2")?.recipients == Int64(count))

        let third = ControlEntry.Subject.campaign(app: "shop", name: "sale")
        let hold = try store.set(ControlEntry(third, .pause))
        #expect(fixture.wait { service.snapshot.controlVersion >= hold })
        try fixture.publish(fixture.names.broadcasts, Self.job("c4", ",\"campaign\":\"sale\""))
        #expect(fixture.wait { service.snapshot.partsPaused == 64 })
        _ = try store.set(ControlEntry(third, .cancel))
        #expect(fixture.wait { service.snapshot.parts == 0 })
        #expect(try fixture.status("c4")?.state == .cancelled)
        _ = try store.remove(third)
        // It stays cancelled when the entry has gone.
        #expect(try fixture.status("c4")?.state == .cancelled)
        #expect(try fixture.status("c4")?.recipients == 0)
    }

    @Test func twoStagesShareThePartsAndOneGoesOnWhenTheOtherDies() throws {
        let fixture = try BroadcastFixture()
        defer { fixture.stop() }
        let count = 12_000
        try fixture.follow("news", count: count)
        let first = try fixture.start { $0.recipientsMax = 1_024 }
        let second = try fixture.start { $0.recipientsMax = 1_024 }
        #expect(fixture.wait { first.snapshot.partitions == 4 && second.snapshot.partitions == 4 })
        // A slow broker, so that the second one is cut off in the middle.
        fixture.broker.setRoundTrip(ms: 200)
        try fixture.publish(fixture.names.broadcasts, Self.job("c1"))
        let isUnderWay = fixture.wait { first.snapshot.partsDone > 0 && second.snapshot.partsDone > 0 }
        second.abandon()
        #expect(isUnderWay)
        #expect(try fixture.status("c1")?.state == .running)
        fixture.broker.setRoundTrip(ms: 0)
        #expect(try fixture.wait(for: .done, of: "c1"))
        let status = try #require(try fixture.status("c1"))
        #expect(status.recipients == Int64(count) && status.partsDone == 64)
        first.stop()
        // Each part was finished by one of them, and only pages that were not stored were written again.
        #expect(first.snapshot.partsDone + second.snapshot.partsDone == 64)
        #expect(first.snapshot.recipients + second.snapshot.recipients <= UInt64(count + 1_024))
        // Copies are the same to the byte, which is what workers tell them by.
        let all = try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: count)
        #expect(Set(all.map(\.key)).count == count)
        #expect(Set(all.map { "\($0.key) \($0.value) \($0.headers["peal-origin"] ?? "")" }).count == count)
    }
}
