internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Providers
internal import Redis

/// From a batch of records to jobs in their recipients' queues.
extension Shard {
    /// Takes a batch over. One of an assignment that is gone is dropped: its records belong to somebody else.
    func begin(_ batch: RecordBatch) {
        guard batch.epoch == lanes[batch.lane].epoch else { return }
        let place = keep(batch)
        batch.openJobs = batch.entries.count
        for number in batch.entries.indices {
            let index = jobs.take()
            jobs[index].stage = .held
            jobs[index].batch = place
            jobs[index].entry = Int32(number)
            jobs[index].lane = Int8(batch.lane)
            jobs[index].epoch = batch.epoch
            read(index)
        }
    }

    private func keep(_ batch: RecordBatch) -> Int32 {
        if let place = freeBatches.popLast() {
            batches[Int(place)] = batch
            return place
        }
        batches.append(batch)
        return Int32(batches.count - 1)
    }

    /// The batch and the entry of a job; a job always has both.
    func origin(_ index: Int32) -> (RecordBatch, RecordEntry) {
        guard let batch = batches[Int(jobs[index].batch)] else {
            preconditionFailure("a job outlived its batch")
        }
        return (batch, batch.entries[Int(jobs[index].entry)])
    }

    /// Parses a record and puts the job behind the others of its recipient.
    private func read(_ index: Int32) {
        let (batch, entry) = origin(index)
        do throws(RetryHeaders.Fault) {
            jobs[index].headers = try RetryHeaders.read(batch.headers(entry))
        } catch {
            return bury(index, .dead, .malformedHeaders, error.sentence)
        }
        guard entry.keyLength > 0 else {
            return bury(index, .dead, .malformedJob, "the record has no key; it must be app/recipient")
        }
        guard let value = unsafe batch.value(entry) else {
            return bury(index, .dead, .malformedJob, "the record has no value")
        }
        if let fault = unsafe parser.parse(value, into: &jobs[index].job) {
            jobs[index].job = Job()
            let reason: Reason = fault.code == .contradiction ? .contradictoryJob : .malformedJob
            return bury(index, .dead, reason, fault.description)
        }
        guard let app = unsafe app(named: jobs[index].job.app.raw) else {
            return bury(index, .dead, .unknownApp, "the app is not configured in this worker")
        }
        jobs[index].app = app
        if settings.tracer != nil { beginTrace(index) }
        jobs[index].hasAccepted = jobs[index].headers.hasAccepted
        let now = nowMs
        let published = entry.timestampMs > 0 ? entry.timestampMs : now
        jobs[index].readMs = now
        counts.stages.record(.queue, lane: jobs[index].lane, ms: now &- published)
        jobs[index].publishedMs = jobs[index].headers.firstMs > 0 ? jobs[index].headers.firstMs : published
        let own = jobs[index].job.deadlineMs(publishedAtMs: jobs[index].publishedMs)
        jobs[index].hasOwnDeadline = own != nil
        let from = max(jobs[index].publishedMs, jobs[index].job.sendAtMs)
        jobs[index].deadlineMs = own ?? (from + settings.maxAgeMs)
        let isCounted = jobs[index].job.flags.contains(.hasUnread) || !jobs[index].job.hasText
        jobs[index].unread = isCounted ? jobs[index].job.unread : traits[Int(app)].unreadDefault
        if waits(index, now: now) { return }
        guard entersApp(index) else { return }
        enqueue(index, hash: Hash64.mix(entry.keyHash, UInt64(batch.lane) &+ 0x51))
    }

    /// A job whose time has not come goes to a retry topic; true when it did.
    private func waits(_ index: Int32, now: Int64) -> Bool {
        let job = jobs[index].job
        guard job.flags.contains(.hasSendAt), job.sendAtMs > now, !jobs[index].headers.hasOrigin else {
            return false
        }
        if let fault = job.waitFault(nowMs: now) {
            bury(index, .dead, .malformedJob, fault.description)
            return true
        }
        jobs[index].stage = .settling
        handOver(index, dueMs: job.sendAtMs, attempts: 0, reason: nil)
        settle(index)
        return true
    }

    private func enqueue(_ index: Int32, hash: UInt64) {
        jobs[index].queueHash = hash
        jobs[index].isQueued = true
        let previous = queues.append(hash: hash, job: index)
        if previous >= 0 {
            jobs[previous].next = index
            jobs[index].stage = .queued
        } else {
            ready.append(index)
        }
    }

    /// Lets the next job of the recipient go on. `hasEnded` is false for a job that only waits elsewhere.
    func leaveQueue(_ index: Int32, hasEnded: Bool = true) {
        guard jobs[index].isQueued else { return }
        jobs[index].isQueued = false
        leftApp(index, hasEnded: hasEnded)
        let next = jobs[index].next
        queues.removeFirst(hash: jobs[index].queueHash, next: next)
        if next >= 0 { ready.append(next) }
    }

    /// Works off the jobs that waited for room or for Redis, the most urgent lane first, then those whose
    /// turn has come.
    func advance() {
        for lane in held.indices where !held[lane].isEmpty {
            dropStale(lane)
            if hasRoom(lane: lane) { advanceHeld(lane) }
        }
        if bulkheads.waiting > 0 { advanceLines() }
        var at = 0
        while at < ready.count {
            proceed(ready[at])
            at += 1
        }
        ready.removeAll(keepingCapacity: true)
    }

    /// Lets go of the held jobs of an assignment that is gone, also while there is no room: with Redis away
    /// each rebalance would bring the same records once more.
    private func dropStale(_ lane: Int) {
        guard heldEpochs[lane] != lanes[lane].epoch else { return }
        heldEpochs[lane] = lanes[lane].epoch
        var waiting: [UInt64] = []
        swap(&waiting, &held[lane])
        heldCount -= waiting.count
        for reference in waiting {
            guard let index = jobs.resolve(reference), jobs[index].stage == .held else { continue }
            if isCurrent(index) { hold(index) } else { drop(index) }
        }
    }

    private func advanceHeld(_ lane: Int) {
        var waiting: [UInt64] = []
        swap(&waiting, &held[lane])
        heldCount -= waiting.count
        for (position, reference) in waiting.enumerated() {
            guard hasRoom(lane: lane) else {
                held[lane].append(contentsOf: waiting[position...])
                heldCount += waiting.count - position
                return
            }
            if let index = jobs.resolve(reference), jobs[index].stage == .held { proceed(index) }
        }
    }

    /// Whether another job of the lane may start: a Redis that answers, and room for deliveries, a part of
    /// which is kept for the urgent lane.
    private func hasRoom(lane: Int) -> Bool {
        let share = lanes[lane].isUrgent ? 1 : 1 - settings.urgentReserve
        return deliveries.count < Int(Double(settings.deliveriesMax) * share) && (redis?.isReady ?? false)
            && loop.nowMs >= redisRestUntilMs && isControlKnown
    }

    /// Puts a job aside until there is room or Redis is back.
    func hold(_ index: Int32) {
        jobs[index].stage = .held
        endPreparation(index)
        held[Int(jobs[index].lane)].append(jobs.reference(index))
        heldCount += 1
    }

    /// Starts a job whose turn has come.
    func proceed(_ index: Int32) {
        guard isCurrent(index) else { return drop(index) }
        if jobs[index].deadlineMs <= nowMs {
            inheritClaims(index)
            return conclude(index, .expired, .expired)
        }
        // Once Redis was asked, what stands in its way is looked at for each delivery.
        guard jobs[index].wasAsked || (!isKeptBack(index) && !awaitsCircuit(index)) else { return }
        guard hasRoom(lane: Int(jobs[index].lane)) else { return hold(index) }
        guard passesApp(index) else { return }
        if jobs[index].headers.hasOrigin { return claimHop(index) }
        start(index)
    }

    /// Sends a job that nothing stands in the way of.
    func start(_ index: Int32) {
        guard isCurrent(index) else { return drop(index) }
        guard !isCancelled(index) else { return }
        let target = jobs[index].job.target
        if target == .topic || target == .all { return expand(index) }
        if traits[Int(jobs[index].app)].dedupIDsMs > 0, claimID(index) { return }
        startClaimed(index)
    }

    /// Hands a broadcast over to the stage that expands it. Nothing is claimed for it: that stage knows it by
    /// its id, however often it comes.
    private func expand(_ index: Int32) {
        counts.broadcasts &+= 1
        jobs[index].stage = .settling
        produceBroadcast(index)
        leaveQueue(index)
        settle(index)
    }

    /// Sends a job whose id nobody else has claimed.
    func startClaimed(_ index: Int32) {
        guard jobs[index].job.target == .token else { return admit(index) }
        if mayCollapse(index) { askForLateToken(index) } else { sendToToken(index) }
    }

    /// Whether the job's partition is still this process's.
    func isCurrent(_ index: Int32) -> Bool {
        jobs[index].batch >= 0 && jobs[index].epoch == lanes[Int(jobs[index].lane)].epoch
    }
}
