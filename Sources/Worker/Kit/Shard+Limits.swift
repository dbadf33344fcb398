internal import Core
internal import Decisions
internal import Jobs
internal import Providers
internal import Redis
internal import Registry

/// Caps, claims of dedup keys and ids, and the end of badge syncs.
extension Shard {
    // MARK: Caps

    /// The cap that the job has to pass; nil when there is none, or when it was let through before. The
    /// class's name lies in `body`.
    ///
    /// Only what people see is capped: alerts and encrypted notifications.
    func cap(of index: Int32) -> FrequencyCap? {
        let headers = jobs[index].headers
        guard
            headers.attempt == 0 || hasWaited(index, for: .capped) || hasWaited(index, for: .duplicate)
                || hasWaited(index, for: .quietHours)
        else { return nil }
        guard let rule = capRule(of: index) else { return nil }
        return cap(rule, of: index)
    }

    private func cap(_ rule: CapRule, of index: Int32) -> FrequencyCap {
        body.clear()
        body.append(array: rule.name)
        return unsafe FrequencyCap(
            name: body.bytes, count: rule.count, windowMs: rule.windowMs, origin: firstPosition(index),
            replaces: rule.policy == .replace)
    }

    /// The rule of the job's class: the first of its kind, its topic and its campaign that has a cap, else
    /// the standard class.
    private func capRule(of index: Int32) -> CapRule? {
        let job = jobs[index].job
        guard isShown(job), job.recipient != nil else { return nil }
        let rules = caps[Int(jobs[index].app)]
        for name in [job.kind, job.topic, job.campaign] {
            guard let name else { continue }
            body.clear()
            let text = unsafe name.unescaped(into: &body)
            if let rule = rules.first(where: { unsafe $0.name.elementsEqual(text) }) { return rule }
        }
        return rules.first { $0.name == CapRule.standardClass }
    }

    /// What becomes of a job that its recipient's cap doesn't let through.
    func capped(_ index: Int32, waitMs: Int64) {
        guard let rule = capRule(of: index), rule.policy != .drop else {
            return conclude(index, .capped, .capped)
        }
        if nowMs + waitMs >= jobs[index].deadlineMs { return conclude(index, .expired, .capped) }
        counts.capWaits &+= 1
        count(.capped)
        postpone(index, forMs: waitMs, reason: .capped)
    }

    /// Gives the charge back if nothing was sent for it.
    func giveBackCap(_ index: Int32) {
        guard jobs[index].headers.sends == 0, !jobs[index].hasAccepted else { return }
        guard traits[Int(jobs[index].app)].hasCaps, let rule = capRule(of: index) else { return }
        scratch.clear()
        let job = jobs[index].job
        guard let recipient = unsafe job.recipient?.unescaped(into: &scratch) else { return }
        let cap = cap(rule, of: index)
        _ = redis?.issue(RedisQuestion.tell.tag(0, round: 0)) {
            unsafe RegistryCommands.giveBack(
                cap, of: RecipientReference(app: job.app.raw, recipient: recipient), into: &$0)
        }
    }

    // MARK: Dedup

    /// Asks whether a job of this id was sent before; false when nothing has to be asked.
    func claimID(_ index: Int32) -> Bool {
        guard jobs[index].job.id != nil else { return false }
        guard isUncounted(index) else {
            // An earlier hop claimed the id.
            jobs[index].holdsID = true
            return false
        }
        guard let claim = idClaim(of: index) else { return false }
        jobs[index].stage = .admitting
        probeRedis()
        let app = jobs[index].job.app
        jobs[index].round &+= 1
        jobs[index].wasAsked = true
        let refusal = redis?.issue(
            RedisQuestion.claimID.tag(jobs.reference(index), round: jobs[index].round)
        ) {
            unsafe RegistryCommands.claim(claim, app: app.raw, into: &$0)
        }
        if refusal != nil {
            jobs[index].round &+= 1
            holdForRedis(index)
        } else {
            counts.redisScripts &+= 1
        }
        return true
    }

    func idClaim(of index: Int32) -> JobIDClaim? {
        let app = traits[Int(jobs[index].app)]
        guard app.dedupIDsMs > 0 else { return nil }
        text.clear()
        let (_, entry) = origin(index)
        guard let id = unsafe jobs[index].job.id?.unescaped(into: &text) else { return nil }
        return unsafe JobIDClaim(
            id: id, keyHash: entry.keyHash, origin: firstPosition(index),
            publishedMs: jobs[index].publishedMs,
            window: JobIDWindow(windowMs: app.dedupIDsMs, expected: app.dedupIDsExpected))
    }

    /// The registry's word on the job's id.
    func idClaimed(_ index: Int32, _ verdict: IDVerdict?) {
        guard isCurrent(index) else { return drop(index) }
        switch verdict {
        case .proceed:
            jobs[index].holdsID = true
            startClaimed(index)
        case .done: conclude(index, .duplicate, .duplicate)
        case .inProgress: awaitDuplicate(index)
        case nil: bury(index, .dead, .internalFault, "Redis answered the claim of an id with something else")
        }
    }

    /// Lets a job wait until the one that holds its dedup key or id has an outcome: a second, then longer.
    func awaitDuplicate(_ index: Int32) {
        counts.duplicateWaits &+= 1
        let wait = Int64(1000) << min(jobs[index].headers.waits, 4)
        postpone(index, forMs: min(wait, 10_000), reason: .duplicate)
    }

    /// An earlier hop of the job, or one of its questions, may have claimed its dedup key and id; nobody else
    /// will ever settle them. Settling what isn't the job's does nothing.
    func inheritClaims(_ index: Int32) {
        guard jobs[index].headers.attempt > 0 || jobs[index].wasAsked || jobs[index].headers.hasOrigin else {
            return
        }
        jobs[index].holdsDedup = jobs[index].job.dedup != nil
        jobs[index].holdsID = traits[Int(jobs[index].app)].dedupIDsMs > 0 && jobs[index].job.id != nil
    }

    // MARK: Badge syncs

    /// Gives up the claim of a badge sync before the counter is read: a read after that publishes another
    /// one. The code of a refusal, nil for none.
    func endSync(_ job: Job, _ recipient: RecipientReference) -> RedisFailure.Code? {
        guard job.type == .badge, job.deviceCount <= 1 else { return nil }
        var devices = job.devices
        body.clear()
        var device = unsafe body.bytes
        if let name = devices.next()?.text { unsafe device = name.unescaped(into: &body) }
        return redis?.issue(RedisQuestion.tell.tag(0, round: 0)) {
            unsafe RegistryCommands.endSync(of: recipient, device: device, into: &$0)
        }
    }
}
