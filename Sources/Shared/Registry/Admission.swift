internal import Core
package import Redis

/// A per-recipient frequency cap: at most `count` notifications of a class in any window.
@safe
package struct FrequencyCap {
    /// The class of notifications that share the cap.
    package let name: UnsafeRawBufferPointer
    /// The most notifications in any window; at least 1.
    package let count: Int64
    /// Milliseconds of the window.
    package let windowMs: Int64
    /// The position that the job first had: a job is charged once, however often it comes.
    package let origin: JobPosition
    /// Whether a newer job of the class takes the place of those that wait.
    package let replaces: Bool

    /// Makes a cap whose name is borrowed.
    @inlinable package init(
        name: UnsafeRawBufferPointer, count: Int64, windowMs: Int64, origin: JobPosition,
        replaces: Bool = false
    ) {
        unsafe self.name = unsafe name
        self.count = max(1, count)
        self.windowMs = max(1, windowMs)
        self.origin = origin
        self.replaces = replaces
    }
}

/// A sender's dedup key.
@safe
package struct DedupClaim {
    /// The key as the sender wrote it.
    package let key: UnsafeRawBufferPointer
    /// The position that the job first had; the same on a redelivery and on a retry.
    package let origin: JobPosition
    /// Milliseconds that the claim, and later the outcome, is remembered.
    package let milliseconds: Int64

    /// Makes a claim whose key is borrowed.
    @inlinable package init(key: UnsafeRawBufferPointer, origin: JobPosition, milliseconds: Int64) {
        unsafe self.key = unsafe key
        self.origin = origin
        self.milliseconds = max(1, milliseconds)
    }
}

/// What one job wants on its way in, beside the devices, which ``RegistryCommands/devices(_:into:)`` reads.
///
/// A job with neither a delta, a dedup key nor a cap needs no script: ``RegistryCommands/user(_:into:)`` is
/// cheaper. At most one admission of a recipient may be in flight.
@safe
package struct Admission {
    /// Who it goes to.
    package let recipient: RecipientReference
    /// The record's position; nil doesn't count it, as on a retry.
    package var position: JobPosition?
    /// What to add to the unread counter.
    package var unreadDelta: Int64 = 0
    /// The thread that it is added to as well; nil for none.
    package var thread: UnsafeRawBufferPointer?
    /// The dedup key.
    package var dedup: DedupClaim?
    /// The frequency cap.
    package var cap: FrequencyCap?

    /// Makes an admission that only reads.
    @inlinable package init(_ recipient: RecipientReference) { self.recipient = recipient }

    /// Appends the script call.
    package func encode(into out: inout RedisCommandBuffer) {
        let keys = 1 + (dedup == nil ? 0 : 1) + (cap.map { $0.replaces ? 2 : 1 } ?? 0)
        let arguments = 6 + (dedup == nil ? 0 : 2) + (cap == nil ? 0 : 3) + (isByThread ? 1 : 0)
        out.begin(RegistryScripts.admit, keys: keys, arguments: arguments)
        out.argument { RegistryKeys.user(recipient, into: &$0) }
        if let dedup { out.argument { unsafe RegistryKeys.dedup(recipient, key: dedup.key, into: &$0) } }
        if let cap {
            out.argument { unsafe RegistryKeys.cap(recipient, class: cap.name, into: &$0) }
            if cap.replaces {
                out.argument { unsafe RegistryKeys.newest(recipient, class: cap.name, into: &$0) }
            }
        }
        out.argument(decimal: flags)
        encodePosition(into: &out)
        if let dedup {
            out.argument { dedup.origin.appendIdentity(to: &$0) }
            out.argument(decimal: dedup.milliseconds)
        }
        if let cap {
            out.argument { cap.origin.appendIdentity(to: &$0) }
            out.argument(decimal: cap.count)
            out.argument(decimal: cap.windowMs)
        }
        if isByThread, let thread = unsafe thread { unsafe out.argument(bytes: thread) }
    }

    private var isByThread: Bool { unsafe position != nil && thread != nil }

    private var flags: Int64 {
        (position == nil ? 0 : 1) | (dedup == nil ? 0 : 2) | (cap == nil ? 0 : 4)
            | (cap?.replaces == true ? 8 : 0) | (isByThread ? 16 : 0)
            | (position != nil && unreadDelta < 0 ? 32 : 0)
    }

    private func encodePosition(into out: inout RedisCommandBuffer) {
        let at = position ?? JobPosition(lane: 0x6E, topicHash: 0, partition: 0, offset: 0, timestampMs: 0)
        out.argument {
            $0.append(byte: UInt8(ascii: "p"))
            $0.append(byte: at.lane)
        }
        out.argument { at.appendPartition(to: &$0) }
        out.argument(decimal: at.offset)
        out.argument(decimal: at.timestampMs)
        out.argument(decimal: unreadDelta)
    }
}

/// What the registry decided about a job.
package enum AdmissionVerdict: UInt8, Sendable, CaseIterable {
    /// Send it.
    case proceed = 0
    /// This very job has been done under its dedup key; there is nothing left to do.
    case alreadyDone = 1
    /// Another job with its dedup key has been done.
    case duplicate = 2
    /// Another job with its dedup key is under way.
    case duplicateInProgress = 3
    /// The recipient's frequency cap is used up.
    case capped = 4
    /// A newer job has taken its place while it waited for its frequency cap.
    case replaced = 5
}

/// The reply to an ``Admission``, read in place.
///
/// - Valid: during the call that the reply was given to.
package struct AdmissionReply {
    /// The decision.
    package let verdict: AdmissionVerdict
    /// The recipient's unread counter; nil when the verdict says that nobody is going to need it.
    package let unread: Int64?
    /// Whether the record had been counted before.
    package let wasCounted: Bool
    /// Milliseconds until the cap lets a notification through.
    package let waitMs: Int64
    /// The recipient's preferences.
    package let preferences: PreferencesView

    /// Reads a reply; nil when it isn't one of the script's.
    package init?(_ reply: RedisReplyView) {
        if reply.type == .integer {
            verdict = .proceed
            unread = reply.integer
            wasCounted = false
            waitMs = 0
            preferences = unsafe PreferencesView(UnsafeRawBufferPointer(start: nil, count: 0))
            return
        }
        guard let number = reply[0].integer, let raw = UInt8(exactly: number),
            let verdict = AdmissionVerdict(rawValue: raw)
        else { return nil }
        guard reply.count == 1 || reply.count == 5 else { return nil }
        self.verdict = verdict
        unread = reply[1].integer
        wasCounted = reply[2].integer == 1
        preferences = unsafe PreferencesView(unsafe reply[3].bytes)
        waitMs = reply[4].integer ?? 0
    }
}

/// The recipient's counter and preferences, from `HMGET`.
///
/// - Valid: during the call that the reply was given to.
package struct UserView {
    /// The unread counter.
    package let unread: Int64
    /// The preferences.
    package let preferences: PreferencesView

    /// Reads the reply to ``RegistryCommands/user(_:into:)``.
    package init(_ reply: RedisReplyView) {
        unread = reply[0].integer ?? 0
        preferences = unsafe PreferencesView(unsafe reply[1].bytes)
    }
}
