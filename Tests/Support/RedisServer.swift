package import EventLoop
package import Redis

/// A real redis-server for one test; it ends with the object. See `PrivateRedisServer`.
package typealias RedisServer = PrivateRedisServer

extension PrivateRedisServer {
    /// A blocking session over the Unix socket.
    package func session(scripts: [RedisScript] = []) throws -> RedisSession {
        try .patient(endpoint, scripts: scripts)
    }
}

extension RedisClientOptions {
    /// With deadlines for a machine that has much else to do: for what a test needs and isn't about.
    package static func patient(_ endpoint: RedisEndpoint, scripts: [RedisScript] = []) -> RedisClientOptions
    {
        var options = RedisClientOptions(endpoint: endpoint)
        options.timeoutMs = 20_000
        options.connectTimeoutMs = 20_000
        options.scripts = scripts
        return options
    }
}

extension RedisSession {
    /// A blocking session with deadlines for a machine that has much else to do.
    package static func patient(_ endpoint: RedisEndpoint, scripts: [RedisScript] = []) throws -> RedisSession
    {
        try RedisSession(options: .patient(endpoint, scripts: scripts))
    }
}

/// Writes down what a `RedisClient` reports.
package final class RedisRecorder: RedisReplyHandler {
    /// An answer to a command.
    package struct Answer {
        package let tag: RedisTag
        package let value: RedisValue
        /// The class of the failure, if it is one.
        package var code: RedisFailure.Code? {
            if case .error(let failure) = value { failure.code } else { nil }
        }
    }

    /// Every answer so far.
    package var answers: [Answer] = []
    /// The number of ready connections so far.
    package var connects = 0
    /// Every lost connection or failed attempt so far.
    package var disconnects: [RedisFailure] = []
    /// Runs after an answer was written down.
    package var afterAnswer: (() -> Void)?

    /// Makes an empty recorder.
    package init() {}

    package func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {
        answers.append(Answer(tag: tag, value: RedisValue(copy reply)))
        afterAnswer?()
    }

    package func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) {
        answers.append(Answer(tag: tag, value: .error(failure)))
        afterAnswer?()
    }

    package func redisConnected() { connects += 1 }
    package func redisDisconnected(_ failure: RedisFailure) { disconnects.append(failure) }
}

extension EventLoop {
    /// Makes turns until the condition holds; false when it doesn't within the deadline.
    package func runUntil(withinMs: UInt64 = 60_000, _ condition: () -> Bool) -> Bool {
        let deadline = Clock.monotonicMs + withinMs
        while !condition() {
            if Clock.monotonicMs > deadline { return false }
            runOnce(maxWaitMs: 20)
        }
        return true
    }
}
