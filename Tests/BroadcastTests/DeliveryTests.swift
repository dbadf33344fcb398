import Core
import Foundation
import Kafka
import Redis
import Registry
import Testing
import WorkerKit

/// A broadcast from its job to the devices: a worker, the stage as a process of its own, and APNs' double.
@Suite struct DeliveryTests {
    /// The program beside the test's own executable.
    private func program() throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let url = URL(fileURLWithPath: own).deletingLastPathComponent()
            .appendingPathComponent("peal-producer")
        try #require(FileManager.default.isExecutableFile(atPath: url.path), "build peal-producer first")
        return url
    }

    private func launch(_ configuration: String) throws -> Process {
        let process = Process()
        process.executableURL = try program()
        process.arguments =
            ["expand", "--config", configuration, "--log-level", "error"]
            + BroadcastFixture.session.flatMap { ["-X", "\($0.name)=\($0.value)"] }
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    @Test(arguments: [
        (["--confg", "x"], "did you mean --config?", Int32(64)),
        (["--http", "nowhere"], "--http takes host:port or off", 64),
        (["--http", "999.1.1.1:80"], "is not a numeric address", 1),
        (["--log-level", "loud"], "there is no log level \"loud\"", 64),
        (["-X", "group.instance.id"], "--property takes name=value", 64),
        (["-X", "enable.auto.commit=true"], "managed by Peal", 1),
        (["--config", "/nowhere/peal.yaml"], "there is no such file", 78),
    ])
    func aWrongCallEndsWithOneSentence(arguments: [String], sentence: String, status: Int32) throws {
        let process = Process()
        process.executableURL = try program()
        process.arguments =
            ["expand"] + arguments + (arguments.contains("--http") ? [] : ["--http", "off"])
        let pipe = Pipe()
        process.standardError = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text.contains(sentence))
        #expect(process.terminationStatus == status)
    }

    private static let job = #"{"app":"shop","to":{"topic":"news"},"id":"sale","body":"Hi","unread":1}"#

    @Test func everyFollowerIsSentOnePushAlthoughTheStageIsKilledAgainAndAgain() throws {
        let rig = try DeliveryRig()
        defer { rig.stop() }
        let (fixture, folder) = (rig.fixture, rig.folder)
        let count = 4_000
        try fixture.follow("news", count: count)
        try rig.register(count: count)
        let worker = try rig.startWorker()
        var process = try launch(folder + "/peal.yaml")
        try fixture.publish(fixture.names.jobs(lane: "normal"), Self.job)
        var kills = 0
        for goal in [500, 2_000] {
            let isUnderWay = try fixture.wait { try fixture.status("sale")?.recipients ?? 0 >= Int64(goal) }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            try #require(isUnderWay)
            if try fixture.status("sale")?.state == .running { kills += 1 }
            process = try launch(folder + "/peal.yaml")
        }
        // The kills came in the middle, or this test would show nothing.
        #expect(kills == 2)
        #expect(try fixture.wait(for: .done, of: "sale"))
        #expect(try fixture.status("sale")?.recipients == Int64(count))
        // Redis forgets the broadcast and it comes once more: every recipient has a second record now.
        _ = try fixture.session.command("DEL", "peal:cast:{shop:sale}")
        try fixture.publish(fixture.names.jobs(lane: "normal"), Self.job)
        #expect(try fixture.wait(for: .done, of: "sale"))
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)

        // Every record of the lane is done with, the copies too.
        let records = try fixture.read(fixture.names.jobs(lane: "bulk"), atLeast: 2 * count)
        #expect(records.count >= 2 * count && Set(records.map(\.key)).count == count)
        let inspector = try KafkaInspector(
            KafkaConfiguration.tool(brokers: fixture.broker.bootstrapServers, group: "peal-worker.bulk"))
        defer { inspector.close() }
        #expect(
            try fixture.wait {
                try inspector.committed(
                    topic: "peal.jobs.bulk", partitions: BroadcastFixture.partitions, timeoutMs: 30_000
                ).reduce(0) { $0 + ($1 ?? 0) } == Int64(records.count)
            })
        let seen = rig.pushes
        #expect(seen.count == count)
        #expect(seen.values.allSatisfy { $0 == 1 })
        #expect(worker.outcomes["accepted"] == UInt64(count))
        #expect(worker.outcomes.values.reduce(0, +) == UInt64(count))
        // Copies aren't counted either.
        #expect(try rig.directory().unread(of: "user-8") == 1)
    }
}
