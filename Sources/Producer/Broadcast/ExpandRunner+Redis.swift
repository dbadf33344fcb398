internal import Core
internal import Decisions
internal import EventLoop
internal import Logging
internal import Redis
internal import Registry

// What Redis answers.
extension ExpandRunner: RedisReplyHandler {
    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {
        let number = UInt32(truncatingIfNeeded: tag.value)
        switch ExpandQuestion(rawValue: tag.kind) {
        case .shard:
            guard let (page, part) = pages[number] else { return }
            for index in 0..<reply.count { unsafe page.add(reply[index].bytes) }
            answered(page, part)
        case .open:
            if let part = partsByNumber[number] { opened(part, reply) }
        case .advance:
            if let part = partsByNumber[number] { advanced(part, state: reply.isNull ? nil : reply.text) }
        case .cancel:
            if let part = partsByNumber[number] { end(part) }
        case .note:
            if let plan = plans[number] { noted(plan, reply) }
        case .start:
            guard let plan = plans.removeValue(forKey: number) else { return }
            snapshot.planned &+= 1
            finish(plan.record)
        case .control: controlRead(reply)
        case .list, nil: break
        }
    }

    private func opened(_ part: PartWork, _ reply: borrowing RedisReplyView) {
        part.isAsking = false
        guard part.stage == .opening else { return }
        let state = reply[0].text
        let place = reply[2].integer.flatMap { Int(exactly: $0) }
        if state == BroadcastStatus.State.done.rawValue || state == BroadcastStatus.State.cancelled.rawValue
            || place == part.shards.upperBound
        {
            snapshot.repeatedParts &+= 1
            return end(part)
        }
        part.begin(at: place, count: reply[3].integer)
    }

    private func advanced(_ part: PartWork, state: String?) {
        part.isAsking = false
        guard let place = part.storing else { return }
        part.storing = nil
        guard let state else {
            // Redis has lost the broadcast: it is noted again, and the part begins anew.
            log.warning("expand.forgotten", "Redis does not know a broadcast any more; it is noted again.")
            forget(part.restart())
            return obey(part)
        }
        forget(part.store(place))
        if part.stored == part.shards.upperBound {
            snapshot.partsDone &+= 1
            end(part)
        } else if state == BroadcastStatus.State.cancelled.rawValue {
            stop(part)
        }
    }

    private func noted(_ plan: PlanWork, _ reply: borrowing RedisReplyView) {
        plan.isAsking = false
        list(plan)
        guard reply[0].text == BroadcastStatus.State.planned.rawValue, let count = reply[1].integer,
            (1...Int64(PartRange.partsMax)).contains(count)
        else {
            snapshot.repeatedPlans &+= 1
            plans[plan.number] = nil
            return finish(plan.record)
        }
        plan.publish(parts: Int(count))
    }

    /// Puts a broadcast on its app's list, for whoever wants to see what there is. Nothing depends on it.
    private func list(_ plan: PlanWork) {
        let of = plan.template.identity
        _ = ask(.list, plan.number) {
            OverviewCommands.list(broadcast: of.id, app: of.app, nowMs: Clock.wallMs, into: &$0)
        }
        _ = ask(.list, plan.number) { OverviewCommands.trimBroadcasts(app: of.app, into: &$0) }
    }

    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) {
        let number = UInt32(truncatingIfNeeded: tag.value)
        if !failure.code.isOutage, failure.code != .closed {
            log.error("redis.refused", "Redis refuses what a broadcast needs: \(failure.message)")
        }
        switch ExpandQuestion(rawValue: tag.kind) {
        case .shard:
            guard let (page, part) = pages[number] else { return }
            page.hasFailed = true
            answered(page, part)
        case .open, .advance, .cancel:
            guard let part = partsByNumber[number] else { return }
            snapshot.redisFailures &+= 1
            part.isAsking = false
            part.storing = nil
            part.retryAtMs = loop.nowMs &+ Self.restMs
        case .note, .start:
            guard let plan = plans[number] else { return }
            snapshot.redisFailures &+= 1
            plan.isAsking = false
            plan.retryAtMs = loop.nowMs &+ Self.restMs
        case .control: controlFailed(failure)
        case .list, nil: break
        }
    }

    func redisDisconnected(_ failure: RedisFailure) {
        log.warning("redis.disconnected", "Redis does not answer; broadcasts wait. \(failure.message)")
    }
}

// The operator's kill switch.
extension ExpandRunner {
    /// Reads `peal:control` when it is time.
    func askControl() {
        if loop.nowMs >= nextControlMs, !isReadingControl, let redis, redis.isReady {
            nextControlMs = loop.nowMs &+ settings.controlIntervalMs
            isReadingControl = true
            let tag = RedisTag(kind: ExpandQuestion.control.rawValue, value: 0)
            if redis.issue(tag, { RegistryCommands.control(into: &$0) }) != nil { isReadingControl = false }
        }
        let now = Clock.wallMs
        if now >= gate.validUntilMs { rule() }
        if loop.nowMs >= nextLogLevelsMs, let controlState {
            nextLogLevelsMs = loop.nowMs &+ 250
            log.follow(controlState.logOrders, nowMs: now)
        }
    }

    private func controlRead(_ reply: borrowing RedisReplyView) {
        isReadingControl = false
        controlRefusal = ""
        let pairs = RedisValue(copy reply).pairs.map { (field: $0.key, value: $0.value.text ?? "") }
        let state = ControlState(fields: pairs)
        guard state != controlState else { return }
        controlState = state
        rule()
    }

    /// The last known state holds while Redis is away. A server that answers but won't show the hash is
    /// obeyed as if nothing were paused, as by the workers.
    private func controlFailed(_ failure: RedisFailure) {
        isReadingControl = false
        guard !failure.code.isOutage, failure.code != .closed else { return }
        if failure.message != controlRefusal {
            controlRefusal = failure.message
            log.error("control.unreadable", "The kill switch can't be read. \(failure.message)")
        }
        if controlState == nil { controlState = ControlState() }
    }

    /// The number under which the gate knows an app.
    func number(ofApp app: String) -> Int32 {
        if let index = apps.firstIndex(of: app) { return Int32(clamping: index) }
        apps.append(app)
        gate = ControlGate(controlState ?? ControlState(), apps: apps, nowMs: Clock.wallMs)
        return Int32(clamping: apps.count - 1)
    }

    /// Arranges the entries in force and applies them to every part.
    private func rule() {
        gate = ControlGate(controlState ?? ControlState(), apps: apps, nowMs: Clock.wallMs)
        for part in parts { obey(part) }
    }

    /// Does to a part what an operator says.
    func obey(_ part: PartWork) {
        switch ruling(part) {
        case .go: part.isPaused = false
        case .pause:
            part.isPaused = true
            forget(part.retreat())
        case .cancel: stop(part)
        }
    }

    /// What an operator says about a part's broadcast.
    private func ruling(_ part: PartWork) -> ControlRuling {
        guard !gate.isOpen else { return .go }
        var campaign = part.template.campaign
        var id = part.key.broadcast.id
        return campaign.withUTF8 { campaign in
            id.withUTF8 { id in
                unsafe gate.ruling(
                    app: part.app, campaign: { UnsafeRawBufferPointer(campaign) },
                    id: { UnsafeRawBufferPointer(id) })
            }
        }
    }

    /// Lets a cancelled part end: what is out is waited for and stored.
    func stop(_ part: PartWork) {
        part.isPaused = false
        guard part.stage != .cancelling else { return }
        part.stage = .cancelling
        forget(part.retreat())
    }
}
