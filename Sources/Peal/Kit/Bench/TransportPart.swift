internal import Terminal

/// `peal bench transport`: Peal's HTTP/2 client against h2load.
enum TransportPart: BenchPart {
    static let name = "transport"
    static let summary = "the HTTP/2 client against h2load"

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        try Bench.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            let generator = try LoadGenerator(directory: directory, simulator: simulator, options: options)
            let bench = TransportComparison(options: options, directory: directory, simulator: simulator)
            let results = try bench.run(generator, say: say)
            let names = TransportClient.sessions
            return findings(
                results,
                sessions: names.count > 1 ? try bench.compareSessions(names[0], names[1], say: say) : nil)
        }
    }

    /// What the results come to; `sessions` is nil where the client has one session only.
    static func findings(_ results: [TransportResult], sessions: SessionResult? = nil) -> BenchFindings {
        var out = BenchFindings()
        for (shape, prefix) in [(100, "transport"), (1000, "transport_1000")] {
            guard let row = results.first(where: { $0.shape == .init(connections: 1, streams: shape) }) else {
                continue
            }
            let title = "transport, \(shape) streams: "
            out.add(
                "\(prefix)_rps_ratio", row.rateRatio, places: 3,
                target: title + "requests/s against h2load", .atLeast(1.1), unit: "x")
            out.add(
                "\(prefix)_cpu_ratio", row.cpuRatio, places: 3,
                target: title + "CPU a request against h2load", .atMost(0.9), unit: "x")
        }
        out.add("transport", objects: results.map { object($0) })
        out.sections = [
            .init(title: "HTTP/2 transport, medians of h2load and Peal in turns", table: table(results))
        ]
        out.plots = plots(results)
        if let sessions { add(sessions, to: &out) }
        return out
    }

    private static func add(_ result: SessionResult, to out: inout BenchFindings) {
        let (first, second) = result.names
        out.add(
            "session_cpu_ratio", result.cpuRatio, places: 3,
            target: "transport, 100 streams: CPU of the \(first) session against \(second)'s",
            .atMost(0.5), unit: "x")
        out.add("session_rps_ratio", result.rateRatio, places: 3)
        var table = TextTable([
            .init("session"), .init("requests", .right), .init("CPU a request", .right),
        ])
        for (name, sample) in [(first, result.first), (second, result.second)] {
            table.add([name, Human.rate(sample.requestsPerSecond), us(sample.cpuUs)])
        }
        table.add([
            "ratio", Human.decimal(result.rateRatio, places: 2), Human.decimal(result.cpuRatio, places: 2),
        ])
        out.sections.append(.init(title: "The client's sessions in turns", table: table))
    }

    private static func table(_ results: [TransportResult]) -> TextTable {
        var table = TextTable([
            .init("connections", .right), .init("streams", .right), .init("h2load", .right),
            .init("Peal", .right), .init("ratio", .right), .init("h2load CPU", .right),
            .init("Peal CPU", .right), .init("ratio", .right),
        ])
        for row in results {
            table.add([
                "\(row.shape.connections)", "\(row.shape.streams)",
                Human.rate(row.h2load.requestsPerSecond), Human.rate(row.peal.requestsPerSecond),
                Statistics.text(row.rateRatios), us(row.h2load.cpuUs), us(row.peal.cpuUs),
                Statistics.text(row.cpuRatios),
            ])
        }
        return table
    }

    private static func us(_ value: Double) -> String { Human.decimal(value, places: 2) + " us" }

    private static func object(_ row: TransportResult) -> String {
        var out = BenchJSON()
        out.add("connections", Double(row.shape.connections), places: 0)
        out.add("streams", Double(row.shape.streams), places: 0)
        out.add("rps_ratio", row.rateRatio, places: 3)
        out.add("cpu_ratio", row.cpuRatio, places: 3)
        for (name, ratios) in [("rps", row.rateRatios), ("cpu", row.cpuRatios)] {
            out.add("\(name)_ratio_lowest", ratios.min() ?? .nan, places: 3)
            out.add("\(name)_ratio_highest", ratios.max() ?? .nan, places: 3)
        }
        out.add("rps", row.peal.requestsPerSecond, places: 0)
        out.add("cpu_us", row.peal.cpuUs, places: 3)
        out.add("h2load_rps", row.h2load.requestsPerSecond, places: 0)
        out.add("h2load_cpu_us", row.h2load.cpuUs, places: 3)
        return out.finished
    }

    /// Rate and CPU against the streams of one connection.
    private static func plots(_ results: [TransportResult]) -> [BenchPlot] {
        let rows = results.filter { $0.shape.connections == 1 }
            .sorted { $0.shape.streams < $1.shape.streams }
        guard rows.count > 1 else { return [] }
        func series(_ name: String, _ value: (TransportResult) -> Double) -> BenchPlot.Series {
            .init(name: name, points: rows.map { (Double($0.shape.streams), value($0)) })
        }
        return [
            BenchPlot(
                name: "transport-rate", title: "HTTP/2 client, one connection: requests a second",
                xLabel: "streams", yLabel: "requests a second",
                series: [
                    series("Peal") { $0.peal.requestsPerSecond },
                    series("h2load") { $0.h2load.requestsPerSecond },
                ]),
            BenchPlot(
                name: "transport-cpu", title: "HTTP/2 client, one connection: CPU of a request",
                xLabel: "streams", yLabel: "microseconds",
                series: [series("Peal") { $0.peal.cpuUs }, series("h2load") { $0.h2load.cpuUs }]),
        ]
    }
}
