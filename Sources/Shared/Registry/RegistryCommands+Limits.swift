internal import Core
package import Redis

/// The commands of caps, reads, dedup by job id and provider quotas.
extension RegistryCommands {
    /// Gives a cap's charge back: the job that was charged didn't go out. The reply is 1, or 0 when it is too
    /// late to matter.
    package static func giveBack(
        _ cap: FrequencyCap, of recipient: RecipientReference, into out: inout RedisCommandBuffer
    ) {
        out.begin(3)
        out.argument("ZREM")
        out.argument { unsafe RegistryKeys.cap(recipient, class: cap.name, into: &$0) }
        out.argument { cap.origin.appendIdentity(to: &$0) }
    }

    /// Tells the counter that a device has read something; the reply is the count, and 1 if a push to the
    /// other devices is the caller's to publish. For `claimMs` nobody else publishes one, unless a worker
    /// takes it up before.
    package static func read(
        _ change: UnreadChange, of recipient: RecipientReference, device: UnsafeRawBufferPointer,
        claimMs: Int64, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.read, keys: 2, arguments: 5)
        out.argument { RegistryKeys.user(recipient, into: &$0) }
        out.argument { unsafe RegistryKeys.sync(recipient, device: device, into: &$0) }
        var thread = ""
        switch change {
        case .set(let count, let asOfMs):
            out.argument("set")
            out.argument(decimal: count)
            out.argument(decimal: max(0, asOfMs))
        case .add(let delta):
            out.argument("add")
            out.argument(decimal: delta)
            out.argument(decimal: 0)
        case .setThread(let name, let count):
            out.argument("thread")
            out.argument(decimal: count)
            out.argument(decimal: 0)
            thread = name
        }
        out.argument(decimal: max(1, claimMs))
        out.argument(text: thread)
    }

    /// Gives up the claim of a read's push: from now on the next read publishes another one.
    package static func endSync(
        of recipient: RecipientReference, device: UnsafeRawBufferPointer, into out: inout RedisCommandBuffer
    ) {
        out.begin(2)
        out.argument("DEL")
        out.argument { unsafe RegistryKeys.sync(recipient, device: device, into: &$0) }
    }

    /// Claims a job's id; the reply is an ``IDVerdict``.
    package static func claim(
        _ id: JobIDClaim, app: UnsafeRawBufferPointer, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.claimID, keys: 3, arguments: 3)
        for slice in [id.slice, id.slice - 1, id.slice + 1] {
            out.argument { unsafe RegistryKeys.ids(app: app, bucket: id.bucket, slice: slice, into: &$0) }
        }
        out.argument { id.appendField(to: &$0) }
        out.argument(decimal: Int64(id.tag))
        out.argument(decimal: id.expiresMs)
    }

    /// Marks a claimed id as done, or gives it back; the reply is 1 or 0.
    package static func settle(
        _ id: JobIDClaim, app: UnsafeRawBufferPointer, isDone: Bool, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.settleID, keys: 1, arguments: 3)
        out.argument { unsafe RegistryKeys.ids(app: app, bucket: id.bucket, slice: id.slice, into: &$0) }
        out.argument { id.appendField(to: &$0) }
        out.argument(decimal: Int64(id.tag))
        out.argument(decimal: isDone ? 1 : 0)
    }

    /// Leases up to `wanted` tokens of a quota of so many in a thousand seconds, of which at most `capacity`
    /// are saved up; the reply is a ``TokenGrant``. What is there is shared among the lessees that ask.
    package static func takeTokens(
        app: String, provider: String, perThousandSeconds: Int64, capacity: Int64, wanted: Int64,
        lessee: String, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.takeTokens, keys: 1, arguments: 4)
        out.argument(text: RegistryKeys.rate(app: app, provider: provider))
        out.argument(decimal: perThousandSeconds)
        out.argument(decimal: capacity)
        out.argument(decimal: wanted)
        out.argument(text: lessee)
    }

    /// Slows a quota for all pods after the provider refused for it; `waitMs` is what the provider asked for.
    package static func slowQuota(
        app: String, provider: String, waitMs: Int64, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.slowQuota, keys: 1, arguments: 1)
        out.argument(text: RegistryKeys.rate(app: app, provider: provider))
        out.argument(decimal: max(0, waitMs))
    }
}

/// How a client changes the unread counter.
package enum UnreadChange: Sendable, Equatable {
    /// It is now so many, as of the client's time (ms since 1970); an older statement than the last one is
    /// ignored, 0 is never older.
    case set(Int64, asOfMs: Int64)
    /// So many more, or fewer.
    case add(Int64)
    /// Of a thread it is now so many, and the counter changes by the difference. Reading a thread that isn't
    /// counted changes nothing.
    case setThread(String, Int64)
}

/// The reply to ``RegistryScripts/takeTokens``.
package struct TokenGrant: Sendable, Equatable {
    /// Tokens given.
    package let given: Int64
    /// Milliseconds until it is worth asking again.
    package let waitMs: Int64
    /// How many asked lately, this one included.
    package let lessees: Int64
    /// Tokens in a thousand seconds at present; less than the quota after the provider refused.
    package let perThousandSeconds: Int64

    /// Reads a reply; nil when it isn't one of the script's.
    package init?(_ reply: RedisReplyView) {
        guard reply.count == 4, let given = reply[0].integer, let wait = reply[1].integer,
            let lessees = reply[2].integer, let pace = reply[3].integer
        else { return nil }
        self.given = max(0, given)
        waitMs = max(0, wait)
        self.lessees = max(1, lessees)
        perThousandSeconds = max(1, pace)
    }
}
