internal import Configuration
internal import Core
internal import EventLoop
internal import HTTPServer
internal import Jobs
internal import Kafka
internal import Logging
internal import ProducerKit
internal import Services

/// Publishes the jobs of requests and answers once the broker has acknowledged all of a request's jobs.
///
/// - Threading: made on any thread, then everything on its own; only `control` is shared.
final class SendingThread {
    /// One request that waits for its acknowledgements.
    struct Slot {
        var pending: PendingCall?
        var publication: Publication?
        var receipts: [Receipt] = []
        /// Jobs that were produced and have no report yet.
        var waiting = 0
        /// Jobs for which there was no room yet, in order.
        var rest: [Submission] = []
        var failure: KafkaErrorCode?
        var isConcluded = false
        var trace = RequestTrace()
    }

    let control: SendingControl
    let settings: GatewaySettings
    let hub: GatewayHub
    let dispatch: Dispatch
    let gatekeeper: Gatekeeper
    let loop: EventLoop
    let producer: KafkaProducer
    let publisher: JobPublisher
    let intake: JobIntake
    private let failed = FailedRecords()
    private var registration: Registration?

    var slots: [Slot] = []
    private var free: [Int] = []
    private var work: [SendingWork] = []
    private var reports: [DeliveryReport] = []
    private var scratch = ByteBuffer(capacity: 1 << 16)
    private var nowMs: Int64 = 0
    /// Since when all brokers are said to be away, in monotonic ms; 0 when they aren't.
    private var awaySinceMs: UInt64 = 0
    private var hasProbeFailed = false
    private var kafkaLog: KafkaLog
    /// Makes the ids of spans.
    var spanSeed = RandomSource.seed()
    private var nextProbeMs: UInt64 = 0
    private var stopByMs: UInt64 = 0

    private static let tickMs: UInt64 = 50
    private static let indexBits: UInt64 = 20

    /// Makes the producer; nothing is sent before `run`.
    init(
        _ settings: GatewaySettings, hub: GatewayHub, dispatch: Dispatch, gatekeeper: Gatekeeper
    ) throws(GatewayFailure) {
        self.settings = settings
        self.hub = hub
        self.dispatch = dispatch
        self.gatekeeper = gatekeeper
        kafkaLog = KafkaLog(hub.log)
        let intake = JobIntake(
            apps: settings.apps, batchMax: settings.gateway.batchMax, seed: RandomSource.seed())
        guard let intake else {
            throw GatewayFailure(.resources, "no memory is left for the job parser")
        }
        self.intake = intake
        do throws(SystemFailure) { loop = try EventLoop() } catch {
            throw GatewayFailure(.resources, "\(error)")
        }
        do throws(KafkaFailure) {
            var configuration = KafkaConfiguration.producer(
                brokers: settings.brokers, clientID: "peal-gateway", lingerMs: settings.lingerMs)
            if settings.isEmbedded { configuration.tuneForEmbeddedBroker() }
            try configuration.apply(settings.kafkaProperties)
            producer = try KafkaProducer(
                configuration, topics: JobPublisher.topics(names: settings.names, tiers: settings.tiers))
        } catch {
            throw GatewayFailure(.kafka, error.message)
        }
        publisher = JobPublisher(
            producer: producer, names: settings.names, tiers: settings.tiers, seed: RandomSource.seed())
        control = SendingControl(waker: loop.waker, queueMax: settings.gateway.queueMax)
        producer.observer = self
        producer.failureSink = failed
    }

    /// Serves until the control says to stop, then until every job has its report or the time is up.
    func run() {
        loop.addWakeHandler(self)
        registration = try? loop.add(
            descriptor: producer.notificationDescriptor, interest: .readable, handler: self)
        timerFired(0)
        while !isDone { loop.runOnce(maxWaitMs: 1_000) }
        if let registration { loop.remove(registration) }
        loop.removeWakeHandler(self)
        producer.close(deadlineMs: 0)
    }

    private var isDone: Bool {
        guard control.isStopping else { return false }
        if stopByMs == 0 { stopByMs = loop.nowMs + UInt64(clamping: settings.gateway.drainDeadlineMs) / 2 }
        return producer.inFlight == 0 && control.queueCount == 0 || loop.nowMs >= stopByMs
    }

    // MARK: - Work

    private func perform(_ work: SendingWork) {
        switch work {
        case .run(let pending, let call, let handler):
            do throws(Problem) {
                dispatch.carryOut(try handler(call), for: pending, on: self)
            } catch {
                pending.refuse(error)
            }
        case .job(let pending, let call, let handler):
            do throws(Problem) { place(try handler(call), of: call, for: pending) } catch {
                pending.refuse(error)
            }
        case .order(let pending, let call, let order): place(order, of: call, for: pending)
        case .jobs(let pending, let call):
            do throws(Problem) { try takeJobs(pending, call) } catch { pending.refuse(error) }
        case .publish(let pending, let publication): publish(publication, for: pending)
        }
    }

    /// Has the jobs of an order published.
    func place(_ order: JobOrder, of call: GatewayCall, for pending: PendingCall) {
        do throws(Problem) {
            let reply = try intake.reply(to: order, of: call, claimMs: claimMs, nowMs: nowMs)
            dispatch.carryOut(reply, for: pending, on: self)
        } catch {
            pending.refuse(error)
        }
    }

    /// Longer than a request may take.
    private var claimMs: Int64 { max(IdempotencyStore.claimMs, settings.gateway.timeoutMs + 30_000) }

    /// The body's jobs: published at once, or given to a registry thread when Redis has to know of them.
    private func takeJobs(_ pending: PendingCall, _ call: GatewayCall) throws(Problem) {
        let send = try intake.read(call.request)
        let keyName: String
        if case .key(let name) = call.principal { keyName = name } else { keyName = "" }
        let allows = { (app: String) in
            self.gatekeeper.allows(key: keyName, app: app, scope: .send)
        }
        let outcome = unsafe call.request.body.withUnsafeBytes {
            (bytes: UnsafeRawBufferPointer) -> Result<Reply?, Problem> in
            do throws(Problem) {
                unsafe try intake.check(
                    bytes, send.ranges, nowMs: nowMs, isBatch: send.isBatch, allows: allows)
                if send.idempotencyKey != nil || intake.hasScheduled(nowMs: nowMs) {
                    var prepared = unsafe intake.prepare(
                        send, keyName: keyName, bodyDigest: bytes, nowMs: nowMs)
                    prepared.claimMs = claimMs
                    return .success(.ask { [prepared] session in try prepared.begin(session) })
                }
                try checkRoom(for: intake.jobs.count)
                produce(into: openSlot(pending, nil), lanes: { _ in send.lane })
                return .success(nil)
            } catch {
                return .failure(error)
            }
        }
        if let reply = try outcome.get() { dispatch.carryOut(reply, for: pending, on: self) }
    }

    /// Publishes what a handler wants published; every job is checked before the first one goes out.
    func publish(_ publication: Publication, for pending: PendingCall) {
        do throws(Problem) {
            try checkRoom(for: publication.submissions.count)
            try parse(publication.submissions)
        } catch {
            return dispatch.conclude(pending, publication, .refused, error)
        }
        guard !publication.submissions.isEmpty else {
            return dispatch.conclude(pending, publication, .acknowledged([]), nil)
        }
        let submissions = publication.submissions
        produce(into: openSlot(pending, publication), lanes: { submissions[$0].lane })
    }

    /// Puts the jobs into one piece of memory, where they stay until the next call, and reads them.
    private func parse(_ submissions: [Submission]) throws(Problem) {
        scratch.clear(keepingAtMost: 1 << 20)
        var ranges: [Range<Int>] = []
        for submission in submissions {
            let start = scratch.count
            scratch.append(array: submission.job)
            ranges.append(start..<scratch.count)
        }
        unsafe try intake.check(
            scratch.bytes, ranges, nowMs: nowMs, isBatch: submissions.count > 1, allows: { _ in true })
    }

    private func checkRoom(for count: Int) throws(Problem) {
        if awaySinceMs > 0, hasProbeFailed {
            throw .unavailable("Kafka does not answer; nothing was published. Try again later.")
        }
        guard producer.inFlight + count <= settings.gateway.jobsMax else {
            throw .unavailable(
                "Kafka is behind; nothing was published. Try again later.", retryAfterSeconds: 2)
        }
    }

    private func openSlot(_ pending: PendingCall, _ publication: Publication?) -> Int {
        var slot = Slot(pending: pending, publication: publication)
        slot.trace = RequestTrace(pending.request)
        guard let index = free.popLast() else {
            slots.append(slot)
            return slots.count - 1
        }
        slots[index] = slot
        return index
    }

    // MARK: - Publishing

    /// Produces the intake's jobs; those for which there is no room wait in the slot.
    private func produce(into index: Int, lanes: (Int) -> Int) {
        for (place, job) in intake.jobs.enumerated() {
            let number = slots[index].receipts.count
            let opaque = UInt64(index) << Self.indexBits | UInt64(number)
            var traced: RequestTrace.Job?
            let answer = failed.isEmpty ? send(job, lanes(place), opaque, index, &traced) : .queueFull
            switch answer {
            case .accepted(let isScheduled):
                if var traced {
                    traced.topic = publisher.lastTopic
                    slots[index].trace.jobs.append(traced)
                }
                let id = unsafe String(decoding: publisher.lastID, as: UTF8.self)
                slots[index].receipts.append(Receipt(id: id, isScheduled: isScheduled))
                slots[index].waiting += 1
            case .queueFull:
                slots[index].rest = intake.jobs.indices[place...].map {
                    unsafe Submission(job: Array(intake.jobs[$0].bytes), lane: lanes($0))
                }
                return
            case .failed(let code):
                slots[index].failure = code
                return settle(index)
            }
        }
        slots[index].rest = []
        settle(index)
    }

    private func send(
        _ job: Job, _ lane: Int, _ opaque: UInt64, _ index: Int, _ traced: inout RequestTrace.Job?
    ) -> JobPublisher.Answer {
        guard settings.tracer != nil || !slots[index].trace.headers.isEmpty else {
            return publisher.publish(job, lane: lane, opaque: opaque, nowMs: nowMs)
        }
        var found: RequestTrace.Job?
        let answer = publisher.publish(job, lane: lane, opaque: opaque, nowMs: nowMs) { id in
            unsafe self.traceHeaders(index, app: job.app.raw, id: id, &found)
        }
        traced = found
        return answer
    }

    /// Goes on with the jobs for which there was no room.
    private func produceRest() {
        for index in slots.indices where !slots[index].rest.isEmpty {
            let rest = slots[index].rest
            // They were read before, so they can be read again.
            guard (try? parse(rest)) != nil else { continue }
            produce(into: index, lanes: { rest[$0].lane })
            if !slots[index].rest.isEmpty { return }
        }
    }

    private func takeReports() {
        reports.removeAll(keepingCapacity: true)
        producer.drain(into: &reports)
        let delivered = reports.count { $0.isDelivered }
        if delivered > 0 { hub.metrics.acknowledged(jobs: delivered) }
        for report in reports {
            if report.isDelivered {
                reported(report.opaque, nil)
            } else if !report.code.meansClientReplaced {
                reported(report.opaque, report.code)
            }
        }
        if !failed.isEmpty {
            for opaque in failed.resend(to: producer) { reported(opaque, .fatal) }
        }
    }

    private func reported(_ opaque: UInt64, _ code: KafkaErrorCode?) {
        let index = Int(opaque >> Self.indexBits)
        guard slots.indices.contains(index), slots[index].waiting > 0 else { return }
        slots[index].waiting -= 1
        if let code { slots[index].failure = code }
        settle(index)
    }

    /// Answers when nothing is left to wait for.
    private func settle(_ index: Int) {
        guard slots[index].waiting == 0, slots[index].rest.isEmpty || slots[index].failure != nil else {
            return
        }
        if !slots[index].isConcluded {
            if let code = slots[index].failure {
                let isCertain = slots[index].receipts.isEmpty
                fail(index, isCertain: isCertain, "Kafka refused a job: \(code.description).")
            } else {
                conclude(index, .acknowledged(slots[index].receipts), nil)
            }
        }
        endTrace(index, error: slots[index].failure.map(\.name))
        slots[index] = Slot()
        free.append(index)
    }

    private func fail(_ index: Int, isCertain: Bool, _ why: String) {
        let ids = slots[index].receipts.map(\.id)
        var problem = Problem.unavailable(
            isCertain
                ? "\(why) Nothing was published; try again later."
                : "\(why) The jobs may have been published all the same; repeat the request with these ids, "
                    + "or with the same Idempotency-Key.")
        if !isCertain { problem.ids = ids }
        hub.metrics.failed(jobs: ids.count + slots[index].rest.count)
        conclude(index, isCertain ? .refused : .unknown, problem)
    }

    private func conclude(_ index: Int, _ outcome: PublishOutcome, _ problem: Problem?) {
        guard let pending = slots[index].pending else { return }
        slots[index].isConcluded = true
        slots[index].pending = nil
        let publication = slots[index].publication
        slots[index].publication = nil
        guard let publication else {
            if let problem { return pending.refuse(problem) }
            return pending.answer(JobIntake.accepted(slots[index].receipts))
        }
        dispatch.conclude(pending, publication, outcome, problem)
    }

    /// Answers what has waited too long; its slot stays until the last report.
    private func checkDeadlines() {
        for index in slots.indices {
            guard let pending = slots[index].pending, pending.isOverdue else { continue }
            let seconds = (hub.timeoutMs + 999) / 1000
            fail(
                index, isCertain: slots[index].receipts.isEmpty,
                "Kafka has not acknowledged the request within \(seconds) s.")
            slots[index].rest = []
            settle(index)
        }
    }

    // MARK: - The broker

    /// librdkafka says when the brokers are gone, also when they only closed idle connections, and never says
    /// that they are back.
    private func probe() {
        let now = Clock.monotonicMs
        guard now >= nextProbeMs, awaySinceMs > 0 || !control.gauges.hasMetBroker else { return }
        nextProbeMs = now + 1_000
        guard (try? producer.warmUp(timeoutMs: 200)) != nil else {
            if awaySinceMs == 0 { awaySinceMs = now }
            // The first connection may take a moment.
            hasProbeFailed = control.gauges.hasMetBroker || now > awaySinceMs + 3_000
            return
        }
        awaySinceMs = 0
        hasProbeFailed = false
        control.note { $0.hasMetBroker = true }
    }
}

extension SendingThread: WakeHandler, TimerHandler, IOHandler, KafkaObserver {
    func woken() {
        nowMs = Clock.wallMs
        control.take(into: &work)
        for item in work { perform(item) }
        work.removeAll(keepingCapacity: true)
    }

    func ioReady(_ events: IOEvents) { takeReports() }

    func timerFired(_ tag: UInt64) {
        nowMs = Clock.wallMs
        takeReports()
        produceRest()
        checkDeadlines()
        probe()
        control.note {
            $0.jobsInFlight = producer.inFlight
            $0.isKafkaAway = awaySinceMs > 0 && hasProbeFailed
            $0.tickMs = Clock.monotonicMs
        }
        _ = loop.schedule(afterMs: Self.tickMs, tag: 0, handler: self)
    }

    func kafkaReported(_ event: KafkaEvent) {
        if event.code == .allBrokersDown, awaySinceMs == 0 { awaySinceMs = Clock.monotonicMs }
        kafkaLog.tell(event)
    }
}
