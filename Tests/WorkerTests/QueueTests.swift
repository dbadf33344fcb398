import Testing

@testable import WorkerKit

@Suite struct QueueTests {
    /// A model of the linked jobs: what the shard keeps in its slots.
    private final class Model {
        var queues = RecipientQueues(capacity: 8)
        var next: [Int32: Int32] = [:]

        func append(_ hash: UInt64, _ job: Int32) -> Bool {
            let previous = queues.append(hash: hash, job: job)
            if previous >= 0 { next[previous] = job }
            return previous < 0
        }

        func finish(_ hash: UInt64, _ job: Int32) -> Int32? {
            let follower = next.removeValue(forKey: job) ?? -1
            queues.removeFirst(hash: hash, next: follower)
            return follower >= 0 ? follower : nil
        }
    }

    @Test func jobsOfOneKeyGoOnInTheirOrderAndOthersDoNotWait() {
        let model = Model()
        #expect(model.append(7, 1))
        #expect(!model.append(7, 2))
        #expect(!model.append(7, 3))
        #expect(model.append(8, 4))
        #expect(model.finish(7, 1) == 2)
        #expect(!model.append(7, 5))
        #expect(model.finish(7, 2) == 3)
        #expect(model.finish(7, 3) == 5)
        #expect(model.finish(7, 5) == nil)
        #expect(model.append(7, 6))
        #expect(model.finish(8, 4) == nil)
        #expect(model.queues.count == 1)
    }

    @Test func anyMixOfKeysKeepsEveryQueueInOrder() {
        let model = Model()
        var expected: [UInt64: [Int32]] = [:]
        var state: UInt64 = 42
        func random(_ bound: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % bound
        }
        var job: Int32 = 0
        for _ in 0..<200_000 {
            // Few distinct low bits, so that probe sequences collide and wrap.
            let hash = random(4) << 40 | random(700) &* 1024
            if random(2) == 0 {
                job += 1
                let isFirst = model.append(hash, job)
                #expect(isFirst == (expected[hash]?.isEmpty ?? true))
                expected[hash, default: []].append(job)
            } else if let first = expected[hash]?.first {
                let follower = model.finish(hash, first)
                expected[hash]?.removeFirst()
                #expect(follower == expected[hash]?.first)
            }
        }
        #expect(model.queues.count == expected.values.count { !$0.isEmpty })
    }

    @Test func slotsAreReusedAndLateReferencesAreRecognised() {
        var table = SlotTable<RecordSlot>()
        let first = table.take()
        table[first].job = 9
        let reference = table.reference(first)
        #expect(table.resolve(reference) == first)
        table.give(first)
        #expect(table.resolve(reference) == nil)
        let again = table.take()
        #expect(again == first)
        #expect(table[again].job == -1)
        table[again].job = 3
        #expect(table.resolve(reference) == nil)
        #expect(table.resolve(table.reference(again)) == again)
        #expect(table.resolve(UInt64.max) == nil)
        var taken: [Int32] = []
        for _ in 0..<5000 { taken.append(table.take()) }
        #expect(Set(taken).count == 5000)
        #expect(table.count == 5001)
    }

    @Test func blocksAreReusedBySize() {
        var pool = BlockPool()
        let small = pool.take(10)
        #expect(small.count == 768)
        pool.give(small)
        let again = pool.take(768)
        #expect(again.baseAddress == small.baseAddress)
        let next = pool.take(769)
        #expect(next.count == 1536)
        let huge = pool.take(70_000)
        #expect(huge.count == 70_000)
        #expect(pool.lent == 3)
        pool.give(again)
        pool.give(next)
        pool.give(huge)
        #expect(pool.lent == 0)
        #expect(pool.allocations == 3)
    }

    @Test func aFullLaneWaitsThenPausesAndResumesWithRoom() {
        var flow = LaneFlow(limit: 100)
        #expect(flow.next(inFlight: 99, nowMs: 0) == .take)
        #expect(flow.next(inFlight: 100, nowMs: 10) == .wait(ms: 100))
        #expect(flow.next(inFlight: 90, nowMs: 20) == .take)
        #expect(flow.next(inFlight: 100, nowMs: 30) == .wait(ms: 100))
        #expect(flow.next(inFlight: 100, nowMs: 2029) == .wait(ms: 100))
        #expect(flow.next(inFlight: 100, nowMs: 2030) == .pause)
        #expect(flow.next(inFlight: 51, nowMs: 2040) == .stayPaused)
        #expect(flow.next(inFlight: 50, nowMs: 2050) == .resume)
        #expect(flow.next(inFlight: 100, nowMs: 2060) == .wait(ms: 100))
        flow.reset()
        #expect(flow.next(inFlight: 0, nowMs: 2070) == .take)
    }
}
