import Core
import Decisions
import EventLoop
import Redis
import Registry
import SimulatorKit
import Testing

@testable import WorkerKit

/// What a worker writes for dashboards, in a real Redis.
@Suite(.serialized) struct CountingTests {
    private func counters(_ session: RedisSession, _ key: String) throws -> [String: Int64] {
        Dictionary(
            uniqueKeysWithValues: try session.command("HGETALL", key).pairs.map {
                ($0.key, $0.value.integer ?? -1)
            })
    }

    @Test func deliveriesAreCountedByLaneLatencyAndCampaign() throws {
        let rig = try Rig()
        defer { rig.stop() }
        try rig.register("ana", device: "phone", .ios, token: Tokens.apns(1))
        try rig.register("ana", device: "tablet", .android, token: Tokens.fcm(2))
        func job(_ number: Int, to: String, _ more: String) -> (key: String, json: String) {
            (
                "shop/\(to)",
                #"{"id":"c-\#(number)","app":"shop","to":{"recipient":"\#(to)"},"title":"x"\#(more)}"#
            )
        }
        try rig.publishMany(
            (0..<5).map { job($0, to: "ana", #","unread":2,"campaign":"spring \"one\"""#) }, lane: "bulk")
        try rig.publishMany([job(5, to: "nobody", #","campaign":"spring \"one\"""#)], lane: "bulk")
        try rig.publishMany([job(6, to: "ana", #","unread":1"#)], lane: "urgent")
        let session = try rig.openSession()
        defer { session.close() }
        let isCounted = rig.wait(seconds: 60) {
            let total = (try? counters(session, "peal:total:{*}")) ?? [:]
            return total["accepted"] == 12 && total["no_device"] == 1 && total["jobs"] == 7
        }
        #expect(isCounted)
        for key in ["peal:total:{*}", "peal:total:{shop}"] {
            let total = try counters(session, key)
            #expect(total["lane:bulk"] == 11)
            #expect(total["lane:urgent"] == 2)
            #expect(total["lane:normal"] == nil)
            #expect(CounterFields.latency.reduce(0) { $0 + (total[$1] ?? 0) } == 12)
            #expect((total["latency_ms"] ?? 0) > 0)
            #expect(total["unread_added"] == 11)
            #expect(total["campaigns_uncounted"] == nil)
        }
        let campaign = #"peal:campaign:{shop}:spring "one""#
        #expect(rig.wait(seconds: 60) { (try? counters(session, campaign))?["no_device"] == 1 })
        let counts = try counters(session, campaign)
        #expect(counts["accepted"] == 10)
        #expect((counts["first_ms"] ?? 0) > 0 && (counts["last_ms"] ?? 0) >= (counts["first_ms"] ?? 0))
        #expect(try session.command("ZCARD", "peal:campaigns:{shop}").integer == 1)
        #expect(
            try session.command("ZRANGE", "peal:apps", "0", "-1").array.map(\.text) == ["bare", "shop"])
    }

    @Test func aJobOfOneCampaignTooManyIsAddedUpElsewhere() throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let session = try rig.openSession()
        defer { session.close() }
        let now = Clock.wallMs
        try session.command(
            ["ZADD", "peal:campaigns:{shop}"]
                + (0..<OverviewCommands.campaignsMax).flatMap { ["\(now)", "c\($0)"] })
        try rig.startWorker()
        try rig.publishMany([
            ("shop/x", #"{"id":"1","app":"shop","to":{"recipient":"x"},"title":"x","campaign":"more"}"#)
        ])
        #expect(
            rig.wait(seconds: 60) {
                (try? counters(session, "peal:total:{shop}"))?["campaigns_uncounted"] == 1
            })
    }

    @Test func theLineAmongThePodsTellsHowAWorkerStands() throws {
        let rig = try Rig()
        defer { rig.stop() }
        let session = try rig.openSession()
        defer { session.close() }
        try rig.register("ana", device: "phone", .ios, token: Tokens.apns(1))
        func line() -> JSONValue? {
            let text = try? session.command("HGETALL", "peal:pods").pairs.first?.value.text
            return text.flatMap { try? JSONValue.parse(text: $0) }
        }
        #expect(rig.wait(seconds: 60) { line()?["ready"]?.string == "" })
        try rig.publishMany(
            (0..<40).map {
                ("shop/ana", #"{"id":"\#($0)","app":"shop","to":{"recipient":"ana"},"title":"x"}"#)
            })
        let isSeen = rig.wait(seconds: 60) {
            guard let line = line(), case .number(let rate)? = line["rate"] else { return false }
            return (Double(rate) ?? 0) > 0 && (line["p99_ms"]?.integer ?? 0) > 0
        }
        #expect(isSeen, "\(line()?.text ?? "")")
        let found = try #require(line())
        #expect(found["role"]?.string == "worker")
        #expect(found["lanes"]?.array?.compactMap(\.string) == Rig.lanes)
        #expect(found["lag_by_lane"]?.members?.map(\.name) == Rig.lanes)
        #expect(found["oldest_ms"]?.members?.map(\.name) == Rig.lanes)
        #expect((found["connections"]?.integer ?? 0) > 0)
        #expect(found["circuits"]?.array?.isEmpty == true && found["faults"]?.array?.isEmpty == true)
        #expect(found["redis"]?.string == "")
        rig.stopWorker()
        #expect(try session.command("HLEN", "peal:pods").integer == 0)
    }
}

@Suite struct CampaignCountsTests {
    private func add(_ counts: inout CampaignCounts, _ name: String, _ outcome: DeliveryOutcome) -> Bool {
        Array(name.utf8).withUnsafeBytes { counts.add(app: 0, name: $0, outcome) }
    }

    @Test func whatWasNotTakenStays() {
        var counts = CampaignCounts()
        #expect(counts.isEmpty)
        #expect(add(&counts, "a", .accepted) && add(&counts, "b", .dead) && add(&counts, "a", .accepted))
        var seen: [String: UInt64] = [:]
        counts.flush { campaign in
            seen[String(decoding: campaign.name, as: UTF8.self)] = campaign.deliveries
            return campaign.name == [0x62]
        }
        #expect(seen == ["a": 2, "b": 1])
        #expect(add(&counts, "a", .rejected))
        var left: [CampaignCounts.Campaign] = []
        counts.flush {
            left.append($0)
            return true
        }
        #expect(left.map(\.deliveries) == [3])
        #expect(left.first?.counts[Int(DeliveryOutcome.accepted.rawValue)] == 2)
        #expect(counts.isEmpty)
    }

    @Test func campaignsAreBounded() {
        var counts = CampaignCounts()
        for number in 0..<CampaignCounts.namesMax { #expect(add(&counts, "c\(number)", .accepted)) }
        #expect(!add(&counts, "one more", .accepted))
        #expect(add(&counts, "c7", .accepted))
        var sum: UInt64 = 0
        counts.flush {
            sum += $0.deliveries
            return true
        }
        #expect(sum == UInt64(CampaignCounts.namesMax + 1))
        #expect(add(&counts, "one more", .accepted))
    }

    @Test(arguments: [
        (0, 0), (10, 0), (11, 1), (25, 1), (26, 2), (999, 6), (1_000, 6), (30_000, 10), (30_001, 11),
        (Int64.max, 11),
    ])
    func aLatencyCountsInTheFirstBucketThatHoldsIt(ms: Int64, place: Int) {
        #expect(CounterField.latency(ms: ms) == CounterField.firstLatency + place)
        #expect(CounterField.names[CounterField.latency(ms: ms)] == CounterFields.latency[place])
    }
}
