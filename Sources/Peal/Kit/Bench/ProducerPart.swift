internal import Core
internal import EventLoop
internal import Glibc
internal import Kafka
internal import Terminal

/// `peal bench producer`: `peal-producer send` publishes a file of jobs to the embedded broker.
enum ProducerPart: BenchPart {
    static let name = "producer"
    static let summary = "publishing jobs from a file with 'peal-producer send'"

    /// One run of the producer. CPU is in microseconds a job.
    struct Sample: Sendable {
        /// Confirmed jobs a second, over the whole run as the producer itself counts it.
        let perSecond: Double
        let producerUs: Double
        let brokerUs: Double
        let bytesPerJob: Double
    }

    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings {
        let jobs = options.jobs(unlessGiven: options.isQuick ? 100_000 : 600_000)
        let samples = try Bench.inDirectory(options) { (directory) throws(StackFailure) in
            let path = "\(directory)/jobs.ndjson"
            try write(jobs, recipients: options.recipients, to: path)
            let broker: EmbeddedBroker
            do throws(KafkaFailure) {
                broker = try EmbeddedBroker(topics: [
                    (TopicNames().jobs(lane: BenchJobs.lane), options.partitions)
                ])
            } catch {
                throw StackFailure(.broker, "\(error)")
            }
            defer { broker.stop() }
            _ = try send(path, jobs, broker, directory, options)
            var samples: [Sample] = []
            for round in 1...options.rounds {
                samples.append(try send(path, jobs, broker, directory, options))
                say("producer \(round)/\(options.rounds): \(Human.rate(samples[round - 1].perSecond))")
            }
            return samples
        }
        return findings(samples, jobs: jobs)
    }

    /// Writes the jobs in pieces, so that not all of them are in memory at once.
    private static func write(_ jobs: Int, recipients: Int, to path: String) throws(StackFailure) {
        let descriptor = unsafe path.withCString { unsafe open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else {
            throw StackFailure(.files, "\(SystemFailure(errno: errno, doing: "write \(path)"))")
        }
        defer { close(descriptor) }
        var writer = JobWriter(kind: .recipient, recipients: recipients, run: 1)
        var piece = ByteBuffer(capacity: 1 << 20)
        for number in 0..<jobs {
            writer.write(number)
            unsafe piece.append(writer.job.bytes)
            piece.append("\n")
            guard piece.count >= 1_000_000 || number == jobs - 1 else { continue }
            var rest = unsafe piece.bytes
            while unsafe !rest.isEmpty {
                let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
                let code = errno
                guard count > 0 else {
                    throw StackFailure(.files, "\(SystemFailure(errno: code, doing: "write \(path)"))")
                }
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            piece.clear()
        }
    }

    private static func send(
        _ path: String, _ jobs: Int, _ broker: EmbeddedBroker, _ directory: String, _ options: BenchOptions
    ) throws(StackFailure) -> Sample {
        let before = Clock.processCPUNs
        let run = try MeasuredRun(
            [
                "\(StackOptions.ownDirectory)/peal-producer", "send", "--brokers", broker.bootstrapServers,
                "--lane", BenchJobs.lane, "--json", path,
            ], logPath: "\(directory)/producer.log", deadlineMs: options.runDeadlineMs)
        let brokerUs = Double(Clock.processCPUNs - before) / 1_000 / Double(max(1, jobs))
        let line = run.output.split(separator: "\n").last { $0.hasPrefix("{") } ?? ""
        guard let summary = try? JSONValue.parse(text: String(line)),
            summary["confirmed"]?.integer == Int64(jobs), let rate = summary["per_second"]?.integer,
            let bytes = summary["bytes"]?.integer
        else {
            throw StackFailure(
                .program,
                "peal-producer did not get \(jobs) jobs confirmed; it says:\n\(run.output.suffix(2_000))")
        }
        let count = Double(max(1, jobs))
        return Sample(
            perSecond: Double(rate), producerUs: run.cpuUs / count, brokerUs: brokerUs,
            bytesPerJob: Double(bytes) / count)
    }

    /// What the runs come to.
    static func findings(_ samples: [Sample], jobs: Int) -> BenchFindings {
        let rate = Statistics.median(samples.map(\.perSecond))
        let producer = Statistics.median(samples.map(\.producerUs))
        let broker = Statistics.median(samples.map(\.brokerUs))
        let bytes = Statistics.median(samples.map(\.bytesPerJob))
        var out = BenchFindings()
        out.add(
            "producer_per_s", rate, places: 0, target: "producer: jobs published from a file",
            .atLeast(300_000), unit: "/s")
        out.add("producer_cpu_us", producer, places: 3)
        out.add("producer_broker_cpu_us", broker, places: 3)
        var table = TextTable([.init(""), .init("")])
        table.add([
            "jobs", "\(Human.grouped(jobs)) of \(Human.decimal(bytes, places: 0)) bytes, every one confirmed",
        ])
        table.add(["published", Human.rate(rate)])
        table.add(["CPU of the producer", Human.decimal(producer, places: 2) + " us a job"])
        table.add(["CPU of the embedded broker", Human.decimal(broker, places: 2) + " us a job"])
        out.sections = [.init(title: "Publishing from a file with 'peal-producer send'", table: table)]
        return out
    }
}
