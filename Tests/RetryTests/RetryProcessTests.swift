import Core
import EventLoop
import Foundation
import Kafka
import Logging
import RetryKit
import Testing

/// The built program in processes of its own.
@Suite(.serialized) struct RetryProcessTests {
    /// The program beside the test's own executable.
    private func program() throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let url = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("peal-retry")
        try #require(FileManager.default.isExecutableFile(atPath: url.path), "build peal-retry first")
        return url
    }

    private func launch(_ fixture: RetryFixture) throws -> Process {
        let process = Process()
        process.executableURL = try program()
        process.arguments =
            [
                "--brokers", fixture.broker.bootstrapServers, "--tiers", "1s", "--http", "off", "--log-level",
                "error",
            ]
            + ["session.timeout.ms=6000", "heartbeat.interval.ms=1000", "fetch.wait.max.ms=10"].flatMap {
                ["-X", $0]
            }
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    @Test func aProcessThatIsKilledLosesNothingAndASignalEndsTheNextOneCleanly() throws {
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
        let reader = try fixture.reader(["peal.jobs.normal"])
        let first = try launch(fixture)
        let isUnderWay = reader.read { reader.count >= 300 }
        kill(first.processIdentifier, SIGKILL)
        first.waitUntilExit()
        #expect(isUnderWay)
        #expect(first.terminationReason == .uncaughtSignal)
        let second = try launch(fixture)
        #expect(reader.read(deadlineMs: 60_000) { Set(reader.seen.map(\.text)).count == count })
        // Second copies carry the same origin and attempt, which is what workers tell them by.
        #expect(Set(reader.seen.map { "\($0.text) \($0.headers)" }).count == count)
        let total = reader.count
        second.terminate()
        second.waitUntilExit()
        #expect(second.terminationReason == .exit && second.terminationStatus == 0)
        // The clean stop committed everything: a third one finds nothing to do.
        let inspector = try KafkaInspector(
            KafkaConfiguration.tool(brokers: fixture.broker.bootstrapServers, group: "peal-retry-1s"))
        let committed = try inspector.committed(topic: "peal.retry.1s", partitions: 2, timeoutMs: 10_000)
        #expect(committed.reduce(0) { $0 + ($1 ?? 0) } == Int64(count))
        #expect(reader.count == total)
        inspector.close()
        reader.close()
        producer.close(deadlineMs: 1_000)
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/kcat"), "kcat is not installed"))
    func aForeignRecordWithTooManyHeadersKeepsItsBookkeeping() throws {
        let fixture = try RetryFixture(partitions: 1)
        let service = try RetryService.start(fixture.settings, log: .silent)
        var arguments = ["-P", "-b", fixture.broker.bootstrapServers, "-t", "peal.retry.1s", "-K", "|"]
        for number in 0..<40 { arguments += ["-H", "x-\(number)=\(number)"] }
        arguments += [
            "-H", "peal-due-ms=1000", "-H", "peal-attempt=2", "-H", "peal-origin=peal.jobs.bulk/0/9",
        ]
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/kcat")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
        pipe.fileHandleForWriting.write(Data("shop/u|value\n".utf8))
        try pipe.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let reader = try fixture.reader(["peal.jobs.bulk"])
        #expect(reader.read { reader.count == 1 })
        let headers = reader.seen.first?.headers ?? []
        #expect(headers.count == 32)
        #expect(
            headers.prefix(3) == ["peal-due-ms=1000", "peal-attempt=2", "peal-origin=peal.jobs.bulk/0/9"])
        #expect(headers.suffix(29) == (0..<29).map { "x-\($0)=\($0)" })
        service.stop()
        #expect(service.snapshot.tiers[0].headersCut == 11)
        reader.close()
    }

    @Test(arguments: [
        (["--tierz"], "did you mean --tiers?", Int32(64)), (["--tiers", "3s"], "--tiers names \"3s\"", 64),
        (["--http", "nowhere"], "--http takes host:port or off", 64),
        (["--log-level", "loud"], "there is no log level \"loud\"", 64),
        (["-X", "group.instance.id"], "--property takes name=value", 64),
        (["-X", "enable.auto.commit=true"], "managed by Peal", 1),
        (["--config", "/nowhere/peal.yaml"], "there is no such file", 78),
    ])
    func aWrongCallEndsWithOneSentence(arguments: [String], sentence: String, status: Int32) throws {
        let process = Process()
        process.executableURL = try program()
        process.arguments = arguments + (arguments.contains("--http") ? [] : ["--http", "off"])
        let pipe = Pipe()
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text.contains(sentence))
        #expect(process.terminationStatus == status)
    }
}
