internal import Core
internal import EventLoop
internal import Terminal

/// What one shape of connections and streams came to: medians of both sides and of the ratios of neighbours.
struct TransportResult: Sendable {
    let shape: BenchOptions.Shape
    let peal: TransportSample
    let h2load: TransportSample
    let rateRatio: Double
    let cpuRatio: Double
}

/// Runs h2load and Peal's transport in turns against one simulator.
struct TransportComparison {
    let options: BenchOptions
    let directory: String
    let simulator: BenchSimulator

    /// Every shape, one after the other.
    func run(_ load: LoadGenerator, say: (String) -> Void) throws(StackFailure) -> [TransportResult] {
        var results: [TransportResult] = []
        for shape in options.shapes { results.append(try compare(shape, load, say)) }
        return results
    }

    private func compare(
        _ shape: BenchOptions.Shape, _ load: LoadGenerator, _ say: (String) -> Void
    ) throws(StackFailure) -> TransportResult {
        let warmUp = max(1_000, options.requests / 10)
        _ = try load.run(shape, requests: warmUp)
        _ = try ours(shape, requests: warmUp)
        var theirs: [TransportSample] = []
        var mine: [TransportSample] = []
        for pair in 0..<options.pairs {
            // Who goes first changes, so that a drift of the machine's speed favours neither.
            if pair % 2 == 0 {
                theirs.append(try load.run(shape, requests: options.requests))
                mine.append(try ours(shape, requests: options.requests))
            } else {
                mine.append(try ours(shape, requests: options.requests))
                theirs.append(try load.run(shape, requests: options.requests))
            }
            say(
                "transport \(shape.connections) x \(shape.streams) \(pair + 1)/\(options.pairs):"
                    + " h2load \(Self.text(theirs[pair])), peal \(Self.text(mine[pair]))")
        }
        let rates = zip(mine, theirs).map { $0.requestsPerSecond / max(1, $1.requestsPerSecond) }
        let costs = zip(mine, theirs).map { $0.cpuUs / max(1e-9, $1.cpuUs) }
        return TransportResult(
            shape: shape, peal: Self.median(mine), h2load: Self.median(theirs),
            rateRatio: Statistics.median(rates), cpuRatio: Statistics.median(costs))
    }

    private func ours(_ shape: BenchOptions.Shape, requests: Int) throws(StackFailure) -> TransportSample {
        let run = try MeasuredRun(
            TransportClient.words(
                port: simulator.apnsPort, caFile: simulator.caFile, shape: shape, requests: requests,
                bodyBytes: options.bodyBytes),
            logPath: "\(directory)/transport.log", deadlineMs: options.runDeadlineMs)
        guard let value = try? JSONValue.parse(text: run.output), let rate = value["requests_per_s"]?.integer
        else { throw StackFailure(.program, "the transport run says: \(run.output)") }
        return TransportSample(requestsPerSecond: Double(rate), cpuUs: run.cpuUs / Double(requests))
    }

    private static func median(_ samples: [TransportSample]) -> TransportSample {
        TransportSample(
            requestsPerSecond: Statistics.median(samples.map(\.requestsPerSecond)),
            cpuUs: Statistics.median(samples.map(\.cpuUs)))
    }

    static func text(_ sample: TransportSample) -> String {
        "\(Human.rate(sample.requestsPerSecond)) \(Human.decimal(sample.cpuUs, places: 2)) us"
    }
}

/// Sums over runs.
enum Statistics {
    /// The middle of the values, the mean of the two in the middle of an even number; 0 of none.
    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}
