internal import EventLoop
internal import Terminal

/// One run of `peal bench`: the parts one after the other, each in a directory of its own.
struct Bench {
    let options: BenchOptions
    let parts: [any BenchPart.Type]

    /// Measures every part. One that fails doesn't keep the others from being measured.
    func run(_ conditions: BenchConditions) -> BenchReport {
        var report = BenchReport(conditions: conditions)
        for part in parts {
            say("\(part.name): \(part.summary)")
            do throws(StackFailure) {
                let findings = try part.run(options, say: say)
                report.parts.append(.init(name: part.name, findings: findings))
            } catch {
                say("\(part.name) was not measured: \(error)")
                report.failures.append(.init(name: part.name, message: error.description))
            }
        }
        return report
    }

    /// Runs `body` with a directory of its own, which ends with it.
    /// - Throws: what could not be made, or what `body` throws.
    static func inDirectory<Result>(
        _ options: BenchOptions, _ body: (String) throws(StackFailure) -> Result
    ) throws(StackFailure) -> Result {
        try watched(options) { (directory, _) throws(StackFailure) in try body(directory) }
    }

    /// Runs `body` with a directory and a simulator of its own; both end with it.
    /// - Parameters:
    ///   - options: whether the directory stays, and where the programs are.
    ///   - arguments: further words of the simulator's command line.
    ///   - recordMax: requests that the simulator keeps.
    ///   - body: gets the directory's path and the simulator.
    /// - Returns: what `body` does.
    /// - Throws: what could not be started, or what `body` throws.
    static func inDirectory<Result>(
        _ options: BenchOptions, arguments: [String] = [], recordMax: Int = 0,
        _ body: (String, BenchSimulator) throws(StackFailure) -> Result
    ) throws(StackFailure) -> Result {
        try watched(options) { (directory, watcher) throws(StackFailure) in
            let simulator = try BenchSimulator(
                directory: directory, arguments: arguments, recordMax: recordMax,
                programDirectory: options.programDirectory)
            watcher.add(simulator.process.processID)
            defer {
                simulator.process.stop(deadlineMs: 2_000)
                watcher.forget(simulator.process.processID)
            }
            return try body(directory, simulator)
        }
    }

    private static func watched<Result>(
        _ options: BenchOptions, _ body: (String, StackWatcher) throws(StackFailure) -> Result
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
        return try body(directory, watcher)
    }

    private func say(_ text: String) {
        if options.isVerbose { Console.complain(text) }
    }
}
