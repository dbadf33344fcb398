internal import Core
internal import EventLoop

/// One measured run of a client.
struct TransportSample: Sendable {
    let requestsPerSecond: Double
    let cpuUs: Double
}

/// h2load, given the headers and the body size that Peal sends.
struct LoadGenerator {
    private let directory: String
    private let options: BenchOptions
    private let pathsPath: String
    private let bodyPath: String
    /// The distinct paths that h2load goes through again and again.
    private static let pathCount = 8192

    /// Looks for h2load and writes the body that it sends.
    /// - Throws: `.program` when h2load is not installed.
    init(directory: String, simulator: BenchSimulator, options: BenchOptions) throws(StackFailure) {
        self.directory = directory
        self.options = options
        bodyPath = "\(directory)/h2load.body"
        pathsPath = "\(directory)/h2load.paths"
        // Device tokens differ in production, and the server pays for that: it must do so on both sides.
        let addresses = (0..<Self.pathCount).map { number in
            let token = Hex.encode(
                (0..<32).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0 &* 7 &+ number >> 8) })
            return "https://127.0.0.1:\(simulator.apnsPort)/3/device/\(token)\n"
        }
        do throws(SystemFailure) {
            try Files.write(path: pathsPath, text: addresses.joined())
            try Files.write(path: bodyPath, text: String(repeating: "x", count: options.bodyBytes))
        } catch {
            throw StackFailure(.files, "\(error)")
        }
        do throws(StackFailure) {
            _ = try MeasuredRun(
                ["h2load", "--version"], logPath: "\(directory)/h2load.log", deadlineMs: 10_000)
        } catch {
            throw StackFailure(
                .program, "h2load, the yardstick, can't be run; install it (Debian: nghttp2-client)")
        }
    }

    /// One run; its requests are shared out among the connections.
    /// - Throws: `.program` when it fails or not every request was answered with 2xx.
    func run(_ shape: BenchOptions.Shape, requests: Int) throws(StackFailure) -> TransportSample {
        let streams = "\(shape.streams)"
        let fields = TransportClient.constantFields + [("apns-id", "5d2f3a1e-0c4b-4b6e-9f55-9b2f7c1d8e90")]
        let run = try MeasuredRun(
            [
                "h2load", "-n", "\(requests)", "-c", "\(shape.connections)", "-m", streams, "-t", "1",
                "-d", bodyPath, "-i", pathsPath,
            ] + fields.flatMap { ["-H", "\($0.0): \($0.1)"] },
            logPath: "\(directory)/h2load.log", deadlineMs: options.runDeadlineMs)
        guard let rate = Self.rate(run.output), Self.succeeded(run.output) == requests else {
            throw StackFailure(.program, "h2load did not finish well; it says:\n\(run.output.suffix(2_000))")
        }
        return TransportSample(requestsPerSecond: rate, cpuUs: run.cpuUs / Double(requests))
    }

    /// The requests a second in `finished in 1.79s, 167000.12 req/s, 12.5MB/s`.
    static func rate(_ output: String) -> Double? {
        for line in output.split(separator: "\n") where line.hasPrefix("finished in ") {
            let parts = line.split(separator: ",")
            guard parts.count > 1, let word = parts[1].split(separator: " ").first else { return nil }
            return Double(word)
        }
        return nil
    }

    /// The answers with 2xx in `status codes: 300000 2xx, 0 3xx, 0 4xx, 0 5xx`.
    static func succeeded(_ output: String) -> Int? {
        for line in output.split(separator: "\n") where line.hasPrefix("status codes: ") {
            return line.dropFirst("status codes: ".count).split(separator: " ").first.flatMap { Int($0) }
        }
        return nil
    }
}
