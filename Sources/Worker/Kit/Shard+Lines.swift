internal import Core
internal import Decisions
internal import Jobs
internal import Logging
internal import Providers

/// One line for the end of each delivery, and for each wait, for whoever asks what became of a job.
extension Shard {
    /// Tells the end of a delivery, or with nil of a job without one. What is loud is limited by app,
    /// provider and reason.
    func tellEnd(
        _ index: Int32, _ outcome: DeliveryOutcome, _ reason: Reason, _ delivery: Int32?,
        _ device: UnsafeRawBufferPointer?
    ) {
        let level = DeliveryLine.level(of: outcome)
        guard deliveryLog.writes(level) else { return }
        let provider = delivery.map { deliveries[$0].provider.rawValue } ?? .max
        let kind = UInt64(outcome.rawValue) << 24 | UInt64(reason.rawValue) << 8 | UInt64(provider)
        let detail = Hash64.mix(kind, UInt64(bitPattern: Int64(jobs[index].app)) &+ 0x51)
        deliveryLog.sampled(level, "delivery.ended", detail: detail) {
            var fields = unsafe lineFields(index, delivery, device)
            fields.add(.outcome, "\(outcome.name)")
            fields.add(.reason, "\(reason.label)")
            fields.add(.afterMs, max(0, nowMs - jobs[index].publishedMs))
            return (DeliveryLine.sentence(of: outcome), fields)
        }
    }

    /// Tells, at `debug`, that a delivery waits for another attempt.
    func tellRetry(_ index: Int32, _ delivery: Int32) {
        guard deliveryLog.writes(.debug) else { return }
        var fields = unsafe lineFields(index, delivery, nil)
        fields.add(.reason, "\(deliveries[delivery].reason.label)")
        fields.add(.dueMs, deliveries[delivery].dueMs)
        deliveryLog.debug("delivery.waits", "A delivery waits for another attempt.", fields)
    }

    /// Tells, at `debug`, that a whole job waits.
    func tellWait(_ index: Int32, _ reason: Reason?, dueMs: Int64) {
        guard deliveryLog.writes(.debug) else { return }
        var fields = unsafe lineFields(index, nil, nil)
        fields.add(.reason, reason.map { "\($0.label)" } ?? "send_at")
        fields.add(.dueMs, dueMs)
        deliveryLog.debug("job.waits", "A job waits as a whole.", fields)
    }

    private func lineFields(
        _ index: Int32, _ delivery: Int32?, _ device: UnsafeRawBufferPointer?
    ) -> LogFields {
        var fields: LogFields = [:]
        let job = jobs[index]
        var out = ByteBuffer(capacity: 128)
        if job.app >= 0 {
            if let id = job.job.id {
                fields.add(.job, unsafe String(decoding: id.unescaped(into: &out), as: UTF8.self))
            }
            fields.add(.app, directory.apps[Int(job.app)].name)
        }
        fields.add(.lane, lanes[Int(job.lane)].name)
        var attempts = Int64(job.headers.sends)
        if let delivery {
            let slot = deliveries[delivery]
            if slot.sentAtMs > 0 { attempts += 1 + Int64(slot.resends) }
            fields.add(.device, unsafe DeliveryLine.name(device: slot.device, token: slot.token))
            fields.add(.provider, "\(slot.provider.name)")
            if unsafe slot.provider == .apns && slot.block.count > 0 {
                fields.add(.apnsID, unsafe String(decoding: slot.slice(slot.idAt, 36), as: UTF8.self))
            }
            if slot.status > 0 { fields.add(.status, Int64(slot.status)) }
            if slot.sentAtMs > 0 { fields.add(.providerMs, max(0, nowMs - slot.sentAtMs)) }
        } else if let device = unsafe device {
            let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
            fields.add(.device, unsafe DeliveryLine.name(device: device, token: none))
        }
        fields.add(.attempts, attempts)
        out.clear()
        appendOrigin(index, to: &out)
        fields.add(.origin, out.text)
        if let trace = traceID(of: index) { fields.add(.traceID, trace.text) }
        return fields
    }
}
