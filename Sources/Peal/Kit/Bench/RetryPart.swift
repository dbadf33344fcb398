internal import EventLoop
internal import Kafka
internal import RetryKit
internal import Terminal

/// `peal bench retry`: how fast due records go back, and how late they are when nothing is behind.
enum RetryPart: BenchPart {
    static let name = "retry"
    static let summary = "the retry service: due records drained, and how late they are"

    private static let partitions = 32

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        Signals.ignorePipe()
        let records = options.isQuick ? 100_000 : 300_000
        _ = try drain(records / 10)
        var drains: [RetryBench.Result] = []
        for round in 1...options.rounds {
            let result = try drain(records)
            say("retry \(round)/\(options.rounds): \(Human.rate(result.perSecond))")
            drains.append(result)
        }
        say("retry: 5,000 records a second with short waits, for ten seconds")
        return findings(drains, try dueError())
    }

    private static func drain(_ records: Int) throws(StackFailure) -> RetryBench.Result {
        do throws(KafkaFailure) {
            if let result = try RetryBench.drain(records: records, partitions: partitions) { return result }
        } catch {
            throw StackFailure(.broker, error.description)
        }
        throw StackFailure(.timedOut, "the due records were not all handed over")
    }

    private static func dueError() throws(StackFailure) -> RetryBench.DueError {
        do throws(KafkaFailure) {
            if let result = try RetryBench.dueError(perSecond: 5_000, seconds: 10) { return result }
        } catch {
            throw StackFailure(.broker, error.description)
        }
        throw StackFailure(.timedOut, "the waiting records were not all handed over")
    }

    /// What the runs come to.
    static func findings(_ drains: [RetryBench.Result], _ due: RetryBench.DueError) -> BenchFindings {
        let rate = Statistics.median(drains.map(\.perSecond))
        let cpu = Statistics.median(drains.map(\.cpuMicroseconds))
        let memory = Statistics.median(drains.map { Double($0.residentBytes) })
        var out = BenchFindings()
        out.add(
            "retry_drain_per_s", rate, places: 0, target: "retry: due records drained",
            .atLeast(100_000), unit: "/s")
        out.add("retry_cpu_us", cpu, places: 3)
        var errors = BenchJSON()
        errors.add("p50", Double(due.p50Ms), places: 0)
        errors.add("p99", Double(due.p99Ms), places: 0)
        errors.add("highest", Double(due.highestMs), places: 0)
        out.members.append(.init(key: "retry_due_error_ms", json: errors.finished))
        var table = TextTable([.init(""), .init("")])
        table.add(["drained", "\(Human.rate(rate)), \(Human.decimal(cpu, places: 2)) us CPU a record"])
        table.add(["memory at the end", Human.bytes(UInt64(memory))])
        table.add([
            "due error",
            "\(due.p50Ms) ms median, \(due.p99Ms) ms 99th percentile, \(due.highestMs) ms highest",
        ])
        out.sections = [
            .init(title: "Retry service, with the embedded broker in the same process", table: table)
        ]
        return out
    }
}
