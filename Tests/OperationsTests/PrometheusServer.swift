import Core
import EventLoop
import Foundation
import HTTPClient

@testable import PealKit

/// A real Prometheus with the rules as shipped, its clock turned faster.
final class PrometheusServer {
    /// An alert that fires.
    struct Alert: Hashable, CustomStringConvertible {
        let name: String
        let severity: String
        let cause: String
        let labels: [String: String]
        let annotations: [String: String]

        var description: String {
            "\(name)\(labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })"
        }
    }

    /// How much faster time goes in the rules: one scrape a second here stands for one every ten.
    static let speed = 10

    private let process: ChildProcess
    private let watcher: StackWatcher
    private let directory: String
    private let port: UInt16
    private let client: HTTPClient

    /// Starts it with nothing to scrape; ``setTargets(_:)`` comes next.
    init() throws {
        directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        port = try Socket.freePort()
        var options = HTTPClientOptions()
        options.totalTimeoutMs = 5_000
        options.proxy = ""
        client = HTTPClient(options)
        let rules = try DeployFiles.text(DeployFiles.rulesPath)
        try Files.write(path: "\(directory)/peal.rules.yml", text: Self.hastened(rules, by: Self.speed))
        try Files.write(path: "\(directory)/prometheus.yml", text: Self.configuration(directory))
        watcher = try StackWatcher(directory: directory)
        let found = try DeployFiles.run(["which", "prometheus"])
        process = try ChildProcess(
            name: "prometheus", program: String(found.output.prefix { $0 != "\n" }),
            arguments: [
                "--config.file=\(directory)/prometheus.yml", "--storage.tsdb.path=\(directory)/data",
                "--web.listen-address=127.0.0.1:\(port)", "--log.level=warn",
            ], logPath: "\(directory)/prometheus.log")
        watcher.add(process.processID)
        let end = Clock.monotonicMs + 60_000
        while get("/-/ready") == nil {
            guard process.isRunning, Clock.monotonicMs < end else {
                throw StackFailure(.program, "prometheus did not start: \(process.logTail())")
            }
            usleep(20_000)
        }
    }

    deinit { stop() }

    func stop() {
        process.kill()
        watcher.forget(process.processID)
        watcher.close()
        Files.removeTree(directory)
    }

    /// The rules with every duration divided. Thresholds and counts stay as they are shipped.
    static func hastened(_ rules: String, by factor: Int) -> String {
        var text = rules.replacing(
            /(\[|offset |(?:for|keep_firing_for): )([0-9]+)([smhd])/
        ) { match in
            let unit = ["s": 1, "m": 60, "h": 3600, "d": 86_400][String(match.3)] ?? 1
            return "\(match.1)\((Int(match.2) ?? 0) * unit * 1000 / factor)ms"
        }
        // How long ago a process may have started to count from zero.
        text.replace("process_start_time_seconds < 60", with: "process_start_time_seconds < \(60 / factor)")
        // The stack's retry topics are the quicker ones.
        text.replace("tier=~\"1s|10s\"", with: "tier=~\"250ms|1s\"")
        return text
    }

    private static func configuration(_ directory: String) -> String {
        let jobs = ["worker", "retry", "gateway", "expand"].map {
            "  - {job_name: peal-\($0), file_sd_configs: [{files: ['\(directory)/\($0).json']}]}\n"
        }
        return """
            global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
            rule_files: [peal.rules.yml]
            scrape_configs:
            \(jobs.joined())
            """
    }

    /// What to scrape, by role; a role that is left out has no targets any more.
    func setTargets(_ ports: [String: [UInt16]]) throws {
        for role in ["worker", "retry", "gateway", "expand"] {
            let targets = (ports[role] ?? []).map { "\"127.0.0.1:\($0)\"" }.joined(separator: ",")
            let path = "\(directory)/\(role).json"
            // A file that is half-written would be read as none.
            try Files.write(path: path + ".new", text: "[{\"targets\":[\(targets)]}]")
            guard rename(path + ".new", path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        }
    }

    /// The alerts that fire now.
    func firing() throws -> [Alert] {
        let data = try data("/api/v1/alerts")
        return (data["alerts"] as? [[String: Any]] ?? []).filter { $0["state"] as? String == "firing" }.map {
            let labels = $0["labels"] as? [String: String] ?? [:]
            return Alert(
                name: labels["alertname"] ?? "", severity: labels["severity"] ?? "",
                cause: labels["cause"] ?? "",
                labels: labels.filter { !["alertname", "severity", "cause"].contains($0.key) },
                annotations: $0["annotations"] as? [String: String] ?? [:])
        }
    }

    /// The value of each series of an expression.
    func values(_ expression: String) throws -> [[String: String]: Double] {
        let allowed = CharacterSet.alphanumerics
        let query = expression.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        let result = try data("/api/v1/query?query=\(query)")["result"] as? [[String: Any]] ?? []
        var values: [[String: String]: Double] = [:]
        for series in result {
            let pair = series["value"] as? [Any]
            values[series["metric"] as? [String: String] ?? [:]] = (pair?.last as? String).flatMap(
                Double.init)
        }
        return values
    }

    /// The only value of an expression; 0 when it has none.
    func value(_ expression: String) throws -> Double { try values(expression).values.first ?? 0 }

    private func data(_ path: String) throws -> [String: Any] {
        guard let body = get(path),
            let document = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
            let data = document["data"] as? [String: Any]
        else { throw StackFailure(.program, "prometheus did not answer \(path): \(process.logTail())") }
        return data
    }

    private func get(_ path: String) -> [UInt8]? {
        let answer = try? client.send(HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)"))
        return answer?.status == 200 ? answer?.body : nil
    }
}
