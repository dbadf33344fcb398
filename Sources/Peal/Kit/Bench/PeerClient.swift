internal import Core
internal import EventLoop

/// aioapns in an environment of its own below the bench's directory.
final class PeerClient {
    /// The event loops that it can run on; uvloop only where that could be installed.
    private(set) var loops: [String] = []

    private let directory: String
    private let simulator: BenchSimulator
    private let options: BenchOptions
    private var script: String { "\(directory)/peer.py" }
    private var python: String { "\(directory)/python/bin/python" }
    private var logPath: String { "\(directory)/peer.log" }

    init(directory: String, simulator: BenchSimulator, options: BenchOptions) {
        self.directory = directory
        self.simulator = simulator
        self.options = options
    }

    /// What it said last.
    var logTail: String { String(((try? Files.readText(path: logPath)) ?? "").suffix(2_000)) }

    /// Nothing is left in the user's cache, and a missing network is found out soon.
    private static let pip = ["--quiet", "--no-cache-dir", "--retries", "1", "--timeout", "10"]

    /// Makes the environment and installs the packages from PyPI.
    /// - Throws: in one line, what is missing: Python, its venv module, or the package index.
    func install() throws(StackFailure) {
        do throws(SystemFailure) { try Files.write(path: script, text: PeerScript.text) } catch {
            throw StackFailure(.files, "\(error)")
        }
        try attempt(["python3", "--version"], "python3 can't be run; install it (Debian: python3-venv)")
        try attempt(
            ["python3", "-m", "venv", "\(directory)/python"],
            "python3 can't make an environment; install what it needs (Debian: python3-venv)")
        try attempt(
            [python, "-m", "pip", "install"] + Self.pip + ["aioapns"],
            "pip could not install aioapns; it needs the package index (PyPI)")
        loops = ["asyncio"]
        let hasFastLoop: Void? = try? attempt(
            [python, "-m", "pip", "install"] + Self.pip + ["uvloop"], "")
        if hasFastLoop != nil { loops.append("uvloop") }
    }

    private func attempt(_ words: [String], _ problem: String) throws(StackFailure) {
        do throws(StackFailure) {
            _ = try MeasuredRun(words, logPath: logPath, deadlineMs: 180_000)
        } catch {
            throw StackFailure(.program, problem)
        }
    }

    /// One run.
    /// - Throws: `.program` when it fails or not every request was accepted.
    func run(_ setting: PeersPart.Setting, requests: Int) throws(StackFailure) -> PeersPart.Sample {
        let numbers = [requests, setting.inFlight, options.bodyBytes].map { "\($0)" }
        let run = try MeasuredRun(
            [
                python, script, "127.0.0.1", "\(simulator.apnsPort)", simulator.caFile,
                "\(simulator.credentialDirectory)/apns-key.p8", "ABC123DEFG", "TEAM123456",
                "com.example.shop",
            ] + numbers + [setting.loop], logPath: logPath, deadlineMs: options.runDeadlineMs)
        guard let sample = Self.sample(run.output, requests: requests) else {
            throw StackFailure(.program, "aioapns did not finish well; it says:\n\(run.output.suffix(2_000))")
        }
        return sample
    }

    /// What the script printed; nil when not every request was accepted.
    static func sample(_ output: String, requests: Int) -> PeersPart.Sample? {
        guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("{") }),
            let value = try? JSONValue.parse(text: String(line)),
            value["succeeded"]?.integer == Int64(requests), let us = value["us"]?.integer, us > 0,
            let cpuUs = value["cpu_us"]?.integer, let connections = value["connections"]?.integer
        else { return nil }
        return PeersPart.Sample(
            requestsPerSecond: Double(requests) * 1e6 / Double(us), cpuUs: Double(cpuUs) / Double(requests),
            connections: Int(clamping: connections), version: value["version"]?.string ?? "",
            python: value["python"]?.string ?? "")
    }
}
