internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Logging
internal import Redis
internal import Registry

/// A token that the provider refused in a way that a wrong configuration would also explain.
struct SuspectToken {
    var app: Int32
    var name: [UInt8]
    var recipient: [UInt8]
    var device: [UInt8]
    /// As the registry stores it.
    var token: [UInt8]
    var beforeMs: Int64
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
        // APNs tokens are stored as raw bytes.
        let raw = slot.provider == .apns ? unsafe Hex.decode(slot.token) : nil
        removals.append(
            SuspectToken(
                app: jobs[slot.job].app, name: unsafe Array(job.app.raw), recipient: unsafe Array(recipient),
                device: unsafe Array(slot.device), token: unsafe raw ?? Array(slot.token),
                beforeMs: registeredBeforeMs, dueMs: loop.nowMs &+ Self.suspicionMs))
    }

    /// Removes what is due; keeps what belongs to an app whose refusals are too many. Every 100 ms.
    func tickSuspects() {
        guard !removals.isEmpty, redis?.isReady == true else { return }
        var kept = 0
        removals.removeAll { suspect in
            if breakers[Int(suspect.app)].isOpen(nowMs: nowMs) {
                kept += 1
                return true
            }
            return suspect.dueMs <= loop.nowMs && remove(suspect)
        }
        counts.suspects = removals.count
        guard kept > 0 else { return }
        counts.tokensSpared &+= UInt64(kept)
        logger.notice(
            "tokens.spared", "Refused tokens are kept, since too many are refused at once.",
            ["tokens": .number(kept)])
    }

    /// Whether Redis took the removal.
    private func remove(_ suspect: SuspectToken) -> Bool {
        let refusal = redis?.issue(RedisQuestion.removeDevice.tag(UInt64(suspect.app), round: 0)) { out in
            unsafe suspect.name.withUnsafeBytes { name in
                unsafe suspect.recipient.withUnsafeBytes { recipient in
                    unsafe suspect.device.withUnsafeBytes { device in
                        unsafe suspect.token.withUnsafeBytes { token in
                            unsafe RegistryCommands.removeDevice(
                                of: RecipientReference(app: name, recipient: recipient), id: device,
                                storedToken: token, beforeMs: suspect.beforeMs, into: &out)
                        }
                    }
                }
            }
        }
        return refusal == nil || refusal == .malformed
    }
}
