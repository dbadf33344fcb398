internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Logging
internal import Providers
internal import Redis
internal import Registry

/// The questions a shard asks Redis. The tag's kind is the raw value and, above it, the job's round.
enum RedisQuestion: UInt8 {
    /// Counter, preferences, dedup and cap of one job, in one script.
    case admit
    /// Counter and preferences, for a job that changes nothing: a plain command.
    case user
    /// The devices of one job's recipient; comes after ``admit`` or ``user``.
    case devices
    /// Whether this record is the one copy of its retry hop that counts.
    case claimHop
    /// The removal of a token.
    case removeDevice
    /// Whether another job of the same collapse id waits or went by.
    case late
    /// The correction of a device's environment.
    case correctEnvironment
    /// What needs no answer: the pod's beat, marks, sums over all apps.
    case tell
    /// Whether a job of this id has been sent before.
    case claimID
    /// Tokens of a provider's quota.
    case tokens
    /// The kill switch: its version alone, or all of it.
    case controlVersion
    case control
    /// What becomes of a job's claims.
    case settleID
    case settleDedup
    /// A count of one app, which is counted again when Redis refuses it.
    case count
    /// The mark of a job that waits with a collapse id; with round 1 a newer job's place over one.
    case mark

    /// The tag of a job's question.
    func tag(_ reference: UInt64, round: UInt8) -> RedisTag {
        RedisTag(kind: rawValue | (round & 7) << 4, value: reference)
    }
}

/// From a job whose turn has come to its devices.
extension Shard: RedisReplyHandler {
    /// The longest that a hop's claim is remembered, in milliseconds.
    private static let hopMemoryMs: Int64 = 2 * 86_400_000
    /// How long nothing is asked of a Redis that could not do what it was asked, in milliseconds.
    private static let redisRestMs: UInt64 = 100
    static let dedupMemoryMs: Int64 = 86_400_000

    /// Asks for everything that the job needs, in one script call.
    func admit(_ index: Int32) {
        jobs[index].stage = .admitting
        scratch.clear()
        text.clear()
        let job = jobs[index].job
        let (batch, entry) = origin(index)
        guard let recipient = unsafe job.recipient?.unescaped(into: &scratch) else {
            return conclude(index, .noDevice, .noDevice)
        }
        var admission = unsafe Admission(RecipientReference(app: job.app.raw, recipient: recipient))
        if jobs[index].unread != 0, isUncounted(index) {
            admission.position = position(batch, entry)
            admission.unreadDelta = Int64(jobs[index].unread)
            if traits[Int(jobs[index].app)].unreadByThread, let thread = job.thread {
                threadName.clear()
                unsafe admission.thread = thread.unescaped(into: &threadName)
            }
        }
        if let key = unsafe job.dedup?.unescaped(into: &text) {
            admission.dedup = unsafe DedupClaim(
                key: key, origin: firstPosition(index), milliseconds: Self.dedupMemoryMs)
        }
        if traits[Int(jobs[index].app)].hasCaps { admission.cap = cap(of: index) }
        probeRedis()
        if jobs[index].trace >= 0 { traceQuestion(index) }
        jobs[index].round &+= 1
        jobs[index].wasAsked = true
        jobs[index].isAdmitted = false
        jobs[index].isDeviceListEarly = false
        let changesSomething = admission.position != nil || admission.dedup != nil || admission.cap != nil
        let reference = jobs.reference(index)
        let round = jobs[index].round
        let question: RedisQuestion = changesSomething ? .admit : .user
        var refusal = mayCollapse(index) ? askForLate(index) : nil
        if refusal == nil, job.target == .others { refusal = endSync(job, admission.recipient) }
        if refusal == nil {
            refusal = redis?.issue(question.tag(reference, round: round)) {
                if changesSomething {
                    admission.encode(into: &$0)
                } else {
                    RegistryCommands.user(admission.recipient, into: &$0)
                }
            }
        }
        if refusal == nil {
            refusal = redis?.issue(RedisQuestion.devices.tag(reference, round: round)) {
                RegistryCommands.devices(admission.recipient, into: &$0)
            }
        }
        guard let refusal else {
            counts.redisScripts &+= 1
            return
        }
        // Asking twice is harmless: a record is counted once, and a dedup key knows its own job.
        jobs[index].round &+= 1
        if refusal == .malformed {
            bury(index, .dead, .internalFault, "the job's registry keys can't be encoded")
        } else {
            holdForRedis(index)
        }
    }

    /// A job is counted when it is first admitted. A hand-over comes after that, but for a job that only
    /// waited for the owner of its dedup key: then nothing has counted it.
    func isUncounted(_ index: Int32) -> Bool {
        jobs[index].headers.attempt == 0 || hasWaited(index, for: .duplicate)
    }

    /// Whether the job has met no provider yet and comes back from a wait for this reason.
    func hasWaited(_ index: Int32, for reason: Reason) -> Bool {
        let headers = jobs[index].headers
        guard headers.attempt > 0, headers.sends == 0 else { return false }
        let (batch, entry) = origin(index)
        guard let last = unsafe batch.headers(entry).value(PealHeader.reason) else { return false }
        return unsafe last.elementsEqual(Self.bytes(reason.label))
    }

    /// Makes sure that a hop that was written twice is worked on once.
    func claimHop(_ index: Int32) {
        jobs[index].stage = .admitting
        jobs[index].wasAsked = true
        probeRedis()
        scratch.clear()
        let job = jobs[index].job
        let (batch, entry) = origin(index)
        guard let origin = unsafe batch.headers(entry).value(PealHeader.origin) else { return start(index) }
        let name = unsafe (job.recipient ?? job.token)?.unescaped(into: &scratch) ?? job.app.raw
        let attempt = UInt32(clamping: jobs[index].headers.attempt)
        let refusal = redis?.issue(
            RedisQuestion.claimHop.tag(jobs.reference(index), round: jobs[index].round)
        ) {
            unsafe RegistryCommands.claimHop(
                of: RecipientReference(app: job.app.raw, recipient: name), origin: origin, attempt: attempt,
                position: position(batch, entry), milliseconds: hopMemoryMs(index), into: &$0)
        }
        if refusal != nil { holdForRedis(index) } else { counts.redisScripts &+= 1 }
    }

    /// How long the claim of a job's hop is remembered, in milliseconds: until the job has expired, for then
    /// nobody sends a second copy. A minute more is for clocks that differ.
    private func hopMemoryMs(_ index: Int32) -> Int64 {
        min(Self.hopMemoryMs, max(0, jobs[index].deadlineMs &- nowMs) &+ 60_000)
    }

    /// The record's own place in the log.
    private func position(_ batch: RecordBatch, _ entry: RecordEntry) -> JobPosition {
        JobPosition(
            lane: lanes[batch.lane].letter,
            topicHash: lanes[batch.lane].topicHash,
            partition: entry.partition, offset: entry.offset, timestampMs: entry.timestampMs)
    }

    /// The place that the job first had: the same for a redelivered record and for every retry.
    func firstPosition(_ index: Int32) -> JobPosition {
        let (batch, entry) = origin(index)
        guard let header = unsafe batch.headers(entry).value(PealHeader.origin),
            let parts = unsafe OriginHeader(header)
        else { return position(batch, entry) }
        return JobPosition(
            lane: lanes[batch.lane].letter, topicHash: parts.topicHash,
            partition: parts.partition, offset: parts.offset, timestampMs: jobs[index].publishedMs)
    }

    // MARK: Replies

    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {
        guard let question = RedisQuestion(rawValue: tag.kind & 15) else { return }
        switch question {
        case .removeDevice: removed(tag.value, isRemoved: reply.integer == 1)
        case .correctEnvironment: if reply.integer == 1 { counts.environmentsCorrected &+= 1 }
        case .tell: break
        case .tokens: quotaGranted(Int(clamping: tag.value), TokenGrant(copy reply))
        case .controlVersion, .control: controlAnswered(question, reply)
        case .settleID, .settleDedup, .mark: claimSettled(tag)
        case .count: counted(tag, reply)
        case .admit, .user, .devices, .claimHop, .late, .claimID:
            guard let index = asking(tag) else { return }
            switch question {
            case .admit:
                redisTakesJobs()
                admitted(index, reply)
            case .user: admitted(index, UserView(copy reply))
            case .late: tookLate(index, reply)
            case .claimID:
                redisTakesJobs()
                idClaimed(index, reply.integer.flatMap { IDVerdict(rawValue: $0) })
            case .devices:
                guard jobs[index].isAdmitted else {
                    jobs[index].isDeviceListEarly = true
                    return
                }
                unsafe send(index, to: DeviceList(reply.bytes))
            default:
                redisTakesJobs()
                claimed(index, isOurs: reply.integer == 1)
            }
        }
    }

    /// The job that waits for this very answer; nil when it has moved on.
    private func asking(_ tag: RedisTag) -> Int32? {
        guard let index = jobs.resolve(tag.value), jobs[index].stage == .admitting,
            jobs[index].round & 7 == tag.kind >> 4
        else { return nil }
        return index
    }

    /// Asks for the devices once more: their answer has overtaken the admission's, which happens when the
    /// two lie on different nodes of a cluster, and when Redis had forgotten the script and the client issued
    /// that command again behind this one.
    private func askAgain(_ index: Int32) {
        scratch.clear()
        let job = jobs[index].job
        guard let recipient = unsafe job.recipient?.unescaped(into: &scratch) else { return }
        let tag = RedisQuestion.devices.tag(jobs.reference(index), round: jobs[index].round)
        let refusal = redis?.issue(tag) {
            unsafe RegistryCommands.devices(
                RecipientReference(app: job.app.raw, recipient: recipient), into: &$0)
        }
        guard refusal != nil else { return }
        // The admission's answer is left unread: asking for it again is harmless.
        jobs[index].round &+= 1
        holdForRedis(index)
    }

    private func claimed(_ index: Int32, isOurs: Bool) {
        if isOurs { return start(index) }
        // Another record is this hop; this copy has nothing left to do.
        counts.duplicateHops &+= 1
        drop(index, isDone: true)
    }

    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) {
        guard let question = RedisQuestion(rawValue: tag.kind & 15) else { return }
        switch question {
        case .control, .controlVersion: return controlFailed(failure)
        case .tokens: return quotaFailed(Int(clamping: tag.value))
        case .settleID: return claimFailed(tag, .id, failure)
        case .settleDedup: return claimFailed(tag, .dedup, failure)
        case .mark: return claimFailed(tag, tag.kind >> 4 == 1 ? .overMark : .mark, failure)
        case .count: return countFailed(tag, failure)
        case .removeDevice: return removed(tag.value, isRemoved: false)
        case .tell, .correctEnvironment: return
        case .admit, .user, .devices, .claimHop, .late, .claimID: break
        }
        guard let index = asking(tag) else { return }
        jobs[index].round &+= 1
        if failure.code.isOutage || failure.code == .noScript || failure.code == .notPermitted {
            counts.redisHeld &+= 1
            if redis?.isCluster == true { return holdForRedis(index) }
            // A server that answers with errors would be asked again at once, by every job, without end.
            redisRestUntilMs = loop.nowMs &+ Self.redisRestMs
            redisRefuses(failure)
            return hold(index)
        }
        if failure.code == .closed { return drop(index, isDone: false) }
        logger.error("redis.refused", "Redis refused a job's keys: \(failure.message)")
        bury(index, .dead, .internalFault, "Redis refused the job's registry keys: \(failure.message)")
    }

    /// Redis is there but takes no jobs (it is full, say): from now on one job at a time asks whether it does
    /// again, so that a server in distress isn't asked as fast as it can refuse.
    private func redisRefuses(_ failure: RedisFailure) {
        // A demoted server's refusal ends the connection; the next one is there in a moment, and refused too.
        let isRefusal = failure.code == .readOnly || failure.code == .masterDown
        guard isRefusal || redis?.isReady == true, !isRedisRefusing else { return }
        isRedisRefusing = true
        counts.redisRefusal = failure.message
        // A server on the edge takes one command and refuses the next: one line for all of that.
        guard loop.nowMs >= refusalToldMs &+ 5000 || refusalToldMs == 0 else { return }
        refusalToldMs = loop.nowMs
        logger.single(.warning, "redis.refuses") {
            ("Redis refuses jobs; they are held until it takes them. \(failure.message)", [:])
        }
    }

    /// The job that asks now is the only one for a while if Redis refused the ones before.
    func probeRedis() {
        if isRedisRefusing { redisRestUntilMs = loop.nowMs &+ Self.redisRestMs }
    }

    /// Lets everything go on.
    func redisTakesJobs() {
        guard isRedisRefusing else { return }
        isRedisRefusing = false
        redisRestUntilMs = 0
        counts.redisRefusal = ""
        logger.debug("redis.takes", "Redis takes jobs again.")
    }

    func redisConnected() { logger.single(.info, "redis.connected") { ("Redis is connected.", [:]) } }

    func redisDisconnected(_ failure: RedisFailure) {
        let who = redis?.isReady == true ? "A Redis node is away; its jobs" : "Redis is away; jobs"
        logger.single(.warning, "redis.disconnected") {
            ("\(who) are held and go on by themselves when it is back. \(failure.message)", [:])
        }
    }

    private func admitted(_ index: Int32, _ reply: borrowing RedisReplyView) {
        guard let answer = AdmissionReply(copy reply) else {
            return bury(index, .dead, .internalFault, "Redis answered the admission with something else")
        }
        if answer.unread != nil, !answer.wasCounted, jobs[index].unread != 0, isUncounted(index) {
            tallyUnread(index)
        }
        switch answer.verdict {
        // A job may find itself done: then its worker died between that and its finished offset. Which of its
        // devices got it, only the events of then can say.
        case .alreadyDone, .duplicate: return conclude(index, .duplicate, .duplicate)
        case .duplicateInProgress: return awaitDuplicate(index)
        case .proceed, .capped, .replaced: jobs[index].holdsDedup = jobs[index].job.dedup != nil
        }
        if answer.verdict == .capped { return capped(index, waitMs: answer.waitMs) }
        if answer.verdict == .replaced { return conclude(index, .capped, .replaced) }
        pass(index, unread: answer.unread ?? -1, answer.preferences)
    }

    private func admitted(_ index: Int32, _ user: UserView) {
        pass(index, unread: user.unread, user.preferences)
    }

    /// Lets a job through to its devices, unless its recipient wants to hear nothing.
    private func pass(_ index: Int32, unread: Int64, _ preferences: PreferencesView) {
        guard isCurrent(index) else { return drop(index) }
        jobs[index].badge = unread
        jobs[index].quiet = nil
        if !preferences.isEmpty, isHeldBack(index, preferences) { return }
        if endsSuperseded(index) { return }
        markNewer(index)
        jobs[index].isAdmitted = true
        if jobs[index].isDeviceListEarly { askAgain(index) }
    }

    /// Starts a delivery for each device that the job is for.
    private func send(_ index: Int32, to devices: DeviceList) {
        guard isCurrent(index) else { return drop(index) }
        if jobs[index].trace >= 0 { traceAdmission(index) }
        if jobs[index].quiet != nil, isQuiet(index, devices) { return }
        beginSending(index)
        jobs[index].openDeliveries = 1
        let job = jobs[index].job
        let (batch, entry) = origin(index)
        let owed = unsafe batch.headers(entry).value(PealHeader.devices)
        let history = unsafe batch.headers(entry).value(WorkerHeader.history)
        var started = 0
        var list = devices
        while let listed = list.next() {
            let id = unsafe listed.id
            let device = listed.device
            if isStale(device) {
                unsafe removeStale(index, id, device)
                continue
            }
            guard unsafe wants(job, id) else { continue }
            var tried: AttemptHistory = .none
            if let owed = unsafe owed {
                guard let place = unsafe OwedDevices.position(of: id, in: owed) else { continue }
                tried = unsafe OwedDevices.history(at: place, in: history)
            }
            if device.isSilenced, job.type == .alert { continue }
            started += 1
            scratch.clear()
            device.appendToken(to: &scratch)
            unsafe deliver(
                index,
                Target(
                    platform: Platform(device.platform),
                    environment: device.isSandbox ? .sandbox : .production,
                    token: scratch.bytes, device: id, registeredAtMs: device.registeredAtMs, history: tried))
        }
        if started == 0 {
            giveBackCap(index)
            noteOwed(index, .noDevice, .noDevice)
        }
        closeDelivery(of: index)
    }

    /// Whether the job is for this device of its recipient.
    private func wants(_ job: Job, _ id: UnsafeRawBufferPointer) -> Bool {
        guard job.target == .devices || job.target == .others else { return true }
        var wanted = job.devices
        while let element = wanted.next() {
            guard let name = element.text else { continue }
            text.clear()
            if unsafe name.unescaped(into: &text).elementsEqual(id) { return job.target == .devices }
        }
        return job.target == .others
    }
}

extension Platform {
    /// The same platform in a job's words.
    init(_ platform: DevicePlatform) {
        switch platform {
        case .ios: self = .ios
        case .android: self = .android
        case .web: self = .web
        }
    }
}
