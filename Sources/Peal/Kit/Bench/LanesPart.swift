internal import Terminal

/// `peal bench lanes`: how long urgent jobs take while a long backlog of bulk jobs is worked off.
enum LanesPart: BenchPart {
    static let name = "lanes"
    static let summary = "urgent jobs while 1,000,000 bulk jobs are worked off"

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var own = options
        own.jobs = options.jobs(unlessGiven: options.isQuick ? 300_000 : 1_000_000)
        return findings(
            try Bench.inDirectory(own) { (directory, simulator) throws(StackFailure) in
                let measurement = try LaneMeasurement(own, directory: directory, simulator: simulator)
                defer { measurement.stop() }
                return try measurement.measure(say: say)
            })
    }

    /// What the result comes to.
    static func findings(_ result: LaneMeasurement.Result) -> BenchFindings {
        var out = BenchFindings()
        out.add("lanes_urgent_p50_ms", Double(result.p50Ms), places: 0)
        out.add("lanes_urgent_p99_ms", Double(result.p99Ms), places: 0)
        var times = BenchJSON()
        times.add("p50", Double(result.p50Ms), places: 0)
        times.add("p99", Double(result.p99Ms), places: 0)
        times.add("highest", Double(result.highestMs), places: 0)
        var row = BenchJSON()
        row.add("bulk", Double(result.bulk), places: 0)
        row.add("bulk_per_s", result.bulkPerSecond, places: 0)
        row.add("urgent", Double(result.urgent), places: 0)
        row.add("urgent_ms", json: times.finished)
        out.members.append(.init(key: "lanes", json: row.finished))
        var table = TextTable([.init(""), .init("")])
        table.add([
            "bulk jobs queued",
            "\(Human.grouped(result.bulk)), worked off at \(Human.rate(result.bulkPerSecond))",
        ])
        table.add(["urgent jobs", "\(Human.grouped(result.urgent)), ten a second"])
        table.add([
            "urgent latency",
            "\(result.p50Ms) ms median, \(result.p99Ms) ms 99th percentile, \(result.highestMs) ms highest",
        ])
        out.sections = [
            .init(title: "Urgent jobs while a backlog of bulk jobs is worked off", table: table)
        ]
        out.plots = plots(result.timesMs)
        return out
    }

    /// Which share of the urgent jobs was done within which time.
    private static func plots(_ timesMs: [Int]) -> [BenchPlot] {
        guard timesMs.count > 1 else { return [] }
        let points = timesMs.enumerated().map { index, ms in
            (x: Double(max(1, ms)), y: Double(index + 1) * 100 / Double(timesMs.count))
        }
        return [
            BenchPlot(
                name: "lanes-latency", title: "Urgent jobs during a backlog: done within",
                xLabel: "milliseconds from publishing to the outcome", yLabel: "percent of the jobs",
                series: [.init(name: "urgent jobs", points: points)])
        ]
    }
}
