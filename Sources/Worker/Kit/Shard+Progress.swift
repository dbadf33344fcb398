internal import Decisions
internal import HTTP2
internal import Providers
internal import Redis

/// Whether a shard may be waiting for others.
extension Shard {
    /// Whether Redis, Kafka, a provider, a quota or an operator is in the way of any job: then jobs that
    /// don't move are no sign that this process is at fault.
    var isHeldUp: Bool {
        let isRedisAway = redis?.isReady != true || isRedisRefusing || !counts.redisTrouble.isEmpty
        let waitsForBroker = records.count > 0 || !unsentRecords.isEmpty || !refusedRecords.isEmpty
        let isOrdered = !isControlKnown || control.gate.count > 0
        return isRedisAway || waitsForBroker || isOrdered || counts.quotaWaiting > 0
            || counts.routes.contains {
                $0.isPaused || $0.circuit > 0 || $0.metrics.connectFailuresInARow > 0
            }
    }
}
