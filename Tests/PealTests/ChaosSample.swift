import Decisions

@testable import PealKit

/// The history of a small run in which everything went right, for tests to spoil.
struct ChaosSample {
    let plan: ChaosPlan
    var history: ChaosHistory
    static let startMs: Int64 = 1_700_000_000_000

    init(jobs: Int = 120) {
        plan = ChaosPlan(seed: 7, jobCount: jobs)
        history = ChaosHistory(plan: plan)
        history.unread = Array(repeating: 0, count: plan.recipients.count)
        var keys: Set<[Int]> = []
        for job in plan.jobs.indices {
            let what = plan.jobs[job]
            let place = ChaosPlace(lane: plan.lane(ofJob: job), partition: 0, offset: Int64(job))
            history.copies.append(ChaosHistory.Copy(job: job, place: place))
            history.unread[what.recipient] += what.unread
            let isNew = what.pair < 0 || keys.insert([what.recipient, what.pair]).inserted
            for device in plan.devices(ofJob: job) {
                let atMs = Self.startMs + Int64(job) * 1_000
                history.events.append(
                    ChaosHistory.Event(
                        job: job, place: place, device: device, outcome: isNew ? .accepted : .duplicate,
                        atMs: atMs + 20))
                guard isNew else { continue }
                var request = ChaosHistory.Request(job: job, device: device, arrivalMs: atMs)
                request.badge = what.unread > 0 ? history.unread[what.recipient] : nil
                request.worker = 0
                history.requests.append(request)
            }
        }
        count()
    }

    /// Makes the counters what the events say.
    mutating func count() {
        history.totals = [:]
        for event in history.events { history.totals["\(event.outcome.name)", default: 0] += 1 }
        history.totalsOfAll = history.totals
    }

    /// Sends the last request again.
    mutating func repeatLast(byWorker worker: Int, afterMs: Int64) {
        guard var request = history.requests.last else { return }
        request.arrivalMs += afterMs
        request.worker = worker
        history.requests.append(request)
    }

    /// Two requests to one device, the first of the older of two jobs that pass the test.
    func neighbours(_ isWanted: (Int) -> Bool = { _ in true }) -> (Int, Int)? {
        var last: [Int: Int] = [:]
        for (index, request) in history.requests.enumerated()
        where plan.jobs[request.job].unread > 0 && isWanted(request.job) {
            if let earlier = last[request.device] { return (earlier, index) }
            last[request.device] = index
        }
        return nil
    }

    /// Two jobs that share a dedup key.
    func keyedPair() -> (Int, Int)? {
        var first: [[Int]: Int] = [:]
        for (job, what) in plan.jobs.enumerated() where what.pair >= 0 {
            if let other = first[[what.recipient, what.pair]] { return (other, job) }
            first[[what.recipient, what.pair]] = job
        }
        return nil
    }
}
