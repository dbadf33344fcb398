internal import Core
package import Redis

/// The commands of the registry that workers issue, encoded into a command buffer.
package enum RegistryCommands {
    /// Reads a recipient's counter and preferences; the reply is a ``UserView``.
    package static func user(_ of: RecipientReference, into out: inout RedisCommandBuffer) {
        out.begin(4)
        out.argument("HMGET")
        out.argument { RegistryKeys.user(of, into: &$0) }
        out.argument("n")
        out.argument("prefs")
    }

    /// Marks a dedup key as done (or gives it back, after a failure for good); the reply is 1 or 0.
    package static func settle(
        _ claim: DedupClaim, of recipient: RecipientReference, isDone: Bool,
        into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.settleDedup, keys: 1, arguments: 2)
        out.argument { unsafe RegistryKeys.dedup(recipient, key: claim.key, into: &$0) }
        out.argument { claim.origin.appendIdentity(to: &$0) }
        out.argument(decimal: isDone ? claim.milliseconds : 0)
    }

    /// Claims a retry hop for the record at `position`; the reply is 1 (ours) or 0 (a second copy of the
    /// hop).
    package static func claimHop(
        of recipient: RecipientReference, origin: UnsafeRawBufferPointer, attempt: UInt32,
        position: JobPosition,
        milliseconds: Int64, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.claimHop, keys: 1, arguments: 2)
        out.argument { unsafe RegistryKeys.hop(recipient, origin: origin, attempt: attempt, into: &$0) }
        out.argument { position.appendIdentity(to: &$0) }
        out.argument(decimal: max(1, milliseconds))
    }

    /// Writes a recipient's preferences.
    package static func setPreferences(
        _ preferences: Preferences, of recipient: RecipientReference, into out: inout RedisCommandBuffer
    ) {
        let text = preferences.text
        out.begin(text.isEmpty ? 3 : 4)
        if text.isEmpty { out.argument("HDEL") } else { out.argument("HSET") }
        out.argument { RegistryKeys.user(recipient, into: &$0) }
        out.argument("prefs")
        if !text.isEmpty { out.argument(text: text) }
    }

    /// Adds to the unread counter; the reply is the count.
    package static func addUnread(
        _ delta: Int64, of recipient: RecipientReference, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.addUnread, keys: 1, arguments: 1)
        out.argument { RegistryKeys.user(recipient, into: &$0) }
        out.argument(decimal: delta)
    }

    /// Sets the unread counter as of the client's time (0: whenever); the reply is the count and 1 if it was
    /// set.
    package static func setUnread(
        _ count: Int64, asOfMs: Int64, of recipient: RecipientReference, into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.setUnread, keys: 1, arguments: 2)
        out.argument { RegistryKeys.user(recipient, into: &$0) }
        out.argument(decimal: count)
        out.argument(decimal: max(0, asOfMs))
    }

    /// Reads what an operator paused; the reply is an HGETALL.
    package static func control(into out: inout RedisCommandBuffer) {
        out.begin(2)
        out.argument("HGETALL")
        out.argument(text: RegistryKeys.control)
    }

    /// Tells that a pod lives: its line in `peal:pods` is `json`.
    package static func beat(pod: String, json: [UInt8], into out: inout RedisCommandBuffer) {
        out.begin(4)
        out.argument("HSET")
        out.argument(text: RegistryKeys.pods)
        out.argument(text: pod)
        out.argument(array: json)
    }

    /// Removes a pod that says goodbye.
    package static func goodbye(pod: String, into out: inout RedisCommandBuffer) {
        out.begin(3)
        out.argument("HDEL")
        out.argument(text: RegistryKeys.pods)
        out.argument(text: pod)
    }

    /// Appends an entry to an app's stream unless another pod did; the reply is 1 or 0.
    package static func tickTimeSeries(
        app: String, intervalMs: Int64, entries: Int64, fields: [String], into out: inout RedisCommandBuffer
    ) {
        out.begin(RegistryScripts.tickTimeSeries, keys: 2, arguments: 2 + fields.count)
        out.argument(text: RegistryKeys.timeSeries(app: app))
        out.argument(text: RegistryKeys.totals(app: app))
        out.argument(decimal: intervalMs)
        out.argument(decimal: entries)
        for field in fields { out.argument(text: field) }
    }
}
