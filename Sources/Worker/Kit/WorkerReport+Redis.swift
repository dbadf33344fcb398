internal import Core
internal import Redis

/// What the shards' Redis connections counted, as Prometheus text.
extension WorkerReport {
    func appendRedis(_ out: inout ByteBuffer) {
        var sum = RedisStatistics()
        for shard in shards { sum.add(shard.redis) }
        let counters: [(String, String, UInt64)] = [
            ("peal_redis_commands_total", "Commands given to Redis.", sum.commands),
            ("peal_redis_errors_total", "Error replies of Redis.", sum.errorReplies),
            ("peal_redis_timeouts_total", "Deadlines that Redis missed.", sum.timeouts),
            (
                "peal_redis_refused_total", "Commands not taken: no connection, or a bound was reached.",
                sum.refusedUnavailable &+ sum.refusedInFlight &+ sum.refusedBuffer
            ),
            ("peal_redis_connects_total", "Connections to Redis that were ready.", sum.connects),
            ("peal_redis_connect_failures_total", "Attempts to connect that failed.", sum.connectFailures),
            ("peal_redis_disconnects_total", "Ready connections to Redis that were lost.", sum.disconnects),
            ("peal_redis_script_reloads_total", "Scripts that Redis had forgotten.", sum.scriptReloads),
            ("peal_redis_moved_total", "Commands sent on after MOVED.", sum.moved),
            ("peal_redis_asked_total", "Commands sent on after ASK.", sum.asked),
            ("peal_redis_slot_maps_total", "Slot maps of the cluster taken over.", sum.slotMaps),
        ]
        for (name, help, value) in counters { single(&out, name, "counter", help, value) }
        single(
            &out, "peal_redis_held_total", "counter", "Times that a job was held because of Redis.",
            shards.reduce(0) { $0 + $1.redisHeld })
    }
}
