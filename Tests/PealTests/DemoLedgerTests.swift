import Core
import Terminal
import Testing

@testable import PealKit

@Suite("The demo's ledger")
struct DemoLedgerTests {
    static let jobs = """
        {"id":"j1","app":"a","to":{"recipient":"r"},"title":"1","unread":2}
        {"id":"j2","app":"a","to":{"recipient":"r","devices":["d2"]},"title":"2","unread":3}
        {"id":"j3","app":"a","to":{"recipient":"gone"},"title":"3","x-expect":"no_device"}
        {"id":"j4","app":"a","to":{"token":"aabb","platform":"ios"},"title":"4"}
        """
    static let devices = """
        {"app":"a","recipient":"r","devices":[{"id":"d1","platform":"ios","token":"0011223344556677"},\
        {"id":"d2","platform":"android","token":"abcdefgh:x"}]}
        """

    private func ledger(count: Int = 4) throws -> DemoLedger {
        DemoLedger(plan: DemoPlan(input: try DemoInput(jobs: Self.jobs, devices: Self.devices), count: count))
    }

    private func event(
        _ job: String, _ device: String, _ outcome: String = "accepted", attempts: Int = 1, id: String = "",
        hasWaited: Bool = false
    ) throws -> OutcomeEventScan {
        let text =
            "{\"v\":1,\"outcome\":\"\(outcome)\",\"job\":\"\(job)\",\"device\":\"\(device)\",\"apns_id\":\"\(id)\","
            + "\"attempts\":\(attempts),\(hasWaited ? "\"waited\":true," : "")\"after_ms\":12,\"at_ms\":1000}"
        return try #require(Array(text.utf8).withUnsafeBytes { OutcomeEventScan($0) })
    }

    private func complete(_ ledger: inout DemoLedger) throws {
        ledger.take(try event("j1", "d1"))
        ledger.take(try event("j1", "d2"))
        ledger.take(try event("j2", "d2"))
        ledger.take(try event("j3", "", "no_device", attempts: 0))
        ledger.take(try event("j4", ""))
    }

    private func record(_ ledger: inout DemoLedger) {
        ledger.take(DemoRequest(job: "j1", token: "0011223344556677", badge: 2))
        ledger.take(DemoRequest(job: "j1", token: "abcdefgh:x", badge: 2))
        ledger.take(DemoRequest(job: "j2", token: "abcdefgh:x", badge: 5))
        ledger.take(DemoRequest(job: "j4", token: "aabb"))
    }

    @Test("A run in which all went well is good")
    func good() throws {
        var ledger = try ledger()
        try complete(&ledger)
        record(&ledger)
        let report = ledger.report()
        #expect(ledger.isComplete)
        #expect(report.isGood, "\(report)")
        #expect(report.jobs == 4)
        #expect(report.deliveries == 5)
        #expect(report.accepted == 4)
        #expect(report.outcomes == ["accepted": 4, "no_device": 1])
        #expect(report.latencyP50Ms == 12)
    }

    @Test("A delivery without an outcome is lost")
    func lost() throws {
        var ledger = try ledger()
        try complete(&ledger)
        var partial = try self.ledger()
        partial.take(try event("j1", "d1"))
        #expect(!partial.isComplete)
        #expect(partial.settledJobs == 0)
        #expect(partial.report().lost == 5, "four without an outcome, one that no device got")
    }

    @Test("An accepted delivery that no device got is lost")
    func falselyAccepted() throws {
        var ledger = try ledger()
        try complete(&ledger)
        #expect(ledger.report().lost == 4)
    }

    @Test("A second delivery is explained only by a lost answer")
    func duplicates() throws {
        var ledger = try ledger()
        try complete(&ledger)
        record(&ledger)
        ledger.take(DemoRequest(job: "j4", token: "aabb"))
        #expect(ledger.report().duplicatesUnexplained == 1)
        ledger.take(DemoRequest(job: "j2", token: "abcdefgh:x", badge: 5, isAnswered: false))
        let report = ledger.report()
        #expect(report.duplicatesUnexplained == 1)
        #expect(report.duplicatesExplained == 1)
        #expect(!report.isGood)
    }

    @Test("A wrong badge shows; a late attempt may show what newer jobs added")
    func badges() throws {
        for (badge, attempts, isRight) in [
            (Int64?(2), 1, true), (5, 1, false), (5, 2, true), (6, 2, false), (1, 2, false), (nil, 1, false),
        ] {
            var ledger = try ledger()
            ledger.take(try event("j1", "d1", attempts: attempts))
            ledger.take(DemoRequest(job: "j1", token: "0011223344556677", badge: badge))
            #expect(
                (ledger.report().badgeMismatches == 0) == isRight, "\(String(describing: badge)) \(attempts)")
        }
        // One that had to wait may show what newer jobs added, but no less than it left.
        for (badge, isRight) in [(Int64(5), true), (1, false)] {
            var ledger = try ledger()
            ledger.take(try event("j1", "d1", hasWaited: true))
            ledger.take(DemoRequest(job: "j1", token: "0011223344556677", badge: badge))
            #expect((ledger.report().badgeMismatches == 0) == isRight)
        }
        var ledger = try ledger()
        ledger.take(DemoRequest(job: "j4", token: "aabb", badge: 1))
        #expect(ledger.report().badgeMismatches == 1, "a badge where none belongs")
    }

    @Test("Two outcomes, a wrong outcome, other ids and strangers show")
    func oddities() throws {
        var ledger = try ledger()
        try complete(&ledger)
        record(&ledger)
        ledger.take(try event("j1", "d1", "dead"))
        #expect(ledger.report().outcomesRepeated == 1)
        ledger.take(try event("j9", "d1"))
        ledger.take(try event("j1", "d9"))
        ledger.take(DemoRequest(job: "j1", token: "ffff"))
        #expect(ledger.report().strangers == 3)
        var other = try self.ledger()
        other.take(try event("j1", "d1", "rejected", id: "x"))
        other.take(
            DemoRequest(job: "j1", token: "0011223344556677", apnsID: "y", badge: 2, isDelivered: false))
        #expect(other.report().unexpected == 1)
        #expect(other.report().dead == 1)
        #expect(other.report().idMismatches == 1)
    }

    @Test("Counts that end within a round are planned exactly")
    func partialRound() throws {
        let ledger = try ledger(count: 6)
        #expect(ledger.plan.slotCount == 8)
        #expect(ledger.plan.rounds == 2)
        #expect(ledger.plan.firstSlot(ofJob: 5) == 7)
    }

    @Test("The JSON report has the promised keys")
    func json() throws {
        var ledger = try ledger()
        try complete(&ledger)
        record(&ledger)
        let value = try JSONValue.parse(text: ledger.report().json)
        for key in [
            "jobs", "deliveries", "accepted", "retried", "dead", "lost", "duplicates_unexplained",
            "badge_mismatches", "throughput_per_s",
        ] { #expect(value[key]?.integer != nil, "\(key)") }
        #expect(value["latency_ms"]?["p50"]?.integer == 12)
        #expect(value["latency_ms"]?["p99"]?.integer == 12)
        #expect(value["ok"]?.bool == true)
        #expect(ledger.report().text(style: TextStyle(isEnabled: false)).contains("lost"))
    }

    @Test("No damaged event traps")
    func damagedEvents() {
        let text = Array(
            #"{"v":1,"outcome":"accepted","job":"j\"1","device":"d1","attempts":1,"at_ms":99999999999999999999}"#
                .utf8)
        for count in 0...text.count {
            _ = Array(text[..<count]).withUnsafeBytes { OutcomeEventScan($0) }
        }
        for index in text.indices {
            for byte: UInt8 in [0, 0x22, 0x5C, 0x3A, 0x7D, 0xFF] {
                var damaged = text
                damaged[index] = byte
                _ = damaged.withUnsafeBytes { OutcomeEventScan($0) }
            }
        }
    }
}
