internal import Core
internal import Decisions
internal import EventLoop
internal import Logging
internal import Providers

/// One route's circuit breaker as a shard keeps it.
struct RouteCircuit {
    var breaker: CircuitBreaker
    /// Answers that the breaker has not been told of: told in one go, since each telling looks at the clock.
    var untold = 0
    /// Whether its opening was logged and its closing was not.
    var isAnnounced = false
    /// How often it opened, anew after each closing.
    var openings: UInt64 = 0

    init(limits: CircuitBreaker.Limits) { breaker = CircuitBreaker(limits: limits) }

    var isClosed: Bool {
        if case .closed = breaker.state { return true }
        return false
    }

    /// 0 closed, 1 half open, 2 open.
    var gauge: UInt8 {
        switch breaker.state {
        case .closed: 0
        case .halfOpen: 1
        case .open: 2
        }
    }
}

/// A provider that keeps failing is left alone: its deliveries wait in retry topics without having been sent,
/// a few of them try it now and then.
extension Shard {
    /// While a circuit is open or being tried, jobs come back in rounds of at most this, in milliseconds.
    private static let roundMaxMs: Int64 = 10_000

    // MARK: What the provider did

    /// Notes an answer: the whole cost of the breaker while all is well.
    func noteAnswer(_ route: Int) {
        if circuits[route].isClosed {
            circuits[route].untold &+= 1
        } else {
            circuits[route].breaker.succeeded(nowMs: nowMs)
            announce(route)
        }
    }

    /// Notes what a verdict says about the provider.
    func noteHealth(_ verdict: Verdict, _ slot: DeliverySlot) {
        guard slot.route >= 0 else { return }
        let route = Int(slot.route)
        switch verdict.health {
        case .unknown: break
        case .works: noteAnswer(route)
        case .fails:
            tellCircuit(route)
            let before = circuits[route].breaker.openings
            circuits[route].breaker.failed(nowMs: nowMs)
            if circuits[route].breaker.openings > before { circuits[route].openings &+= 1 }
            announce(route)
        }
    }

    private func tellCircuit(_ route: Int) {
        guard circuits[route].untold > 0 else { return }
        circuits[route].breaker.succeeded(circuits[route].untold, nowMs: nowMs)
        circuits[route].untold = 0
    }

    /// Tells the breakers what was answered. Every 100 ms.
    func tickCircuits() {
        for route in circuits.indices { tellCircuit(route) }
    }

    /// Logs each opening and closing once, however often it is tried in between.
    private func announce(_ route: Int) {
        let isOpen = !circuits[route].isClosed
        guard isOpen != circuits[route].isAnnounced else { return }
        circuits[route].isAnnounced = isOpen
        let fields: LogFields = ["route": .text(rotation.definitions[route].name)]
        if isOpen {
            logger.single(.warning, "circuit.open") {
                ("The provider keeps failing; its deliveries wait and it is tried now and then.", fields)
            }
        } else {
            logger.single(.notice, "circuit.closed") { ("The provider works again.", fields) }
        }
    }

    // MARK: What goes to it

    /// Whether a delivery may go by its route now; if not, it waits in a retry topic. Only with `isTry` does
    /// it count as one of the tries that find out whether the provider works again.
    func passesCircuit(_ delivery: Int32, isTry: Bool) -> Bool {
        let route = Int(deliveries[delivery].route)
        if circuits[route].isClosed { return true }
        let passes =
            isTry
            ? circuits[route].breaker.admit(nowMs: nowMs) : circuits[route].breaker.wouldAdmit(nowMs: nowMs)
        if passes { return true }
        counts.circuitWaits &+= 1
        wait(delivery, forMs: circuitWaitMs(route), .circuitOpen)
        return false
    }

    /// Keeps a job back whose only provider is left alone, before anything is asked about it; true when it
    /// did.
    func awaitsCircuit(_ index: Int32) -> Bool {
        guard jobs[index].headers.hasOrigin, circuits.contains(where: { !$0.isClosed }),
            let provider = soleProvider(index)
        else { return false }
        let app = traits[Int(jobs[index].app)]
        let candidates = provider == .apns ? [app.apnsProduction, app.apnsSandbox] : [app.fcm]
        let routes = candidates.filter { $0 >= 0 }.map { Int($0) }
        guard let first = routes.first,
            routes.allSatisfy({ !circuits[$0].breaker.wouldAdmit(nowMs: nowMs) })
        else { return false }
        counts.circuitWaits &+= 1
        waitUnclaimed(index, forMs: circuitWaitMs(first), reason: .circuitOpen)
        return true
    }

    /// Until the next try, spread so that not everything comes back in one instant; a short round while a try
    /// is under way.
    private func circuitWaitMs(_ route: Int) -> Int64 {
        let spread = Int64(nextRandom() % 1000)
        if let until = circuits[route].breaker.retryAtMs, until > nowMs {
            return max(RoundWait.shortestMs, until - nowMs) + spread
        }
        guard case .halfOpen(_, _, let since) = circuits[route].breaker.state else { return 1000 + spread }
        return RoundWait.waitMs(
            sinceMs: since, nowMs: nowMs, longestMs: Self.roundMaxMs, random: nextRandom())
    }
}
