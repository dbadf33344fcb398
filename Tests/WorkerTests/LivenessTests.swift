import HTTPServer
import Testing

@testable import WorkerKit

/// When `/livez` asks for a restart: a broken thread, and work that nobody does; never what is outside.
@Suite struct LivenessTests {
    private static let now: UInt64 = 10_000_000
    private static let long = WorkerLiveness.patienceMs + 1

    private static func backlog(sinceMs: UInt64, roseMs: UInt64 = 0) -> LaneBacklog {
        var backlog = LaneBacklog()
        backlog.note(lag: 0, nowMs: 1)
        backlog.note(lag: 5, nowMs: sinceMs)
        if roseMs > 0 { backlog.note(lag: 6, nowMs: roseMs) }
        return backlog
    }

    /// A lane that has read jobs, and finished and read nothing for longer than it may.
    private static func stuckLane() -> WorkerLiveness.Lane {
        WorkerLiveness.Lane(
            name: "bulk", polledMs: now - 100, partitions: 4, lag: 100, inFlight: 50, movedMs: now - long,
            backlog: backlog(sinceMs: now - long - 5))
    }

    private static func verdict(
        lane: WorkerLiveness.Lane = stuckLane(),
        shard: WorkerLiveness.Shard = .init(tickMs: now - 900, heldUpMs: 0), isStopping: Bool = false
    ) -> Health {
        var calm = stuckLane()
        calm.lag = 0
        return WorkerLiveness(
            lanes: [calm, lane], shards: [.init(tickMs: now, heldUpMs: 0), shard], isStopping: isStopping
        ).verdict(nowMs: now)
    }

    @Test func workThatNobodyDoesIsAFailureAndIsNamed() {
        let expected =
            "lane bulk has 100 unfinished jobs, nothing outside holds them up, and for 600 s none was "
            + "read or finished"
        #expect(Self.verdict() == .failing(expected))
    }

    @Test(arguments: [
        "no partitions", "no lag", "lag unknown", "moved", "lag is new", "held up lately", "no broker lately",
        "offsets unread", "just within patience",
    ])
    func whatIsNoFailure(change: String) {
        var lane = Self.stuckLane()
        var shard = WorkerLiveness.Shard(tickMs: Self.now, heldUpMs: 0)
        switch change {
        case "no partitions": lane.partitions = 0
        case "no lag": lane.lag = 0
        case "lag unknown": lane.lag = -1
        case "moved": lane.movedMs = Self.now - 1000
        case "lag is new":
            lane.movedMs = 5
            lane.backlog = Self.backlog(sinceMs: Self.now - 1000)
        case "held up lately": shard.heldUpMs = Self.now - 1000
        case "no broker lately": lane.unreachableMs = Self.now - 1000
        case "offsets unread": lane.unreadPartitions = 1
        case "just within patience":
            lane.movedMs += 1
        default: Issue.record("unknown case")
        }
        #expect(Self.verdict(lane: lane, shard: shard) == .ok)
    }

    /// Redis, Kafka or a provider may be away for as long as it likes; when it is back, patience begins anew.
    @Test func patienceBeginsWhenWhatHeldUpIsGone() {
        var shard = WorkerLiveness.Shard(tickMs: Self.now, heldUpMs: Self.now - WorkerLiveness.patienceMs)
        #expect(Self.verdict(shard: shard) == .ok)
        shard.heldUpMs -= 1
        #expect(Self.verdict(shard: shard) != .ok)
    }

    /// Unread records may be the broker's fault, unless it evidently answers.
    @Test func unreadRecordsCountOnlyWhileTheBrokerAnswers() {
        var lane = Self.stuckLane()
        lane.inFlight = 0
        #expect(Self.verdict(lane: lane) == .ok)
        lane.backlog = Self.backlog(sinceMs: Self.now - Self.long - 5, roseMs: Self.now - 30_000)
        #expect(Self.verdict(lane: lane) != .ok)
        lane.backlog = Self.backlog(sinceMs: Self.now - Self.long - 5, roseMs: Self.now - 90_000)
        #expect(Self.verdict(lane: lane) == .ok)
    }

    @Test func aThreadThatStandsStillIsAFailure() {
        var lane = Self.stuckLane()
        lane.lag = 0
        lane.polledMs = Self.now - 30_001
        #expect(Self.verdict(lane: lane) == .failing("lane bulk has not polled for 30 s"))
        lane.polledMs += 1
        #expect(Self.verdict(lane: lane) == .ok)
        lane.polledMs = 0
        #expect(Self.verdict(lane: lane) == .ok, "it has not begun yet")
        let shard = WorkerLiveness.Shard(tickMs: Self.now - 45_000, heldUpMs: 0)
        #expect(Self.verdict(lane: lane, shard: shard) == .failing("shard 1 has not moved for 45 s"))
        #expect(Self.verdict(lane: lane, shard: .init(tickMs: 0, heldUpMs: 0)) == .ok)
    }

    @Test func aWorkerThatStopsHasItsOwnDeadline() {
        var lane = Self.stuckLane()
        lane.polledMs = 1
        #expect(Self.verdict(lane: lane, isStopping: true) == .ok)
    }

    @Test func aBacklogKnowsSinceWhenAndWhenItRose() {
        var backlog = LaneBacklog()
        backlog.note(lag: 7, nowMs: 10)
        // The first figure is no rise.
        #expect(backlog.sinceMs == 10 && backlog.roseMs == 0)
        backlog.note(lag: 7, nowMs: 20)
        #expect(backlog.sinceMs == 10 && backlog.roseMs == 0)
        backlog.note(lag: 8, nowMs: 30)
        backlog.note(lag: 3, nowMs: 40)
        #expect(backlog.sinceMs == 10 && backlog.roseMs == 30)
        backlog.note(lag: 0, nowMs: 50)
        #expect(backlog.sinceMs == 0)
        backlog.note(lag: -1, nowMs: 60)
        backlog.note(lag: 1, nowMs: 70)
        #expect(backlog.sinceMs == 70 && backlog.roseMs == 30)
    }
}
