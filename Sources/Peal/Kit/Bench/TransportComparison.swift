internal import Core
internal import EventLoop
internal import Terminal

/// What one shape of connections and streams came to: medians of both sides, and the ratios of neighbours.
struct TransportResult: Sendable {
    let shape: BenchOptions.Shape
    let peal: TransportSample
    let h2load: TransportSample
    let rateRatios: [Double]
    let cpuRatios: [Double]

    /// The medians of the ratios.
    var rateRatio: Double { Statistics.median(rateRatios) }
    var cpuRatio: Double { Statistics.median(cpuRatios) }
}

/// What two sessions of Peal's client came to, the first one's figures divided by the second one's.
struct SessionResult: Sendable {
    let names: (first: String, second: String)
    let first: TransportSample
    let second: TransportSample
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

    /// Two sessions of Peal's client in turns, with the first shape of the options.
    func compareSessions(
        _ first: String, _ second: String, say: (String) -> Void
    ) throws(StackFailure) -> SessionResult {
        let shape = options.shapes.first ?? .init(connections: 1, streams: 100)
        let pairs = try Turns.run(
            pairs: options.pairs,
            { (isWarmUp) throws(StackFailure) in
                try ours(shape, requests: options.requests / (isWarmUp ? 10 : 1), session: first)
            },
            { (isWarmUp) throws(StackFailure) in
                try ours(shape, requests: options.requests / (isWarmUp ? 10 : 1), session: second)
            },
            tell: { number, pair in
                say(
                    "transport \(number)/\(options.pairs): \(first) \(Self.text(pair.0)),"
                        + " \(second) \(Self.text(pair.1))")
            })
        return SessionResult(
            names: (first, second), first: Self.median(pairs.map(\.0)), second: Self.median(pairs.map(\.1)),
            rateRatio: Statistics.median(Statistics.ratios(pairs) { $0.requestsPerSecond }),
            cpuRatio: Statistics.median(Statistics.ratios(pairs) { $0.cpuUs }))
    }

    private func compare(
        _ shape: BenchOptions.Shape, _ load: LoadGenerator, _ say: (String) -> Void
    ) throws(StackFailure) -> TransportResult {
        let requests = self.requests(shape)
        let pairs = try Turns.run(
            pairs: options.pairs,
            { (isWarmUp) throws(StackFailure) in
                try ours(shape, requests: isWarmUp ? max(1_000, requests / 10) : requests)
            },
            { (isWarmUp) throws(StackFailure) in
                try load.run(shape, requests: isWarmUp ? max(1_000, requests / 10) : requests)
            },
            tell: { number, pair in
                say(
                    "transport \(shape.connections) x \(shape.streams) \(number)/\(options.pairs):"
                        + " h2load \(Self.text(pair.1)), peal \(Self.text(pair.0))")
            })
        return TransportResult(
            shape: shape, peal: Self.median(pairs.map(\.0)), h2load: Self.median(pairs.map(\.1)),
            rateRatios: Statistics.ratios(pairs) { $0.requestsPerSecond },
            cpuRatios: Statistics.ratios(pairs) { $0.cpuUs })
    }

    /// A few streams wait for each other's answers, so fewer requests take as long.
    private func requests(_ shape: BenchOptions.Shape) -> Int {
        let streams = shape.connections * shape.streams
        return max(1_000, streams < 100 ? options.requests / 4 : options.requests)
    }

    /// One run of Peal's client.
    /// - Throws: `.program` when it fails or not every request succeeded.
    func ours(
        _ shape: BenchOptions.Shape, requests: Int, session: String = TransportClient.sessions[0]
    ) throws(StackFailure) -> TransportSample {
        let run = try MeasuredRun(
            TransportClient.words(
                port: simulator.apnsPort, caFile: simulator.caFile, shape: shape, requests: requests,
                bodyBytes: options.bodyBytes, session: session),
            logPath: "\(directory)/transport.log", deadlineMs: options.runDeadlineMs)
        guard let value = try? JSONValue.parse(text: run.output), let rate = value["requests_per_s"]?.integer
        else { throw StackFailure(.program, "the transport run says: \(run.output)") }
        return TransportSample(requestsPerSecond: Double(rate), cpuUs: run.cpuUs / Double(requests))
    }

    static func median(_ samples: [TransportSample]) -> TransportSample {
        TransportSample(
            requestsPerSecond: Statistics.median(samples.map(\.requestsPerSecond)),
            cpuUs: Statistics.median(samples.map(\.cpuUs)))
    }

    static func text(_ sample: TransportSample) -> String {
        "\(Human.rate(sample.requestsPerSecond)) \(Human.decimal(sample.cpuUs, places: 2)) us"
    }
}
