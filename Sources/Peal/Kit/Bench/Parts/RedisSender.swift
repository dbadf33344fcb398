internal import EventLoop
internal import Redis

/// Sends one command again and again with Peal's own client, in a pipeline like redis-benchmark's.
final class RedisSender: RedisReplyHandler {
    private var failure: RedisFailure?

    private init() {}

    /// Sends the command `count` times with at most `depth` of them unanswered.
    /// - Returns: the CPU that this process used meanwhile, in microseconds a command.
    /// - Throws: `.redis` when the server refuses one or stops answering.
    static func run(
        _ command: RedisBenchCommand, count: Int, depth: Int, at endpoint: RedisEndpoint
    ) throws(StackFailure) -> Double {
        let sender = RedisSender()
        let loop: EventLoop
        do throws(SystemFailure) { loop = try EventLoop() } catch {
            throw StackFailure(.redis, "\(command.title) could not be sent: \(error)")
        }
        var options = RedisClientOptions(endpoint: endpoint)
        options.timeoutMs = 30_000
        let client = RedisClient(loop: loop, options: options, handler: sender)
        defer { client.close() }
        client.start()
        let deadlineMs = Clock.monotonicMs + 30_000
        while !client.isReady, Clock.monotonicMs < deadlineMs { loop.runOnce(maxWaitMs: 100) }
        let beforeNs = Clock.processCPUNs
        var sent = 0
        var numbers = RedisBenchCommand.Numbers()
        while sent < count || client.inFlight > 0, sender.failure == nil {
            while sent < count, client.inFlight < depth {
                if let code = client.issue(
                    RedisTag(kind: 0, value: 0), { command.encode(&numbers, into: &$0) })
                {
                    throw StackFailure(.redis, "\(command.title) was not taken: \(code)")
                }
                sent += 1
            }
            loop.runOnce(maxWaitMs: 1_000)
        }
        if let failure = sender.failure {
            throw StackFailure(.redis, "\(command.title) failed: \(failure)")
        }
        return Double(Clock.processCPUNs - beforeNs) / 1_000 / Double(max(1, count))
    }

    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {}

    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) { self.failure = failure }
}
