import Core
import Decisions
import EventLoop
import Jobs
import Kafka
import ProducerKit
import Terminal
import Testing

/// Reads everything of the topics into memory.
private final class Reader: KafkaRecordSink {
    struct Copy {
        var topic: String
        var partition: Int32
        var key: String
        var value: String
        var headers: [String: String]
    }

    private let topics: [String]
    var records: [Copy] = []

    init(_ topics: [String]) { self.topics = topics }

    func take(_ record: borrowing KafkaRecord) {
        var headers: [String: String] = [:]
        record.forEachHeader { headers[text($0)] = text($1) }
        records.append(
            Copy(
                topic: topics[Int(record.topic)], partition: record.partition, key: text(record.key),
                value: text(record.value), headers: headers))
    }

    private func text(_ bytes: UnsafeRawBufferPointer?) -> String {
        String(decoding: bytes ?? UnsafeRawBufferPointer(start: nil, count: 0), as: UTF8.self)
    }

    static func readAll(_ broker: EmbeddedBroker, count: Int) throws -> [Copy] {
        let topics = JobPublisher.topics()
        var configuration = KafkaConfiguration.consumer(brokers: broker.bootstrapServers, group: "reader")
        configuration.tuneForEmbeddedBroker()
        let consumer = try KafkaConsumer(configuration, topics: topics)
        let all = topics.indices.flatMap { topic in
            (0..<Int32(2)).map {
                TopicPartitionOffset(
                    topic: Int32(topic), partition: $0, offset: TopicPartitionOffset.beginning)
            }
        }
        try consumer.assign(all)
        let reader = Reader(topics)
        let end = Clock.monotonicMs + 60_000
        while reader.records.count < count, Clock.monotonicMs < end {
            _ = consumer.poll(timeoutMs: 50, maxRecords: 1000, into: reader)
        }
        // One more look: nothing beyond what is expected.
        _ = consumer.poll(timeoutMs: 200, maxRecords: 1000, into: reader)
        consumer.close(deadlineMs: 5000)
        return reader.records
    }
}

private func makeBroker() throws -> EmbeddedBroker {
    try EmbeddedBroker(topics: JobPublisher.topics().map { ($0, 2) })
}

private func withFile<R>(_ text: String, _ body: (String) throws -> R) throws -> R {
    let directory = try Files.makeTemporaryDirectory(prefix: "peal-send")
    defer { Files.removeTree(directory) }
    let path = "\(directory)/jobs.json"
    try Files.write(path: path, text: text)
    return try body(path)
}

private func settings(_ broker: EmbeddedBroker?) -> SendSettings {
    var settings = SendSettings()
    settings.brokers = broker?.bootstrapServers ?? "127.0.0.1:1"
    settings.patienceMs = 20_000
    return settings
}

private func job(_ recipient: String, _ more: String = "") -> String {
    "{\"app\":\"shop\",\"to\":{\"recipient\":\"\(recipient)\"},\"title\":\"t\"\(more)}"
}

@Suite struct SendTests {
    @Test func everyJobOfAFileArrivesOnceWithItsKeyAndAnID() throws {
        let broker = try makeBroker()
        let lines = (0..<500).map { job("user-\($0 % 7)", $0 % 2 == 0 ? ",\"id\":\"given-\($0)\"" : "") }
        let summary = try withFile(lines.joined(separator: "\n")) {
            try JobSender(settings(broker), complain: { _ in }).run([$0])
        }
        #expect(summary.found == 500 && summary.published == 500 && summary.confirmed == 500)
        #expect(summary.exitCode == 0)
        let records = try Reader.readAll(broker, count: 500)
        #expect(records.count == 500)
        #expect(records.allSatisfy { $0.topic == "peal.jobs.normal" && $0.headers.isEmpty })
        #expect(Set(records.map(\.key)) == Set((0..<7).map { "shop/user-\($0)" }))
        // A job that has an id stays as it is; one that has none gets one and nothing else.
        let given = records.filter { $0.value.contains("given-") }
        #expect(Set(given.map(\.value)) == Set(stride(from: 0, to: 500, by: 2).map { lines[$0] }))
        let made = try records.filter { !$0.value.contains("given-") }.map { record -> String in
            let value = try JSONValue.parse(text: record.value)
            let id = try #require(value["id"]?.string)
            #expect(ULID.timestampMs(of: id.utf8) != nil)
            #expect(
                record.value.replacing("\"id\":\"\(id)\",", with: "") == job(String(record.key.dropFirst(5))))
            return id
        }
        #expect(Set(made).count == 250)
        // One recipient's jobs stay in order.
        let ofOne = records.filter { $0.key == "shop/user-3" }
        #expect(Set(ofOne.map(\.partition)).count == 1)
    }

    @Test func anArrayAndALaneOfChoice() throws {
        let broker = try makeBroker()
        var settings = settings(broker)
        settings.lane = 0
        let text = "[\n\(job("a")),\n\(job("b"))\n]"
        let summary = try withFile(text) { try JobSender(settings, complain: { _ in }).run([$0]) }
        #expect(summary.confirmed == 2)
        #expect(
            try Reader.readAll(broker, count: 2).map(\.topic) == ["peal.jobs.urgent", "peal.jobs.urgent"])
    }

    @Test func jobsWithoutARecipientAreKeyedByWhatTheyName() throws {
        let broker = try makeBroker()
        let token = String(repeating: "ab", count: 32)
        let text =
            "{\"app\":\"shop\",\"to\":{\"token\":\"\(token)\",\"platform\":\"ios\",\"environment\":\"sandbox\"},"
            + "\"title\":\"t\"}"
        let everyone = "{\"app\":\"shop\",\"to\":{\"all\":true},\"title\":\"t\"}"
        let audience = "{\"app\":\"shop\",\"to\":{\"topic\":\"news\"},\"title\":\"t\"}"
        let all = [text, everyone, audience].joined(separator: "\n")
        let summary = try withFile(all) { try JobSender(settings(broker), complain: { _ in }).run([$0]) }
        #expect(summary.confirmed == 3)
        let keys = try Reader.readAll(broker, count: 3).map(\.key)
        #expect(Set(keys) == ["shop/\(token)", "shop/*", "shop/news"])
    }

    @Test func aJobWhoseTimeIsToComeWaitsInTheRetryTopicThatFits() throws {
        let broker = try makeBroker()
        let now = Clock.wallMs
        let due = [(-5_000, "peal.jobs.normal"), (30_000, "peal.retry.10s"), (7_200_000, "peal.retry.1h")]
        let lines = due.map {
            job(
                "r\($0.0)", ",\"id\":\"i\($0.0)\",\"send_at\":\"\(Timestamp.rfc3339(ms: now + Int64($0.0)))\""
            )
        }
        let summary = try withFile(lines.joined(separator: "\n")) {
            try JobSender(settings(broker), complain: { _ in }).run([$0])
        }
        #expect(summary.scheduled == 2)
        let records = try Reader.readAll(broker, count: 3)
        #expect(records.count == 3)
        for (index, entry) in due.enumerated() {
            let record = try #require(records.first { $0.key == "shop/r\(entry.0)" })
            #expect(record.topic == entry.1)
            #expect(record.value == lines[index])
            guard entry.0 > 0 else { continue }
            #expect(record.headers["peal-attempt"] == "0")
            #expect(
                record.headers["peal-due-ms"] == String((now + Int64(entry.0)) / 1000 * 1000)
                    || record.headers["peal-due-ms"] == String(now + Int64(entry.0)))
            #expect(record.headers["peal-first-ms"].flatMap { Int64($0) } ?? 0 >= now)
            #expect(record.headers["peal-origin"]?.hasPrefix("peal.jobs.normal/-1/") == true)
        }
        let origins = Set(records.compactMap { $0.headers["peal-origin"] })
        #expect(origins.count == 2)
    }

    @Test func aBadLineEndsTheRunAndWhatCameBeforeIsSent() throws {
        let broker = try makeBroker()
        var said: [String] = []
        let text = "\(job("a"))\n{\"app\":\"shop\"}\n\(job("b"))\n"
        let summary = try withFile(text) { path in
            let summary = try JobSender(settings(broker), complain: { said.append($0) }).run([path])
            #expect(summary.stoppedAt == "\(path):2")
            #expect(said.first?.hasPrefix("\(path):2: ") == true)
            return summary
        }
        #expect(summary.found == 2 && summary.confirmed == 1 && summary.bad == 1)
        #expect(summary.exitCode == 1)
        #expect(try Reader.readAll(broker, count: 1).map(\.key) == ["shop/a"])
    }

    @Test func aBadLineIsLeftOutByChoice() throws {
        let broker = try makeBroker()
        var settings = settings(broker)
        settings.badJob = .skip
        var said: [String] = []
        let bad = (0..<40).map { _ in "{\"app\":\"shop\"}" }
        let text = ([job("a")] + bad + [job("b")]).joined(separator: "\n")
        let summary = try withFile(text) { try JobSender(settings, complain: { said.append($0) }).run([$0]) }
        #expect(summary.found == 42 && summary.confirmed == 2 && summary.bad == 40)
        #expect(summary.exitCode == 0)
        // The first twenty are told, then one line that says so.
        #expect(said.count == 21)
    }

    @Test func aDryRunReadsEverythingAndNeedsNoBroker() throws {
        var settings = settings(nil)
        settings.isDryRun = true
        var said: [String] = []
        let text = "\(job("a"))\nnonsense\n\(job("b"))\n\(job("c", ",\"nope\":1"))\n"
        let summary = try withFile(text) { try JobSender(settings, complain: { said.append($0) }).run([$0]) }
        #expect(summary.found == 4 && summary.published == 2 && summary.bad == 2)
        #expect(said.count == 2)
        #expect(summary.unconfirmed == 0)
        #expect(summary.stoppedAt == nil)
    }

    @Test func anInterruptedRunKnowsWhatIsConfirmed() throws {
        let broker = try makeBroker()
        var settings = settings(broker)
        settings.badJob = .skip
        let stop = StopFlag()
        // The complaint about line 301 stands in for the signal.
        let lines = (1...1000).map { $0 == 301 ? "bad" : job("u\($0)") }
        let summary = try withFile(lines.joined(separator: "\n")) {
            try JobSender(settings, stop: stop, complain: { _ in stop.raise() }).run([$0])
        }
        #expect(summary.isInterrupted)
        #expect(summary.published == 300 && summary.confirmed == 300 && summary.unconfirmed == 0)
        #expect(summary.exitCode == 130)
    }

    @Test func whatAReplacedClientDroppedIsSentAgain() throws {
        let broker = try makeBroker()
        broker.failNext(.produce, with: [.outOfOrderSequence])
        let lines = (0..<300).map { job("u\($0 % 3)", ",\"id\":\"\($0)\"") }
        let summary = try withFile(lines.joined(separator: "\n")) {
            try JobSender(settings(broker), complain: { _ in }).run([$0])
        }
        #expect(summary.published == 300 && summary.confirmed == 300 && summary.failed == 0)
        let records = try Reader.readAll(broker, count: 300)
        #expect(Set(records.map(\.value)) == Set(lines))
    }

    @Test func aBrokerThatIsAwayIsSaidAtTheStart() throws {
        var settings = settings(nil)
        settings.patienceMs = 300
        let failure = try withFile(job("a")) { path in
            #expect(throws: KafkaFailure.self) { try JobSender(settings, complain: { _ in }).run([path]) }
        }
        #expect(failure?.code == .timeout)
    }

    @Test func aFileThatIsNotThereIsNamed() throws {
        var settings = settings(nil)
        settings.isDryRun = true
        var said: [String] = []
        let summary = try JobSender(settings, complain: { said.append($0) }).run(["/nonexistent/x"])
        #expect(summary.exitCode == 1)
        #expect(said.first?.contains("/nonexistent/x") == true)
    }
}

@Suite struct SendCommandTests {
    private func settings(_ words: String...) throws -> SendSettings {
        guard case .run(let arguments) = try ArgumentParser.parse(["send"] + words, for: ProducerCommand.root)
        else {
            throw UsageFailure("no run")
        }
        return try ProducerCommand.settings(arguments)
    }

    @Test func optionsBecomeSettings() throws {
        let all = try settings(
            "-b", "k:1", "-X", "a.b=c", "--lane", "bulk", "--rate=500", "-n", "--on-bad", "skip",
            "--patience", "2s",
            "--topic-prefix", "x", "-q", "file")
        #expect(all.brokers == "k:1")
        #expect(all.properties.map(\.name) == ["a.b"])
        #expect(all.lane == 2 && all.perSecond == 500 && all.isDryRun && all.badJob == .skip)
        #expect(all.patienceMs == 2000 && all.names.prefix == "x" && !all.showsProgress)
        let none = try settings()
        #expect(none.lane == 1 && none.perSecond == 0 && !none.isDryRun && none.badJob == .stop)
    }

    @Test(arguments: ["--rate=0", "--rate=x", "--lane=fast", "--on-bad=ignore", "-Xabc", "--patience=soon"])
    func aWrongOptionIsRefused(word: String) {
        #expect(throws: UsageFailure.self) { try settings(word) }
    }

    @Test func theSummaryIsReadableByPeopleAndPrograms() throws {
        var summary = SendSummary()
        summary.found = 1234
        summary.published = 1200
        summary.confirmed = 1190
        summary.faults = ["malformed": 30, "missing_field": 4]
        summary.failures = ["_MSG_TIMED_OUT": 6]
        summary.scheduled = 5
        summary.bytes = 400_000
        summary.elapsedMs = 2000
        summary.stoppedAt = "a \"b\":7"
        #expect(summary.unconfirmed == 4)
        #expect(
            summary.text() == """
                read         1,234  391 KiB
                bad             34  30 malformed, 4 missing_field
                confirmed    1,190  595/s
                failed           6  6 _MSG_TIMED_OUT
                unconfirmed      4  may or may not be in Kafka
                scheduled        5  of these, waiting for their send_at
                in 2.00 s, stopped at a "b":7

                """)
        let value = try JSONValue.parse(text: summary.json)
        #expect(value["confirmed"]?.integer == 1190)
        #expect(value["stopped_at"]?.string == "a \"b\":7")
        #expect(summary.exitCode == 1)
    }
}
