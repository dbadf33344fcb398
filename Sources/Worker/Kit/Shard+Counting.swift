internal import Decisions
internal import EventLoop
internal import Providers
internal import Redis
internal import Registry

/// The fields of the live counters that a worker writes, in the order of ``names``.
enum CounterField {
    /// The outcomes come first, so that an outcome's raw value is its field.
    static let jobs = DeliveryOutcome.allCases.count
    static let sent = jobs + 1
    static let failed = jobs + 2
    static let retried = jobs + 3
    static let tokensRemoved = jobs + 4
    static let firstReason = jobs + 5

    static let names =
        DeliveryOutcome.allCases.map { "\($0.name)" } + [
            "jobs", "sent", "failed", "retried", "tokens_removed",
        ]
        + Reason.allCases.map { "reason:\($0.label)" }
}

/// The counters that dashboards read: added up here, flushed to Redis once a second.
extension Shard {
    func tally(_ app: Int32, _ outcome: DeliveryOutcome, _ reason: Reason, _ delivery: Int32?) {
        let app = app >= 0 ? Int(app) : directory.apps.count
        counters.add(app: app, field: Int(outcome.rawValue))
        if let delivery, deliveries[delivery].sentAtMs > 0 {
            counters.add(app: app, field: CounterField.sent)
        }
        guard outcome != .accepted else { return }
        counters.add(app: app, field: CounterField.failed)
        counters.add(app: app, field: CounterField.firstReason + Int(reason.rawValue))
    }

    func tallyRetry(_ index: Int32, _ reason: Reason) {
        let app = Int(jobs[index].app)
        counters.add(app: app, field: CounterField.retried)
        counters.add(app: app, field: CounterField.firstReason + Int(reason.rawValue))
    }

    func tallyJob(_ index: Int32) {
        let app = jobs[index].app
        counters.add(app: app >= 0 ? Int(app) : directory.apps.count, field: CounterField.jobs)
    }

    /// Sends what was counted; what Redis does not take stays for the next time.
    func flushCounters() {
        guard !counters.isEmpty, let redis, redis.isReady else { return }
        counters.flush(minute: nowMs / 60_000) { encode in
            redis.issue(RedisQuestion.tell.tag(0, round: 0), encode) == nil
        }
    }
}
