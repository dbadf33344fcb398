import Configuration
import Decisions
import EventLoop
import Foundation
import Testing

@testable import PealKit
@testable import SimulatorKit

@Suite("The stack's parts")
struct StackPartsTests {
    @Test("A child's end, its signal and its output are known")
    func childProcess() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        defer { Files.removeTree(directory) }
        let quick = try ChildProcess(
            name: "quick", program: "/bin/sh", arguments: ["-c", "echo $WORD; exit 3"],
            environment: ["WORD": "hello"], logPath: directory + "/quick.log")
        #expect(quick.wait(deadlineMs: 10_000))
        #expect(quick.ending == .exited(3))
        #expect(quick.logTail() == "hello")
        let slow = try ChildProcess(
            name: "slow", program: "/bin/sh", arguments: ["-c", "exec sleep 600"],
            logPath: directory + "/slow.log")
        #expect(slow.isRunning)
        #expect(slow.cpuTimeUs != nil)
        let end = Clock.monotonicMs + 60_000
        while slow.residentBytes == 0, Clock.monotonicMs < end { usleep(1_000) }
        #expect((slow.residentBytes ?? 0) > 0)
        #expect(slow.stop(deadlineMs: 10_000) == .signalled(SIGTERM))
        #expect(slow.cpuTimeUs == nil)
    }

    @Test("A child that ignores the request to end is killed")
    func stubbornChild() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        defer { Files.removeTree(directory) }
        let log = directory + "/stubborn.log"
        let child = try ChildProcess(
            name: "stubborn", program: "/bin/sh",
            arguments: ["-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"], logPath: log)
        let end = Clock.monotonicMs + 60_000
        while child.logTail() != "ready", Clock.monotonicMs < end { usleep(2_000) }
        #expect(child.stop(deadlineMs: 100) == .signalled(SIGKILL))
    }

    @Test("A missing program is a clear failure")
    func missingProgram() {
        let failure = #expect(throws: StackFailure.self) {
            try ChildProcess(name: "x", program: "/nowhere/peal-x", arguments: [], logPath: "/dev/null")
        }
        #expect(failure?.code == .program)
        #expect(failure?.message.contains("make build") == true)
    }

    @Test("The watcher kills what it was told of when its input ends")
    func watcher() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        let child = try ChildProcess(
            name: "slow", program: "/bin/sh", arguments: ["-c", "exec sleep 600"], logPath: "/dev/null")
        let kept = try ChildProcess(
            name: "slow", program: "/bin/sh", arguments: ["-c", "exec sleep 600"], logPath: "/dev/null")
        let watcher = try StackWatcher(directory: directory)
        watcher.add(child.processID)
        watcher.add(kept.processID)
        watcher.forget(kept.processID)
        watcher.dropForTest()
        #expect(child.wait(deadlineMs: 10_000))
        #expect(child.ending == .signalled(SIGKILL))
        #expect(kept.isRunning)
        let end = Clock.monotonicMs + 60_000
        while Files.exists(directory), Clock.monotonicMs < end { usleep(2_000) }
        #expect(!Files.exists(directory))
        kept.kill()
    }

    @Test("The configuration that the stack writes is one that the programs take")
    func configuration() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        defer { Files.removeTree(directory) }
        var settings = SimulatorSettings()
        settings.certificateDirectory = directory
        let simulator = try Simulator.start(settings)
        defer { simulator.stop() }
        var options = StackOptions()
        options.settings = [
            "worker": ["shards: 1", "commit_interval: 1s"], "providers.apns": ["connections_max: 2"],
            "providers": ["circuit: {open: 1s}"],
        ]
        for isShort in [true, false] {
            options.hasShortWaits = isShort
            let text = StackConfiguration(
                options: options, brokers: "127.0.0.1:9", redisSocket: "/run/redis.sock",
                endpoints: simulator.endpoints, credentialDirectory: directory,
                keyID: simulator.credentials.keyID, teamID: simulator.credentials.teamID
            ).text(workerPort: 1, retryPort: 2, expandPort: isShort ? 3 : nil)
            let path = directory + "/peal.yaml"
            try Files.write(path: path, text: text)
            let read = try Configuration.load(path: path, environment: [:])
            #expect(read.warnings == [])
            #expect(read.apps.map(\.name) == ["helpdesk", "moonlight", "studio", "vault"])
            #expect(read.apps.allSatisfy { !$0.isLogOnly && $0.apnsSandbox != nil })
            #expect(read.http.gateway == nil && read.gateway.keysFile == nil)
            #expect(read.worker.shards == 1)
            #expect(read.http.expand?.port == (isShort ? 3 : nil))
            #expect(read.worker.commitIntervalMs == 1000)
            #expect(read.retry.delays.serverSlowMs == (isShort ? 500 : 900_000))
            #expect(read.providers.apnsProduction.port == Int(simulator.endpoints.apns ?? 0))
        }
    }
}
