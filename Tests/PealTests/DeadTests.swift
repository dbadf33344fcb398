import Core
import Decisions
import EventLoop
import Jobs
import Terminal
import Testing

@testable import PealKit

@Suite struct DeadOrderTests {
    private let now: Int64 = 1_764_600_000_000

    private func order(_ words: [String], canAsk: Bool = false) throws -> DeadOrder {
        try DeadOrder(ToolRig.arguments(DeadCommand.command, words), nowMs: now, canAsk: canAsk)
    }

    @Test func whatIsMeantIsReadFromTheOptions() throws {
        let list = try order(["list", "--app", "shop", "--since", "2h", "--reason", "a", "--reason", "b"])
        #expect(list.filter.app == "shop")
        #expect(list.filter.reasons == ["a", "b"])
        #expect(list.filter.sinceMs == now - 7_200_000)
        let until = try order(["purge", "--until", "2025-12-01T00:00:00Z", "--yes"])
        #expect(until.filter.untilMs == 1_764_547_200_000)
        let replay = try order(["replay", "3/1742", "0/7", "--rate", "2000", "--limit", "5", "--again", "-y"])
        #expect(replay.filter.places == [.init(partition: 3, offset: 1742), .init(partition: 0, offset: 7)])
        #expect(replay.replay == .init(isDry: false, rate: 2000, limit: 5, again: true))
        #expect(try order(["replay", "--all"], canAsk: true).isConfirmed == false)
        #expect(try order([]).verb == .list)
    }

    @Test(arguments: [
        ["bury"], ["replay", "--yes"], ["replay", "--app", "shop"], ["show"], ["show", "1/2", "3/4"],
        ["show", "1-2"], ["list", "--yes"], ["list", "--dry-run"], ["purge", "--yes"],
        ["purge", "--app", "shop", "--until", "1d", "--yes"], ["purge", "--all", "--until", "1d", "--yes"],
        ["purge", "1/2", "1/9", "--yes"], ["purge", "--since", "1d", "--yes"], ["list", "--since", "soon"],
        ["list", "--since", "1h", "--until", "2h"], ["replay", "--all", "--summary", "--yes"],
    ])
    func whatIsNotMeantSoIsRefused(words: [String]) {
        #expect(throws: UsageFailure.self) { try order(words) }
    }
}

@Suite struct ReplayVerdictTests {
    private let good = ReplayVerdict.Facts(
        deadlineMs: 2000, nowMs: 1000, devices: ["phone", "watch"], wanted: ["watch"])

    private func verdict(_ change: (inout ReplayVerdict.Facts) -> Void) -> ReplayVerdict {
        var facts = good
        change(&facts)
        return ReplayVerdict(facts)
    }

    @Test func eachFactAloneStopsALetter() {
        #expect(ReplayVerdict(good) == .replay)
        #expect(verdict { $0.wasReplayed = true } == .already)
        #expect(verdict { ($0.wasReplayed, $0.again) = (true, true) } == .replay)
        #expect(verdict { $0.isReadable = false } == .unreadable)
        #expect(verdict { $0.isAppKnown = false } == .unknownApp)
        #expect(verdict { $0.nowMs = 2000 } == .expired)
        #expect(verdict { $0.deadlineMs = nil } == .replay)
        #expect(verdict { $0.devices = [] } == .noDevice)
        #expect(verdict { $0.devices = ["phone"] } == .deviceGone)
        #expect(verdict { ($0.devices, $0.wanted) = (["phone"], []) } == .replay)
        #expect(verdict { $0.devices = nil } == .replay)
        #expect(verdict { $0.isMuted = true } == .muted)
        #expect(verdict { $0.isDedupDone = true } == .duplicate)
        // What was replayed stays so, whatever else has become of it.
        #expect(verdict { ($0.wasReplayed, $0.nowMs) = (true, 9000) } == .already)
    }
}

@Suite struct ReplayRecordTests {
    private func letter(
        _ json: String, reason: String, headers: [String: String] = [:], timestampMs: Int64 = 5_000_000
    ) -> DeadLetter {
        var record = CopiedRecord()
        record.partition = 3
        record.offset = 1742
        record.timestampMs = timestampMs
        record.key = Array("shop/anna".utf8)
        record.value = Array(json.utf8)
        var all = ["peal-reason": reason, "peal-replay-to": "peal.jobs.bulk", "traceparent": "00-ab"]
        all.merge(headers) { _, last in last }
        record.headers = all.sorted { $0.key < $1.key }.map {
            .init(name: $0.key, value: Array($0.value.utf8))
        }
        return DeadLetter(record)
    }

    private func record(_ letter: DeadLetter, run: Int32? = nil, nowMs: Int64 = 9_000_000) throws -> (
        topic: String, headers: [String: String]
    ) {
        let parser = try #require(JobParser())
        let job = try #require(ReplayJob(letter, parser))
        let made = ReplayRecord(
            letter, job, names: TopicNames(), schedule: RetrySchedule(), run: run, nowMs: nowMs)
        return (
            made.topic,
            Dictionary(
                uniqueKeysWithValues: made.headers.map {
                    ($0.name, String(decoding: $0.value, as: UTF8.self))
                })
        )
    }

    private let plain = #"{"app":"shop","to":{"recipient":"anna"},"title":"x"}"#

    @Test func whatWasCountedGoesOutAsALaterHopToItsDevice() throws {
        let (topic, headers) = try record(
            letter(
                plain, reason: "apns_bad_priority",
                headers: [
                    "peal-attempt": "0", "peal-devices": "watch", "peal-detail": "no", "peal-first-ms": "77",
                ]))
        #expect(topic == "peal.jobs.bulk")
        let number = 3 << 40 | 1742
        #expect(
            headers == [
                "peal-origin": "peal.jobs.bulk/-2/\(number)", "peal-attempt": "1", "peal-waits": "1",
                "peal-devices": "watch", "traceparent": "00-ab",
            ])
        #expect(ReplayRecord.letter(ofOrigin: headers["peal-origin"] ?? "")?.description == "3/1742")
        #expect(ReplayRecord.letter(ofOrigin: "peal.jobs.bulk/-1/\(number)") == nil)
        #expect(ReplayRecord.letter(ofOrigin: "peal.jobs.bulk/3/1742") == nil)
    }

    @Test func whatWasNeverCountedGoesOutAsAFirstRecord() throws {
        for reason in ["unknown_app", "malformed_job", "malformed_headers", "contradictory_job"] {
            let headers = try record(letter(plain, reason: reason)).headers
            #expect(headers["peal-attempt"] == "0")
            #expect(headers["peal-waits"] == nil)
        }
        // A later hop was counted by the first one, whatever it died of.
        let later = letter(plain, reason: "unknown_app", headers: ["peal-attempt": "2"])
        #expect(try record(later).headers["peal-attempt"] == "1")
    }

    @Test func aTTLCountsOnAndAJobWithoutOneBeginsAnew() throws {
        let timed = #"{"app":"shop","to":{"recipient":"anna"},"title":"x","ttl":60}"#
        let headers = ["peal-first-ms": "4000000"]
        #expect(
            try record(letter(timed, reason: "oversize", headers: headers)).headers["peal-first-ms"]
                == "4000000")
        #expect(
            try record(letter(plain, reason: "oversize", headers: headers)).headers["peal-first-ms"] == nil)
        let parser = try #require(JobParser())
        #expect(
            ReplayJob(letter(timed, reason: "oversize", headers: headers), parser)?.deadlineMs == 4_060_000)
        #expect(ReplayJob(letter("{", reason: "malformed_job"), parser) == nil)
    }

    @Test func aJobForLaterWaitsInARetryTopic() throws {
        let later = #"{"app":"shop","to":{"recipient":"anna"},"title":"x","send_at":"1970-01-01T03:00:00Z"}"#
        let waiting = try record(letter(later, reason: "unknown_app"))
        #expect(waiting.topic == "peal.retry.15m")
        #expect(waiting.headers["peal-due-ms"] == "10800000")
        #expect(try record(letter(later, reason: "unknown_app"), nowMs: 11_000_000).topic == "peal.jobs.bulk")
    }

    @Test func aSecondReplayIsAnotherOne() throws {
        let own = letter(plain, reason: "oversize")
        let first = try record(own).headers["peal-origin"]
        let second = try record(own, run: ReplayRecord.run(startedMs: 1_764_600_000_000)).headers[
            "peal-origin"]
        #expect(first != second)
        #expect(ReplayRecord.letter(ofOrigin: second ?? "")?.description == "3/1742")
    }

    @Test func theMemoryOfALetterIsABitOfItsHour() {
        let memory = ReplayMemory(topic: "peal.dead")
        let place = memory.place(letter(plain, reason: "oversize", timestampMs: 7_200_001))
        #expect(place.key == "peal:replayed:peal.dead:3:0:2")
        #expect(place.bit == 1742)
    }
}

@Suite struct TokenMaskTests {
    @Test func longWordsAreCutToTheirEnds() {
        let token = String(repeating: "ab12", count: 16)
        #expect(
            TokenMask.mask(#"{"token":"\#(token)","id":"01J9ZK3V8Q7M4X2C6B5N1A0D9F"}"#)
                == #"{"token":"ab12ab…ab12","id":"01J9ZK3V8Q7M4X2C6B5N1A0D9F"}"#)
        let fcm = "cXyZ:APA91b" + String(repeating: "x-", count: 60)
        #expect(TokenMask.mask("shop/\(fcm)") == "shop/cXyZ:A…x-x-")
        #expect(TokenMask.mask("a sentence, and 42.") == "a sentence, and 42.")
    }
}

@Suite struct ByteSearchTests {
    private func isIn(_ needle: String, _ text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { ByteSearch(needle).isIn($0) }
    }

    @Test func aNeedleIsFoundWhereverItStands() {
        var random = SystemRandomNumberGenerator()
        // Few letters, so that parts of the needle are everywhere.
        func word(_ count: Int) -> String {
            String((0..<count).map { _ in Character(["a", "b", "c"].randomElement(using: &random) ?? "a") })
        }
        for _ in 0..<2000 {
            let text = word(Int.random(in: 0...40, using: &random))
            let needle = word(Int.random(in: 1...6, using: &random))
            #expect(isIn(needle, text) == text.contains(needle), "\(needle) in \(text)")
        }
        #expect(isIn("xyz", "xyz"))
        #expect(!isIn("xyz", "xy"))
    }
}
