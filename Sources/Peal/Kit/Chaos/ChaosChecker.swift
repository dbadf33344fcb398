internal import Core
internal import Decisions

/// Compares what a run left behind with the delivery contract.
///
/// A value without I/O: the same history always gives the same verdict.
struct ChaosChecker {
    /// One delivery: a copy of a job to one device of its recipient.
    struct Slot {
        var outcome: DeliveryOutcome?
        /// Whether the outcome was about the whole job.
        var isWhole = false
        var atMs: Int64 = 0
    }

    let history: ChaosHistory
    let bounds: ChaosBounds
    let explainer: ChaosExplainer
    var verdict = ChaosVerdict()
    var plan: ChaosPlan { history.plan }
    /// Each copy's slots lie together, in the order of its recipient's devices.
    var firstSlot: [Int] = []
    var slots: [Slot] = []
    var copyAt: [ChaosPlace: Int] = [:]
    var copiesOfJob: [[Int]] = []
    /// The requests of each job, in order of arrival.
    var requestsOfJob: [[Int]] = []
    /// Devices whose token a provider called bad.
    var removed: Set<Int> = []
    /// The jobs with a collapse key, by recipient.
    var collapsing: [Int: [Int]] = [:]
    let hasForgotten: Bool

    private init(_ history: ChaosHistory, _ bounds: ChaosBounds) {
        self.history = history
        self.bounds = bounds
        explainer = ChaosExplainer(history, bounds)
        hasForgotten = history.injections.contains { $0.fault.kind == .redisForget }
        copiesOfJob = Array(repeating: [], count: history.plan.jobs.count)
        requestsOfJob = copiesOfJob
        for (index, copy) in history.copies.enumerated() {
            copyAt[copy.place] = index
            copiesOfJob[copy.job].append(index)
            firstSlot.append(slots.count)
            let count = history.plan.devices(ofJob: copy.job).count
            slots.append(contentsOf: repeatElement(Slot(), count: count))
        }
        for (job, what) in history.plan.jobs.enumerated() where what.collapses {
            collapsing[what.recipient, default: []].append(job)
        }
        for (index, request) in history.requests.enumerated() {
            requestsOfJob[request.job].append(index)
            if request.answer == .tokenGone { removed.insert(request.device) }
        }
    }

    /// Checks everything.
    static func check(_ history: ChaosHistory, _ bounds: ChaosBounds = ChaosBounds()) -> ChaosVerdict {
        var checker = ChaosChecker(history, bounds)
        checker.checkStrangers()
        checker.takeEvents()
        checker.checkOutcomes()
        checker.checkKeys()
        checker.checkRepeats()
        checker.checkBadges()
        checker.checkOrder()
        checker.checkCounters()
        checker.checkEnd()
        return checker.verdict
    }

    func name(_ job: Int) -> String { ChaosPlan.name(ofJob: job) }

    /// A delivery in words: `j17 to d0 of r4`.
    func name(_ job: Int, _ device: Int) -> String {
        "\(name(job)) to \(ChaosPlan.name(ofDevice: plan.devices[device].place))"
            + " of \(ChaosPlan.name(ofRecipient: plan.jobs[job].recipient))"
    }

    // MARK: - Outcomes

    private mutating func checkStrangers() {
        for stranger in history.strangers { verdict.broken(.phantom, stranger) }
        for (job, copies) in copiesOfJob.enumerated() where copies.isEmpty {
            if history.isAcknowledged[plan.lane(ofJob: job)] {
                verdict.broken(.lost, "\(name(job)) was confirmed and is not in its topic")
            }
        }
        for (job, requests) in requestsOfJob.enumerated() where copiesOfJob[job].isEmpty && !requests.isEmpty
        {
            verdict.broken(.phantom, "\(name(job)) was sent and is not in its topic")
        }
    }

    private mutating func takeEvents() {
        for event in history.events {
            guard let copy = copyAt[event.place], history.copies[copy].job == event.job else {
                verdict.broken(
                    .phantom, "an outcome of \(name(event.job)) names a record that isn't its own")
                continue
            }
            let own = plan.devices(ofJob: event.job)
            if let device = event.device {
                settle(firstSlot[copy] + device - own.lowerBound, event, device)
            } else {
                for device in own { settle(firstSlot[copy] + device - own.lowerBound, event, device) }
            }
        }
    }

    private mutating func settle(_ slot: Int, _ event: ChaosHistory.Event, _ device: Int) {
        guard let outcome = slots[slot].outcome else {
            slots[slot] = Slot(outcome: event.outcome, isWhole: event.device == nil, atMs: event.atMs)
            return
        }
        if slots[slot].isWhole, event.device != nil { slots[slot].outcome = event.outcome }
        let first = slots[slot].atMs
        let reason =
            first == event.atMs && outcome == event.outcome
            ? explainer.writtenTwice
            : explainer.reason(firstMs: min(first, event.atMs), secondMs: max(first, event.atMs))
                ?? reasonInRequests(event.job, device)
        if let reason {
            verdict.repeatedEvents[reason, default: 0] += 1
        } else {
            verdict.broken(
                .outcome,
                "\(name(event.job, device)) has two outcomes without a reason: \(outcome.name) at \(first)"
                    + " and \(event.outcome.name) at \(event.atMs)")
        }
    }

    /// Why the delivery was made more than once.
    private func reasonInRequests(_ job: Int, _ device: Int) -> ChaosReason? {
        let requests = requestsOfJob[job].map { history.requests[$0] }.filter { $0.device == device }
        guard requests.count > 1, let last = requests.last else { return nil }
        return explainer.reason(requests.dropLast(), last)
    }

    private mutating func checkOutcomes() {
        for (index, copy) in history.copies.enumerated() {
            let own = plan.devices(ofJob: copy.job)
            for device in own {
                let slot = slots[firstSlot[index] + device - own.lowerBound]
                verdict.deliveries += 1
                guard let outcome = slot.outcome else {
                    let hasAny = own.contains {
                        slots[firstSlot[index] + $0 - own.lowerBound].outcome != nil
                    }
                    // A device that is gone gets nothing any more, and nothing is said about it.
                    if hasAny, removed.contains(device) { continue }
                    verdict.broken(
                        .lost, "\(name(copy.job, device)) has no outcome; its record is \(copy.place)")
                    continue
                }
                verdict.outcomes["\(outcome.name)", default: 0] += 1
                if let fault = fault(outcome, copy.job, device) {
                    verdict.broken(
                        outcome == .accepted ? .record : .outcome,
                        "\(name(copy.job, device)) is \(outcome.name): \(fault)")
                }
            }
        }
    }

    /// What contradicts the outcome; nil when nothing does.
    private func fault(_ outcome: DeliveryOutcome, _ job: Int, _ device: Int) -> String? {
        func has(_ answer: ChaosHistory.Answer) -> Bool {
            requestsOfJob[job].contains {
                history.requests[$0].device == device && history.requests[$0].answer == answer
            }
        }
        switch outcome {
        case .accepted:
            let isSeen = requestsOfJob[job].contains {
                history.requests[$0].device == device && history.requests[$0].isDelivered
            }
            return isSeen ? nil : "no provider has it"
        case .invalidToken: return has(.tokenGone) ? nil : "no provider said so"
        case .rejected: return has(.rejected) ? nil : "no provider refused it"
        case .duplicate:
            return plan.jobs[job].pair >= 0 || hasForgotten ? nil : "it has no dedup key"
        case .noDevice:
            return removed.isSuperset(of: plan.devices(ofJob: job)) || removed.contains(device)
                ? nil : "its device was there all the time"
        case .expired: return isSuperseded(job) ? nil : "it has no deadline and nothing newer took its place"
        case .muted, .capped, .dead, .cancelled: return "nothing asks for that"
        }
    }

    /// Whether a newer job of the recipient's collapse key was sent: then an older one that was retried ends.
    private func isSuperseded(_ job: Int) -> Bool {
        guard plan.jobs[job].collapses, let first = copiesOfJob[job].map({ history.copies[$0].place }).min()
        else { return false }
        return (collapsing[plan.jobs[job].recipient] ?? []).contains { other in
            other != job && !requestsOfJob[other].isEmpty
                && copiesOfJob[other].contains { history.copies[$0].place > first }
        }
    }

    /// Of the jobs that share a dedup key exactly one is sent. It may be called a duplicate of itself when it
    /// was worked on again and the event of the first time did not reach the broker.
    private mutating func checkKeys() {
        guard !hasForgotten else { return }
        var jobsOfKey: [Int: [Int]] = [:]
        for (job, what) in plan.jobs.enumerated() where what.pair >= 0 && !copiesOfJob[job].isEmpty {
            jobsOfKey[what.recipient << 32 | what.pair, default: []].append(job)
        }
        for jobs in jobsOfKey.values {
            var sent = 0
            for job in jobs {
                let own = plan.devices(ofJob: job)
                let isDuplicate = copiesOfJob[job].allSatisfy { copy in
                    own.allSatisfy { slots[firstSlot[copy] + $0 - own.lowerBound].outcome == .duplicate }
                }
                let isDelivered = requestsOfJob[job].contains { history.requests[$0].isDelivered }
                if isDuplicate, isDelivered { verdict.misnamed += 1 }
                if !isDuplicate || isDelivered { sent += 1 }
            }
            if sent != 1 {
                let names = jobs.map { name($0) }.joined(separator: ", ")
                verdict.broken(.outcome, "of the jobs \(names) with one dedup key \(sent) were sent")
            }
        }
    }

    // MARK: - Repeats

    private mutating func checkRepeats() {
        verdict.requests = history.requests.count
        for job in plan.jobs.indices {
            guard requestsOfJob[job].count > 1 else { continue }
            for device in plan.devices(ofJob: job) {
                let requests = requestsOfJob[job].map { history.requests[$0] }.filter { $0.device == device }
                checkRepeats(job, device, requests)
            }
        }
    }

    private mutating func checkRepeats(_ job: Int, _ device: Int, _ requests: [ChaosHistory.Request]) {
        var delivered = 0
        for (index, request) in requests.enumerated() where request.isDelivered {
            delivered += 1
            guard delivered > 1 else { continue }
            let reason: ChaosReason?
            if delivered <= copiesOfJob[job].count {
                reason = .brokerCopy
            } else {
                reason = explainer.reason(requests[..<index], request)
            }
            if let reason {
                verdict.repeated[reason, default: 0] += 1
            } else {
                let times = requests.prefix(index + 1).map { "\($0.arrivalMs) by worker \($0.worker + 1)" }
                verdict.broken(
                    .duplicate,
                    "\(name(job, device)) came \(delivered) times without a reason: "
                        + times.joined(separator: ", "))
            }
        }
    }
}

extension ChaosPlace: CustomStringConvertible {
    var description: String { "\(lane)/\(partition)/\(offset)" }
}
