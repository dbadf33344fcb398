/// What one of everything costs, as measured; docs/benchmarks.md and docs/redis-keys.md have the commands.
///
/// Measured on two cores of an AMD EPYC virtual machine. Another machine differs: `make bench` there tells by
/// how much, and `peal size` plans with room for it.
enum UnitCosts {
    /// Worker CPU of a notification to a recipient, microseconds (`peal bench pipeline`).
    static let workerUs = 7.0
    /// Redis' CPU of such a notification, microseconds (`peal bench pipeline`). Redis uses one core.
    static let redisUs = 6.3
    /// Resident memory of a worker with one shard, bytes (`peal bench pipeline`, the default in flight).
    static let workerBytes = 130.0 * 1_048_576
    /// Deliveries that a shard has open at most: the default of `worker.in_flight`.
    static let inFlightPerShard = 8_192.0
    /// Streams of one connection at most; what APNs allows.
    static let streamsPerConnection = 1_000.0
    /// Redis' memory of a device and its owner, bytes (docs/redis-keys.md).
    static let fcmDeviceBytes = 194.0
    static let apnsDeviceBytes = 100.0
    /// Redis' memory of a recipient's unread counter and one counted position, bytes (docs/redis-keys.md).
    static let recipientBytes = 155.0
    /// Redis' memory of a broadcast's claim of a recipient until the job's `ttl`, bytes (docs/redis-keys.md).
    static let broadcastClaimBytes = 209.0
    /// Recipients a second that one process of the broadcast stage expands (`peal bench broadcast`).
    static let broadcastPerSecond = 500_000.0
    /// Requests a second of the gateway on one core, one job each (docs/benchmarks.md).
    static let gatewayPerSecond = 24_500.0
    /// Due records a second of a retry process (`peal bench retry`).
    static let retryPerSecond = 121_000.0
    /// Bytes of an outcome event with its key, and what Kafka keeps beside a record's bytes: estimates from
    /// their members, the only figures here that were not measured.
    static let outcomeBytes = 260.0
    static let recordOverheadBytes = 70.0
    /// Messages a second of a Firebase project whose quota was not raised: 600,000 a minute.
    static let fcmProjectPerSecond = 10_000.0
}
