internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Logging
internal import Redis
internal import Registry

/// A token that the provider refused in a way that a wrong configuration would also explain.
struct SuspectToken {
    var token: RemovedToken
    var device: [UInt8]
    /// When it is removed, unless too many others are refused meanwhile (loop's clock).
    var dueMs: UInt64
}

/// Suspected tokens are removed a little later, so that the first ones of a mass refusal are kept as well.
extension Shard {
    /// How long a suspected token is kept, in milliseconds: at any rate worth speaking of, a wrong
    /// configuration has shown itself by then.
    private static let suspicionMs: UInt64 = 5000
    /// Above it further ones are left alone; the next send removals them again.
    private static let suspectsMax = 20_000

    /// Puts a token on the list for removal.
    func suspect(_ delivery: Int32, registeredBeforeMs: Int64) {
        let slot = deliveries[delivery]
        guard unsafe !slot.device.isEmpty, removals.count < Self.suspectsMax else { return }
        scratch.clear()
        let job = jobs[slot.job].job
        guard let recipient = unsafe job.recipient?.unescaped(into: &scratch) else { return }
        removals.append(
            SuspectToken(
                token: unsafe RemovedToken(
                    app: jobs[slot.job].app, provider: slot.provider, recipient: Array(recipient),
                    token: StoredToken(Array(slot.token), DevicePlatform(slot.platform)),
                    beforeMs: registeredBeforeMs),
                device: unsafe Array(slot.device), dueMs: loop.nowMs &+ Self.suspicionMs))
    }

    /// Removes what is due; keeps what belongs to an app whose refusals are too many. Every 100 ms.
    func tickSuspects() {
        guard !removals.isEmpty, redis?.isReady == true else { return }
        var kept = 0
        removals.removeAll { suspect in
            if breakers[Int(suspect.token.app)].isOpen(nowMs: nowMs) {
                kept += 1
                counts.series.add(SeriesKey(.tokenSpared, app: suspect.token.app))
                return true
            }
            return suspect.dueMs <= loop.nowMs && remove(suspect.token, device: suspect.device)
        }
        counts.suspects = removals.count
        guard kept > 0 else { return }
        logger.notice(
            "tokens.spared", "Refused tokens are kept, since too many are refused at once.",
            ["tokens": .number(kept)])
    }
}
