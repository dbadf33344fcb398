import Core
import EventLoop
import Foundation
import Security
import SimulatorKit
import Testing

@testable import WorkerKit

/// `peal-worker` as an operator runs it: a process that gets signals.
@Suite(.serialized) struct ProcessTests {
    /// The executable that was built beside this test bundle.
    static func executable() throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(fileURLWithPath: own).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("peal-worker")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    static func spawn(_ rig: Rig) throws -> Process {
        let process = Process()
        process.executableURL = try executable()
        process.arguments = ["--config", rig.folder + "/peal.yaml"]
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        return process
    }

    private func jobs(_ count: Int) -> [(key: String, json: String)] {
        (0..<count).map { number in
            (
                key: "shop/t\(number)",
                json:
                    #"{"id":"s-\#(number)","app":"shop","to":{"token":"\#(Tokens.apns(number))","platform":"ios"},"title":"x","data":{"peal_job":"s-\#(number)"}}"#
            )
        }
    }

    @Test func aHangUpReadsTheCredentialsAgainAndEndsNothing() throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let process = try Self.spawn(rig)
        defer { process.terminate() }
        try rig.publishMany(jobs(10))
        #expect(rig.wait(seconds: 60) { rig.simulator.record.summary().jobs == 10 })
        let key = try ES256PrivateKey.generate()
        let old = rig.simulator.credentials
        try Files.write(path: rig.folder + "/key.p8", text: key.pem())
        // From now on the simulator knows the new key alone.
        rig.simulator.setKeys([
            APNsKey(keyID: old.keyID, teamID: old.teamID, publicKey: try key.publicKey())
        ])
        kill(process.processIdentifier, SIGHUP)
        // Jobs that still met the old key wait for half a minute; a later one goes by the new key.
        var number = 9
        let isAccepted = try rig.wait(seconds: 90) {
            number += 1
            try rig.publish(
                #"{"id":"h-\#(number)","app":"shop","to":{"token":"\#(Tokens.apns(number))","platform":"ios"},"title":"x"}"#,
                key: "shop/h\(number)")
            return rig.wait(seconds: 0.5) {
                rig.simulator.record.requests(token: Tokens.apns(number)).contains { $0.status == 200 }
            }
        }
        #expect(isAccepted)
        #expect(process.isRunning)
    }

    @Test func aKilledWorkerLosesNothing() throws {
        let rig = try Rig(startsWorker: false, simulated: { $0.delayMs = 10 })
        defer { rig.stop() }
        let first = try Self.spawn(rig)
        try rig.publishMany(jobs(6000))
        #expect(rig.wait { rig.simulator.record.count >= 1000 })
        kill(first.processIdentifier, SIGKILL)
        first.waitUntilExit()
        let before = rig.settledRequestCount()
        let second = try Self.spawn(rig)
        defer { second.terminate() }
        #expect(rig.wait(seconds: 60) { rig.simulator.record.summary().jobs == 6000 })
        // What was repeated can only be what the first one had sent and not committed.
        #expect(rig.simulator.record.summary().duplicates <= before)
    }

    @Test func aTerminatedWorkerEndsInTimeAndRepeatsNothing() throws {
        let rig = try Rig(startsWorker: false, simulated: { $0.delayMs = 10 })
        defer { rig.stop() }
        let first = try Self.spawn(rig)
        try rig.publishMany(jobs(6000))
        #expect(rig.wait { rig.simulator.record.count >= 500 })
        first.terminate()
        #expect(rig.wait(seconds: 30) { !first.isRunning })
        #expect(first.terminationStatus == 0)
        let second = try Self.spawn(rig)
        defer { second.terminate() }
        #expect(rig.wait(seconds: 60) { rig.simulator.record.summary().jobs == 6000 })
        #expect(rig.simulator.record.summary().duplicates == 0)
    }

    @Test func aHungProviderDoesNotHoldTheExitUp() throws {
        let rig = try Rig(
            worker: "  drain_deadline: 2s", startsWorker: false, simulated: { $0.delayMs = 600_000 })
        defer { rig.stop() }
        let worker = try Self.spawn(rig)
        try rig.publishMany(jobs(500))
        #expect(rig.wait { rig.simulator.stats()?.requests ?? 0 > 0 || rig.simulator.record.count > 0 })
        worker.terminate()
        let asked = Clock.monotonicMs
        #expect(rig.wait(seconds: 30) { !worker.isRunning })
        // The drain, leaving the group on the embedded broker and the watchdog's own limit.
        #expect(Clock.monotonicMs - asked < 20_000)
    }

    @Test func whatIsWrongWithTheConfigurationIsSaidAtOnce() throws {
        let process = Process()
        process.executableURL = try Self.executable()
        process.arguments = ["--config", "/nonexistent.yaml"]
        let pipe = Pipe()
        process.standardError = pipe
        try process.run()
        process.waitUntilExit()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(process.terminationStatus == 78)
        #expect(text.contains("/nonexistent.yaml"))
    }
}
