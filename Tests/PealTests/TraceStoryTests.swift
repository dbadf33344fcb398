import Core
import EventLoop
import Terminal
import Testing

@testable import PealKit

@Suite struct TraceStoryTests {
    private let origin = "peal.jobs.normal/0/5"

    private func event(
        _ kind: TraceEvent.Kind, _ atMs: Int64, devices: [String] = [], attempt: Int64 = 0, dueMs: Int64 = 0
    ) -> TraceEvent {
        var event = TraceEvent(
            kind: kind, topic: "t", partition: 0, offset: atMs, atMs: atMs, origin: origin)
        event.devices = devices
        event.attempt = attempt
        event.dueMs = dueMs
        return event
    }

    private func state(_ events: TraceEvent...) -> TraceStory.State? { TraceStory(events).runs.first?.state }

    @Test func whatIsOpenFollowsFromTheLastRecord() {
        let first = event(.lane("normal"), 100)
        #expect(state(first) == .inLane)
        #expect(state(first, event(.outcome("accepted"), 200, devices: ["a"])) == .ended)
        #expect(state(first, event(.outcome("expired"), 200)) == .ended)
        #expect(state(first, event(.dead, 200)) == .ended)
        #expect(state(first, event(.broadcast, 200)) == .withBroadcasts)
        let retry = event(.retry("10s"), 210, devices: ["b", "c"], attempt: 1, dueMs: 10_000)
        let accepted = event(.outcome("accepted"), 200, devices: ["a"])
        #expect(state(first, accepted, retry) == .inRetry(tier: "10s", dueMs: 10_000))
        let back = event(.lane("normal"), 10_100, devices: ["b", "c"], attempt: 1)
        #expect(state(first, accepted, retry, back) == .inLane)
        let one = event(.outcome("accepted"), 10_200, devices: ["b"])
        #expect(state(first, accepted, retry, back, one) == .owes(["c"]))
        #expect(state(first, accepted, retry, back, one, event(.dead, 10_300, devices: ["c"])) == .ended)
        #expect(state(first, accepted, retry, back, event(.outcome("cancelled"), 10_300)) == .ended)
    }

    @Test func aPauseKeepsItsNumberAndTheTimeDecides() {
        let first = event(.lane("normal"), 100)
        let held = event(.retry("1s"), 200, dueMs: 1200)
        let back = event(.lane("normal"), 1210)
        let again = event(.retry("1s"), 1300, dueMs: 2300)
        #expect(state(first, held) == .inRetry(tier: "1s", dueMs: 1200))
        #expect(state(first, held, back) == .inLane)
        #expect(state(first, held, back, again) == .inRetry(tier: "1s", dueMs: 2300))
    }

    @Test func aClockThatIsBehindDoesNotTurnTheStoryRound() {
        let first = event(.lane("normal"), 1000)
        let retry = event(.retry("1s"), 990, devices: ["a"], attempt: 1, dueMs: 2000)
        #expect(state(first, retry) == .inRetry(tier: "1s", dueMs: 2000))
    }

    @Test func publicationsAreToldApartAndTheEndWaitsForLateOutcomes() {
        var second = event(.lane("normal"), 5000)
        second.origin = "peal.jobs.normal/0/9"
        let ended = [event(.lane("normal"), 100), event(.outcome("accepted"), 200, devices: ["a"])]
        #expect(TraceStory(ended).isEnded)
        #expect(!TraceStory(ended + [second]).isEnded)
        #expect(TraceStory(ended + [second]).runs.map(\.origin) == [origin, second.origin])
        #expect(!TraceStory(ended).isSettled(readUntilMs: 200 + TraceStory.settleMs - 1))
        #expect(TraceStory(ended).isSettled(readUntilMs: 200 + TraceStory.settleMs))
        #expect(!TraceStory([]).isSettled(readUntilMs: .max))
        #expect(TraceStory(ended).outcomes == ["accepted": 1])
    }

    @Test func anIDSaysWhereTheSearchBegins() throws {
        func order(_ words: String...) throws -> TraceOrder {
            try TraceOrder(ToolRig.arguments(TraceCommand.command, words), nowMs: 2_000_000_000_000)
        }
        let id = ULID(timestampMs: 1_764_600_000_000, randomHigh: 1, randomLow: 2).text
        #expect(try order(id).sinceMs == 1_764_600_000_000 - TraceOrder.clockSpareMs)
        // A recipient's job of a broadcast.
        #expect(try order(id + ".0123456789abcdef").sinceMs == 1_764_600_000_000 - TraceOrder.clockSpareMs)
        #expect(try order(id, "--since", "1h").sinceMs == 2_000_000_000_000 - 3_600_000)
        #expect(try order("order-77", "--since", "1h").id == "order-77")
        #expect(try order(id, "--app", "shop", "--recipient", "anna").key == Array("shop/anna".utf8))
        #expect(throws: UsageFailure.self) { try order("order-77") }
        #expect(throws: UsageFailure.self) { try order(id, "--app", "shop") }
        #expect(throws: UsageFailure.self) { try order() }
    }
}
