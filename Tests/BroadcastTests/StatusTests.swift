import Decisions
import Redis
import Registry
import TestSupport
import Testing

/// `peal:cast` and what is read out of it, on a real Redis.
@Suite struct BroadcastStatusTests {
    private func note(_ session: RedisSession, part: Int? = nil, parts: Int = 2) throws -> [RedisValue] {
        try session.run {
            BroadcastCommands.note(
                app: "shop", id: "c1", audience: "topic:news", campaign: "sale", parts: parts, part: part,
                nowMs: 1000, into: &$0)
        }.array
    }

    private func advance(_ session: RedisSession, _ part: Int, _ next: Int, _ count: Int64) throws
        -> RedisValue
    {
        try session.run {
            BroadcastCommands.advance(
                app: "shop", id: "c1", part: part, next: next, end: (part + 1) * 10, count: count,
                nowMs: 5000, into: &$0)
        }
    }

    private func status(_ session: RedisSession) throws -> BroadcastStatus? {
        try BroadcastDirectory(session: session).status(app: "shop", id: "c1", nowMs: 6000)
    }

    @Test func aBroadcastGoesFromPlannedToDoneAndNothingCountsTwice() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let session = try server.session(scripts: BroadcastCommands.scripts)
        #expect(try status(session) == nil)
        #expect(try advance(session, 0, 5, 1) == .null)
        #expect(try note(session).map(\.text) == ["planned", "2", nil, nil])
        #expect(try status(session)?.state == .planned)
        // A second one doesn't change what it was divided into.
        #expect(try note(session, parts: 8)[1].text == "2")
        let started = try session.run { BroadcastCommands.start(app: "shop", id: "c1", into: &$0) }
        #expect(started.text == "running")
        #expect(try advance(session, 0, 5, 100).text == "running")
        #expect(try advance(session, 0, 5, 100).text == "running")
        #expect(try advance(session, 0, 3, 60).text == "running")
        #expect(try note(session, part: 0).map(\.text) == ["running", "2", "5", "100"])
        #expect(try advance(session, 0, 10, 150).text == "running")
        #expect(try advance(session, 0, 10, 150).text == "running")
        var found = try #require(try status(session))
        #expect(found.recipients == 150 && found.partsDone == 1 && found.parts == 2)
        #expect(found.startedMs == 1000 && found.finishedMs == nil)
        #expect(try advance(session, 1, 20, 30).text == "done")
        found = try #require(try status(session))
        #expect(found.state == .done && found.recipients == 180 && found.partsDone == 2)
        #expect(found.finishedMs == 5000 && found.audience == "topic:news" && found.campaign == "sale")
        // What is done stays so.
        let late = try session.run { BroadcastCommands.cancel(app: "shop", id: "c1", nowMs: 9, into: &$0) }
        #expect(late.text == "done")
        let again = try session.run { BroadcastCommands.start(app: "shop", id: "c1", into: &$0) }
        #expect(again.text == "done")
        let left = try session.command("PTTL", "peal:cast:{shop:c1}").integer ?? 0
        #expect(left > 29 * 86_400_000 && left <= BroadcastCommands.memoryMs)
    }

    @Test func aCancelledBroadcastStaysSoWhateverItsPartsStore() throws {
        let server = try RedisServer()
        defer { server.stop() }
        let session = try server.session(scripts: BroadcastCommands.scripts)
        _ = try note(session)
        let ended = try session.run { BroadcastCommands.cancel(app: "shop", id: "c1", nowMs: 7, into: &$0) }
        #expect(ended.text == "cancelled")
        #expect(try advance(session, 0, 10, 5).text == "cancelled")
        #expect(try advance(session, 1, 20, 5).text == "cancelled")
        #expect(try status(session)?.state == .cancelled)
        #expect(try status(session)?.finishedMs == 7)
    }

    @Test(arguments: [
        (ControlEntry.Subject.app("shop"), ControlEntry.Action.pause, BroadcastStatus.State.paused),
        (.app("other"), .pause, .running), (.campaign(app: "shop", name: "sale"), .pause, .paused),
        (.campaign(app: "shop", name: "sale"), .cancel, .cancelled),
        (.campaign(app: "other", name: "sale"), .cancel, .running),
        (.campaign(app: "shop", name: "c1"), .cancel, .running),
        (.job(app: "shop", id: "c1"), .cancel, .cancelled),
        (.provider(.apns, app: "shop"), .pause, .running),
    ])
    func anOperatorsEntryShows(
        subject: ControlEntry.Subject, action: ControlEntry.Action, expected: BroadcastStatus.State
    ) throws {
        let running = try #require(
            BroadcastStatus(
                fields: [("state", "running"), ("campaign", "sale"), ("parts", "2")].map {
                    (field: $0.0, value: $0.1)
                }))
        let control = ControlState(version: 1, entries: [ControlEntry(subject, action, untilMs: 100)])
        #expect(running.under(control, app: "shop", id: "c1", nowMs: 50).state == expected)
        #expect(running.under(control, app: "shop", id: "c1", nowMs: 100).state == .running)
        var done = running
        done.state = .done
        #expect(done.under(control, app: "shop", id: "c1", nowMs: 50).state == .done)
    }

    @Test func aHashThatIsNoBroadcastIsNone() {
        #expect(BroadcastStatus(fields: [(field: String, value: String)]()) == nil)
        #expect(BroadcastStatus(fields: [(field: "state", value: "asleep")]) == nil)
        #expect(BroadcastStatus(fields: [(field: "n", value: "3")]) == nil)
    }
}
