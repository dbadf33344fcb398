internal import BroadcastKit
internal import EventLoop
internal import Terminal

/// `peal bench broadcast`: how fast a broadcast becomes one job for each recipient.
enum BroadcastPart: BenchPart {
    static let name = "broadcast"
    static let summary = "one broadcast to 1,000,000 followers becomes their jobs"

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        Signals.ignorePipe()
        let recipients = options.recipients(unlessGiven: options.isQuick ? 100_000 : 1_000_000)
        _ = try measure(max(1, recipients / 10), options)
        var results: [BroadcastBench.Result] = []
        for round in 1...options.rounds {
            let result = try measure(recipients, options)
            say("broadcast \(round)/\(options.rounds): \(Human.rate(result.perSecond))")
            results.append(result)
        }
        return findings(results)
    }

    private static func measure(
        _ recipients: Int, _ options: BenchOptions
    ) throws(StackFailure) -> BroadcastBench.Result {
        do {
            if let result = try BroadcastBench.run(recipients: recipients, partitions: options.partitions) {
                return result
            }
        } catch {
            throw StackFailure(.broker, "\(error)")
        }
        throw StackFailure(.timedOut, "the broadcast did not get to every recipient")
    }

    /// What the runs come to.
    static func findings(_ results: [BroadcastBench.Result]) -> BenchFindings {
        let rate = Statistics.median(results.map(\.perSecond))
        let cpu = Statistics.median(results.map(\.cpuMicroseconds))
        let memory = Statistics.median(results.map { Double($0.memoryBytes) })
        var out = BenchFindings()
        out.add("broadcast_per_s", rate, places: 0)
        out.add("broadcast_cpu_us", cpu, places: 3)
        out.add(
            "broadcast",
            objects: results.map { result in
                var row = BenchJSON()
                row.add("recipients", Double(result.recipients), places: 0)
                row.add("per_s", result.perSecond, places: 0)
                row.add("cpu_us", result.cpuMicroseconds, places: 3)
                row.add("memory_bytes", Double(result.memoryBytes), places: 0)
                return row.finished
            })
        var table = TextTable([.init(""), .init("")])
        table.add(["recipients", Human.grouped(results.first?.recipients ?? 0)])
        table.add(["jobs written", Human.rate(rate)])
        table.add(["CPU a recipient, broker included", Human.decimal(cpu, places: 2) + " us"])
        table.add(["memory more than before, broker included", Human.bytes(UInt64(memory))])
        out.sections = [
            .init(title: "Broadcast stage, with the embedded broker in the same process", table: table)
        ]
        return out
    }
}
