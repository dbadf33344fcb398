internal import Core
internal import Decisions
internal import Jobs
internal import Kafka
internal import Logging
internal import Registry
internal import Services

// What the consumer gives: records, partitions and reports.
extension ExpandRunner: KafkaRecordSink, KafkaConsumerDelegate {
    func take(_ record: borrowing KafkaRecord) {
        let topic = Int(record.topic)
        let place = Int(record.partition)
        guard partitions.indices.contains(topic), partitions[topic].indices.contains(place),
            partitions[topic][place].isOwned
        else { return }
        // A record that was begun in this assignment comes again after a pause.
        guard partitions[topic][place].tracker.begin(record.offset) else { return }
        partitions[topic][place].hasBegun = true
        let held = HeldRecord(record, epoch: partitions[topic][place].epoch)
        if topic == Input.broadcasts { beginPlan(held) } else { beginPart(held) }
    }

    private func beginPlan(_ record: HeldRecord) {
        let origin = record.text(PealHeader.origin) ?? place(of: record)
        let published = record.number(PealHeader.firstMs) ?? max(0, record.timestampMs)
        let id = BroadcastIdentity.derivedID(origin: origin, publishedMs: published)
        guard let template = template(record, id: id, publishedMs: published) else { return }
        guard template.fits else {
            return bury(
                record, .malformedJob,
                "the broadcast makes jobs of up to \(template.largest) bytes, and a job may have "
                    + "\(JobParser.maximumBytes); make it shorter")
        }
        // The one that is under way is read again if this process dies, this one's commit or not.
        guard !plans.values.contains(where: { $0.template.identity == template.identity }) else {
            snapshot.repeatedPlans &+= 1
            return finish(record)
        }
        let plan = PlanWork(number: takeNumber(), record, template)
        plans[plan.number] = plan
    }

    private func beginPart(_ record: HeldRecord) {
        guard let id = record.text(ExpandHeader.broadcast),
            let range = record.text(ExpandHeader.part).flatMap({ PartRange(text: $0) }),
            let published = record.number(PealHeader.firstMs)
        else {
            return bury(
                record, .malformedHeaders,
                "a part of a broadcast needs peal-broadcast, peal-part and peal-first-ms; publish the "
                    + "broadcast to a job topic instead")
        }
        guard let template = template(record, id: id, publishedMs: published) else { return }
        let part = PartWork(
            number: takeNumber(), record, template, range, shardCount: SubscriberIndex.shards)
        guard keys.insert(part.key).inserted else {
            // The one that is under way has a lower offset of the same partition, so that this one's commit
            // waits for it.
            snapshot.repeatedParts &+= 1
            return finish(record)
        }
        part.app = number(ofApp: part.key.broadcast.app)
        parts.append(part)
        partsByNumber[part.number] = part
        obey(part)
    }

    /// What the record's job is expanded from; nil when it is none and was buried.
    private func template(_ record: HeldRecord, id: String, publishedMs: Int64) -> BroadcastTemplate? {
        var job = Job()
        return unsafe record.value.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) -> BroadcastTemplate? in
            if let fault = unsafe parser.parse(bytes, into: &job) {
                bury(record, .malformedJob, fault.description)
                return nil
            }
            guard let found = BroadcastTemplate(job, id: id, publishedMs: publishedMs) else {
                bury(
                    record, .contradictoryJob,
                    "the job is not for a topic or for all; publish it to a job topic")
                return nil
            }
            return found
        }
    }

    /// The record's own place, `topic/partition/offset`.
    func place(of record: HeldRecord) -> String {
        "\(consumer.topics[record.topic])/\(record.partition)/\(record.offset)"
    }

    private func bury(_ record: HeldRecord, _ reason: Reason, _ detail: String) {
        snapshot.dead &+= 1
        burials[takeNumber()] = Burial(record, reason, detail)
        log.warning(
            "expand.dead", "A broadcast can't be expanded; it goes to the dead topic.",
            [
                "reason": .text("\(reason.label)"), "kafka.topic": .text(consumer.topics[record.topic]),
                "kafka.partition": .number(record.partition), "kafka.offset": .number(record.offset),
            ])
    }

    func kafkaAssigned(_ assigned: [TopicPartition]) {
        snapshot.isMember = true
        epoch &+= 1
        for partition in assigned where partition.partition >= 0 && partition.partition < 100_000 {
            let topic = Int(partition.topic)
            let index = Int(partition.partition)
            while partitions[topic].count <= index { partitions[topic].append(ExpandPartition()) }
            partitions[topic][index].take(epoch: epoch)
        }
        consumer.pause(assigned.filter { isCrowded[Int($0.topic)] })
        log.info("expand.assigned", "Partitions are assigned.", ["kafka.partitions": .number(assigned.count)])
    }

    func kafkaRevoked(_ revoked: [TopicPartition], lost: Bool) {
        if !lost, !control.isAbandoned { drain(deadlineMs: 2_000) }
        for partition in revoked {
            let topic = Int(partition.topic)
            let index = Int(partition.partition)
            if partitions[topic].indices.contains(index) { partitions[topic][index] = ExpandPartition() }
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
        kafkaLog.tell(event)
    }

    /// Forgets the work of partitions that have gone to others. The reports of what is in flight find
    /// nothing.
    private func dropUnowned() {
        for (number, plan) in plans where !isOwned(plan.record) { plans[number] = nil }
        for (number, burial) in burials where !isOwned(burial.record) { burials[number] = nil }
        for part in parts where !isOwned(part.record) {
            forget(part.pages)
            partsByNumber[part.number] = nil
            keys.remove(part.key)
        }
        parts.removeAll { partsByNumber[$0.number] == nil }
    }

    /// Pauses and resumes reading so that memory and open offsets stay within their bounds.
    func balanceRoom() {
        let counts = [plans.count + burials.count, parts.count]
        for topic in partitions.indices {
            let own = consumer.assignment.filter { Int($0.topic) == topic }
            if !isCrowded[topic], counts[topic] >= settings.partsHeldMax {
                isCrowded[topic] = true
                consumer.pause(own)
            } else if isCrowded[topic], counts[topic] <= settings.partsHeldMax / 2 {
                isCrowded[topic] = false
                consumer.resume(own.filter { !partitions[topic][Int($0.partition)].isPausedForSpan })
            }
            for index in partitions[topic].indices where partitions[topic][index].isOwned {
                balanceSpan(topic, index)
            }
        }
    }

    private func balanceSpan(_ topic: Int, _ index: Int) {
        let place = TopicPartition(topic: Int32(clamping: topic), partition: Int32(clamping: index))
        let span = partitions[topic][index].tracker.span
        let isPaused = partitions[topic][index].isPausedForSpan
        if !isPaused, span >= ExpandPartition.spanPause {
            partitions[topic][index].isPausedForSpan = true
            consumer.pause([place])
        } else if isPaused, span <= ExpandPartition.spanResume {
            partitions[topic][index].isPausedForSpan = false
            if !isCrowded[topic] { consumer.resume([place]) }
        }
    }
}
