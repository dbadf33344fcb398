/// Finds the reason why something was done twice, in the faults and lives of a run.
///
/// A reason needs evidence about the very requests: the worker that sent the first copy was killed soon
/// after, its connection was cut, the provider did not answer. That there was some fault somewhere is none.
struct ChaosExplainer: Sendable {
    private let bounds: ChaosBounds
    private let killed: [ChaosLife]
    private let zombies: [(slot: Int, span: ClosedRange<Int64>)]
    private let simulatorKills: [Int64]
    private let forgotten: [Int64]
    private let changes: [Int64]
    /// When answers were late: -1 for every worker.
    private let late: [(slot: Int, span: ClosedRange<Int64>)]
    private let brokerFaults: Bool
    /// When the broker or Redis was in trouble, with the time after it that it takes to come out of it.
    private let trouble: [ClosedRange<Int64>]

    init(_ history: ChaosHistory, _ bounds: ChaosBounds) {
        self.bounds = bounds
        let workers = history.lives.filter { $0.slot >= 0 }
        killed = workers.filter { $0.ending == .killed || $0.ending == .hung }
        let pauses = workers.flatMap { life in life.pauses.map { (slot: life.slot, span: $0) } }
        zombies = pauses.filter { $0.span.upperBound - $0.span.lowerBound >= bounds.session - 1_000 }
        let simulator = history.lives.filter { $0.program == "simulator" }
        simulatorKills = simulator.filter { $0.ending == .killed }.map(\.endMs)
        forgotten = history.injections.filter { $0.fault.kind == .redisForget }.map(\.fromMs)
        var late = pauses
        for life in simulator { late += life.pauses.map { (slot: -1, span: $0) } }
        var changes = workers.map(\.startMs) + workers.map(\.endMs).filter { $0 != .max }
        changes += zombies.flatMap { [$0.span.lowerBound, $0.span.upperBound] }
        var touchesBroker = false
        trouble = history.injections.compactMap { injection in
            switch injection.fault.kind.resource(slot: 0) {
            case .broker, .redis, .redisLink:
                injection.fromMs - 500...injection.toMs + bounds.unfinishedInTrouble
            case .worker, .retry, .provider, .link: nil
            }
        }
        for injection in history.injections {
            switch injection.fault.kind {
            case .linkStall, .linkDelay:
                late.append((slot: injection.fault.slot, span: injection.fromMs...injection.toMs))
            case .brokerCommit, .brokerHeartbeat, .brokerDown, .brokerSlow, .brokerLostReply,
                .brokerCoordinator:
                changes.append(injection.fromMs)
                touchesBroker = true
            case .brokerProduce, .brokerFetch: touchesBroker = true
            default: break
            }
        }
        self.late = late
        self.changes = changes
        brokerFaults = touchesBroker
    }

    /// Why `current` was sent although `earlier` had been; nil when there is no reason.
    func reason(_ earlier: ArraySlice<ChaosHistory.Request>, _ current: ChaosHistory.Request) -> ChaosReason?
    {
        let all = earlier + [current]
        if earlier.contains(where: { !$0.isAnswered }) { return .providerFault }
        for request in earlier {
            if let kill = killed.first(where: { isUnfinished(request, at: $0.endMs, slot: $0.slot) }),
                kill.endMs <= current.arrivalMs + bounds.session
            {
                return .workerKilled
            }
        }
        for request in earlier where request.closedMs - bounds.request - 1_000 <= request.arrivalMs {
            switch request.cause {
            case .proxy: return .linkCut
            case .upstream:
                let isKill = simulatorKills.contains { abs($0 - request.closedMs) < 3_000 }
                return isKill ? .providerKilled : .linkCut
            case .client, .open: break
            }
        }
        for request in earlier where isLate(request) { return .answerLate }
        for zombie in zombies
        where all.contains(where: { $0.worker == zombie.slot })
            && zombie.span.lowerBound <= current.arrivalMs + bounds.session
            && earlier.contains(where: {
                $0.arrivalMs >= zombie.span.lowerBound - reach(zombie.span.lowerBound)
                    && $0.arrivalMs <= zombie.span.upperBound + bounds.session
            })
        {
            return .workerSuspended
        }
        return general(
            earlier.map(\.arrivalMs).max() ?? current.arrivalMs, current.arrivalMs)
    }

    /// Why something that was finished at `firstMs` was done again at `secondMs`, when no request tells.
    func reason(firstMs: Int64, secondMs: Int64) -> ChaosReason? {
        if killed.contains(where: { firstMs >= $0.endMs - reach($0.endMs) && firstMs <= $0.endMs }) {
            return .workerKilled
        }
        if zombies.contains(where: {
            firstMs >= $0.span.lowerBound - reach($0.span.lowerBound)
                && firstMs <= $0.span.upperBound + bounds.session
        }) {
            return .workerSuspended
        }
        return general(firstMs, secondMs)
    }

    /// Why an event that is the same in every respect stands in its topic twice.
    var writtenTwice: ChaosReason? { brokerFaults ? .brokerCopy : nil }

    private func general(_ firstMs: Int64, _ secondMs: Int64) -> ChaosReason? {
        if forgotten.contains(where: { $0 >= firstMs - 1_000 && $0 <= secondMs }) { return .redisForgot }
        // A partition that moves takes along what is finished, unless the broker had not acknowledged the
        // outcome or Redis could not be told.
        let moved = changes.contains { change in
            isInTrouble(change) && firstMs >= change - bounds.unfinishedInTrouble
                && firstMs <= change + 3 * bounds.session && secondMs >= change
                && secondMs <= change + 5 * bounds.session
        }
        return moved ? .rebalance : nil
    }

    private func isUnfinished(_ request: ChaosHistory.Request, at endMs: Int64, slot: Int) -> Bool {
        request.worker == slot && request.arrivalMs <= endMs + 500
            && request.arrivalMs >= endMs - reach(endMs)
    }

    private func isInTrouble(_ ms: Int64) -> Bool { trouble.contains { $0.contains(ms) } }

    /// Whether what was sent at that time may have been taken over from a worker that had already gone
    /// further, and was killed or suspended or lost its partition while an answer was withheld.
    func mayBeRedone(atMs: Int64) -> Bool {
        let span = atMs - 4 * bounds.session...atMs
        return killed.contains { span.contains($0.endMs) }
            || zombies.contains { span.overlaps($0.span) }
            || changes.contains { span.contains($0) && isInTrouble($0) }
    }

    /// Whether the mark of a retried job may have been lost between the two times: Redis is told of it
    /// without an answer being waited for.
    func mayLoseMark(fromMs: Int64, toMs: Int64) -> Bool {
        forgotten.contains { $0 >= fromMs && $0 <= toMs }
            || trouble.contains { $0.lowerBound <= toMs && $0.upperBound >= fromMs }
            || killed.contains { $0.endMs >= fromMs - 1_000 && $0.endMs <= toMs }
    }

    /// How long before `ms` something may have been begun and still not be known as finished then.
    private func reach(_ ms: Int64) -> Int64 {
        isInTrouble(ms) ? bounds.unfinishedInTrouble : bounds.unfinished
    }

    private func isLate(_ request: ChaosHistory.Request) -> Bool {
        late.contains {
            ($0.slot < 0 || $0.slot == request.worker)
                && $0.span.lowerBound <= request.arrivalMs + bounds.request
                && $0.span.upperBound >= request.arrivalMs - 1_000
        }
    }
}
