import Core
import EventLoop
import Foundation
import Redis
import Registry
import TestSupport
import Testing

/// Log levels of the four services while they run as processes.
@Suite(.serialized) struct LogProcessTests {
    private func spawn(_ words: [String], _ rig: Rig, log: String) throws -> Process {
        let process = Process()
        process.executableURL = try ProcessTests.executable().deletingLastPathComponent()
            .appendingPathComponent(words[0])
        process.arguments = words.dropFirst() + ["--config", rig.folder + "/peal.yaml"]
        process.environment = [
            "PEAL_HTTP_GATEWAY": "127.0.0.1:0", "PEAL_GATEWAY_OPEN": "true", "PEAL_HTTP_EXPAND": "off",
        ]
        try Files.write(path: log, text: "")
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try process.run()
        return process
    }

    @Test func allServicesFollowTheConfigurationAndAnOrder() throws {
        let rig = try Rig(startsWorker: false)
        defer { rig.stop() }
        let services = [
            ["peal-worker"], ["peal-retry"], ["peal-producer", "serve"], ["peal-producer", "expand"],
        ]
        let logs = services.map { rig.folder + "/" + $0.joined(separator: "-") + ".log" }
        let processes = try zip(services, logs).map { try spawn($0, rig, log: $1) }
        defer {
            for process in processes { process.terminate() }
            for process in processes { process.waitUntilExit() }
        }
        /// Waits until every service has said so.
        func says(_ words: String, not: Int? = nil) throws {
            for (index, log) in logs.enumerated() where index != not {
                let isSaid = rig.wait(seconds: 60) {
                    (try? Files.readText(path: log))?.contains(words) == true
                }
                #expect(isSaid, "\(services[index]) does not say: \(words)")
            }
        }
        try says(".started\"")
        try rig.rewriteConfiguration("topics:", "log: {levels: {kafka: error}}\ntopics:")
        for process in processes { kill(process.processIdentifier, SIGHUP) }
        try says("The configured log levels are now info,kafka=error.")
        // By an order, which ends by itself.
        var options = RedisClientOptions.patient(rig.redis.endpoint)
        options.scripts = ControlStore.scripts
        let store = ControlStore(session: try RedisSession(options: options))
        let now = try store.nowMs()
        _ = try store.set(LogOrder(.delivery, .debug, untilMs: now + 4_000, atMs: now, by: "ann"))
        try says("Log levels are ordered: delivery=debug for ")
        try says("No log level is ordered any more; the configured ones hold: info,kafka=error.")
        // A mistake changes nothing and ends nothing; a worker says it in its own words.
        try rig.rewriteConfiguration("{kafka: error}", "{kafak: error}")
        for process in processes { kill(process.processIdentifier, SIGHUP) }
        try says("unknown key 'log.levels.kafak'")
        try says("\"config.refused\"", not: 0)
        #expect(processes.allSatisfy { $0.isRunning })
    }
}
