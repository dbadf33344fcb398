internal import Core
internal import Decisions
internal import EventLoop
internal import Jobs
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
    static let unreadAdded = jobs + 5
    static let campaignsUncounted = jobs + 6
    static let latencySum = jobs + 7
    static let firstLatency = jobs + 8
    static let firstLane = firstLatency + CounterFields.latency.count
    static let firstReason = firstLane + TopicNames.lanes.count

    static let names =
        DeliveryOutcome.allCases.map { "\($0.name)" } + [
            "jobs", "sent", "failed", "retried", "tokens_removed", CounterFields.unreadAdded,
            CounterFields.campaignsUncounted, CounterFields.latencySum,
        ]
        + CounterFields.latency + TopicNames.lanes.map { CounterFields.lane($0) }
        + Reason.allCases.map { "reason:\($0.label)" }

    /// The field of a lane; that of the last lane for one that is none of them.
    static func lane(_ name: String) -> Int {
        firstLane + (TopicNames.lanes.firstIndex(of: name) ?? TopicNames.lanes.count - 1)
    }

    /// The field of an accepted delivery that took so long.
    @inline(__always) static func latency(ms: Int64) -> Int {
        var place = 0
        while place < latencyBounds.count, ms > latencyBounds[place] { place += 1 }
        return firstLatency + place
    }

    private static let latencyBounds = CounterFields.latencyBoundsMs
}

/// The counters that dashboards read: added up here, flushed to Redis once a second.
extension Shard {
    func tally(_ index: Int32, _ outcome: DeliveryOutcome, _ reason: Reason, _ delivery: Int32?) {
        let known = jobs[index].app
        let app = known >= 0 ? Int(known) : directory.apps.count
        counters.add(app: app, field: Int(outcome.rawValue))
        counters.add(app: app, field: laneFields[Int(jobs[index].lane)])
        if known >= 0, let campaign = jobs[index].job.campaign { tally(campaign, of: known, outcome) }
        if let delivery, deliveries[delivery].sentAtMs > 0 {
            counters.add(app: app, field: CounterField.sent)
        }
        guard outcome != .accepted else {
            let latencyMs = max(0, nowMs &- jobs[index].publishedMs)
            counters.add(app: app, field: CounterField.latency(ms: latencyMs))
            counters.add(app: app, field: CounterField.latencySum, UInt64(latencyMs))
            return
        }
        counters.add(app: app, field: CounterField.failed)
        counters.add(app: app, field: CounterField.firstReason + Int(reason.rawValue))
    }

    private func tally(_ campaign: JSONText, of app: Int32, _ outcome: DeliveryOutcome) {
        campaignName.clear()
        let isKnown = unsafe campaigns.add(app: app, name: campaign.unescaped(into: &campaignName), outcome)
        if !isKnown { counters.add(app: Int(app), field: CounterField.campaignsUncounted) }
    }

    /// Counts what the registry added to an unread counter for a job.
    func tallyUnread(_ index: Int32) {
        counters.add(
            app: Int(jobs[index].app), field: CounterField.unreadAdded, UInt64(max(0, jobs[index].unread)))
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

    /// Sends what was counted by campaign. It has no second try but when Redis does not take it at all.
    func flushCampaigns() {
        guard !campaigns.isEmpty, let redis, redis.isReady else { return }
        campaigns.flush { campaign in
            let counts = zip(DeliveryOutcome.allCases, campaign.counts).filter { $0.1 > 0 }
                .map { (field: "\($0.0.name)", count: Int64(clamping: $0.1)) }
            let tag = RedisQuestion.count.tag(
                UInt64(campaign.app) << 48 | Self.campaignMark | min(campaign.deliveries, 0xFFFF_FFFF),
                round: 0)
            return redis.issue(tag) {
                OverviewCommands.count(
                    app: directory.apps[Int(campaign.app)].name,
                    campaign: String(decoding: campaign.name, as: UTF8.self), counts, nowMs: nowMs, into: &$0)
            } == nil
        }
    }

    /// In place of a field in the tag of a count: it is a campaign's.
    private static let campaignMark: UInt64 = 0xFFFF << 32

    /// Takes the answer to a count: a campaign's says whether it was one too many.
    func counted(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {
        guard tag.value & Self.campaignMark == Self.campaignMark, reply.integer == 0 else { return }
        counters.add(
            app: Int(tag.value >> 48), field: CounterField.campaignsUncounted, tag.value & 0xFFFF_FFFF)
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
        tellApps()
        for app in directory.apps.map(\.name) + ["*"] {
            _ = redis.issue(RedisQuestion.tell.tag(0, round: 0)) {
                RegistryCommands.tickTimeSeries(
                    app: app, intervalMs: Int64(Self.tickMs), entries: 17_280, fields: CounterFields.standard,
                    into: &$0)
            }
        }
    }

    /// Says which apps there are, and forgets those of former times.
    private func tellApps() {
        guard let redis, !directory.apps.isEmpty else { return }
        _ = redis.issue(RedisQuestion.tell.tag(0, round: 0)) {
            OverviewCommands.know(apps: directory.apps.map(\.name), nowMs: nowMs, into: &$0)
        }
        _ = redis.issue(RedisQuestion.tell.tag(0, round: 0)) {
            OverviewCommands.forgetApps(nowMs: nowMs, into: &$0)
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
        control.toldVersion = settings.control.obeyedByAll
        let report =
            settings.report?()
            ?? WorkerReport(lanes, [mailbox], apps: directory.apps.map(\.name), isStopping: false)
        return podMemory.line(of: report, startedMs: startedMs, control: control.toldVersion)
    }
}
