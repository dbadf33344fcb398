internal import Core
internal import Decisions
internal import HTTP2
internal import Jobs

/// One notification to one device, from rendering to its outcome.
///
/// Its block holds, one after the other: the token, the device id, the path, the apns-id, the expiration, the
/// collapse id and the body. Everything the connection borrows stays there until the answer.
@safe
struct DeliverySlot: PooledSlot {
    var isInUse: Bool { isOpen }
    /// The job's index.
    var job: Int32 = -1
    var generation: UInt32 = 0
    /// The next owed delivery of the same job, -1 for none.
    var nextOwed: Int32 = -1
    var isOpen = false
    var provider: Provider = .apns
    var platform: Platform = .ios
    var environment: PushEnvironment = .production
    var history: AttemptHistory = .none
    /// Whether it is printed instead of sent.
    var isPrinted = false
    /// Whether its connection has it, or had it.
    var isSubmitted = false
    /// Immediate resends so far.
    var resends: UInt8 = 0
    /// Why it is owed.
    var reason: Reason = .accepted
    /// Whether the wait it is owed doesn't count as an attempt.
    var isWait = false
    /// When it is due again, milliseconds since 1970.
    var dueMs: Int64 = 0
    /// When the token was registered, milliseconds since 1970; -1 when no registry holds it.
    var registeredAtMs: Int64 = -1
    /// When the request was handed to the pool, milliseconds since 1970.
    var sentAtMs: Int64 = 0
    /// The same in nanoseconds while the request of a traced job is under way; 0 otherwise.
    var sentNs: Int64 = 0
    /// The HTTP status of the last answer; 0 before one.
    var status: Int16 = 0
    /// The hash of its token, once somebody asked for it; 0 before.
    var tokenHash: UInt64 = 0
    /// Whether it goes by the side pool, since it is likely to be refused.
    var isSuspect = false
    /// Whether the other environment is being asked about its token.
    var isProbe = false
    /// When its own environment was asked, while the other one is; milliseconds since 1970.
    var probedAtMs: Int64 = 0
    /// Whether it has a token of its quota.
    var hasToken = false
    /// When it began to wait for one, ms of the loop's clock.
    var waitingSinceMs: UInt64 = 0
    /// The constant headers of its request; nil when it is printed.
    var template: TemplateID?
    /// The route it goes by, -1 for none.
    var route: Int32 = -1
    /// The bearer's version it was sent under.
    var bearerVersion: UInt32 = 0
    var block: UnsafeMutableRawBufferPointer = unsafe .init(start: nil, count: 0)
    var tokenLength: Int32 = 0
    var deviceLength: Int32 = 0
    var pathAt: Int32 = 0
    var pathLength: Int32 = 0
    var idAt: Int32 = 0
    var expirationAt: Int32 = 0
    var expirationLength: Int32 = 0
    var collapseAt: Int32 = 0
    var collapseLength: Int32 = 0
    var topicAt: Int32 = 0
    var topicLength: Int32 = 0
    var bodyAt: Int32 = 0
    var bodyLength: Int32 = 0

    /// A run of the block's bytes.
    func slice(_ at: Int32, _ length: Int32) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(block)[Int(at)..<Int(at + length)])
    }

    /// The device token as it is written: hexadecimal for APNs.
    var token: UnsafeRawBufferPointer { unsafe slice(0, tokenLength) }
    /// The device's id; empty for a job that names a token.
    var device: UnsafeRawBufferPointer { unsafe slice(tokenLength, deviceLength) }
}
