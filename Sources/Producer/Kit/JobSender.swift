import Core
import EventLoop
import Glibc
import Jobs
package import Kafka
import Terminal

/// Sends the jobs of files or standard input to Kafka and waits until the brokers have them.
///
/// One thread; bounded memory: a few pieces of input and what the producer may have under way.
package final class JobSender: KafkaObserver {
    // Bad jobs that are told one by one; the others are only counted.
    static let complaintsMax = 20
    // Jobs between two looks at the reports, the clock and the flag.
    private static let batch = 512

    private let settings: SendSettings
    private let stop: StopFlag
    private let complain: (String) -> Void
    private var publisher: JobPublisher?
    private let failed = FailedRecords()
    private let parser: JobParser
    private var job = Job()
    private var summary = SendSummary()
    private var reports: [DeliveryReport] = []
    private var sources: [String] = []
    private var complaints = 0
    private var repeats = KafkaRepeats()
    private var sinceLook = 0
    private var nowMs: Int64 = 0
    private var startNs: UInt64 = 0
    private var totalBytes = 0
    private let progress: ProgressBar

    /// Makes a sender; `complain` gets what a user should see, line by line.
    package init(
        _ settings: SendSettings, stop: StopFlag = StopFlag(), complain: @escaping (String) -> Void
    ) throws(KafkaFailure) {
        guard let parser = JobParser() else { throw Self.noMemory }
        self.parser = parser
        self.settings = settings
        self.stop = stop
        self.complain = complain
        progress = ProgressBar(
            title: settings.isDryRun ? "checking" : "sending",
            isShown: settings.showsProgress && Console.isTerminal(2))
        guard !settings.isDryRun else { return }
        var configuration = KafkaConfiguration.producer(
            brokers: settings.brokers, clientID: "peal-producer", lingerMs: 20)
        try configuration.apply(settings.properties)
        let producer = try KafkaProducer(
            configuration, topics: JobPublisher.topics(names: settings.names, tiers: settings.tiers))
        producer.observer = self
        producer.failureSink = failed
        publisher = JobPublisher(
            producer: producer, names: settings.names, tiers: settings.tiers, seed: RandomSource.seed())
    }

    private static let noMemory = KafkaFailure.outOfMemory("the job parser")

    /// Sends everything in the files, one after the other; `-` is standard input.
    /// - Throws: when the brokers can't be reached at the start.
    package func run(_ paths: [String]) throws(KafkaFailure) -> SendSummary {
        try publisher?.producer.warmUp(timeoutMs: settings.patienceMs)
        sources = paths
        startNs = Clock.monotonicNs
        nowMs = Clock.wallMs
        summary.isDryRun = settings.isDryRun
        totalBytes = 0
        for path in paths { if let reader = InputReader(path: path) { totalBytes += reader.size } }
        for index in paths.indices where canGoOn { read(index) }
        finish()
        return summary
    }

    package func kafkaReported(_ event: KafkaEvent) {
        switch event.kind {
        case .fatal, .error:
            if event.code != .transport { tellOfKafka(event) }
        case .log(let level) where level <= 3: tellOfKafka(event)
        default: break
        }
    }

    private func tellOfKafka(_ event: KafkaEvent) {
        guard !repeats.isRepeat(event) else { return }
        progress.clear()
        complain("peal-producer: Kafka: \(event.message)")
    }

    private var canGoOn: Bool { summary.stoppedAt == nil && !stop.isRaised }

    private func read(_ index: Int) {
        guard let reader = InputReader(path: sources[index]) else { return cannotRead(index, errno) }
        var buffer = ByteBuffer(capacity: 4 << 20)
        var splitter = JobSplitter()
        var isLast = false
        while canGoOn {
            switch unsafe splitter.next(in: buffer.bytes, isLast: isLast) {
            case .job(let range, let number):
                unsafe take(UnsafeRawBufferPointer(rebasing: buffer.bytes[range]), index, number)
            case .more:
                buffer.consume(splitter.takeConsumed())
                switch reader.read(into: &buffer, stop: stop) {
                case .bytes(let count): summary.bytes += count
                case .end: isLast = true
                case .stopped: return
                case .failed(let code): return cannotRead(index, code)
                }
            case .fault(let number, let reason, let isFinal):
                summary.found += 1
                refuse(index, number, label: "malformed", reason)
                if isFinal {
                    summary.stoppedAt = place(index, number)
                    return
                }
            case .end: return
            }
        }
    }

    private func cannotRead(_ index: Int, _ code: Int32) {
        let failure = SystemFailure(errno: code, doing: "read \(sources[index])")
        summary.stoppedAt = sources[index]
        progress.clear()
        complain("\(failure)")
    }

    private func place(_ index: Int, _ number: Int) -> String {
        "\(sources[index] == "-" ? "standard input" : sources[index]):\(number)"
    }

    // One job of the input.
    private func take(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ number: Int) {
        summary.found += 1
        sinceLook += 1
        if sinceLook >= Self.batch { look() }
        if let fault = unsafe parser.parse(bytes, into: &job) {
            var reason = "\(fault)"
            if number == 1, fault.code == .malformed, bytes.count < 3 {
                reason += " Each line holds one whole job; put jobs of several lines into an array."
            }
            return refuse(index, number, label: fault.code.rawValue, reason)
        }
        if let fault = job.waitFault(nowMs: nowMs) {
            return refuse(index, number, label: fault.code.rawValue, "\(fault)")
        }
        if settings.perSecond > 0 { pace() }
        let opaque = UInt64(truncatingIfNeeded: index) << 48 | UInt64(truncatingIfNeeded: number)
        guard let publisher else {
            summary.published += 1
            if job.flags.contains(.hasSendAt), job.sendAtMs > nowMs { summary.scheduled += 1 }
            return
        }
        while true {
            if !failed.isEmpty { resend(publisher.producer) }
            switch publisher.publish(job, lane: settings.lane, opaque: opaque, nowMs: nowMs) {
            case .accepted(let isScheduled):
                summary.published += 1
                if isScheduled { summary.scheduled += 1 }
                return
            case .queueFull:
                settle(publisher.producer, timeoutMs: 20)
                // Not published, so nothing is owed to it.
                if stop.isRaised { return }
            case .failed(let code):
                summary.published += 1
                return fail(index, number, code)
            }
        }
    }

    private func refuse(_ index: Int, _ number: Int, label: String, _ reason: String) {
        summary.faults[label, default: 0] += 1
        tell("\(place(index, number)): \(reason)")
        if settings.badJob == .stop, !settings.isDryRun { summary.stoppedAt = place(index, number) }
    }

    private func fail(_ index: Int, _ number: Int, _ code: KafkaErrorCode) {
        summary.failures[code.name, default: 0] += 1
        guard sources.indices.contains(index) else { return }
        tell("\(place(index, number)): not delivered: \(code.description)")
    }

    private func tell(_ text: String) {
        complaints += 1
        guard complaints <= Self.complaintsMax else { return }
        progress.clear()
        complain(text)
        if complaints == Self.complaintsMax { complain("(more of these are counted, not shown)") }
    }

    // Looks at the clock, the reports and the screen.
    private func look() {
        sinceLook = 0
        nowMs = Clock.wallMs
        if let producer = publisher?.producer { settle(producer, timeoutMs: 0) }
        show()
    }

    private func show() {
        var total: Int?
        if totalBytes > 0, summary.bytes > 0 {
            total = Int(Double(summary.found) * Double(totalBytes) / Double(summary.bytes))
        }
        var note = summary.bad > 0 ? "\(Human.grouped(summary.bad)) bad" : ""
        if summary.failed > 0 { note += " \(Human.grouped(summary.failed)) failed" }
        let done = settings.isDryRun ? summary.found : summary.confirmed + summary.failed + summary.bad
        progress.update(done: done, total: total, note: note)
    }

    // Takes in the reports that wait.
    private func settle(_ producer: KafkaProducer, timeoutMs: Int) {
        reports.removeAll(keepingCapacity: true)
        producer.drain(into: &reports, timeoutMs: timeoutMs)
        count(reports)
    }

    private func count(_ reports: [DeliveryReport]) {
        for report in reports {
            if report.isDelivered {
                summary.confirmed += 1
            } else if !report.code.meansClientReplaced {
                fail(Int(report.opaque >> 48), Int(report.opaque & 0xFFFF_FFFF_FFFF), report.code)
            }
        }
    }

    // Produces again what failed only because the client was replaced, before anything newer.
    private func resend(_ producer: KafkaProducer) {
        while !failed.isEmpty {
            for opaque in failed.resend(to: producer) {
                fail(Int(opaque >> 48), Int(opaque & 0xFFFF_FFFF_FFFF), .fatal)
            }
            if failed.isEmpty || stop.isRaised { return }
            settle(producer, timeoutMs: 20)
        }
    }

    // Waits until the rate allows one more job.
    private func pace() {
        while !stop.isRaised {
            let allowed = Double(Clock.monotonicNs - startNs) / 1e9 * settings.perSecond
            if Double(summary.published) <= allowed { return }
            let waitMs = (Double(summary.published) - allowed) / settings.perSecond * 1000
            if let producer = publisher?.producer {
                settle(producer, timeoutMs: max(1, min(50, Int(waitMs))))
            } else {
                usleep(UInt32(max(100, min(50_000, waitMs * 1000))))
            }
            nowMs = Clock.wallMs
            show()
        }
    }

    private func finish() {
        summary.isInterrupted = stop.isRaised
        if let producer = publisher?.producer {
            let end = Clock.monotonicMs + UInt64(max(0, settings.patienceMs))
            repeat {
                if !failed.isEmpty {
                    for opaque in failed.resend(to: producer) {
                        fail(Int(opaque >> 48), Int(opaque & 0xFFFF_FFFF_FFFF), .fatal)
                    }
                }
                settle(producer, timeoutMs: 20)
                show()
            } while (producer.inFlight > 0 || !failed.isEmpty) && Clock.monotonicMs < end
        }
        summary.elapsedMs = Int((Clock.monotonicNs - startNs) / 1_000_000)
        progress.clear()
        publisher?.producer.close(deadlineMs: 0)
    }
}
