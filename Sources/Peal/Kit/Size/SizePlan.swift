/// How many of everything carry a request: arithmetic over ``UnitCosts``.
struct SizePlan: Equatable, Sendable {
    /// What stands in the way of more, and how to see it coming.
    struct Limit: Equatable, Sendable {
        let name: String
        /// How much of it the plan uses, 0...1 and more.
        let share: Double
        let sign: String
        let lever: String
    }

    let request: SizeRequest
    let workerPods: Int
    let workerCores: Double
    let workerBytes: Double
    /// Open requests at the providers.
    let inFlight: Double
    let connections: Int
    let partitions: Int
    let redisShards: Int
    let redisCores: Double
    let redisBytes: Double
    let kafkaInPerSecond: Double
    let kafkaDiskBytes: Double
    let retryPods: Int
    let gatewayPods: Int
    let broadcastSeconds: Double

    init(_ request: SizeRequest) {
        self.request = request
        let load = Double(request.loadPercent) / 100
        let sends = Double(request.rate) * (1 + Double(request.retryPercent) / 100)
        workerCores = sends * UnitCosts.workerUs / 1e6
        let waiting = sends * Double(request.roundTripMs) / 1_000
        inFlight = waiting
        // A pod has one shard fewer than cores; the remaining core is Kafka's and the lanes'.
        let shards = Double(max(1, request.coresPerPod - 1))
        let byCPU = workerCores / (Double(request.coresPerPod) * load)
        let byWaiting = waiting / (UnitCosts.inFlightPerShard * shards * load)
        // One more than needed, so that one may be lost or replaced.
        workerPods = max(2, Int(max(byCPU, byWaiting).rounded(.up)) + 1)
        workerBytes = UnitCosts.workerBytes * shards
        let fcm = Double(request.fcmPercent) / 100
        let wanted = [fcm, 1 - fcm].map { waiting * $0 / (UnitCosts.streamsPerConnection * load) }
        let senders = Double(workerPods) * shards
        // Every shard has a connection to each provider that it sends to.
        connections = wanted.reduce(0) { $0 + ($1 > 0 ? Int(max($1, senders).rounded(.up)) : 0) }
        partitions = Self.partitions(for: workerPods)
        redisCores = sends * UnitCosts.redisUs / 1e6
        let devices = Double(request.devices)
        redisBytes =
            devices * (fcm * UnitCosts.fcmDeviceBytes + (1 - fcm) * UnitCosts.apnsDeviceBytes)
            + Double(request.recipients) * UnitCosts.recipientBytes
            + Double(request.broadcast) * UnitCosts.broadcastClaimBytes
        let byMemory = redisBytes / (Double(request.redisGiB) * 1_073_741_824)
        redisShards = max(1, Int(max(redisCores / load, byMemory).rounded(.up)))
        let record = Double(request.jobBytes) + UnitCosts.recordOverheadBytes
        let outcome = UnitCosts.outcomeBytes + UnitCosts.recordOverheadBytes
        kafkaInPerSecond = sends * record + Double(request.rate) * outcome
        kafkaDiskBytes =
            kafkaInPerSecond * Double(request.retentionHours) * 3_600 * Double(request.replication)
        let retries = sends - Double(request.rate)
        retryPods = max(2, Int((retries / (UnitCosts.retryPerSecond * load)).rounded(.up)))
        let http = Double(request.rate) * Double(request.gatewayPercent) / 100
        gatewayPods =
            http > 0 ? max(2, Int((http / (UnitCosts.gatewayPerSecond * load)).rounded(.up)) + 1) : 0
        broadcastSeconds = Double(request.broadcast) / UnitCosts.broadcastPerSecond
    }

    /// Four for each pod, so that pods can be added without new partitions; a power of two, at least 16.
    private static func partitions(for pods: Int) -> Int {
        var count = 16
        while count < pods * 4 { count *= 2 }
        return count
    }

    /// What gives way first, the nearest one in front.
    var limits: [Limit] {
        let pods = Double(workerPods)
        let shards = Double(max(1, request.coresPerPod - 1))
        let fcmRate = Double(request.rate) * Double(request.fcmPercent) / 100
        let all = [
            Limit(
                name: "workers' CPU", share: workerCores / (pods * Double(request.coresPerPod)),
                sign: "peal_consumer_lag_records grows while peal_deliveries_open stays below its bound",
                lever: "more worker pods, up to one for each partition"),
            Limit(
                name: "deliveries in flight",
                share: inFlight / (UnitCosts.inFlightPerShard * shards * pods),
                sign: "peal_deliveries_open near worker.in_flight while the pods' cores idle",
                lever: "more pods or shards, or a higher worker.in_flight"),
            Limit(
                name: "Redis' CPU", share: redisCores / Double(redisShards),
                sign: "a redis-server near one core, and peal_redis_command_duration_seconds grows",
                lever: "Redis Cluster with more shards"),
            Limit(
                name: "Redis' memory",
                share: redisBytes / (Double(redisShards) * Double(request.redisGiB) * 1_073_741_824),
                sign: "used_memory near maxmemory",
                lever: "more shards, or a shorter ttl of broadcasts"),
            Limit(
                name: "FCM's quota of one project", share: fcmRate / UnitCosts.fcmProjectPerSecond,
                sign: "peal_quota_refusals_total, and answers of 429",
                lever: "ask Google for more, set quota.fcm to it, or use several projects"),
        ]
        return all.filter { $0.share > 0 }.sorted { $0.share > $1.share }
    }
}
