internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Redis
internal import Registry
internal import Terminal

/// One run of the audit: jobs through the whole pipeline while faults are injected by a seeded schedule, and
/// everything that came of it compared with the delivery contract.
package struct ChaosRun {
    let options: ChaosOptions
    let plan: ChaosPlan
    let schedule: ChaosSchedule
    let bounds = ChaosBounds()
    private let plannedMs = Clock.monotonicMs

    /// Plans a run; the same options always give the same jobs and faults.
    package init(_ options: ChaosOptions) {
        self.options = options
        plan = ChaosPlan(seed: options.seed, jobCount: options.jobs)
        schedule = ChaosSchedule(
            seed: options.seed, count: options.faults, spanMs: options.spanMs, workers: options.workers,
            without: Self.left(options))
    }

    /// The kinds of faults that are not injected.
    private static func left(_ options: ChaosOptions) -> Set<ChaosFaultKind> {
        guard !options.only.isEmpty else { return [] }
        return Set(
            ChaosFaultKind.allCases.filter { kind in
                !options.only.contains { kind.rawValue.hasPrefix($0) }
            })
    }

    /// Runs it.
    /// - Throws: when the run could not be made; what the run finds is in the report.
    package func run() throws(StackFailure) -> ChaosReport {
        let startMs = Clock.monotonicMs
        let directory = try makeDirectory()
        let stack = try ChaosStack(options, directory: directory)
        var report: ChaosReport
        do throws(StackFailure) {
            let history = try history(of: stack, startMs)
            report = ChaosReport(
                options: options, history: history, verdict: ChaosChecker.check(history, bounds))
        } catch {
            stack.stop()
            throw error
        }
        stack.stop()
        report.elapsedMs = Clock.monotonicMs - startMs
        if options.directory != nil || options.keeps || !report.isGood {
            report.directory = directory
            let text = report.text()
            try? Files.write(path: "\(directory)/report.txt", text: text)
        } else {
            Files.removeTree(directory)
        }
        return report
    }

    private func makeDirectory() throws(StackFailure) -> String {
        do throws(SystemFailure) {
            guard let given = options.directory else {
                return try Files.makeTemporaryDirectory(prefix: "peal-chaos")
            }
            let made = unsafe given.withCString { unsafe mkdir($0, 0o700) }
            let code = errno
            if made != 0 { throw SystemFailure(errno: code, doing: "make the directory \(given)") }
            return given
        } catch {
            throw StackFailure(.files, "\(error)")
        }
    }

    // MARK: - The run

    private func history(of stack: ChaosStack, _ startMs: UInt64) throws(StackFailure) -> ChaosHistory {
        let count = schedule.faults.count
        say("seed \(options.seed): \(options.jobs) jobs, \(count) faults, in \(stack.directory)")
        try stack.register(plan)
        try stack.start()
        say("all programs are ready")
        let reader = try ChaosReader(
            brokers: stack.broker.bootstrapServers, names: stack.names, tiers: ChaosStack.tiers,
            partitions: options.partitions, plan: plan)
        defer { reader.stop() }
        let producers = try startProducers(stack)
        defer { for producer in producers { producer.kill() } }
        let injector = ChaosInjector(stack, schedule, say: say)
        let inspectors = try ChaosOffsets(stack, reader: reader)
        defer { inspectors.close() }
        let isSettled = try attend(stack, injector, producers, reader, inspectors, startMs)
        say("stopping the programs")
        stack.stopPrograms()
        var history = ChaosHistory(plan: plan)
        history.isSettled = isSettled
        history.injections = injector.injections
        history.notes = injector.notes
        history.isAcknowledged = producers.map { $0.ending == .exited(0) }
        for (producer, isGood) in zip(producers, history.isAcknowledged) where !isGood {
            history.notes.append(
                "\(producer.name) ended with \(producer.ending.map { "\($0)" } ?? "nothing")")
        }
        history.positions = try inspectors.positions()
        try collect(stack, reader, &history)
        return history
    }

    /// One `peal-producer send` for each lane, at a rate that lasts as long as the faults do.
    private func startProducers(_ stack: ChaosStack) throws(StackFailure) -> [ChildProcess] {
        var producers: [ChildProcess] = []
        let programs = options.programDirectory ?? StackOptions.ownDirectory
        for (lane, name) in TopicNames.lanes.enumerated() {
            let path = "\(stack.directory)/\(name).ndjson"
            let jobs = plan.jobs.indices.filter { plan.lane(ofJob: $0) == lane }
            var text = ByteBuffer(capacity: 1 << 16)
            for job in jobs { plan.append(job: job, to: &text) }
            do throws(SystemFailure) { try Files.write(path: path, bytes: text.array) } catch {
                throw StackFailure(.files, "\(error)")
            }
            let rate = max(1, jobs.count * 1_000 / max(1, options.spanMs))
            producers.append(
                try ChildProcess(
                    name: "producer-\(name)", program: "\(programs)/peal-producer",
                    arguments: [
                        "send", "--brokers", stack.broker.bootstrapServers, "--topic-prefix",
                        ChaosStack.prefix, "--lane", name, "--rate", "\(rate)", "--patience", "60s",
                        "--property", "socket.timeout.ms=\(ChaosOptions.kafkaMs)",
                        "--property", "max.in.flight.requests.per.connection=1",
                        "--json", "--quiet", path,
                    ], logPath: "\(stack.directory)/producer-\(name).log"))
        }
        return producers
    }

    /// Injects the faults and waits until everything has come to rest.
    /// - Returns: whether it has, within the run's deadline.
    private func attend(
        _ stack: ChaosStack, _ injector: ChaosInjector, _ producers: [ChildProcess], _ reader: ChaosReader,
        _ offsets: ChaosOffsets, _ startMs: UInt64
    ) throws(StackFailure) -> Bool {
        let beginMs = Clock.monotonicMs
        let deadlineMs = startMs + UInt64(options.secondsMax) * 1_000
        var weighedMs = beginMs
        var rest = RestWatch()
        var isSaid = false
        let bar = ProgressBar(title: "chaos", isShown: options.isVerbose && Console.isTerminal(2))
        defer { bar.clear() }
        while true {
            let now = Clock.monotonicMs
            try injector.step(nowMs: Int(clamping: now - beginMs))
            for program in stack.programs { program.poll() }
            if now >= weighedMs + 500 {
                weighedMs = now
                for program in stack.programs { program.weigh() }
                let progress = reader.progress
                bar.update(
                    done: progress.copies - progress.open, total: plan.jobs.count,
                    note: "\(injector.injections.count) faults")
                if injector.isDone, producers.allSatisfy({ !$0.isRunning }) {
                    if !isSaid { say("all faults and producers are through") }
                    isSaid = true
                    let lag = progress.open == 0 ? offsets.lag() : nil
                    let isAtRest = progress.open == 0 && lag == 0
                    if rest.isOver(isAtRest: isAtRest, events: progress.events, nowMs: now) { return true }
                }
            }
            if now > deadlineMs { return false }
            // A program that fell has broken a rule; there is nothing to wait for.
            if let fallen = stack.programs.first(where: { $0.child == nil && $0.hasFallen }) {
                say("\(fallen.name) has ended by itself")
                return true
            }
            usleep(10_000)
        }
    }

    // MARK: - What is left

    private func collect(
        _ stack: ChaosStack, _ reader: ChaosReader, _ history: inout ChaosHistory
    ) throws(StackFailure) {
        // The last events were written while the workers stopped; the reader is at most a poll behind.
        var ends = reader.ends
        while true {
            usleep(300_000)
            if reader.ends == ends { break }
            ends = reader.ends
        }
        let log = reader.contents
        history.copies = log.copies
        history.events = log.events
        history.retried = log.retried
        history.deadLetters = log.deadLetters
        history.strangers = log.strangers
        history.lives = stack.programs.flatMap(\.lives)
        history.peaks = stack.programs.map { ($0.name, $0.peakBytes) }
        let links = ChaosLinks(stack.proxy.history, worker: stack.worker(ofRoute:))
        let record = try ChaosRecordFile(plan: plan, links: links).read(path: stack.recordPath)
        history.requests = record.requests
        history.strangers += record.strangers
        do throws(RedisFailure) {
            let session = try RedisSession(stack.redis.endpoint, scripts: RegistryScripts.all)
            defer { session.close() }
            for (name, value) in try session.command("HGETALL", "peal:total:{\(ChaosPlan.app)}").pairs {
                history.totals[name] = value.integer
            }
            for (name, value) in try session.command("HGETALL", "peal:total:{*}").pairs {
                history.totalsOfAll[name] = value.integer
            }
            let directory = DeviceDirectory(session: session, app: ChaosPlan.app)
            for recipient in plan.recipients.indices {
                history.unread.append(try directory.unread(of: ChaosPlan.name(ofRecipient: recipient)))
            }
        } catch {
            throw StackFailure(.redis, "reading what is left in Redis failed: \(error)")
        }
    }

    private func say(_ text: String) {
        guard options.isVerbose else { return }
        Console.complain(
            Human.decimal(Double(Clock.monotonicMs - plannedMs) / 1_000, places: 1) + " s  " + text)
    }
}

/// Decides when a run has come to rest: nothing is open and nothing has happened for a while.
struct RestWatch {
    private var events = -1
    private var sinceMs: UInt64 = 0
    private static let quietMs: UInt64 = 2_000

    mutating func isOver(isAtRest: Bool, events now: Int, nowMs: UInt64) -> Bool {
        if !isAtRest || now != events {
            events = now
            sinceMs = nowMs
            return false
        }
        return nowMs >= sinceMs + Self.quietMs
    }
}
