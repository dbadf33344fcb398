internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Redis
internal import Registry

/// A retried job never replaces a newer one of the same collapse id.
///
/// A job that leaves for a retry topic leaves a mark in Redis, `peal:late:{app:recipient}:<collapse id>`,
/// with its place in the log. A newer job with that id finds the mark and puts its own place there; the older
/// one finds that when it comes back, and ends instead of being sent. Nearly always there is no mark: it
/// costs a job with a collapse id one plain `GET` in the pipeline, and every other job nothing.
extension Shard {
    /// How long a mark outlives its job's deadline, in milliseconds.
    private static let lateSpareMs: Int64 = 60_000

    /// Whether the job takes part: a job for a later time is meant to come after newer ones.
    func mayCollapse(_ index: Int32) -> Bool {
        jobs[index].job.collapse != nil && !jobs[index].job.flags.contains(.hasSendAt)
    }

    /// Asks whether an older job waits or a newer one went by. Call it in the job's current round.
    /// - Returns: nil when the question was taken, else why not.
    func askForLate(_ index: Int32) -> RedisFailure.Code? {
        let tag = RedisQuestion.late.tag(jobs.reference(index), round: jobs[index].round)
        return redis?.issue(tag) { out in
            out.begin(2)
            out.argument("GET")
            out.argument { appendLateKey(of: index, to: &$0) }
        }
    }

    /// Asks the same for a job that names its token, which asks Redis nothing else.
    func askForLateToken(_ index: Int32) {
        jobs[index].stage = .admitting
        jobs[index].wasAsked = true
        jobs[index].round &+= 1
        if askForLate(index) != nil { holdForRedis(index) }
    }

    /// Takes the answer. A job that names its token goes on; another waits for its admission.
    func tookLate(_ index: Int32, _ reply: borrowing RedisReplyView) {
        if !reply.isNull, let mark = unsafe JobPosition(identity: reply.bytes, lane: 0) {
            let own = firstPosition(index)
            if mark.isNewer(than: own) {
                jobs[index].standing = .superseded
            } else if own.isNewer(than: mark) {
                jobs[index].standing = .newer
            }
        }
        guard jobs[index].job.target == .token else { return }
        if endsSuperseded(index) { return }
        markNewer(index)
        sendToToken(index)
    }

    /// Ends a job whose place was taken by a newer one; true when it did.
    func endsSuperseded(_ index: Int32) -> Bool {
        guard jobs[index].standing == .superseded else { return false }
        giveBackCap(index)
        conclude(index, .expired, .superseded)
        return true
    }

    /// Tells the older job that waits that this one goes out now.
    func markNewer(_ index: Int32) {
        guard jobs[index].standing == .newer else { return }
        leaveMark(index, .overMark)
    }

    /// Leaves the mark of a job that goes to a retry topic.
    func markLate(_ index: Int32) {
        guard mayCollapse(index), jobs[index].app >= 0 else { return }
        leaveMark(index, .mark)
    }

    /// Issues the command that writes a mark; the code of a refusal, nil for none.
    func writeLate(_ index: Int32, _ tag: RedisTag, isNewMark: Bool) -> RedisFailure.Code? {
        let position = firstPosition(index)
        let span = max(1000, min(jobs[index].deadlineMs &- nowMs, 30 * 86_400_000) + Self.lateSpareMs)
        return redis?.issue(tag) { out in
            out.begin(isNewMark ? 5 : 6)
            out.argument("SET")
            out.argument { appendLateKey(of: index, to: &$0) }
            out.argument { position.appendIdentity(to: &$0) }
            if !isNewMark { out.argument("XX") }
            out.argument("PX")
            out.argument(decimal: span)
        }
    }

    private func appendLateKey(of index: Int32, to out: inout ByteBuffer) {
        let job = jobs[index].job
        lateName.clear()
        lateID.clear()
        guard let name = unsafe (job.recipient ?? job.token)?.unescaped(into: &lateName),
            let id = unsafe job.collapse?.unescaped(into: &lateID)
        else { return }
        unsafe RegistryKeys.late(
            RecipientReference(app: job.app.raw, recipient: name), collapse: id, into: &out)
    }
}
