internal import EventLoop
internal import Terminal

/// One run of `peal bench` in a directory of its own.
struct Bench {
    let options: BenchOptions

    init(_ options: BenchOptions) { self.options = options }

    /// Measures everything that was asked for.
    /// - Throws: what could not be started, or a run that went wrong.
    func run() throws(StackFailure) -> BenchReport {
        let load = Machine.load
        return try Self.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            var report = BenchReport(machine: Machine.describe(), load: load)
            let generator = try LoadGenerator(directory: directory, simulator: simulator, options: options)
            if options.hasTransport {
                let bench = TransportComparison(options: options, directory: directory, simulator: simulator)
                report.transports = try bench.run(generator, say: say)
            }
            if options.hasPipeline {
                let bench = try PipelineBench(options: options, directory: directory, simulator: simulator)
                defer { bench.stop() }
                report.pipelines = try bench.run(generator, say: say)
            }
            return report
        }
    }

    /// Runs `body` with a directory and a simulator of its own; both end with it.
    /// - Throws: what could not be started, or what `body` throws.
    static func inDirectory<Result>(
        _ options: BenchOptions, _ body: (String, BenchSimulator) throws(StackFailure) -> Result
    ) throws(StackFailure) -> Result {
        Signals.ignorePipe()
        let directory: String
        do throws(SystemFailure) {
            directory = try Files.makeTemporaryDirectory(prefix: "peal-bench")
        } catch {
            throw StackFailure(.files, "\(error)")
        }
        defer {
            if options.keepsDirectory {
                Console.complain("files are in \(directory)")
            } else {
                Files.removeTree(directory)
            }
        }
        let watcher = try StackWatcher(directory: options.keepsDirectory ? "" : directory)
        defer { watcher.close() }
        let simulator = try BenchSimulator(directory: directory)
        watcher.add(simulator.process.processID)
        defer {
            simulator.process.stop(deadlineMs: 2_000)
            watcher.forget(simulator.process.processID)
        }
        return try body(directory, simulator)
    }

    private func say(_ text: String) {
        if options.isVerbose { Console.complain(text) }
    }
}
