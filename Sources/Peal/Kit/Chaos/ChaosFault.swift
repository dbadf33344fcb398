/// What can be done to a running pipeline.
enum ChaosFaultKind: String, CaseIterable, Sendable {
    case workerKill = "worker.kill"
    case workerPause = "worker.pause"
    case workerZombie = "worker.zombie"
    case workerStop = "worker.stop"
    case retryKill = "retry.kill"
    case retryPause = "retry.pause"
    case retryStop = "retry.stop"
    case simulatorKill = "simulator.kill"
    case simulatorPause = "simulator.pause"
    case redisKill = "redis.kill"
    case redisPause = "redis.pause"
    case redisScripts = "redis.scripts"
    case redisFull = "redis.full"
    case redisClients = "redis.clients"
    case redisForget = "redis.forget"
    case redisLinkReset = "redis.link_reset"
    case redisLinkStall = "redis.link_stall"
    case redisLinkDelay = "redis.link_delay"
    case linkReset = "link.reset"
    case linkStall = "link.stall"
    case linkDelay = "link.delay"
    case providerUnavailable = "provider.unavailable"
    case providerError = "provider.error"
    case providerThrottle = "provider.throttle"
    case providerGone = "provider.gone"
    case providerBadToken = "provider.bad_token"
    case providerGoaway = "provider.goaway"
    case providerRefuse = "provider.refuse"
    case providerReset = "provider.reset"
    case providerAmbiguous = "provider.ambiguous"
    case providerSwallow = "provider.swallow"
    case providerShrink = "provider.shrink"
    case providerGarbage = "provider.garbage"
    case brokerProduce = "broker.produce"
    case brokerFetch = "broker.fetch"
    case brokerCommit = "broker.commit"
    case brokerHeartbeat = "broker.heartbeat"
    case brokerSlow = "broker.slow"
    case brokerDown = "broker.down"
    case brokerLostReply = "broker.lost_reply"
    case brokerCoordinator = "broker.coordinator"

    /// What it is done to. Two faults of one resource never overlap.
    enum Resource: Hashable, Sendable {
        case worker(Int), retry, provider, redis, link(Int), redisLink(Int), broker
    }

    /// How long it lasts, in ms; the wait until a killed process is started again.
    var durationMs: ClosedRange<Int> {
        switch self {
        case .workerKill, .retryKill: 100...2_000
        case .workerPause, .retryPause: 300...2_500
        // Longer than a session of 6 s: the group has given its partitions away when it wakes.
        case .workerZombie: 8_000...9_500
        case .workerStop, .retryStop: 100...1_000
        case .simulatorKill: 100...1_500
        case .simulatorPause, .redisPause: 500...4_500
        case .redisKill: 100...2_000
        case .redisFull: 500...2_000
        case .redisScripts, .redisClients, .redisForget, .redisLinkReset, .linkReset: 1...2
        case .redisLinkStall, .linkStall: 500...4_500
        case .redisLinkDelay, .linkDelay: 1_000...4_000
        case .providerGone, .providerBadToken: 50...200
        case .providerSwallow: 100...500
        case .providerUnavailable, .providerError, .providerThrottle, .providerGoaway, .providerRefuse,
            .providerReset, .providerAmbiguous, .providerShrink, .providerGarbage:
            300...2_500
        case .brokerProduce, .brokerFetch, .brokerCommit, .brokerHeartbeat, .brokerLostReply,
            .brokerCoordinator:
            300...1_000
        case .brokerSlow: 1_000...3_000
        case .brokerDown: 300...2_500
        }
    }

    /// What it is done to, when worker `slot` is the one concerned.
    func resource(slot: Int) -> Resource {
        switch self {
        case .workerKill, .workerPause, .workerZombie, .workerStop: .worker(slot)
        case .retryKill, .retryPause, .retryStop: .retry
        case .redisKill, .redisPause, .redisScripts, .redisFull, .redisClients, .redisForget: .redis
        case .redisLinkReset, .redisLinkStall, .redisLinkDelay: .redisLink(slot)
        case .linkReset, .linkStall, .linkDelay: .link(slot)
        case .simulatorKill, .simulatorPause, .providerUnavailable, .providerError, .providerThrottle,
            .providerGone, .providerBadToken, .providerGoaway, .providerRefuse, .providerReset,
            .providerAmbiguous, .providerSwallow, .providerShrink, .providerGarbage:
            .provider
        case .brokerProduce, .brokerFetch, .brokerCommit, .brokerHeartbeat, .brokerSlow, .brokerDown,
            .brokerLostReply, .brokerCoordinator:
            .broker
        }
    }

    /// Whether it is about one of several workers.
    var hasSlot: Bool {
        switch resource(slot: 0) {
        case .worker, .link, .redisLink: true
        case .retry, .provider, .redis, .broker: false
        }
    }
}

/// One fault of a run's schedule.
struct ChaosFault: Sendable, Equatable {
    let kind: ChaosFaultKind
    /// The worker concerned; 0 when the fault is about none.
    let slot: Int
    /// Since the start of the schedule, in ms.
    let atMs: Int
    let durationMs: Int
    /// Random bits that settle the details.
    let detail: UInt64

    var endMs: Int { atMs + durationMs }
}

/// The faults of one run, by time; follows from the seed alone.
struct ChaosSchedule: Sendable, Equatable {
    let faults: [ChaosFault]

    /// Spreads `count` faults over `spanMs` and `workers` workers, without the kinds in `left`.
    init(seed: UInt64, count: Int, spanMs: Int, workers: Int, without left: Set<ChaosFaultKind> = []) {
        var random = ChaosRandom(seed: seed ^ 0x5EED_0FFA_0175)
        // Forgetting loosens what can be said about badges and duplicates: only some runs have it.
        let forgets = random.chance(20)
        let kinds = ChaosFaultKind.allCases.filter { !left.contains($0) && ($0 != .redisForget || forgets) }
        var deck: [ChaosFaultKind] = []
        var freeAt: [ChaosFaultKind.Resource: Int] = [:]
        var faults: [ChaosFault] = []
        for number in 0..<count {
            let step = spanMs / max(1, count)
            let at = number * step + random.number(in: 0...max(0, step / 2))
            // Every kind comes once before one comes again, unless what it is done to is busy.
            for _ in 0..<kinds.count * 2 {
                if deck.isEmpty { deck = random.shuffled(kinds) }
                let kind = deck.removeLast()
                let slot = kind.hasSlot ? random.number(in: 0...max(0, workers - 1)) : 0
                let resource = kind.resource(slot: slot)
                guard at >= freeAt[resource] ?? 0 else {
                    deck.insert(kind, at: 0)
                    continue
                }
                let duration = random.number(in: kind.durationMs)
                freeAt[resource] = at + duration + 300
                faults.append(
                    ChaosFault(kind: kind, slot: slot, atMs: at, durationMs: duration, detail: random.next()))
                break
            }
        }
        self.faults = faults
    }
}
