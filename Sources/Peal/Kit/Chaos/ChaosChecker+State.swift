internal import Decisions

/// Badges, order, counters and the state at the end.
extension ChaosChecker {
    // MARK: - Badges

    mutating func checkBadges() {
        guard !hasForgotten else { return }
        var sums = [Int64](repeating: 0, count: plan.recipients.count)
        var lowest = [Int64](repeating: .max, count: plan.jobs.count)
        let inOrder = history.copies.indices.sorted { history.copies[$0].place < history.copies[$1].place }
        for index in inOrder {
            let job = history.copies[index].job
            sums[plan.jobs[job].recipient] += plan.jobs[job].unread
            lowest[job] = min(lowest[job], sums[plan.jobs[job].recipient])
        }
        for (recipient, sum) in sums.enumerated() where recipient < history.unread.count {
            if history.unread[recipient] != sum {
                verdict.broken(
                    .badge,
                    "the counter of \(ChaosPlan.name(ofRecipient: recipient)) is \(history.unread[recipient])"
                        + " instead of \(sum)")
            }
        }
        for job in plan.jobs.indices where plan.jobs[job].unread > 0 && !copiesOfJob[job].isEmpty {
            checkBadges(job, lowest: lowest[job], highest: sums[plan.jobs[job].recipient])
        }
    }

    /// The first attempt shows the counter as the job left it; a later one may show what newer jobs added,
    /// and so may one that a worker took over from another.
    private mutating func checkBadges(_ job: Int, lowest: Int64, highest: Int64) {
        for index in requestsOfJob[job] {
            let request = history.requests[index]
            let isOnly =
                copiesOfJob[job].count == 1 && !history.retried.contains(job)
                && !explainer.mayBeRedone(atMs: request.arrivalMs)
                && requestsOfJob[job].filter { history.requests[$0].device == request.device }.count == 1
            let right = isOnly ? lowest...lowest : lowest...max(lowest, highest)
            guard let badge = request.badge, right.contains(badge) else {
                verdict.broken(
                    .badge,
                    "\(name(job, request.device)) shows \(request.badge.map(String.init) ?? "no badge")"
                        + " instead of \(right.lowerBound)"
                        + (isOnly ? "" : " to \(right.upperBound)"))
                continue
            }
        }
    }

    // MARK: - Order

    mutating func checkOrder() {
        let inOrder = history.copies.indices.sorted { history.copies[$0].place < history.copies[$1].place }
        var jobsOfRecipient: [[Int]] = Array(repeating: [], count: plan.recipients.count)
        for index in inOrder {
            let job = history.copies[index].job
            jobsOfRecipient[plan.jobs[job].recipient].append(job)
        }
        for (recipient, jobs) in jobsOfRecipient.enumerated() {
            for device in plan.recipients[recipient].devices {
                checkFirsts(jobs, device)
                checkCollapse(jobs, device)
            }
        }
    }

    /// A job that has left for a retry topic lets the next one by; a copied one has no one place.
    private mutating func checkFirsts(_ jobs: [Int], _ device: Int) {
        var latest = (index: -1, job: -1)
        for job in jobs where copiesOfJob[job].count == 1 && !history.retried.contains(job) {
            guard let first = requestsOfJob[job].first(where: { history.requests[$0].device == device })
            else {
                continue
            }
            if first < latest.index {
                // It had left for a retry topic, and was lost with its worker before it got there.
                let atMs = history.requests[latest.index].arrivalMs
                if explainer.mayBeRedone(atMs: atMs) { continue }
                verdict.broken(
                    .order, "\(name(job, device)) was sent before \(name(latest.job)), which is older")
            } else {
                latest = (first, job)
            }
        }
    }

    /// Counts the first delivery of each job: a job that was worked on twice comes again in its old place.
    private mutating func checkCollapse(_ jobs: [Int], _ device: Int) {
        var firsts: [(index: Int, order: Int)] = []
        for (order, job) in jobs.enumerated() where plan.jobs[job].collapses {
            let first = requestsOfJob[job].first {
                history.requests[$0].device == device && history.requests[$0].isDelivered
            }
            if let first { firsts.append((first, order)) }
        }
        firsts.sort { $0.index < $1.index }
        var newest = -1
        for (index, order) in firsts {
            guard order < newest else {
                newest = order
                continue
            }
            let job = jobs[order]
            let sinceMs = requestsOfJob[job].first.map { history.requests[$0].arrivalMs } ?? 0
            let atMs = history.requests[index].arrivalMs
            if explainer.mayLoseMark(fromMs: sinceMs, toMs: atMs) { continue }
            verdict.broken(
                .collapse, "\(name(job, device)) replaced \(name(jobs[newest])), which is newer")
        }
    }

    // MARK: - Counters

    /// Counters are flushed about once a second: a kill takes what was counted since, and a Redis that was
    /// cut off may have taken a flush whose answer was lost.
    mutating func checkCounters() {
        let spans = uncertainSpans()
        func isUncertain(_ ms: Int64) -> Bool { spans.contains { $0.contains(ms) } }
        var counted: [String: Int64] = [:]
        var room = 0
        for event in history.events {
            counted["\(event.outcome.name)", default: 0] += 1
            if isUncertain(event.atMs) { room += 1 }
        }
        room += history.requests.count { isUncertain($0.arrivalMs) }
        verdict.counterRoom = room
        for outcome in DeliveryOutcome.allCases {
            let name = "\(outcome.name)"
            let events = counted[name] ?? 0
            for (whose, totals) in [("of the app", history.totals), ("of all apps", history.totalsOfAll)] {
                let gap = abs((totals[name] ?? 0) - events)
                verdict.counterGap = max(verdict.counterGap, Int(clamping: gap))
                if gap > Int64(room) {
                    verdict.broken(
                        .counters,
                        "\(name) \(whose) is \(totals[name] ?? 0) in Redis and \(events) in the outcomes;"
                            + " the faults explain a difference of \(room)")
                }
            }
        }
    }

    /// The times in which a count may have been lost or taken twice.
    private func uncertainSpans() -> [ClosedRange<Int64>] {
        let slack = bounds.counters
        var away: [ClosedRange<Int64>] = []
        var brokerAway = false
        for injection in history.injections {
            switch injection.fault.kind.resource(slot: 0) {
            case .redis, .redisLink: away.append(injection.fromMs - slack...injection.toMs + slack)
            case .broker: brokerAway = true
            case .worker, .retry, .provider, .link: break
            }
        }
        // An event that the broker did not take before its worker was killed was counted all the same.
        let reach = brokerAway ? 2 * slack : slack
        var spans = away
        for life in history.lives where life.slot >= 0 && (life.ending == .killed || life.ending == .hung) {
            var from = life.endMs - reach
            for span in away where span.upperBound >= from && span.lowerBound <= life.endMs {
                from = min(from, span.lowerBound)
            }
            spans.append(from...life.endMs + slack)
        }
        return spans
    }

    // MARK: - The end

    mutating func checkEnd() {
        if !history.isSettled { verdict.broken(.offsets, "the run did not come to rest before its deadline") }
        for position in history.positions where (position.committed ?? 0) != position.end {
            verdict.broken(
                .offsets,
                "\(position.topic)/\(position.partition) is committed up to"
                    + " \(position.committed.map(String.init) ?? "nothing") of \(position.end)")
        }
        for life in history.lives {
            switch life.ending {
            case .fell(let how): verdict.broken(.processes, "\(life.program) ended by itself: \(how)")
            case .hung: verdict.broken(.processes, "\(life.program) did not end when it was asked to")
            case .stopped(let code) where code != 0:
                verdict.broken(.processes, "\(life.program) ended with code \(code)")
            case .running, .killed, .stopped: break
            }
        }
        for peak in history.peaks where peak.bytes > bounds.memory {
            verdict.broken(.memory, "\(peak.program) had \(peak.bytes >> 20) MiB")
        }
    }
}
