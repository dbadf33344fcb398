/// The caller's mark on a command, given back with its reply.
package struct RedisTag: Sendable, Equatable {
    /// The caller's kind of command.
    package var kind: UInt8
    /// The caller's reference, for example an index of a job.
    package var value: UInt64

    /// Makes a tag.
    @inlinable package init(kind: UInt8, value: UInt64) {
        self.kind = kind
        self.value = value
    }
}

/// Hears of the replies of a ``RedisClient``, on the loop's thread and in the order of the commands; of a
/// cluster, in the order of the commands on one key.
///
/// Each command taken is answered by exactly one call of `redisReply` or `redisFailed`. The handler may issue
/// commands and close the client from within.
package protocol RedisReplyHandler: AnyObject {
    /// The command has a reply that isn't an error. `reply` is valid during the call.
    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView)
    /// The command has an error reply or none.
    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure)
    /// The connection is ready.
    func redisConnected()
    /// The connection was lost, or an attempt failed; the client goes on trying.
    func redisDisconnected(_ failure: RedisFailure)
}

extension RedisReplyHandler {
    /// Does nothing.
    package func redisConnected() {}
    /// Does nothing.
    package func redisDisconnected(_ failure: RedisFailure) {}
}
