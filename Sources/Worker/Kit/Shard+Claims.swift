internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Logging
internal import Redis
internal import Registry

/// What a job leaves in Redis. Its claims, its dedup key and its id, are done once a provider took it for any
/// device, else given back, so that another job may try. Its mark stands for its collapse id.
///
/// The job is finished only when Redis has answered: a claim that nobody settles would keep its duplicates
/// waiting until it runs out, and without its mark an older job would replace a newer one. What Redis refuses
/// is asked again with the next ticks; asking twice is harmless.
extension Shard {
    /// What Redis is told of.
    enum Claim: Equatable {
        case id
        case dedup
        /// The mark of a job that goes to a retry topic.
        case mark
        /// The place of a newer job, over the mark of an older one.
        case overMark
    }

    /// Leaves a mark, as one more thing that the job's end waits for.
    func leaveMark(_ index: Int32, _ claim: Claim) {
        jobs[index].openSettles += 1
        issueSettle(index, claim)
    }

    /// Tells Redis about the claims that the job holds.
    func settleClaims(_ index: Int32) {
        if jobs[index].holdsID { askToSettle(index, .id) }
        if jobs[index].holdsDedup { askToSettle(index, .dedup) }
    }

    private func askToSettle(_ index: Int32, _ claim: Claim) {
        jobs[index].openSettles += 1
        if claim == .id { jobs[index].holdsID = false } else { jobs[index].holdsDedup = false }
        issueSettle(index, claim)
    }

    private func issueSettle(_ index: Int32, _ claim: Claim) {
        let isDone = jobs[index].hasAccepted
        let job = jobs[index].job
        let question: RedisQuestion =
            switch claim {
            case .id: .settleID
            case .dedup: .settleDedup
            case .mark, .overMark: .mark
            }
        let tag = question.tag(jobs.reference(index), round: claim == .overMark ? 1 : 0)
        var refusal: RedisFailure.Code? = .unavailable
        switch claim {
        case .id:
            guard let own = idClaim(of: index) else { return settledClaim(index) }
            refusal = redis?.issue(tag) {
                unsafe RegistryCommands.settle(own, app: job.app.raw, isDone: isDone, into: &$0)
            }
        case .dedup:
            scratch.clear()
            text.clear()
            guard let recipient = unsafe job.recipient?.unescaped(into: &scratch),
                let key = unsafe job.dedup?.unescaped(into: &text)
            else { return settledClaim(index) }
            let own = unsafe DedupClaim(
                key: key, origin: firstPosition(index), milliseconds: Self.dedupMemoryMs)
            refusal = redis?.issue(tag) {
                unsafe RegistryCommands.settle(
                    own, of: RecipientReference(app: job.app.raw, recipient: recipient), isDone: isDone,
                    into: &$0)
            }
        case .mark, .overMark: refusal = writeLate(index, tag, isNewMark: claim == .mark)
        }
        if refusal != nil { unsettled.append((jobs.reference(index), claim)) }
    }

    /// Takes Redis's answer: the claim is settled, or it isn't the job's any more.
    func claimSettled(_ tag: RedisTag) {
        guard let index = jobs.resolve(tag.value) else { return }
        settledClaim(index)
    }

    private func settledClaim(_ index: Int32) {
        guard jobs[index].openSettles > 0 else { return }
        jobs[index].openSettles -= 1
        settle(index)
    }

    /// Redis did not settle a claim: it is asked again, unless it never will.
    func claimFailed(_ tag: RedisTag, _ claim: Claim, _ failure: RedisFailure) {
        guard let index = jobs.resolve(tag.value) else { return }
        if failure.code.isOutage || failure.code == .noScript || failure.code == .notPermitted {
            unsettled.append((jobs.reference(index), claim))
        } else if failure.code != .closed {
            logger.error("redis.claim", "Redis can't take what a job leaves: \(failure.message)")
            settledClaim(index)
        }
    }

    /// Asks again about the claims that were not settled; once a tick.
    func settleUnsettled() {
        guard !unsettled.isEmpty, redis?.isReady == true else { return }
        // In a server's distress one goes ahead, and the others follow when it was taken.
        let share = isRedisRefusing ? 1 : unsettled.count
        let list = Array(unsettled.prefix(share))
        unsettled.removeFirst(share)
        for (reference, claim) in list {
            guard let index = jobs.resolve(reference) else { continue }
            issueSettle(index, claim)
        }
    }
}
