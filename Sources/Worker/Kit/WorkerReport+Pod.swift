internal import Core
internal import EventLoop
internal import HTTP2

/// What the list of pods tells of this one.
extension WorkerReport {
    var podFacts: PodFacts {
        var facts = PodFacts()
        facts.lanes = lanes.map { name, status in
            (name, status.inFlight, max(0, status.lag), oldestAgeMs(status), status.isPaused)
        }
        facts.ended = series.outcomes.reduce(0, &+)
        facts.latency = latency
        var circuits: Set<String> = []
        for shard in shards {
            for route in shard.routes {
                facts.connections += Int64(route.metrics.open + (route.side?.open ?? 0))
                facts.streams += Int64(route.metrics.streams + (route.side?.streams ?? 0))
                if route.circuit > 0 { circuits.insert(route.name) }
            }
        }
        facts.circuits = circuits.sorted()
        facts.faults = credentialComplaints
        facts.redis =
            shards.lazy.map { (shard: ShardStatus) -> String in
                if !shard.isRedisReady {
                    return shard.redisFailure.isEmpty ? "not connected" : shard.redisFailure
                }
                return shard.redisRefusal.isEmpty ? shard.redisTrouble : shard.redisRefusal
            }.first { !$0.isEmpty } ?? ""
        return facts
    }
}
