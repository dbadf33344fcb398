internal import Decisions
internal import EventLoop
internal import Logging
internal import Providers
internal import Redis

/// Jobs that wait in line, oldest first; taking one costs the same however many there are.
struct JobLine {
    private var list: [UInt64] = []
    private var head = 0

    var count: Int { list.count - head }

    mutating func append(_ reference: UInt64) { list.append(reference) }

    mutating func popFirst() -> UInt64? {
        guard head < list.count else { return nil }
        let reference = list[head]
        head += 1
        if head > 1024, head * 2 > list.count {
            list.removeFirst(head)
            head = 0
        }
        return reference
    }
}

/// A shard's bulkheads: how much of it one app, or one provider, may fill.
struct ShardBulkheads {
    /// By app: jobs.
    var apps: [Bulkhead]
    /// By provider: deliveries.
    var providers: [Bulkhead]
    /// By app: jobs whose turn has come and that wait for their app's other jobs; urgent ones in a line of
    /// their own.
    var lines: [JobLine]
    var urgentLines: [JobLine]
    /// How far above its bound an app's urgent jobs may go.
    let urgentExtra: Int
    /// What one of several providers may have open.
    private let providersLimit: Int
    var waiting = 0
    /// The assignments that the lines were last looked through for.
    var epochs: [UInt32]

    /// `share` is what one app may fill of `all`; a provider may fill half of the rest as well.
    init(
        apps count: Int, providers kinds: Set<Provider>, all: Int, share: Double, reserve: Double,
        epochs: [UInt32]
    ) {
        let limit = Bulkhead.limit(of: all, share: share, isAlone: count < 2)
        apps = Array(repeating: Bulkhead(limit: limit), count: count)
        providersLimit = Bulkhead.limit(of: all, share: (1 + share) / 2, isAlone: false)
        providers = Array(repeating: Bulkhead(limit: .max), count: Provider.allCases.count)
        lines = Array(repeating: JobLine(), count: count)
        urgentLines = lines
        urgentExtra = max(8, Int(Double(all) * reserve))
        self.epochs = epochs
        bound(providers: kinds)
    }

    /// Bounds the providers as soon as there are several.
    mutating func bound(providers kinds: Set<Provider>) {
        let limit = kinds.count < 2 ? Int.max : providersLimit
        for index in providers.indices where providers[index].limit != limit {
            providers[index].bound(to: limit)
        }
    }
}

/// One stalled app or provider must not slow another beyond its share.
extension Shard {
    /// What leaves because its app is stuck comes back in rounds of at most this, in milliseconds.
    private static let roundMaxMs: Int64 = 30_000

    // MARK: Counting

    /// Notes that a job has come; false when its app is stuck and has enough here: then it has left again.
    func entersApp(_ index: Int32) -> Bool {
        let app = Int(jobs[index].app)
        guard bulkheads.apps[app].mayEnter(extra: extra(index)) else {
            leaveStuck(index)
            return false
        }
        bulkheads.apps[app].enter()
        return true
    }

    /// Notes that a job is gone from its recipient's queue.
    func leftApp(_ index: Int32, hasEnded: Bool) {
        endPreparation(index)
        bulkheads.apps[Int(jobs[index].app)].leave(hasEnded: hasEnded)
    }

    private func beginPreparation(_ index: Int32) {
        guard !jobs[index].isPreparing else { return }
        jobs[index].isPreparing = true
        bulkheads.apps[Int(jobs[index].app)].prepare()
    }

    /// Notes that a job asks nobody anything any more.
    func endPreparation(_ index: Int32) {
        guard jobs[index].isPreparing else { return }
        jobs[index].isPreparing = false
        bulkheads.apps[Int(jobs[index].app)].endPreparation()
    }

    /// Notes a new delivery.
    func opened(_ delivery: Int32) {
        let index = deliveries[delivery].job
        endPreparation(index)
        bulkheads.apps[Int(jobs[index].app)].send()
    }

    /// Notes that a delivery is over, or owed.
    func closed(_ delivery: Int32) {
        let slot = deliveries[delivery]
        bulkheads.apps[Int(jobs[slot.job].app)].endSending()
        guard slot.isSubmitted else { return }
        bulkheads.providers[Int(slot.provider.rawValue)].endSending()
        bulkheads.providers[Int(slot.provider.rawValue)].leave(hasEnded: true)
    }

    /// Notes that a delivery was handed to its connection.
    func submitted(_ delivery: Int32) {
        guard !deliveries[delivery].isSubmitted else { return }
        deliveries[delivery].isSubmitted = true
        let provider = Int(deliveries[delivery].provider.rawValue)
        bulkheads.providers[provider].enter()
        bulkheads.providers[provider].send()
    }

    // MARK: Deciding

    /// Whether a job may start as far as its app is concerned; if not, it waits in line or has left.
    func passesApp(_ index: Int32) -> Bool {
        let app = Int(jobs[index].app)
        let extra = extra(index)
        switch bulkheads.apps[app].step(extra: extra) {
        case .start:
            beginPreparation(index)
            return true
        case .hold:
            jobs[index].stage = .held
            stand(index)
        case .leave:
            guard jobs[index].wasAsked else {
                leaveStuck(index)
                return false
            }
            jobs[index].stage = .held
            stand(index)
        }
        return false
    }

    /// Whether a delivery may go as far as its provider is concerned; if not, it is tried again with the next
    /// tick or has left.
    func passesProvider(_ delivery: Int32) -> Bool {
        let slot = deliveries[delivery]
        guard !slot.isSubmitted else { return true }
        let provider = Int(slot.provider.rawValue)
        switch bulkheads.providers[provider].step(extra: extra(slot.job)) {
        case .start: return true
        case .hold: waitingDeliveries.append(deliveries.reference(delivery))
        case .leave:
            counts.shareWaits &+= 1
            let since = bulkheads.providers[provider].stuckSinceMs
            wait(
                delivery,
                forMs: RoundWait.waitMs(
                    sinceMs: since, nowMs: nowMs, longestMs: Self.roundMaxMs, random: nextRandom()),
                .appShare)
        }
        return false
    }

    private func leaveLine(_ index: Int32) {
        if !isCurrent(index) { return drop(index) }
        if jobs[index].wasAsked { stand(index) } else { leaveStuck(index) }
    }

    private func leaveStuck(_ index: Int32) {
        counts.shareWaits &+= 1
        let since = bulkheads.apps[Int(jobs[index].app)].stuckSinceMs
        waitUnclaimed(
            index,
            forMs: RoundWait.waitMs(
                sinceMs: since, nowMs: nowMs, longestMs: Self.roundMaxMs, random: nextRandom()),
            reason: .appShare)
    }

    // MARK: Moving on

    /// Starts jobs that waited for their app's others.
    func advanceLines() {
        for app in bulkheads.lines.indices where bulkheads.urgentLines[app].count > 0 {
            while bulkheads.apps[app].step(extra: bulkheads.urgentExtra) == .start,
                let reference = bulkheads.urgentLines[app].popFirst()
            {
                bulkheads.waiting -= 1
                if let index = jobs.resolve(reference), jobs[index].stage == .held { proceed(index) }
            }
        }
        for app in bulkheads.lines.indices where bulkheads.lines[app].count > 0 {
            while bulkheads.apps[app].step() == .start, let reference = bulkheads.lines[app].popFirst() {
                bulkheads.waiting -= 1
                if let index = jobs.resolve(reference), jobs[index].stage == .held { proceed(index) }
            }
        }
    }

    /// Judges who is stuck, and makes room for the others where somebody is. Every 100 ms.
    func tickBulkheads() {
        let epochs = lanes.map(\.epoch)
        if epochs != bulkheads.epochs {
            bulkheads.epochs = epochs
            for app in bulkheads.lines.indices { clearLine(app) { isCurrent($0) ? stand($0) : drop($0) } }
        }
        // While nothing can start for want of Redis, nobody is to blame for standing still.
        let canStart = redis?.isReady == true && !isRedisRefusing && isControlKnown
        for app in bulkheads.apps.indices {
            guard canStart else {
                bulkheads.apps[app].excuse(nowMs: nowMs)
                continue
            }
            let change = bulkheads.apps[app].tick(nowMs: nowMs)
            guard change != .none else { continue }
            announce("app", directory.apps[app].name, change)
            if change == .stuck {
                clearLine(app) { leaveLine($0) }
                evictQueued(Int32(app))
            }
        }
        for provider in Provider.allCases {
            let change = bulkheads.providers[Int(provider.rawValue)].tick(nowMs: nowMs)
            if change != .none { announce("provider", "\(provider.name)", change) }
        }
    }

    /// Puts a job at the end of its app's line.
    private func stand(_ index: Int32) {
        let app = Int(jobs[index].app)
        if lanes[Int(jobs[index].lane)].isUrgent {
            bulkheads.urgentLines[app].append(jobs.reference(index))
        } else {
            bulkheads.lines[app].append(jobs.reference(index))
        }
        bulkheads.waiting += 1
    }

    private func extra(_ index: Int32) -> Int {
        lanes[Int(jobs[index].lane)].isUrgent ? bulkheads.urgentExtra : 0
    }

    private func clearLine(_ app: Int, _ body: (Int32) -> Void) {
        var line = JobLine()
        var urgent = JobLine()
        swap(&line, &bulkheads.lines[app])
        swap(&urgent, &bulkheads.urgentLines[app])
        bulkheads.waiting -= line.count + urgent.count
        while let reference = urgent.popFirst() ?? line.popFirst() {
            if let index = jobs.resolve(reference), jobs[index].stage == .held { body(index) }
        }
    }

    /// Sends away what stands behind the first job of each of the app's recipients: it would fill the lane
    /// while nothing of it can go. A walk over all jobs, once when an app gets stuck.
    private func evictQueued(_ app: Int32) {
        for index in 0..<Int32(jobs.capacity) {
            let slot = jobs[index]
            guard slot.isInUse, slot.app == app, slot.isQueued, slot.stage != .queued, slot.next >= 0 else {
                continue
            }
            queues.truncate(hash: slot.queueHash, last: index)
            jobs[index].next = -1
            var next = slot.next
            while next >= 0 {
                let job = next
                next = jobs[job].next
                jobs[job].next = -1
                jobs[job].isQueued = false
                leftApp(job, hasEnded: false)
                if isCurrent(job) { leaveStuck(job) } else { drop(job) }
            }
        }
    }

    private func announce(_ kind: String, _ name: String, _ change: Bulkhead.Change) {
        if change == .stuck {
            logger.warning(
                "share.stuck",
                "An app or a provider fills its share and hardly moves; what is above it waits elsewhere.",
                ["kind": .text(kind), "name": .text(name)])
        } else {
            logger.notice(
                "share.moving", "It moves again.", ["kind": .text(kind), "name": .text(name)])
        }
    }
}
