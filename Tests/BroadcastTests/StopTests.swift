import BroadcastKit
import Core
import Decisions
import EventLoop
import Kafka
import Logging
import Redis
import Registry
import SimulatorKit
import TestSupport
import Testing
import WorkerKit

/// What an operator's order does to a broadcast in the middle of its expansion.
@Suite(.serialized) struct StopTests {
    private let rig: DeliveryRig
    private let store: ControlStore
    private var fixture: BroadcastFixture { rig.fixture }
    private static let sale = ControlEntry.Subject.campaign(app: "shop", name: "sale")

    init() throws {
        rig = try DeliveryRig()
        store = ControlStore(session: rig.fixture.session)
    }

    /// A stage that reads so little ahead, from a broker so slow, that an order comes in the middle.
    private func startSlowly() throws -> ExpandService {
        fixture.broker.setRoundTrip(ms: 100)
        return try fixture.start {
            $0.recipientsMax = 1_024
            $0.partsActive = 1
        }
    }

    private func publish(_ id: String, topic: String) throws {
        try fixture.publish(
            fixture.names.broadcasts,
            #"{"app":"shop","to":{"topic":"\#(topic)"},"id":"\#(id)","title":"Hi","unread":1}"#)
    }

    private func recipients(_ id: String) throws -> Int { Int(try fixture.status(id)?.recipients ?? 0) }

    /// Waits until all workers obey what is written.
    private func obeyed(_ version: Int64) throws {
        let isObeyed = try fixture.wait {
            let pods = try store.pods()
            return !pods.isEmpty && pods.allSatisfy { $0.version >= version }
        }
        #expect(isObeyed)
    }

    @Test func aCancelEndsTheExpansionAndWhatIsInTheLaneIsNotSent() throws {
        defer { rig.stop() }
        let count = 8_000
        try rig.register(count: count)
        try fixture.follow("news", count: count)
        let service = try startSlowly()
        try publish("sale", topic: "news")
        #expect(try fixture.wait { try recipients("sale") >= 1_000 })
        _ = try store.set(ControlEntry(Self.sale, .cancel))
        #expect(fixture.wait { service.snapshot.parts == 0 && service.snapshot.unread == 0 })
        fixture.broker.setRoundTrip(ms: 0)
        let ended = try #require(try fixture.status("sale"))
        #expect(ended.state == .cancelled && ended.finishedMs != nil && ended.partsDone < 64)
        let written = Int(ended.recipients)
        #expect(written >= 1_000 && written < count)
        // The count is that of the lane, to the record.
        #expect(try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: written).count == written)

        // Neither the end of the order nor another stage nor the same job again makes it go on.
        _ = try store.remove(Self.sale)
        service.stop()
        #expect(try fixture.committed(fixture.names.broadcastParts) == 64)
        let next = try fixture.start()
        try publish("sale", topic: "news")
        #expect(fixture.wait { next.snapshot.repeatedPlans == 1 && next.snapshot.unread == 0 })
        #expect(try fixture.status("sale") == ended)

        let version = try store.set(ControlEntry(Self.sale, .cancel))
        // Another campaign shows that the lane is worked on.
        try fixture.follow("other", count: 50)
        try publish("other", topic: "other")
        try rig.startWorker()
        try obeyed(version)
        #expect(fixture.wait { rig.outcome("cancelled") + rig.outcome("accepted") == written + 50 })
        #expect(rig.outcome("cancelled") == written && rig.outcome("accepted") == 50)
        let pushes = rig.pushes
        #expect(pushes.count == 50 && (0..<50).allSatisfy { pushes[DeliveryRig.token($0)] == 1 })
        #expect(try recipients("sale") == written)
    }

    @Test func aPauseHoldsTheExpansionAndTheLaneUntilTheResume() throws {
        defer { rig.stop() }
        let count = 4_000
        try rig.register(count: count)
        try fixture.follow("news", count: count)
        let service = try startSlowly()
        try publish("sale", topic: "news")
        #expect(try fixture.wait { try recipients("sale") >= 500 })
        let version = try store.set(ControlEntry(Self.sale, .pause))
        #expect(fixture.wait { service.snapshot.partsPaused > 0 && service.snapshot.loaded == 0 })
        fixture.broker.setRoundTrip(ms: 0)
        // What was out when the order came is in the lane and counted.
        #expect(
            try fixture.wait {
                try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: 500).count == recipients("sale")
            })
        let held = try recipients("sale")
        #expect(held >= 500 && held < count)
        #expect(try fixture.status("sale")?.state == .paused)

        // The worker starts under the order. Another campaign goes the whole way meanwhile.
        try rig.startWorker()
        try obeyed(version)
        try fixture.follow("other", count: 10)
        try publish("other", topic: "other")
        #expect(try fixture.wait(for: .done, of: "other"))
        #expect(fixture.wait { rig.outcome("accepted") == 10 })
        #expect(try recipients("sale") == held)
        #expect(try fixture.status("sale")?.state == .paused)
        #expect(rig.simulator.record.count == 10)

        _ = try store.remove(Self.sale)
        #expect(try fixture.wait(for: .done, of: "sale"))
        #expect(try recipients("sale") == count)
        #expect(fixture.wait { rig.outcome("accepted") == count + 10 })
        let pushes = rig.pushes
        #expect(pushes.count == count && pushes.values.reduce(0, +) == count + 10)
        #expect((10..<count).allSatisfy { pushes[DeliveryRig.token($0)] == 1 })
        #expect((rig.worker?.outcomes.values.reduce(0, +) ?? 0) == UInt64(count + 10))
    }

    @Test func aPausedBroadcastThatIsCancelledEndsWithoutAnotherJob() throws {
        defer { rig.stop() }
        let count = 4_000
        try fixture.follow("news", count: count)
        let service = try startSlowly()
        try publish("sale", topic: "news")
        #expect(try fixture.wait { try recipients("sale") >= 500 })
        _ = try store.set(ControlEntry(Self.sale, .pause))
        #expect(fixture.wait { service.snapshot.partsPaused > 0 && service.snapshot.loaded == 0 })
        #expect(fixture.wait { service.snapshot.inFlight == 0 })
        let written = try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: 500).count
        #expect(written < count)
        _ = try store.set(ControlEntry(Self.sale, .cancel))
        #expect(fixture.wait { service.snapshot.parts == 0 && service.snapshot.unread == 0 })
        #expect(try fixture.status("sale")?.state == .cancelled)
        #expect(try recipients("sale") == written)
        #expect(try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: written).count == written)
    }
}
