internal import BroadcastKit
internal import EventLoop
internal import Terminal

/// `peal bench broadcast`: how fast a broadcast becomes one job for each recipient.
enum BroadcastMeasurement {
    /// Measures and prints; the exit code.
    static func run(_ options: BenchOptions, isJSON: Bool) -> Int32 {
        Signals.ignorePipe()
        do {
            var results: [BroadcastBench.Result] = []
            for round in 1...options.rounds {
                if options.isVerbose {
                    Console.complain("round \(round): a broadcast to \(options.recipients) recipients")
                }
                let result = try BroadcastBench.run(
                    recipients: options.recipients, partitions: options.partitions)
                guard let result else {
                    Console.complain("peal bench: the broadcast did not get to every recipient")
                    return 2
                }
                results.append(result)
            }
            Console.write(isJSON ? json(results) : text(results))
            return 0
        } catch {
            Console.complain("peal bench: \(error)")
            return 2
        }
    }

    private static func text(_ results: [BroadcastBench.Result]) -> String {
        var out = "Broadcast stage, one process; embedded broker in the same process\n\n"
        for result in results {
            out += "  \(Human.grouped(result.recipients)) recipients  \(Human.rate(result.perSecond)), "
            out += "\(Human.decimal(result.cpuMicroseconds, places: 2)) us a recipient with the broker, "
            out += "\(result.memoryBytes >> 20) MiB more with the broker\n"
        }
        return out + "\n"
    }

    private static func json(_ results: [BroadcastBench.Result]) -> String {
        let list = results.map {
            "{\"recipients\":\($0.recipients),\"per_s\":\(Int($0.perSecond)),"
                + "\"cpu_us\":\($0.cpuMicroseconds),\"memory_bytes\":\($0.memoryBytes)}"
        }
        return "{\"broadcast\":[\(list.joined(separator: ","))]}\n"
    }
}
