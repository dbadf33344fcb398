internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
internal import Providers
internal import Redis
internal import Registry

/// Deliveries that wait, first come first served.
struct DeliveryQueue {
    private var references: [UInt64] = []
    private var head = 0

    /// How many wait.
    var count: Int { references.count - head }

    /// Appends one.
    mutating func append(_ reference: UInt64) { references.append(reference) }

    /// The one that has waited longest, left in its place.
    var first: UInt64? { head < references.count ? references[head] : nil }

    /// Takes the one that has waited longest.
    mutating func popFirst() -> UInt64? {
        guard head < references.count else { return nil }
        let reference = references[head]
        head += 1
        if head == references.count {
            references.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024 {
            references.removeFirst(head)
            head = 0
        }
        return reference
    }
}

/// A shard's side of a provider quota: its lease, and the deliveries that wait for a token.
struct QuotaGate {
    let definition: QuotaDefinition
    var lease: QuotaLease
    /// Of the urgent lane, which goes first.
    var urgent = DeliveryQueue()
    var others = DeliveryQueue()

    init(_ definition: QuotaDefinition) {
        self.definition = definition
        lease = QuotaLease(quota: definition.perThousandSeconds)
    }

    /// How many wait.
    var waiting: Int { urgent.count + others.count }

    /// Takes the one whose turn it is.
    mutating func popNext() -> UInt64? { urgent.popFirst() ?? others.popFirst() }
}

/// Provider quotas: a delivery takes a token of its app's quota before it goes to its pool.
///
/// Tokens are leased from Redis for a tenth of a second of work. What finds none waits here for at most a
/// second and a second's number of deliveries, then in a retry topic until its turn; that is no attempt.
extension Shard {
    /// How long a delivery waits here, in milliseconds.
    private static var quotaWaitMs: UInt64 { 1000 }

    /// Whether the delivery may go out; if not, it waits or is put off.
    func passesQuota(_ delivery: Int32) -> Bool {
        let place = quota(of: deliveries[delivery])
        guard place >= 0, !deliveries[delivery].hasToken else { return true }
        let isFirst = quotas[place].waiting == 0
        if isFirst, quotas[place].lease.take(nowMs: Int64(loop.nowMs)) {
            deliveries[delivery].hasToken = true
            askForTokens(place)
            return true
        }
        guard quotas[place].waiting < quotas[place].lease.waitingMax else {
            putOff(delivery, place)
            return false
        }
        deliveries[delivery].waitingSinceMs = loop.nowMs
        counts.quotaWaits &+= 1
        if lanes[Int(jobs[deliveries[delivery].job].lane)].isUrgent {
            quotas[place].urgent.append(deliveries.reference(delivery))
        } else {
            quotas[place].others.append(deliveries.reference(delivery))
        }
        askForTokens(place)
        return false
    }

    private func quota(of slot: DeliverySlot) -> Int {
        let app = traits[Int(jobs[slot.job].app)]
        return Int(slot.provider == .apns ? app.apnsQuota : app.fcmQuota)
    }

    private func askForTokens(_ place: Int) {
        let now = Int64(loop.nowMs)
        guard let redis, redis.isReady,
            let wanted = quotas[place].lease.ask(waiting: quotas[place].waiting, nowMs: now)
        else { return }
        let definition = quotas[place].definition
        let capacity = quotas[place].lease.capacity
        counts.quotaQuestions &+= 1
        let refusal = redis.issue(RedisQuestion.tokens.tag(UInt64(place), round: 0)) {
            RegistryCommands.takeTokens(
                app: definition.owner, provider: "\(definition.provider.name)",
                perThousandSeconds: definition.perThousandSeconds, capacity: capacity, wanted: wanted,
                lessee: lessee, into: &$0)
        }
        if refusal != nil { quotas[place].lease.failed(nowMs: now) }
    }

    /// Redis gave tokens, or none for now.
    func quotaGranted(_ place: Int, _ grant: TokenGrant?) {
        guard quotas.indices.contains(place) else { return }
        let now = Int64(loop.nowMs)
        guard let grant else { return quotas[place].lease.failed(nowMs: now) }
        counts.quotaTokens &+= UInt64(clamping: grant.given)
        quotas[place].lease.granted(
            grant.given, waitMs: grant.waitMs, lessees: grant.lessees, pace: grant.perThousandSeconds,
            nowMs: now)
        sendWithTokens(place)
        askForTokens(place)
    }

    /// Redis is away: what waits is put off when its second is over.
    func quotaFailed(_ place: Int) {
        guard quotas.indices.contains(place) else { return }
        quotas[place].lease.failed(nowMs: Int64(loop.nowMs))
    }

    private func sendWithTokens(_ place: Int) {
        while quotas[place].waiting > 0, quotas[place].lease.take(nowMs: Int64(loop.nowMs)) {
            var isUsed = false
            while !isUsed, let reference = quotas[place].popNext() {
                guard let delivery = deliveries.resolve(reference) else { continue }
                isUsed = sendWaited(delivery)
            }
        }
    }

    /// Sends a delivery that has waited for its token; false when it needs none any more.
    private func sendWaited(_ delivery: Int32) -> Bool {
        let job = deliveries[delivery].job
        if !isCurrent(job) {
            abandon(delivery)
            return false
        }
        if jobs[job].deadlineMs <= nowMs {
            end(delivery, .expired, .expired)
            return false
        }
        deliveries[delivery].hasToken = true
        submit(delivery)
        return true
    }

    /// Asks for those that wait, and puts off those whose second is over. Every tick.
    func tendQuotas() {
        for place in quotas.indices where quotas[place].waiting > 0 {
            askForTokens(place)
            while let reference = quotas[place].urgent.first, isOverdue(reference) {
                _ = quotas[place].urgent.popFirst()
                if let delivery = deliveries.resolve(reference) { putOff(delivery, place) }
            }
            while let reference = quotas[place].others.first, isOverdue(reference) {
                _ = quotas[place].others.popFirst()
                if let delivery = deliveries.resolve(reference) { putOff(delivery, place) }
            }
        }
    }

    private func isOverdue(_ reference: UInt64) -> Bool {
        guard let delivery = deliveries.resolve(reference) else { return true }
        return loop.nowMs >= deliveries[delivery].waitingSinceMs &+ Self.quotaWaitMs
    }

    private func putOff(_ delivery: Int32, _ place: Int) {
        let job = deliveries[delivery].job
        guard isCurrent(job) else { return abandon(delivery) }
        counts.quotaPutOffs &+= 1
        let due = nowMs + quotas[place].lease.putOff(nowMs: Int64(loop.nowMs))
        // The turn is an estimate: whoever would be too late gets a last chance in time.
        let last = max(nowMs + 1000, jobs[job].deadlineMs &- 500)
        owe(delivery, dueMs: min(due, last), isWait: deliveries[delivery].sentAtMs == 0, reason: .quotaWait)
    }

    /// Slows the delivery's quota for all pods after the provider refused for it; false when it has none.
    func slowQuota(_ slot: DeliverySlot, waitMs: Int64) -> Bool {
        let place = quota(of: slot)
        guard place >= 0 else { return false }
        counts.quotaRefusals &+= 1
        let wait = min(max(0, waitMs), 600_000)
        quotas[place].lease.refused(waitMs: wait, nowMs: Int64(loop.nowMs))
        let definition = quotas[place].definition
        _ = redis?.issue(RedisQuestion.tell.tag(0, round: 0)) {
            RegistryCommands.slowQuota(
                app: definition.owner, provider: "\(definition.provider.name)", waitMs: wait, into: &$0)
        }
        return true
    }

    /// Who this shard is among those that share a quota.
    private var lessee: String { "\(settings.podName)/\(index)" }
}
