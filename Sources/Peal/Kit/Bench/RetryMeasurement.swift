internal import Core
internal import EventLoop
internal import Kafka
internal import RetryKit
internal import Terminal

/// `peal bench retry`: how fast due records go back, and how late they are when nothing is behind.
enum RetryMeasurement {
    /// Measures and prints; the exit code.
    static func run(isJSON: Bool, isVerbose: Bool) -> Int32 {
        Signals.ignorePipe()
        do throws(KafkaFailure) {
            if isVerbose { Console.complain("draining 300,000 due records") }
            guard let drain = try RetryBench.drain(records: 300_000, partitions: 32) else {
                return fail("the due records were not all handed over")
            }
            if isVerbose { Console.complain("5,000 records a second with short waits, for ten seconds") }
            guard let due = try RetryBench.dueError(perSecond: 5000, seconds: 10) else {
                return fail("the waiting records were not all handed over")
            }
            Console.write(isJSON ? json(drain, due) : text(drain, due))
            return 0
        } catch {
            return fail(error.description)
        }
    }

    private static func fail(_ sentence: String) -> Int32 {
        Console.complain("peal bench: \(sentence)")
        return 2
    }

    private static func text(_ drain: RetryBench.Result, _ due: RetryBench.DueError) -> String {
        """
        Retry service, embedded broker in the same process

          drained          \(Human.rate(drain.perSecond)), \(Human.decimal(drain.cpuMicroseconds, places: 2)) us a record
          due error        \(due.p50Ms) ms median, \(due.p99Ms) ms 99th percentile, \(due.highestMs) ms highest

        """
    }

    private static func json(_ drain: RetryBench.Result, _ due: RetryBench.DueError) -> String {
        "{\"retry_drain_per_s\":\(Int(drain.perSecond)),"
            + "\"retry_cpu_us\":\(drain.cpuMicroseconds),"
            + "\"retry_due_error_ms\":{\"p50\":\(due.p50Ms),\"p99\":\(due.p99Ms),"
            + "\"highest\":\(due.highestMs)}}\n"
    }
}
