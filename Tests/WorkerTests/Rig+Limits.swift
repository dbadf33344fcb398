import Configuration
import Core
import EventLoop
import Foundation
import Logging
import Redis
import Registry
import SimulatorKit
import TestSupport
import Testing

@testable import WorkerKit

extension Rig {
    /// The usual app with further settings, each on a line of its own.
    static func shop(_ lines: String...) -> String {
        let standard = SimulatorSettings()
        let usual = [
            "apns: {key_file: key.p8, key_id: \(standard.keyID), team_id: \(standard.teamID), "
                + "topic: com.example.shop, both_environments: true}",
            "fcm: {service_account_file: account.json}",
        ]
        return "  shop:\n" + (usual + lines).map { "    \($0)" }.joined(separator: "\n")
    }

    /// Another worker on the same broker and Redis.
    func startAnother(_ change: (inout Settings) -> Void = { _ in }) throws -> WorkerService {
        var other = settings
        other.http.worker = nil
        change(&other)
        let sink = LogSink(descriptor: 2, format: .json)
        return try WorkerService.start(
            other, log: Logger("other", sink: sink, levels: LogLevels(standard: .error)))
    }

    /// A number out of the worker's outcomes.
    func outcome(_ name: String) -> UInt64 { worker?.outcomes[name] ?? 0 }

    /// The jobs that reached a provider, by their marker.
    var sentJobs: [String] {
        var jobs: [String] = []
        simulator.record.forEach { if $0.status == 200 { jobs.append($0.job) } }
        return jobs.sorted()
    }

    /// The members of the outcome events.
    func outcomeEvents() throws -> [JSONValue] {
        try read("peal.outcomes").map { try JSONValue.parse(text: String(decoding: $0.value, as: UTF8.self)) }
    }
}

extension Rig {
    /// A blocking session with the registry's scripts.
    func openSession() throws -> RedisSession {
        try .patient(redis.endpoint, scripts: RegistryScripts.all)
    }
}
