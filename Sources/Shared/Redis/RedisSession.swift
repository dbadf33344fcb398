internal import EventLoop

/// A blocking Redis client for tools, the demo and tests.
///
/// - Ownership: has a loop and a connection of its own; ``close()`` ends both.
/// - Threading: one thread.
/// - Errors: throws ``RedisFailure`` after at most the deadline of its options.
package final class RedisSession {
    private let loop: EventLoop
    private let client: RedisClient
    private let inbox = SessionInbox()

    /// Makes a session; it connects with the first command.
    package init(options: RedisClientOptions) throws(RedisFailure) {
        var options = options
        options.whenDisconnected = .hold
        do throws(SystemFailure) {
            loop = try EventLoop()
        } catch {
            throw RedisFailure(.unavailable, "\(error)")
        }
        client = RedisClient(loop: loop, options: options, handler: inbox)
        client.start()
    }

    /// Makes a session with default options.
    package convenience init(_ endpoint: RedisEndpoint, scripts: [RedisScript] = []) throws(RedisFailure) {
        var options = RedisClientOptions(endpoint: endpoint)
        options.scripts = scripts
        try self.init(options: options)
    }

    deinit { client.close() }

    /// Closes the connection. Commands fail from now on.
    package func close() { client.close() }

    /// The options of a session with each node of a cluster that has slots; none with a single server.
    /// - Throws: when no node answers.
    package func nodes() throws(RedisFailure) -> [RedisClientOptions] {
        guard client.isCluster else { return [] }
        try command("PING")
        return client.nodes.map { endpoint in
            var options = client.options
            options.clusterSeeds = []
            options.endpoint = endpoint
            options.scripts = []
            return options
        }
    }

    /// Runs one command and waits for its reply; an error reply is thrown.
    @discardableResult
    package func command(_ words: [String]) throws(RedisFailure) -> RedisValue {
        try run { $0.append(words) }
    }

    /// Runs one command and waits for its reply; an error reply is thrown.
    @discardableResult
    package func command(_ words: String...) throws(RedisFailure) -> RedisValue { try command(words) }

    /// Runs the one command that `encode` appends and waits for its reply; an error reply is thrown.
    @discardableResult
    package func run(_ encode: (inout RedisCommandBuffer) -> Void) throws(RedisFailure) -> RedisValue {
        refresh()
        inbox.expect(1)
        if let code = client.issue(RedisTag(kind: 0, value: 0), encode) {
            throw RedisFailure(code, "the command was not taken")
        }
        waitForAll()
        guard let value = inbox.values.first else { throw RedisFailure(.timedOut, "no reply") }
        if case .error(let failure) = value {
            // "Not connected in time" says less than why.
            if failure.code == .unavailable, let cause = client.lastFailure { throw cause }
            throw failure
        }
        return value
    }

    /// Runs the commands in one go; an error reply is an element of the result.
    package func pipeline(_ commands: [[String]]) throws(RedisFailure) -> [RedisValue] {
        refresh()
        inbox.expect(commands.count)
        for (place, words) in commands.enumerated() {
            if client.inFlight >= client.options.maximumInFlight / 2 { waitForAll() }
            if let code = client.issue(RedisTag(kind: 0, value: UInt64(place)), { $0.append(words) }) {
                waitForAll()
                throw RedisFailure(code, "the command was not taken")
            }
        }
        waitForAll()
        return inbox.values
    }

    /// Issues a command whose answer nobody looks at, for statistics, of which a lost one is no harm; false
    /// when it was not taken. ``waitForTold()`` comes behind the last one.
    package func tell(_ encode: (inout RedisCommandBuffer) -> Void) -> Bool {
        client.issue(RedisTag(kind: 0, value: .max), encode) == nil
    }

    /// Waits until everything that was told is answered or has failed.
    package func waitForTold() { waitForAll() }

    /// Hears what happened since the last call and reads the clock, from which the next deadline counts.
    private func refresh() {
        loop.runOnce(maxWaitMs: 0)
        inbox.values.removeAll()
    }

    /// Every command taken is answered within its deadline, so this ends.
    private func waitForAll() {
        while client.inFlight > 0 { loop.runOnce(maxWaitMs: 1_000) }
    }
}

private final class SessionInbox: RedisReplyHandler {
    /// By the commands' places: a cluster's nodes answer in any order.
    var values: [RedisValue] = []

    func expect(_ count: Int) { values = Array(repeating: .null, count: count) }

    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {
        take(tag, RedisValue(copy reply))
    }

    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) { take(tag, .error(failure)) }

    private func take(_ tag: RedisTag, _ value: RedisValue) {
        let place = Int(clamping: tag.value)
        if place < values.count { values[place] = value }
    }
}

extension RedisCommandBuffer {
    /// Appends a whole command; for cold paths.
    package mutating func append(_ words: [String]) {
        begin(words.count)
        for word in words { argument(text: word) }
    }
}
