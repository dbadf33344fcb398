internal import Core
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

    /// Sends what was counted; what Redis does not take, or refuses, stays for the next time.
    func flushCounters() {
        guard !counters.isEmpty, let redis, redis.isReady else { return }
        counters.flush(minute: nowMs / 60_000) { count, encode in
            let tag =
                count.map {
                    RedisQuestion.count.tag(
                        UInt64($0.app) << 48 | UInt64($0.field) << 32 | min($0.count, 0xFFFF_FFFF), round: 0)
                } ?? RedisQuestion.tell.tag(0, round: 0)
            return redis.issue(tag, encode) == nil
        }
    }

    /// Counts again what Redis has certainly not added. With a lost connection nobody knows: then it is left.
    func countFailed(_ tag: RedisTag, _ failure: RedisFailure) {
        guard failure.code.isOutage, !failure.code.isOutcomeUnknown else { return }
        counters.add(
            app: Int(tag.value >> 48), field: Int(tag.value >> 32 & 0xFFFF), tag.value & 0xFFFF_FFFF)
    }

    /// Tells that this process lives, and lets the dashboards' time axis tick. Only the first shard does,
    /// once a second; Redis decides which of several processes writes the entry of an interval.
    func beat() {
        guard index == 0, let redis, redis.isReady else { return }
        let line = podLine()
        _ = redis.issue(RedisQuestion.tell.tag(0, round: 0)) {
            RegistryCommands.beat(pod: settings.podName, json: line, into: &$0)
        }
        guard loop.nowMs >= lastTickMs &+ Self.tickMs else { return }
        lastTickMs = loop.nowMs
        for app in directory.apps.map(\.name) + ["*"] {
            _ = redis.issue(RedisQuestion.tell.tag(0, round: 0)) {
                RegistryCommands.tickTimeSeries(
                    app: app, intervalMs: Int64(Self.tickMs), entries: 17_280, fields: CounterFields.standard,
                    into: &$0)
            }
        }
    }

    /// Takes this process out of the list of the living.
    func sayGoodbye() {
        guard index == 0, let redis, redis.isReady else { return }
        _ = redis.issue(RedisQuestion.tell.tag(0, round: 0)) {
            RegistryCommands.goodbye(pod: settings.podName, into: &$0)
        }
    }

    /// A time series has an entry every ten seconds, two days of them.
    private static var tickMs: UInt64 { 10_000 }

    private func podLine() -> [UInt8] {
        var out = ByteBuffer(capacity: 256)
        var inFlight = 0
        var lag: Int64 = 0
        out.append("{\"role\":\"worker\",\"lanes\":[")
        for (position, lane) in lanes.enumerated() {
            if position > 0 { out.append(byte: UInt8(ascii: ",")) }
            out.append(array: lane.nameJSON)
            let status = lane.status.withLock { $0 }
            inFlight += status.inFlight
            lag += max(0, status.lag)
        }
        out.append("],\"in_flight\":")
        out.append(decimal: Int64(inFlight))
        out.append(",\"lag\":")
        out.append(decimal: lag)
        out.append(",\"control\":")
        control.toldVersion = settings.control.obeyedByAll
        out.append(decimal: control.toldVersion)
        out.append(",\"started_ms\":")
        out.append(decimal: startedMs)
        out.append(",\"beat_ms\":")
        out.append(decimal: nowMs)
        out.append(byte: UInt8(ascii: "}"))
        return out.array
    }
}
