internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Providers

/// From outcomes to the job's end: events, retry and dead records, and at last the offset.
extension Shard {
    // MARK: The end of a delivery

    /// Ends a delivery with its one outcome.
    func end(_ delivery: Int32, _ outcome: DeliveryOutcome, _ reason: Reason) {
        let index = deliveries[delivery].job
        unsafe note(index, outcome, reason, delivery: delivery)
        if outcome == .accepted { jobs[index].hasAccepted = true }
        release(delivery)
        closeDelivery(of: index)
    }

    /// Lets go of a delivery whose job belongs to somebody else by now: no outcome, its new owner will have
    /// one.
    func abandon(_ delivery: Int32) {
        let index = deliveries[delivery].job
        release(delivery)
        jobs[index].isAbandoned = true
        closeDelivery(of: index)
    }

    /// Leaves a delivery for another attempt at `dueMs`; `isWait` says that this one doesn't count as an
    /// attempt.
    func owe(_ delivery: Int32, dueMs: Int64, isWait: Bool, reason: Reason) {
        let index = deliveries[delivery].job
        forgetProbe(delivery)
        deliveries[delivery].dueMs = dueMs
        deliveries[delivery].isWait = isWait
        deliveries[delivery].reason = reason
        deliveries[delivery].nextOwed = jobs[index].owed
        jobs[index].owed = delivery
        closeDelivery(of: index)
    }

    private func release(_ delivery: Int32) {
        closed(delivery)
        let block = unsafe deliveries[delivery].block
        if block.count > 0 { unsafe blocks.give(block) }
        deliveries.give(delivery)
    }

    /// Counts down the job's open deliveries; with the last one every device has its first answer.
    func closeDelivery(of index: Int32) {
        jobs[index].openDeliveries -= 1
        if jobs[index].openDeliveries == 0 { answered(index) }
    }

    // MARK: The end of a job

    private func answered(_ index: Int32) {
        leaveQueue(index)
        if jobs[index].isAbandoned || (jobs[index].owed >= 0 && !isCurrent(index)) {
            return drop(index)
        }
        jobs[index].stage = .settling
        if jobs[index].owed >= 0 {
            handOverOwed(index)
        } else {
            settleClaims(index)
        }
        settle(index)
    }

    /// Ends a job without any delivery: with one outcome, or one for each device that a retry still owed.
    func conclude(_ index: Int32, _ outcome: DeliveryOutcome, _ reason: Reason) {
        noteOwed(index, outcome, reason)
        settleClaims(index)
        jobs[index].stage = .settling
        leaveQueue(index)
        settle(index)
    }

    /// Sends the job's bytes to the dead-letter topic. With an outcome the job ends there; without one a
    /// delivery does.
    func bury(
        _ index: Int32, _ outcome: DeliveryOutcome?, _ reason: Reason, _ detail: String,
        _ delivery: Int32? = nil
    ) {
        jobs[index].isBuried = true
        counts.series.add(SeriesKey(.dead, app: jobs[index].app, reason: reason))
        produceDead(index, reason, detail, delivery)
        if let outcome { conclude(index, outcome, reason) }
    }

    /// Counts a job that leaves before anything of it was sent.
    func countPutOff(_ index: Int32, _ reason: Reason, _ provider: Provider? = nil) {
        counts.series.add(
            SeriesKey(
                .putOff, app: jobs[index].app, provider: provider?.rawValue ?? SeriesKey.noProvider,
                lane: jobs[index].lane, reason: reason))
    }

    /// Puts the whole job off, without an attempt.
    func postpone(_ index: Int32, forMs: Int64, reason: Reason) {
        jobs[index].stage = .settling
        countPutOff(index, reason)
        handOver(index, dueMs: nowMs + forMs, attempts: 1, waits: 1, reason: reason)
        leaveQueue(index)
        settle(index)
    }

    /// Hands the owed deliveries over to a retry topic as one record.
    private func handOverOwed(_ index: Int32) {
        var due: Int64 = 0
        var isWait = true
        var reason = Reason.accepted
        var provider = deliveries[jobs[index].owed].provider as Provider?
        text.clear()
        scratch.clear()
        var delivery = jobs[index].owed
        while delivery >= 0 {
            let slot = deliveries[delivery]
            if slot.dueMs >= due {
                due = slot.dueMs
                reason = slot.reason
            }
            isWait = isWait && slot.isWait
            if !slot.reason.waitsForProvider || slot.provider != provider { provider = nil }
            if unsafe !slot.device.isEmpty { unsafe OwedDevices.append(slot.device, to: &text) }
            if !scratch.isEmpty { scratch.append(byte: UInt8(ascii: ",")) }
            scratch.append(unsigned: UInt64(slot.history.rawValue))
            count(slot.reason)
            counts.series.add(
                SeriesKey(
                    .retry, app: jobs[index].app, provider: slot.provider.rawValue, lane: jobs[index].lane,
                    reason: slot.reason))
            tallyRetry(index, slot.reason)
            tellRetry(index, delivery)
            let next = slot.nextOwed
            release(delivery)
            delivery = next
        }
        jobs[index].owed = -1
        handOver(
            index, dueMs: due, attempts: 1, waits: isWait ? 1 : 0, reason: reason, hasDeviceLists: true,
            provider: provider)
    }

    /// Gives up a job without an outcome. `isDone` commits its offset all the same: another record stands for
    /// it. Records of it that the broker has not acknowledged still need the job and its bytes: it lingers
    /// until they are.
    func drop(_ index: Int32, isDone: Bool = false) {
        leaveQueue(index)
        var delivery = jobs[index].owed
        while delivery >= 0 {
            let next = deliveries[delivery].nextOwed
            release(delivery)
            delivery = next
        }
        jobs[index].owed = -1
        counts.jobsDropped &+= 1
        guard jobs[index].openRecords > 0 else { return finish(index, isDone: isDone) }
        jobs[index].isAbandoned = !isDone
        jobs[index].isDropped = true
        jobs[index].stage = .settling
    }

    /// Finishes the job when the broker has acknowledged all that was written about it.
    func settle(_ index: Int32) {
        guard jobs[index].stage == .settling, jobs[index].openRecords == 0, jobs[index].openDeliveries == 0,
            jobs[index].openSettles == 0
        else { return }
        if jobs[index].isDropped { return finish(index, isDone: !jobs[index].isAbandoned) }
        counts.jobsFinished &+= 1
        tallyJob(index)
        finish(index, isDone: true)
    }

    private func finish(_ index: Int32, isDone: Bool) {
        let place = Int(jobs[index].batch)
        guard let batch = batches[place] else { preconditionFailure("a job outlived its batch") }
        if isDone {
            let entry = batch.entries[Int(jobs[index].entry)]
            completions[batch.lane].append(
                Completion(
                    partition: entry.partition, epoch: batch.epoch, offset: entry.offset,
                    timestampMs: entry.timestampMs))
        }
        if jobs[index].trace >= 0 { endTrace(index, isDone: isDone) }
        batch.openJobs -= 1
        if batch.openJobs == 0 {
            batches[place] = nil
            freeBatches.append(Int32(place))
        }
        jobs.give(index)
    }

    // MARK: Counting

    /// Counts an outcome and publishes its event.
    func note(
        _ index: Int32, _ outcome: DeliveryOutcome, _ reason: Reason, delivery: Int32?,
        device: UnsafeRawBufferPointer? = nil
    ) {
        let app = jobs[index].app
        counts.series.add(
            SeriesKey(
                .delivery, app: app, provider: provider(of: delivery), lane: jobs[index].lane,
                outcome: outcome, reason: reason))
        if delivery == nil || outcome != .accepted { count(reason) }
        tally(index, outcome, reason, delivery)
        unsafe tellEnd(index, outcome, reason, delivery, device)
        let level = app >= 0 ? traits[Int(app)].outcomes : .all
        guard level == .all || (level == .failures && outcome != .accepted) else { return }
        unsafe produceOutcome(index, outcome, reason, delivery, device: device)
    }

    /// Who a delivery goes by, for its series: the printer where it is printed.
    private func provider(of delivery: Int32?) -> UInt8 {
        guard let delivery else { return SeriesKey.noProvider }
        return deliveries[delivery].isPrinted ? Provider.log.rawValue : deliveries[delivery].provider.rawValue
    }

    /// Notes one outcome for each device that the record says is owed; for the whole job when it names none.
    func noteOwed(_ index: Int32, _ outcome: DeliveryOutcome, _ reason: Reason) {
        let (batch, entry) = origin(index)
        guard let list = unsafe batch.headers(entry).value(PealHeader.devices), unsafe !list.isEmpty else {
            return unsafe note(index, outcome, reason, delivery: nil)
        }
        unsafe OwedDevices.forEach(in: list) { id in
            unsafe note(index, outcome, reason, delivery: nil, device: id)
        }
    }

    func count(_ reason: Reason) { counts.reasons[Int(reason.rawValue)] &+= 1 }
}
