import Core
import Decisions
import EventLoop
import Foundation
import Kafka
import Logging
import Metrics
import RetryKit
import Testing

@Suite(.serialized) struct RetryServiceTests {
    /// Waits for a condition that other threads bring about.
    private func eventually(_ deadlineMs: UInt64 = 60_000, _ condition: () -> Bool) -> Bool {
        let end = Clock.monotonicMs + deadlineMs
        while !condition() {
            if Clock.monotonicMs > end { return false }
            usleep(5_000)
        }
        return true
    }

    @Test func recordsComeBackInDueOrderByteForByteAndALongWaitBlocksNothing() throws {
        let fixture = try RetryFixture(partitions: 1)
        let service = try RetryService.start(fixture.settings, log: .silent)
        #expect(eventually { service.isReady })
        let producer = try fixture.producer()
        let now = Clock.wallMs
        // The head of the partition waits longest.
        let waits: [(String, Int64)] = [
            ("long", 60_000), ("c", 1_500), ("a", 300), ("b", 900), ("past", -5_000),
        ]
        for (name, wait) in waits {
            try producer.retry(
                tier: "1s", key: "shop/\(name)", value: "{\"v\": \"\(name) ü\\u0000\"}", dueMs: now + wait,
                attempt: "4", origin: "peal.jobs.urgent/3/77",
                more: [
                    (PealHeader.firstMs, "17"), (PealHeader.devices, "d1,d2"),
                    (PealHeader.reason, "apns_5xx"),
                    (PealHeader.traceParent, "00-ab-cd-01"), ("x-mine", "kept"),
                ])
        }
        try producer.settle()
        let reader = try fixture.reader(["peal.jobs.urgent"])
        #expect(reader.read { reader.count == 4 })
        #expect(
            reader.seen.map { String(decoding: $0.key ?? [], as: UTF8.self) } == [
                "shop/past", "shop/a", "shop/b", "shop/c",
            ])
        for (record, name) in zip(reader.seen, ["past", "a", "b", "c"]) {
            #expect(record.text == "{\"v\": \"\(name) ü\\u0000\"}")
            let due = now + (waits.first { $0.0 == name }?.1 ?? 0)
            #expect(record.atMs >= due)
            #expect(
                record.headers == [
                    "peal-due-ms=\(due)", "peal-attempt=4", "peal-origin=peal.jobs.urgent/3/77",
                    "peal-first-ms=17",
                    "peal-devices=d1,d2", "peal-reason=apns_5xx", "traceparent=00-ab-cd-01", "x-mine=kept",
                ])
        }
        reader.close()
        service.stop()
        let end = service.snapshot
        #expect(end.handedOver == 4)
        #expect(end.dead == 0)
        producer.close(deadlineMs: 1_000)
    }

    @Test func aWaitThatOutlastsItsTierMovesOnUntilItIsDue() throws {
        let fixture = try RetryFixture(partitions: 1)
        var settings = fixture.settings
        // Tiers of milliseconds, so that hops happen within the test.
        settings.tiers = [
            RetryTier(name: "1s", delayMs: 100), RetryTier(name: "10s", delayMs: 400),
            RetryTier(name: "1m", delayMs: 800),
        ]
        let service = try RetryService.start(settings, log: .silent)
        #expect(eventually { service.isReady })
        let producer = try fixture.producer()
        let due = Clock.wallMs + 3_000
        try producer.retry(
            tier: "1s", key: "k", value: "v", dueMs: due, attempt: "0", origin: "peal.jobs.bulk/-1/7A")
        try producer.settle()
        let reader = try fixture.reader(["peal.jobs.bulk"])
        #expect(reader.read { reader.count == 1 })
        #expect(reader.seen.first.map { $0.atMs >= due } == true)
        #expect(
            reader.seen.first?.headers == [
                "peal-due-ms=\(due)", "peal-attempt=0", "peal-origin=peal.jobs.bulk/-1/7A",
            ])
        #expect(eventually { service.snapshot.handedOver == 1 })
        let hops = service.snapshot.tiers.reduce(0) { $0 + $1.hopped }
        #expect(hops >= 2)
        service.stop()
        reader.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test func aFullMemoryMakesTheOldestMoveOnInsteadOfBlocking() throws {
        let fixture = try RetryFixture(partitions: 1)
        var settings = fixture.settings
        settings.heldRecordsMax = 100
        let service = try RetryService.start(settings, log: .silent)
        #expect(eventually { service.isReady })
        let producer = try fixture.producer()
        let now = Clock.wallMs
        // Ten times what fits waits long; a short one lies behind all of them.
        for number in 0..<1_000 {
            try producer.retry(tier: "1s", key: "k\(number)", value: "long", dueMs: now + 7_200_000)
        }
        try producer.retry(tier: "1s", key: "short", value: "short", dueMs: now + 1_000)
        try producer.settle()
        let reader = try fixture.reader(["peal.jobs.normal"])
        #expect(reader.read { reader.count == 1 })
        #expect(reader.seen.first?.text == "short")
        // All of them are in the hour's topic in the end, none lost.
        let hour = try fixture.reader(["peal.retry.1h"])
        #expect(hour.read { Set(hour.seen.map(\.key)).count == 1_000 })
        service.stop()
        #expect(service.snapshot.tiers.first.map { $0.yielded >= 900 } == true)
        reader.close()
        hour.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test func malformedRecordsGoToTheDeadTopicWithTheirReason() throws {
        let fixture = try RetryFixture(partitions: 1)
        let service = try RetryService.start(fixture.settings, log: .silent)
        let producer = try fixture.producer()
        let now = Clock.wallMs
        try producer.retry(tier: "10s", key: "no-due", value: "1", dueMs: nil)
        try producer.retry(tier: "10s", key: "no-attempt", value: "2", dueMs: now, attempt: nil)
        try producer.retry(
            tier: "10s", key: "no-origin", value: "3", dueMs: now, origin: nil,
            more: [(PealHeader.reason, "apns_5xx")])
        try producer.retry(tier: "10s", key: "lane", value: "4", dueMs: now, origin: "peal.jobs.lost/0/1")
        try producer.retry(tier: "10s", key: nil, value: nil, dueMs: now)
        try producer.settle()
        let dead = try fixture.reader([fixture.names.dead])
        #expect(dead.read { dead.count == 4 })
        #expect(Set(dead.seen.map(\.text)) == ["1", "2", "3", "4"])
        for record in dead.seen {
            #expect(
                record.headers.filter { $0.hasPrefix("peal-reason=") } == ["peal-reason=malformed_headers"])
            let origin = record.headers.filter { $0.hasPrefix("peal-origin=") }
            switch record.text {
            case "3": #expect(origin == ["peal-origin=peal.retry.10s/0/2"])
            case "4": #expect(origin == ["peal-origin=peal.jobs.lost/0/1"])
            default: #expect(origin == ["peal-origin=peal.jobs.normal/0/1"])
            }
        }
        // Neither a key nor a value is no fault of the headers: the worker decides about it.
        let lane = try fixture.reader(["peal.jobs.normal"])
        #expect(lane.read { lane.count == 1 })
        #expect(lane.seen.first?.key == nil && lane.seen.first?.value == nil)
        #expect(eventually { service.snapshot.dead == 4 })
        service.stop()
        dead.close()
        lane.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test func aCleanStopCommitsEverythingSoThatNothingIsHandedOverTwice() throws {
        let fixture = try RetryFixture(partitions: 2)
        let service = try RetryService.start(fixture.settings, log: .silent)
        #expect(eventually { service.isReady })
        let producer = try fixture.producer()
        let now = Clock.wallMs
        // Records that wait long lie between those that are due.
        for number in 0..<200 {
            let wait: Int64 = number % 10 == 0 ? 12_000 : -1
            try producer.retry(tier: "10s", key: "k\(number)", value: "\(number)", dueMs: now + wait)
        }
        try producer.settle()
        let reader = try fixture.reader(["peal.jobs.normal"])
        #expect(reader.read { reader.count == 180 })
        service.stop()
        let second = try RetryService.start(fixture.settings, log: .silent)
        #expect(reader.read { reader.count >= 200 })
        #expect(Set(reader.seen.map(\.text)).count == 200)
        #expect(reader.count == 200)
        second.stop()
        reader.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test func aServiceThatIsCutOffLosesNothing() throws {
        let fixture = try RetryFixture(partitions: 2)
        let producer = try fixture.producer()
        let count = 3_000
        let now = Clock.wallMs
        for number in 0..<count {
            try producer.retry(
                tier: "1s", key: "k\(number % 97)", value: "\(number)",
                dueMs: now + 4_000 + Int64(number % 1_500),
                origin: "peal.jobs.normal/0/\(number)")
        }
        try producer.settle()
        var settings = fixture.settings
        settings.commitIntervalMs = 50
        let reader = try fixture.reader(["peal.jobs.normal"])
        let first = try RetryService.start(settings, log: .silent)
        #expect(reader.read { reader.count >= 500 })
        first.abandon()
        let second = try RetryService.start(settings, log: .silent)
        #expect(reader.read { Set(reader.seen.map(\.text)).count == count })
        // Second copies carry the same origin and attempt, which is what workers tell them by.
        let identities = Set(reader.seen.map { "\($0.text) \($0.headers)" })
        #expect(identities.count == count)
        second.stop()
        reader.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test func partitionsThatMoveBetweenServicesLoseNothing() throws {
        let fixture = try RetryFixture(partitions: 4)
        let producer = try fixture.producer()
        var settings = fixture.settings
        settings.servedTiers = ["1s"]
        let first = try RetryService.start(settings, log: .silent)
        #expect(eventually { first.isReady })
        let count = 2_000
        let now = Clock.wallMs
        for number in 0..<count {
            try producer.retry(
                tier: "1s", key: "k\(number)", value: "\(number)", dueMs: now + 500 + Int64(number * 5),
                origin: "peal.jobs.normal/0/\(number)")
        }
        try producer.settle()
        let reader = try fixture.reader(["peal.jobs.normal"])
        #expect(reader.read { reader.count >= 50 })
        let second = try RetryService.start(settings, log: .silent)
        // Each learns of its half at a moment of its own.
        #expect(reader.read { [first, second].allSatisfy { $0.snapshot.tiers[0].partitions == 2 } })
        #expect(reader.read { reader.count >= 1_000 })
        first.stop()
        #expect(reader.read(deadlineMs: 60_000) { Set(reader.seen.map(\.text)).count == count })
        #expect(Set(reader.seen.map { "\($0.text) \($0.headers)" }).count == count)
        second.stop()
        reader.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test func aBrokerThatGoesAwayIsWaitedFor() throws {
        let fixture = try RetryFixture(partitions: 1)
        let service = try RetryService.start(fixture.settings, log: .silent)
        #expect(eventually { service.isReady })
        let producer = try fixture.producer()
        let now = Clock.wallMs
        for number in 0..<100 {
            try producer.retry(tier: "1s", key: "k\(number)", value: "\(number)", dueMs: now + 800)
        }
        try producer.settle()
        #expect(eventually { service.snapshot.tiers[0].held > 0 })
        fixture.broker.setAll(isUp: false)
        #expect(eventually { service.snapshot.tiers[0].inFlight > 0 })
        fixture.broker.setAll(isUp: true)
        let reader = try fixture.reader(["peal.jobs.normal"])
        #expect(reader.read(deadlineMs: 60_000) { Set(reader.seen.map(\.text)).count == 100 })
        service.stop()
        reader.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test func metricsAreWellFormed() throws {
        var tier = RetryTierSnapshot(tier: "10s")
        tier.handedOver = 7
        tier.dueErrorMs.record(12)
        var writer = MetricWriter(.text)
        RetrySnapshot(tiers: [tier]).write(to: &writer)
        let text = String(decoding: writer.finish(), as: UTF8.self)
        #expect(text.contains("peal_retry_handed_over_total{tier=\"10s\"} 7\n"))
        #expect(text.contains("peal_retry_due_error_seconds_count{tier=\"10s\"} 1\n"))
        let json = RetrySnapshot(tiers: [tier, tier]).json()
        let object = try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
        #expect((object?["tiers"] as? [[String: Any]])?.last?["handed_over"] as? Int == 7)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            #expect(words.count == 2 && Double(words[1]) != nil)
        }
    }
}
