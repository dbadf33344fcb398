internal import EventLoop
internal import Glibc
internal import Terminal

/// `peal bench allocations`: how often a worker asks the allocator for memory for a notification, once it is
/// warm, and which of its threads do.
///
/// Peal's own code has buffers that it uses again, so what is left should be the libraries': a record that
/// librdkafka reads and one that it writes, what it does to look for a record's headers, and OpenSSL's for
/// each TLS record. They are told apart by the address that the call comes from.
enum AllocationsPart: BenchPart {
    static let name = "allocations"
    static let summary = "a worker's heap allocations for a notification, by thread"

    /// How much is measured.
    struct Plan: Sendable {
        var kinds = BenchJobKind.allCases
        /// Notifications before the first look.
        var warmUp = 50_000
        /// Notifications between the two looks.
        var window = 200_000
        /// Jobs that wait beyond them: more than a consumer reads ahead, so that it still reads at the second
        /// look.
        var rest = 120_000
        var recipients = 10_000
        var partitions = 64
        /// Deliveries at once; nil for the default. A lane is so far ahead of the notifications at both
        /// looks, unless it runs out of jobs.
        var inFlight: Int?

        var jobs: Int { warmUp + window + rest }
    }

    /// What one kind of job came to.
    struct Sample: Sendable {
        let kind: BenchJobKind
        let notifications: Int
        let counts: [AllocationThread: AllocationCounts]

        var sum: AllocationCounts { counts.values.reduce(.init(), +) }

        /// Of a notification.
        func each(_ count: UInt64) -> Double { Double(count) / Double(max(1, notifications)) }
        var all: Double { each(sum.all) }
        /// Without the libraries'.
        var own: Double { each(sum.all - sum.library) }
    }

    /// The most of a notification's allocations, all of them and those that aren't the libraries'.
    static let allMax = 5.0
    static let ownMax = 0.1

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var plan = Plan()
        if options.isQuick {
            plan.warmUp = 20_000
            plan.window = 50_000
        }
        return try run(plan, options, say: say)
    }

    static func run(
        _ plan: Plan, _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        var samples: [Sample] = []
        for kind in plan.kinds {
            let sample = try measure(kind, plan, options)
            samples.append(sample)
            say(
                "allocations \(kind.rawValue): \(text(sample.all)) a notification,"
                    + " \(text(sample.own)) of them Peal's own")
        }
        return findings(samples)
    }

    static func measure(
        _ kind: BenchJobKind, _ plan: Plan, _ options: BenchOptions
    ) throws(StackFailure) -> Sample {
        try Bench.inDirectory(options) { (directory, simulator) throws(StackFailure) in
            let reader = try AllocationReader(
                path: "\(directory)/allocations", programDirectory: options.programDirectory)
            var setup = PartBench.Setup()
            setup.kind = kind
            setup.recipients = kind == .recipient ? plan.recipients : 0
            setup.partitions = plan.partitions
            setup.environment = reader.environment
            if let inFlight = plan.inFlight { setup.settings["worker"] = ["in_flight: \(inFlight)"] }
            let bench = try PartBench(options, setup, directory: directory, simulator: simulator)
            defer { bench.stop() }
            try bench.topUp(to: plan.jobs, done: 0)
            try bench.flush()
            let workers = try bench.startWorkers()
            guard let worker = workers.first else { throw StackFailure(.program, "there is no worker") }
            try bench.wait(workers, forRequests: plan.warmUp)
            let (first, before) = (try bench.requests(), try reader.counts(of: worker.processID))
            try bench.wait(workers, forRequests: plan.jobs - plan.rest)
            let (last, after) = (try bench.requests(), try reader.counts(of: worker.processID))
            guard last - first >= plan.window / 2 else {
                throw StackFailure(
                    .program, "the worker was done before its allocations could be counted; use more jobs")
            }
            bench.stop(workers)
            let counts = after.reduce(into: [AllocationThread: AllocationCounts]()) { counts, item in
                counts[item.key] = item.value - (before[item.key] ?? .init())
            }
            return Sample(kind: kind, notifications: last - first, counts: counts)
        }
    }

    // MARK: - Findings

    static func findings(_ samples: [Sample]) -> BenchFindings {
        var found = BenchFindings()
        for sample in samples {
            let prefix = sample.kind == .recipient ? "allocations" : "allocations_token"
            let of = "to a \(sample.kind.rawValue): "
            found.add(
                prefix, sample.all, places: 2, target: of + "a worker's allocations for a notification",
                .atMost(allMax), unit: "")
            found.add(
                "\(prefix)_own", sample.own, places: 3,
                target: of + "those of them that are Peal's own", .atMost(ownMax), unit: "")
        }
        var table = TextTable([
            .init("jobs to"), .init("threads"), .init("allocations", .right), .init("of libraries", .right),
            .init("Peal's own", .right), .init("bytes", .right),
        ])
        for sample in samples {
            for thread in AllocationThread.allCases {
                add(thread.rawValue, sample.counts[thread] ?? .init(), of: sample, to: &table)
            }
            add("together", sample.sum, of: sample, to: &table)
        }
        found.sections = [.init(title: "Heap allocations for a notification", table: table)]
        found.add("allocations_by_thread", objects: samples.map(object))
        return found
    }

    private static func add(
        _ name: String, _ counts: AllocationCounts, of sample: Sample, to table: inout TextTable
    ) {
        table.add([
            sample.kind.rawValue, name, text(sample.each(counts.all)), text(sample.each(counts.library)),
            text(sample.each(counts.all - counts.library)),
            Human.decimal(sample.each(counts.bytes), places: 0),
        ])
    }

    private static func object(_ sample: Sample) -> String {
        var out = BenchJSON()
        out.add("jobs_to", text: sample.kind.rawValue)
        out.add("notifications", Double(sample.notifications), places: 0)
        for thread in AllocationThread.allCases {
            let counts = sample.counts[thread] ?? .init()
            out.add(thread.rawValue, sample.each(counts.all), places: 3)
            out.add("\(thread.rawValue)_own", sample.each(counts.all - counts.library), places: 3)
        }
        out.add("bytes", sample.each(sample.sum.bytes), places: 0)
        return out.finished
    }

    private static func text(_ value: Double) -> String { Human.decimal(value, places: 3) }
}
