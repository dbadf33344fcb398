internal import EventLoop
internal import Terminal

/// `peal bench`: throughput, CPU and latency against stated targets, with h2load on the same server as the
/// yardstick.
enum BenchCommand {
    static let command = Command(
        "bench", summary: "measure throughput, CPU and latency against stated targets",
        operands: "[PART ...]",
        options: BenchOptions.known + [
            Option("json", help: "print one JSON object on standard output"),
            Option("compare", .value("FILE"), help: "put the text's figures beside an earlier run's"),
            Option("record", .value("FILE"), help: "the same, and then keep this run there, as JSON"),
            Option("plots", .value("DIR"), help: "draw the curves as SVG files"),
        ], details: details)

    private static var details: String {
        let width = (BenchParts.names.map(\.count).max() ?? 0) + 2
        let list = BenchParts.all.map { part in
            "  " + part.name + String(repeating: " ", count: width - part.name.count) + part.summary
        }
        return """
            Without PART it measures everything:

            \(list.joined(separator: "\n"))

            Needs h2load (Debian: nghttp2-client) for transport and pipeline, redis-benchmark (redis-tools) for
            redis. Everything runs on this machine, over loopback: what others do on it at the same time shows,
            most of all in requests a second. Two sides are measured in turns, after a run of each that doesn't
            count; the ratios are medians. A missed target is told and is no failure: exits with 2 only when a
            part could not be measured or a file not be written.
            """
    }

    static func run(_ arguments: Arguments) throws(UsageFailure) -> Int32 {
        if arguments.operands.first == TransportClient.operand {
            return TransportClient.run(Array(arguments.operands.dropFirst()))
        }
        let options = try BenchOptions(arguments)
        let parts: [any BenchPart.Type]
        do throws(BenchParts.UnknownPart) { parts = try BenchParts.named(arguments.operands) } catch {
            throw UsageFailure(error.description)
        }
        if arguments.string("record") != nil, arguments.string("compare") != nil {
            throw UsageFailure("--record compares with what is in its file; leave out --compare")
        }
        if arguments.string("record") != nil, !arguments.operands.isEmpty {
            throw UsageFailure("--record keeps a run of every part; use --compare with some of them")
        }
        do throws(StackFailure) {
            return try run(Bench(options: options, parts: parts), arguments)
        } catch {
            Console.complain("peal bench: \(error)")
            return 2
        }
    }

    private static func run(_ bench: Bench, _ arguments: Arguments) throws(StackFailure) -> Int32 {
        // Whatever would be in the way at the end is found before minutes of measuring.
        let recordPath = arguments.string("record")
        let path = recordPath ?? arguments.string("compare")
        var record: BenchRecord?
        if let path {
            record = try BenchRecord(path: path)
            if record == nil, bench.options.isVerbose { Console.complain("no earlier run in \(path)") }
        }
        if let recordPath { try BenchOutput.prepare(file: recordPath) }
        if let directory = arguments.string("plots") { try BenchOutput.prepare(directory: directory) }

        let conditions = BenchConditions.read(isQuick: bench.options.isQuick)
        if conditions.isDebug, recordPath != nil {
            throw StackFailure(
                .program, "a debug build's figures are not worth a record; use 'make bench-record'")
        }
        let report = bench.run(conditions)
        let comparison = record.map { BenchComparison($0, report) }
        Console.write(
            arguments.flag("json")
                ? report.json : report.text(style: Console.style, comparison: comparison))
        if let directory = arguments.string("plots") {
            for path in try BenchOutput.write(report.plots, to: directory) {
                if bench.options.isVerbose { Console.complain("drew \(path)") }
            }
        }
        guard report.failures.isEmpty else {
            if recordPath != nil { Console.complain("not recorded: not every part was measured") }
            return 2
        }
        if let recordPath { try BenchOutput.replace(recordPath, text: report.record) }
        return 0
    }
}
