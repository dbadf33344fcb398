import Core
import Redis
import TestSupport
import Testing

@testable import Registry

/// A server, a session with the scripts, and one recipient.
struct Shelf {
    let server: RedisServer
    let session: RedisSession
    let directory: DeviceDirectory
    static let lane = UInt8(ascii: "n")

    init() throws {
        server = try RedisServer()
        session = try server.session(scripts: RegistryScripts.all)
        directory = DeviceDirectory(session: session, app: "shop", devicesMax: 3, staleAfterMs: 0)
    }

    static func position(_ offset: Int64, at timestampMs: Int64, partition: Int32 = 0) -> JobPosition {
        JobPosition(lane: lane, topicHash: 7, partition: partition, offset: offset, timestampMs: timestampMs)
    }

    /// What an admission said, copied.
    struct Answer: Equatable {
        var verdict: AdmissionVerdict
        var unread: Int64?
        var wasCounted: Bool
        var waitMs: Int64
    }

    func admit(_ recipient: String = "r", _ change: (inout Admission) -> Void) throws -> Answer {
        let value = try RecipientReference.with(app: "shop", recipient: recipient) { reference in
            var admission = Admission(reference)
            change(&admission)
            return try session.run { admission.encode(into: &$0) }
        }
        if let unread = value.integer {
            return Answer(verdict: .proceed, unread: unread, wasCounted: false, waitMs: 0)
        }
        let parts = value.array
        let number = try #require(parts.first?.integer)
        let verdict = try #require(AdmissionVerdict(rawValue: UInt8(number)))
        guard parts.count == 5 else {
            #expect(parts.count == 1)
            return Answer(verdict: verdict, unread: nil, wasCounted: false, waitMs: 0)
        }
        return Answer(
            verdict: verdict, unread: parts[1].integer, wasCounted: parts[2].integer == 1,
            waitMs: parts[4].integer ?? -1)
    }

    /// Counts a job and gives the counter and whether it had been counted.
    func count(_ delta: Int64, _ position: JobPosition) throws -> (unread: Int64?, wasCounted: Bool) {
        let answer = try admit {
            $0.position = position
            $0.unreadDelta = delta
        }
        #expect(answer.verdict == .proceed)
        return (answer.unread, answer.wasCounted)
    }
}

@Suite struct UnreadTests {
    @Test func countsEachRecordOnce() throws {
        let shelf = try Shelf()
        #expect(try shelf.count(1, Shelf.position(10, at: 1000)) == (1, false))
        #expect(try shelf.count(1, Shelf.position(10, at: 1000)) == (1, true))
        #expect(try shelf.count(2, Shelf.position(11, at: 1001)) == (3, false))
        #expect(try shelf.count(1, Shelf.position(10, at: 1000)) == (3, true))
        #expect(try shelf.count(2, Shelf.position(11, at: 1001)) == (3, true))
    }

    @Test func countsRecordsAfterTheTopicWasMadeAgain() throws {
        let shelf = try Shelf()
        #expect(try shelf.count(1, Shelf.position(500, at: 1000)) == (1, false))
        // A new life starts at a small offset, with younger records.
        #expect(try shelf.count(1, Shelf.position(3, at: 2000)) == (2, false))
        #expect(try shelf.count(1, Shelf.position(3, at: 2000)) == (2, true))
        // The same offset in a new life.
        #expect(try shelf.count(1, Shelf.position(3, at: 3000)) == (3, false))
        #expect(try shelf.count(1, Shelf.position(4, at: 3001)) == (4, false))
    }

    @Test func toleratesProducersWhoseClocksDiffer() throws {
        let shelf = try Shelf()
        #expect(try shelf.count(1, Shelf.position(10, at: 5000)) == (1, false))
        #expect(try shelf.count(1, Shelf.position(11, at: 4000)) == (2, false))
        #expect(try shelf.count(1, Shelf.position(12, at: 4500)) == (3, false))
        // A redelivery of the first: before the last counted one, and younger than it.
        #expect(try shelf.count(1, Shelf.position(10, at: 5000)) == (3, true))
        #expect(try shelf.count(1, Shelf.position(11, at: 4000)) == (3, true))
        #expect(try shelf.count(1, Shelf.position(12, at: 4500)) == (3, true))
        #expect(try shelf.count(1, Shelf.position(2, at: 6000)) == (4, false))
    }

    @Test func doesntCompareOtherPartitionsTopicsOrLanes() throws {
        let shelf = try Shelf()
        #expect(try shelf.count(1, Shelf.position(10, at: 1000, partition: 0)) == (1, false))
        #expect(try shelf.count(1, Shelf.position(5, at: 900, partition: 1)) == (2, false))
        var other = Shelf.position(5, at: 900, partition: 1)
        other.topicHash = 8
        #expect(try shelf.count(1, other) == (3, false))
        other.lane = UInt8(ascii: "u")
        #expect(try shelf.count(1, other) == (4, false))
        #expect(try shelf.count(1, other) == (4, true))
    }

    @Test func neverBecomesNegativeOrEndless() throws {
        let shelf = try Shelf()
        #expect(try shelf.count(-5, Shelf.position(1, at: 1)) == (0, false))
        #expect(try shelf.count(2, Shelf.position(2, at: 2)) == (2, false))
        #expect(try shelf.count(-3, Shelf.position(3, at: 3)) == (0, false))
        #expect(try shelf.count(.max, Shelf.position(4, at: 4)) == (1_000_000_000, false))
        try shelf.session.command("HSET", "peal:usr:{shop:r}", "n", "nonsense")
        #expect(try shelf.count(1, Shelf.position(5, at: 5)) == (1, false))
    }

    /// Two recipients with the same records, one of whom has preferences: the short way through the script and
    /// the long one count the same.
    @Test(arguments: 1...5 as ClosedRange<UInt64>) func countsTheSameOnBothWays(seed: UInt64) throws {
        let shelf = try Shelf()
        try shelf.session.command("HSET", "peal:usr:{shop:long}", "prefs", "x")
        var state = seed
        func random(_ count: UInt64) -> Int64 {
            state = Hash64.mix(state, 0xA076_1D64_78BD_642F)
            return Int64(state % count)
        }
        for _ in 0..<300 {
            let position = Shelf.position(random(12), at: random(6) - 1, partition: Int32(random(8) / 7))
            let delta = random(9) == 0 ? 999_999_990 : random(4)
            let answers = try ["short", "long"].map { name in
                try shelf.admit(name) {
                    $0.position = position
                    $0.unreadDelta = delta
                }
            }
            #expect(answers[0] == answers[1])
            let stored = try ["short", "long"].map {
                try shelf.session.command("HMGET", "peal:usr:{shop:\($0)}", "n", "pn").array.map(\.text)
            }
            #expect(stored[0] == stored[1])
            if random(40) == 0 {
                for name in ["short", "long"] {
                    try shelf.session.command("HSET", "peal:usr:{shop:\(name)}", "n", "0")
                }
            }
        }
    }

    @Test func survivesAPositionThatSomebodyBroke() throws {
        let shelf = try Shelf()
        try shelf.session.command("HSET", "peal:usr:{shop:r}", "pn", "garbage", "n", "4")
        #expect(try shelf.count(1, Shelf.position(5, at: 5)) == (5, false))
        #expect(try shelf.count(1, Shelf.position(5, at: 5)) == (5, true))
    }

    @Test func takesConstantMemory() throws {
        let shelf = try Shelf()
        for offset in 0..<200 as Range<Int64> { _ = try shelf.count(1, Shelf.position(offset, at: offset)) }
        #expect(try shelf.session.command("HLEN", "peal:usr:{shop:r}").integer == 2)
    }

    @Test func readsWithoutCounting() throws {
        let shelf = try Shelf()
        _ = try shelf.count(3, Shelf.position(1, at: 1))
        #expect(try shelf.admit { _ in }.unread == 3)
        #expect(try shelf.directory.unread(of: "r") == 3)
        #expect(try shelf.admit("nobody") { _ in }.unread == 0)
        #expect(try shelf.session.command("EXISTS", "peal:usr:{shop:nobody}").integer == 0)
    }

    @Test func obeysTheClient() throws {
        let shelf = try Shelf()
        let directory = shelf.directory
        #expect(try directory.addUnread(4, of: "r") == 4)
        #expect(try directory.addUnread(-9, of: "r") == 0)
        #expect(try directory.setUnread(7, asOfMs: 1000, of: "r") == 7)
        #expect(try directory.setUnread(3, asOfMs: 999, of: "r") == 7)
        #expect(try directory.setUnread(2, asOfMs: 1000, of: "r") == 2)
        #expect(try directory.setUnread(0, of: "r") == 0)
        #expect(try directory.setUnread(-1, asOfMs: 2000, of: "r") == 0)
        #expect(try directory.setUnread(9, asOfMs: 1999, of: "r") == 0)
        #expect(shelf.server.processID != nil)
    }
}

@Suite struct DedupTests {
    private func admit(_ shelf: Shelf, key: String, _ origin: JobPosition) throws -> AdmissionVerdict {
        let bytes = Array(key.utf8)
        return try bytes.withUnsafeBytes { key in
            try shelf.admit { $0.dedup = DedupClaim(key: key, origin: origin, milliseconds: 60_000) }.verdict
        }
    }

    private func settle(_ shelf: Shelf, key: String, _ origin: JobPosition, isDone: Bool) throws -> Int64? {
        let bytes = Array(key.utf8)
        return try RecipientReference.with(app: "shop", recipient: "r") { recipient in
            try bytes.withUnsafeBytes { key in
                let claim = DedupClaim(key: key, origin: origin, milliseconds: 60_000)
                return try shelf.session.run {
                    RegistryCommands.settle(claim, of: recipient, isDone: isDone, into: &$0)
                }.integer
            }
        }
    }

    @Test func letsTheFirstJobOfAKeyThroughUntilItIsDone() throws {
        let shelf = try Shelf()
        let first = Shelf.position(1, at: 1)
        let second = Shelf.position(2, at: 2)
        #expect(try admit(shelf, key: "k", first) == .proceed)
        #expect(try admit(shelf, key: "k", first) == .proceed)
        #expect(try admit(shelf, key: "k", second) == .duplicateInProgress)
        #expect(try admit(shelf, key: "other", second) == .proceed)
        #expect(try settle(shelf, key: "k", second, isDone: true) == 0)
        #expect(try settle(shelf, key: "k", first, isDone: true) == 1)
        #expect(try admit(shelf, key: "k", first) == .alreadyDone)
        #expect(try admit(shelf, key: "k", second) == .duplicate)
        #expect(try settle(shelf, key: "k", first, isDone: false) == 1)
        #expect(try admit(shelf, key: "k", second) == .duplicate)
        let ttl = try shelf.session.command("PTTL", "peal:dedup:{shop:r}:k").integer ?? 0
        #expect(ttl > 0 && ttl <= 60_000)
    }

    @Test func givesAKeyBackWhenItsJobFailedForGood() throws {
        let shelf = try Shelf()
        let first = Shelf.position(1, at: 1)
        #expect(try admit(shelf, key: "k", first) == .proceed)
        #expect(try settle(shelf, key: "k", first, isDone: false) == 1)
        #expect(try admit(shelf, key: "k", Shelf.position(2, at: 2)) == .proceed)
    }

    @Test func doesntCountADuplicate() throws {
        let shelf = try Shelf()
        try Array("k".utf8).withUnsafeBytes { key in
            for offset in 1...3 as ClosedRange<Int64> {
                let position = Shelf.position(offset, at: offset)
                _ = try shelf.admit {
                    $0.position = position
                    $0.unreadDelta = 1
                    $0.dedup = DedupClaim(key: key, origin: position, milliseconds: 60_000)
                }
            }
        }
        #expect(try shelf.directory.unread(of: "r") == 1)
    }
}
