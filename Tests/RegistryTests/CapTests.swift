import Core
import EventLoop
import Redis
import TestSupport
import Testing

@testable import Registry

@Suite struct CapTests {
    private static let hourMs: Int64 = 3_600_000

    private func admit(
        _ session: RedisSession, app: String = "shop", _ name: String, _ position: JobPosition,
        count: Int64 = 3, windowMs: Int64 = hourMs, replaces: Bool = false
    ) throws -> Shelf.Answer {
        let value = try Array(name.utf8).withUnsafeBytes { name in
            try RecipientReference.with(app: app, recipient: "r") { reference in
                var admission = Admission(reference)
                admission.position = position
                admission.unreadDelta = 1
                admission.cap = FrequencyCap(
                    name: name, count: count, windowMs: windowMs, origin: position, replaces: replaces)
                return try session.run { admission.encode(into: &$0) }
            }
        }.array
        #expect(value.count == 5)
        let verdict = try #require(AdmissionVerdict(rawValue: UInt8(value[0].integer ?? 99)))
        return Shelf.Answer(
            verdict: verdict, unread: value[1].integer, wasCounted: value[2].integer == 1,
            waitMs: value[4].integer ?? -1)
    }

    private func admit(_ shelf: Shelf, _ name: String, _ offset: Int64, replaces: Bool = false) throws
        -> Shelf.Answer
    {
        try admit(shelf.session, name, Shelf.position(offset, at: offset), replaces: replaces)
    }

    @Test func letsSoManyThroughAndThenHolds() throws {
        let shelf = try Shelf()
        for offset in 1...3 as ClosedRange<Int64> {
            #expect(try admit(shelf, "news", offset).verdict == .proceed)
        }
        let held = try admit(shelf, "news", 4)
        #expect(held.verdict == .capped)
        #expect(held.waitMs > 3_500_000 && held.waitMs <= Self.hourMs)
        // What the recipient isn't shown is unread all the same.
        #expect(held.unread == 4)
        #expect(try admit(shelf, "other", 5).verdict == .proceed)
        let other = try admit(shelf.session, app: "chat", "news", Shelf.position(6, at: 6))
        #expect(other.verdict == .proceed)
        let ttl = try shelf.session.command("PTTL", "peal:cap:{shop:r}:news").integer ?? 0
        #expect(ttl > 3_500_000 && ttl <= Self.hourMs)
    }

    @Test func chargesAJobOnceHoweverOftenItComes() throws {
        let shelf = try Shelf()
        for _ in 0..<10 { #expect(try admit(shelf, "news", 1).verdict == .proceed) }
        #expect(try admit(shelf, "news", 2).verdict == .proceed)
        #expect(try admit(shelf, "news", 3).verdict == .proceed)
        // A redelivered job that was held is held again, although it has been counted.
        for _ in 0..<3 { #expect(try admit(shelf, "news", 4).verdict == .capped) }
        #expect(try admit(shelf, "news", 2).verdict == .proceed)
        #expect(try shelf.session.command("ZCARD", "peal:cap:{shop:r}:news").integer == 3)
    }

    @Test func givesAChargeBackThatNothingWasSentFor() throws {
        let shelf = try Shelf()
        for offset in 1...3 as ClosedRange<Int64> { _ = try admit(shelf, "news", offset) }
        try Array("news".utf8).withUnsafeBytes { name in
            let cap = FrequencyCap(
                name: name, count: 3, windowMs: Self.hourMs, origin: Shelf.position(2, at: 2))
            try RecipientReference.with(app: "shop", recipient: "r") { recipient in
                let reply = try shelf.session.run {
                    RegistryCommands.giveBack(cap, of: recipient, into: &$0)
                }
                #expect(reply.integer == 1)
            }
        }
        #expect(try admit(shelf, "news", 4).verdict == .proceed)
        #expect(try admit(shelf, "news", 5).verdict == .capped)
    }

    @Test func noWindowHasMoreThanTheCap() throws {
        let shelf = try Shelf()
        let windowMs: Int64 = 60_000
        let parts = try shelf.session.command("TIME").array.compactMap { $0.text.flatMap { Int64($0) } }
        let now = parts[0] * 1000 + parts[1] / 1000
        // Three went out in the window: one at its very beginning, two just now.
        for (name, age) in [("a", windowMs - 1500), ("b", 100), ("c", 50)] {
            try shelf.session.command("ZADD", "peal:cap:{shop:r}:news", "\(now - age)", name)
        }
        let held = try admit(
            shelf.session, "news", Shelf.position(1, at: 1), windowMs: windowMs)
        #expect(held.verdict == .capped)
        #expect(held.waitMs > 0 && held.waitMs <= 1500)
        // The oldest leaves the window: one more, not a burst of three.
        try shelf.session.command("ZADD", "peal:cap:{shop:r}:news", "\(now - windowMs)", "a")
        let verdicts = try (2...4 as ClosedRange<Int64>).map {
            try admit(shelf.session, "news", Shelf.position($0, at: $0), windowMs: windowMs).verdict
        }
        #expect(verdicts == [.proceed, .capped, .capped])
    }

    @Test func waitsForAsManyAsASmallerCapNeeds() throws {
        let shelf = try Shelf()
        for offset in 1...3 as ClosedRange<Int64> { _ = try admit(shelf, "news", offset) }
        let held = try admit(shelf.session, "news", Shelf.position(9, at: 9), count: 1)
        #expect(held.verdict == .capped && held.waitMs > 3_500_000)
    }

    @Test func isExactUnderFiftyWorkers() throws {
        let shelf = try Shelf()
        let endpoint = shelf.server.endpoint
        let verdicts = Locked<[AdmissionVerdict]>([])
        let failures = Locked(0)
        let threads = (0..<50).map { worker in
            WorkerThread.start(name: "cap-\(worker)") {
                do {
                    let session = try RedisSession.patient(endpoint, scripts: RegistryScripts.all)
                    defer { session.close() }
                    for number in 0..<20 {
                        let offset = Int64(worker * 20 + number)
                        let answer = try CapTests().admit(
                            session, "news", Shelf.position(offset, at: offset + 1), count: 20)
                        verdicts.withLock { $0.append(answer.verdict) }
                    }
                } catch {
                    failures.withLock { $0 += 1 }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == 0)
        let all = verdicts.withLock { $0 }
        #expect(all.count { $0 == .proceed } == 20)
        #expect(all.count { $0 == .capped } == 980)
    }

    // MARK: Replacing

    @Test func onlyTheNewestOfThoseThatWaitSurvives() throws {
        let shelf = try Shelf()
        for offset in 1...3 as ClosedRange<Int64> {
            #expect(try admit(shelf, "news", offset, replaces: true).verdict == .proceed)
        }
        // Nothing waits yet, so nothing is remembered of it.
        #expect(try shelf.session.command("EXISTS", "peal:next:{shop:r}:news").integer == 0)
        #expect(try admit(shelf, "news", 4, replaces: true).verdict == .capped)
        #expect(try admit(shelf, "news", 5, replaces: true).verdict == .capped)
        // Both come back: the older one is replaced, the newer one goes on waiting.
        #expect(try admit(shelf, "news", 4, replaces: true).verdict == .replaced)
        #expect(try admit(shelf, "news", 5, replaces: true).verdict == .capped)
        // A redelivery of the older one doesn't take the newer one's place.
        #expect(try admit(shelf, "news", 4, replaces: true).verdict == .replaced)
        try shelf.session.command("DEL", "peal:cap:{shop:r}:news")
        #expect(try admit(shelf, "news", 5, replaces: true).verdict == .proceed)
        #expect(try admit(shelf, "news", 5, replaces: true).verdict == .proceed)
        #expect(try admit(shelf, "news", 4, replaces: true).verdict == .replaced)
    }

    @Test func aNewOneThatGetsThroughReplacesThoseThatStillWait() throws {
        let shelf = try Shelf()
        for offset in 1...4 as ClosedRange<Int64> { _ = try admit(shelf, "news", offset, replaces: true) }
        try shelf.session.command("DEL", "peal:cap:{shop:r}:news")
        #expect(try admit(shelf, "news", 5, replaces: true).verdict == .proceed)
        #expect(try admit(shelf, "news", 4, replaces: true).verdict == .replaced)
    }

    @Test func aRedisThatForgotSwallowsNothing() throws {
        let shelf = try Shelf()
        for offset in 1...4 as ClosedRange<Int64> { _ = try admit(shelf, "news", offset, replaces: true) }
        try shelf.session.command("FLUSHDB")
        #expect(try admit(shelf, "news", 4, replaces: true).verdict == .proceed)
    }
}
