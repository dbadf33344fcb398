internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Logging
internal import Providers
internal import Redis
internal import Registry

/// A shard's side of the kill switch.
struct ShardControl {
    /// What is paused and cancelled.
    var gate = ControlGate()
    /// The posting of the board that ``gate`` was made from.
    var posting: UInt64 = 0
    /// The first shard's own: when it asks next, and whether an answer is awaited (loop's clock).
    var nextReadMs: UInt64 = 0
    var isReading = false
    /// When the whole hash was read last (loop's clock); 0 for never.
    var fullReadMs: UInt64 = 0
    /// What was read last.
    var state: ControlState?
    /// The version that the last beat told.
    var toldVersion: Int64 = -1
    /// Why the hash can't be read; empty when it can.
    var refusal = ""
}

/// The operator's kill switch: `peal:control`, read by the first shard and obeyed by all of them at send
/// time.
extension Shard {
    /// The whole hash is read this often even under the same version, for fields that were written by hand.
    private static let fullReadMs: UInt64 = 10_000

    // MARK: Keeping up

    /// Takes over what is new. Every 100 ms; the first shard also asks Redis when it is time.
    func tickControl() {
        takeControl()
        // They end by themselves, also while Redis is away.
        if index == 0, let state = control.state { logger.follow(state.logOrders, nowMs: nowMs) }
        guard index == 0, let redis, redis.isReady else { return }
        if control.gate.version != control.toldVersion,
            settings.control.obeyedByAll == control.gate.version
        {
            beat()
        }
        guard !control.isReading, loop.nowMs >= control.nextReadMs else { return }
        control.nextReadMs = loop.nowMs &+ settings.controlIntervalMs
        let isDue = control.fullReadMs == 0 || loop.nowMs >= control.fullReadMs &+ Self.fullReadMs
        askControl(isDue ? .control : .controlVersion)
    }

    private func askControl(_ question: RedisQuestion) {
        // Before it is issued: a connection that breaks right then fails it in that very call.
        control.isReading = true
        let refusal = redis?.issue(question.tag(0, round: 0)) {
            if question == .control {
                RegistryCommands.control(into: &$0)
            } else {
                ControlCommands.version(into: &$0)
            }
        }
        if refusal != nil { control.isReading = false }
    }

    /// Takes an answer about `peal:control`.
    func controlAnswered(_ question: RedisQuestion, _ reply: borrowing RedisReplyView) {
        control.isReading = false
        if question == .controlVersion {
            let version = reply.isNull ? 0 : reply.integer ?? -1
            if version != control.state?.version { askControl(.control) }
            return
        }
        control.fullReadMs = loop.nowMs
        if !control.refusal.isEmpty {
            control.refusal = ""
            logger.notice("control.readable", "The kill switch can be read again.")
        }
        let pairs = RedisValue(copy reply).pairs.map { (field: $0.key, value: $0.value.text ?? "") }
        post(ControlState(fields: pairs))
    }

    /// The last known state holds while Redis is away. A server that answers but won't show the hash is
    /// obeyed as if nothing were paused: a wrong right must not stop all sending.
    func controlFailed(_ failure: RedisFailure) {
        control.isReading = false
        guard !failure.code.isOutage, failure.code != .closed, failure.message != control.refusal else {
            return
        }
        control.refusal = failure.message
        logger.error(
            "control.unreadable", "The kill switch can't be read; nothing new is paused. \(failure.message)")
        if control.state == nil { post(ControlState()) }
    }

    private func post(_ state: ControlState) {
        guard state != control.state else { return }
        if !state.unknownFields.isEmpty, state.unknownFields != control.state?.unknownFields {
            logger.warning(
                "control.unknown", "peal:control has fields that this version does not know.",
                ["fields": .text(state.unknownFields.prefix(5).joined(separator: ", "))])
        }
        control.state = state
        settings.control.post(state)
        takeControl()
    }

    private func takeControl() {
        let posting = settings.control.posting
        guard posting != control.posting || nowMs >= control.gate.validUntilMs else { return }
        let before = control.gate
        control.posting = posting
        let state = settings.control.state
        control.gate = ControlGate(state, apps: directory.apps.map(\.name), nowMs: nowMs)
        settings.control.obey(state.version, shard: index)
        guard index == 0, before != control.gate else { return }
        logger.notice(
            "control.changed",
            control.gate.isOpen ? "Nothing is paused or cancelled." : "Something is paused or cancelled.",
            [
                "control.version": .number(Int(clamping: state.version)),
                "control.entries": .number(control.gate.count),
            ])
    }

    /// Whether it is known what is paused: no job starts before.
    var isControlKnown: Bool { control.posting > 0 }

    // MARK: Jobs

    /// Keeps a paused job back before anything was asked about it; true when it did.
    func isKeptBack(_ index: Int32) -> Bool {
        guard !control.gate.isOpen, case .pause(let since) = jobRuling(index, withProvider: true) else {
            return false
        }
        counts.jobsPaused &+= 1
        waitUnclaimed(
            index, forMs: RoundWait.waitMs(sinceMs: since, nowMs: nowMs, random: nextRandom()),
            reason: .paused)
        return true
    }

    /// Ends a cancelled job before it starts; true when it did.
    func isCancelled(_ index: Int32) -> Bool {
        guard !control.gate.isOpen, jobRuling(index, withProvider: false) == .cancel else { return false }
        inheritClaims(index)
        conclude(index, .cancelled, .cancelled)
        return true
    }

    private func jobRuling(_ index: Int32, withProvider: Bool) -> ControlRuling {
        let job = jobs[index].job
        let app = jobs[index].app
        scratch.clear()
        let found = unsafe control.gate.ruling(
            app: app,
            campaign: { [self] in unsafe job.campaign?.unescaped(into: &scratch) },
            id: { [self] in unsafe job.id?.unescaped(into: &scratch) })
        guard withProvider, let provider = soleProvider(index) else { return found }
        return found.stricter(control.gate.ruling(provider, app: app))
    }

    /// The provider that everything this record still owes waits for; nil when it isn't just one, or unknown.
    func soleProvider(_ index: Int32) -> Provider? {
        guard jobs[index].headers.hasOrigin else { return nil }
        let (batch, entry) = origin(index)
        guard let name = unsafe batch.headers(entry).value(WorkerHeader.provider) else { return nil }
        return unsafe Provider(name: String(decoding: name, as: UTF8.self))
    }

    /// Puts a job off that was not started.
    ///
    /// It keeps the number of its hop, since nobody has claimed it: of two copies of a record both may wait,
    /// and still only one will be sent. A wait costs Redis nothing this way, however long it lasts.
    func waitUnclaimed(_ index: Int32, forMs wait: Int64, reason: Reason) {
        // Not much beyond its deadline, so that it expires in time.
        let latest = max(jobs[index].deadlineMs, nowMs + 1000)
        count(reason)
        let provider = soleProvider(index)
        countPutOff(index, reason, provider)
        // Why it waited before says what it still has to pass.
        let isDuplicate = jobs[index].headers.attempt > 0 && isUncounted(index)
        let isUncharged = [Reason.capped, .quietHours].first { hasWaited(index, for: $0) }
        jobs[index].stage = .settling
        handOver(
            index, dueMs: min(nowMs + wait, latest), attempts: 0,
            reason: isDuplicate ? .duplicate : isUncharged ?? reason, provider: provider)
        leaveQueue(index, hasEnded: false)
        settle(index)
    }

    // MARK: Deliveries

    /// Keeps a delivery back, or ends it, when its app, provider, campaign or job is paused or cancelled;
    /// true when it did.
    func isStopped(_ delivery: Int32) -> Bool {
        guard !control.gate.isOpen else { return false }
        let slot = deliveries[delivery]
        let ruling = jobRuling(slot.job, withProvider: false).stricter(
            control.gate.ruling(slot.provider, app: jobs[slot.job].app))
        switch ruling {
        case .go: return false
        case .cancel:
            end(delivery, .cancelled, .cancelled)
        case .pause(let since):
            counts.deliveriesPaused &+= 1
            wait(
                delivery, forMs: RoundWait.waitMs(sinceMs: since, nowMs: nowMs, random: nextRandom()), .paused
            )
        }
        return true
    }

    /// Leaves a delivery for a retry topic without having sent it; what was sent before in this turn of its
    /// job still counts as an attempt.
    func wait(_ delivery: Int32, forMs: Int64, _ reason: Reason) {
        let slot = deliveries[delivery]
        let latest = max(jobs[slot.job].deadlineMs, nowMs + 1000)
        owe(delivery, dueMs: min(nowMs + forMs, latest), isWait: slot.sentAtMs == 0, reason: reason)
    }
}
