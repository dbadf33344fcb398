import Core
import Decisions
import EventLoop
import Kafka
import Logging
import Services

// What the consumer gives: records, partitions and reports.
extension TierRunner: KafkaRecordSink, KafkaConsumerDelegate {
    func take(_ record: borrowing KafkaRecord) {
        let place = Int(record.partition)
        guard partitions.indices.contains(place), partitions[place].isOwned else { return }
        guard isNew(record.offset, place) else {
            snapshot.repeated &+= 1
            return
        }
        let index = store.insert(record)
        let found = classify(record)
        let entered = record.timestampMs > 0 ? min(record.timestampMs, nowMs) : nowMs
        store.update(index) {
            $0.epoch = partitions[place].epoch
            $0.enteredMs = entered
            switch found {
            case .success(let headers):
                $0.dueMs = headers.dueMs
                $0.target = Int32(clamping: headers.lane)
            case .failure:
                $0.dueMs = nowMs
                $0.target = Int32(clamping: deadTarget)
                $0.isDead = true
            }
        }
        if case .failure(let fault) = found { noteDead(fault, record) }
        if partitions[place].untracked.isEmpty, partitions[place].tracker.begin(record.offset) {
            partitions[place].hasBegun = true
            act(on: index)
        } else {
            // A jump in the offsets while an old one is open: it is taken up when the old one is done.
            store.update(index) { $0.state = .untracked }
            partitions[place].untracked.append(index)
        }
    }

    private func isNew(_ offset: Int64, _ place: Int) -> Bool {
        if let last = partitions[place].untracked.last { return offset > store.slots[last].offset }
        return !partitions[place].hasBegun || offset >= partitions[place].tracker.next
    }

    private func classify(_ record: borrowing KafkaRecord) -> Result<RetryHeaders, RetryHeaders.Fault> {
        let due = unsafe record.header(PealHeader.dueMs)
        let attempt = unsafe record.header(PealHeader.attempt)
        let origin = unsafe record.header(PealHeader.origin)
        do throws(RetryHeaders.Fault) {
            return .success(
                unsafe try RetryHeaders.parse(
                    due: due, attempt: attempt, origin: origin, lanes: lanes, nowMs: nowMs))
        } catch { return .failure(error) }
    }

    private func noteDead(_ fault: RetryHeaders.Fault, _ record: borrowing KafkaRecord) {
        if let index = RetryHeaders.Fault.allCases.firstIndex(of: fault) { snapshot.dead[index] &+= 1 }
        log.warning(
            "retry.malformed",
            "A record's headers don't say where it goes back to; it goes to the dead topic.",
            [
                "retry.fault": .text(fault.rawValue), "kafka.topic": .text(consumer.topics.first ?? ""),
                "kafka.partition": .number(record.partition), "kafka.offset": .number(record.offset),
            ])
    }

    func kafkaAssigned(_ assigned: [TopicPartition]) {
        snapshot.isMember = true
        epoch &+= 1
        for partition in assigned where partition.partition >= 0 && partition.partition < 100_000 {
            let index = Int(partition.partition)
            while partitions.count <= index { partitions.append(RetryPartition()) }
            partitions[index].take(epoch: epoch)
        }
        if isPausedForRoom { consumer.pause(assigned) }
        log.info(
            "retry.assigned", "Partitions are assigned.",
            ["retry.tier": .text(snapshot.tier), "kafka.partitions": .number(assigned.count)])
    }

    func kafkaRevoked(_ revoked: [TopicPartition], lost: Bool) {
        if !lost, !control.isAbandoned { drain(revoked, deadlineMs: 2_000) }
        for partition in revoked {
            let index = Int(partition.partition)
            if partitions.indices.contains(index) { partitions[index] = RetryPartition() }
        }
        dropUnowned()
    }

    func kafkaCommitted(_ results: [CommitResult]) {
        for result in results where result.outcome == .failed {
            snapshot.commitFailures &+= 1
            forgetCommit(result.position)
        }
    }

    func kafkaReported(_ event: KafkaEvent) {
        if event.code == .allBrokersDown, brokersAwayMs == 0 { brokersAwayMs = Clock.wallMs }
        kafkaLog.tell(event, ["retry.tier": .text(snapshot.tier)])
    }

    /// Forgets the records of partitions that have gone to others. Those in flight go with their reports.
    private func dropUnowned() {
        for index in store.slots.indices {
            let record = store.slots[index]
            guard record.state != .free, record.state != .inFlight else { continue }
            if !isOwned(index) { store.release(index) }
        }
    }

    /// Pauses and resumes reading so that memory and open offsets stay within their bounds.
    func balanceRoom() {
        var isCrowded = false
        if !isPausedForRoom,
            store.count >= settings.heldRecordsMax || store.bytes >= settings.heldBytesMax
        {
            isPausedForRoom = true
            snapshot.pauses &+= 1
            consumer.pause(consumer.assignment)
        } else if isPausedForRoom, store.count <= settings.heldRecordsMax / 2,
            store.bytes <= settings.heldBytesMax / 2
        {
            isPausedForRoom = false
            consumer.resume(consumer.paused.filter { !isPausedForSpan(Int($0.partition)) })
        }
        for index in partitions.indices where partitions[index].isOwned {
            if !partitions[index].untracked.isEmpty { trackLate(index) }
            balanceSpan(index)
            isCrowded = isCrowded || partitions[index].isPausedForSpan
        }
        if isCrowded || isPausedForRoom, nowMs >= nextRelieveMs { relieve() }
    }

    private func isPausedForSpan(_ index: Int) -> Bool {
        partitions.indices.contains(index) && partitions[index].isPausedForSpan
    }

    private func balanceSpan(_ index: Int) {
        let place = TopicPartition(topic: 0, partition: Int32(clamping: index))
        let most = settings.heldPartitionMax
        if !partitions[index].isPausedForSpan, partitions[index].isFull(recordsMax: most) {
            partitions[index].isPausedForSpan = true
            snapshot.pauses &+= 1
            consumer.pause([place])
        } else if partitions[index].isPausedForSpan, partitions[index].hasRoom(recordsMax: most) {
            partitions[index].isPausedForSpan = false
            if !isPausedForRoom { consumer.resume([place]) }
        }
    }

    private func trackLate(_ index: Int) {
        var taken = 0
        for slot in partitions[index].untracked {
            guard partitions[index].tracker.begin(store.slots[slot].offset) else { break }
            partitions[index].hasBegun = true
            taken += 1
            act(on: slot)
        }
        partitions[index].untracked.removeFirst(taken)
    }

    /// Has records move on that have been in the topic for its own delay, to make room for those behind them.
    private func relieve() {
        nextRelieveMs = nowMs + 50
        for index in store.slots.indices where store.slots[index].state == .held {
            let record = store.slots[index]
            // Those that wait because producing them failed stay where they are.
            guard record.failures == 0,
                policy.mayYield(dueMs: record.dueMs, enteredMs: record.enteredMs, nowMs: nowMs)
            else { continue }
            snapshot.yielded &+= 1
            move(index, toTier: policy.schedule.tier(forWaitMs: record.dueMs - nowMs))
        }
    }
}
