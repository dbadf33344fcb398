internal import Core
internal import Logging
internal import Redis

/// What a Redis Cluster changes: the nodes fail one by one, so the jobs of one wait while the others' go on.
extension Shard {
    /// Puts a job aside because Redis did not take what it asks. With a cluster, it asks again after a tick
    /// and nobody else waits for it: its node's trouble says nothing about the other nodes.
    func holdForRedis(_ index: Int32) {
        guard redis?.isCluster == true else { return hold(index) }
        jobs[index].stage = .held
        endPreparation(index)
        resting.append(jobs.reference(index))
    }

    /// Lets the jobs that rested for a tick wait for their turn again.
    func wakeResting() {
        guard !resting.isEmpty else { return }
        var rested: [UInt64] = []
        swap(&rested, &resting)
        for reference in rested {
            guard let index = jobs.resolve(reference), jobs[index].stage == .held else { continue }
            if isCurrent(index) { hold(index) } else { drop(index) }
        }
    }

    /// Notes what the connection counted and which nodes of a cluster are away, and says so when that
    /// changes.
    func watchRedis() {
        counts.isRedisReady = redis?.isReady ?? false
        counts.redisFailure = redis?.lastFailure?.message ?? ""
        counts.redis = redis?.statistics ?? RedisStatistics()
        counts.redisRoundTrips = redis?.roundTrips ?? TimeBuckets()
        let trouble = counts.isRedisReady ? redis?.trouble ?? "" : ""
        guard trouble != counts.redisTrouble else { return }
        counts.redisTrouble = trouble
        if trouble.isEmpty {
            logger.info("redis.whole", "All nodes of the Redis Cluster answer.")
        } else {
            logger.warning("redis.partial", "Jobs of a part of the Redis Cluster are held: \(trouble).")
        }
    }
}
