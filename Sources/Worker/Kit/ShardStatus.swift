internal import Core
internal import Decisions
internal import HTTP2
internal import Redis

/// What a shard shows of itself to metrics, health and the summary. Counters since the start.
struct ShardStatus: Sendable {
    var isRedisReady = false
    var redisFailure = ""
    /// Why Redis refuses jobs although it is connected; empty when it doesn't.
    var redisRefusal = ""
    /// Which nodes of a Redis Cluster are away or refuse; empty when none does.
    var redisTrouble = ""
    var redis = RedisStatistics()
    var jobs = 0
    var deliveries = 0
    var unsentRecords = 0
    var batches = 0
    var jobsFinished: UInt64 = 0
    var jobsDropped: UInt64 = 0
    var redisScripts: UInt64 = 0
    var resends: UInt64 = 0
    var redisHeld: UInt64 = 0
    var duplicateHops: UInt64 = 0
    var headersDropped: UInt64 = 0
    var allocations: UInt64 = 0
    var turns: UInt64 = 0
    /// By app, provider, lane, outcome and reason.
    var series = SeriesTable(limit: .max)
    /// By ``Reason``: why deliveries ended or are retried.
    var reasons = [UInt64](repeating: 0, count: Reason.allCases.count)
    /// Jobs put off by a recipient's cap, and by another job with their dedup key or id.
    var capWaits: UInt64 = 0
    var quietWaits: UInt64 = 0
    var duplicateWaits: UInt64 = 0
    /// Provider quotas: questions to Redis, tokens given, deliveries that waited for one in memory and in a
    /// retry topic, refusals by a provider, and those that wait in memory now.
    var quotaQuestions: UInt64 = 0
    var quotaTokens: UInt64 = 0
    var quotaWaits: UInt64 = 0
    var quotaPutOffs: UInt64 = 0
    var quotaRefusals: UInt64 = 0
    var quotaWaiting = 0
    /// Jobs handed over to the broadcast stage.
    var broadcasts: UInt64 = 0
    /// Questions to the other environment of APNs about a token.
    var probes: UInt64 = 0
    /// Devices whose environment was corrected after one.
    var environmentsCorrected: UInt64 = 0
    /// Deliveries sent by the side pools because their tokens were refused lately.
    var quarantined: UInt64 = 0
    /// Deliveries sent by the side pools because their tokens were never accepted.
    var screened: UInt64 = 0
    /// Jobs and deliveries that an operator's pause has sent to wait, each time they came.
    var jobsPaused: UInt64 = 0
    var deliveriesPaused: UInt64 = 0
    /// Jobs and deliveries that an open circuit, or a share that is used up, has sent to wait.
    var circuitWaits: UInt64 = 0
    var shareWaits: UInt64 = 0
    /// Apps that fill their share and hardly move.
    var stuckApps = 0
    /// Tokens that are removed soon.
    var suspects = 0
    /// The version of the kill switch that is obeyed, and its entries in force.
    var controlVersion: Int64 = -1
    var controlEntries = 0
    /// Deliveries that went by an old credential because the provider refused the new one.
    var rotationFallbacks: UInt64 = 0
    /// Milliseconds from publication to acceptance, for quantiles.
    var latency = Histogram()
    var stages = StageTimes()
    /// From commands to Redis to their replies, in milliseconds.
    var redisRoundTrips = TimeBuckets()
    /// When it was published, and when something outside last held jobs up; steady milliseconds.
    var tickMs: UInt64 = 0
    var heldUpMs: UInt64 = 0
    var routes: [RouteStatus] = []
    /// Routes that the shard knows of, the replaced ones included.
    var routesKnown = 0
}

/// One route's connections as a shard has them.
struct RouteStatus: Sendable {
    var name: String
    var metrics: PoolMetrics
    /// Of the side pool; nil while there is none.
    var side: PoolMetrics?
    var explanation: String
    var isPaused: Bool
    /// 0 closed, 1 half open, 2 open.
    var circuit: UInt8
    var circuitOpenings: UInt64
}
