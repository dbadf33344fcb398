internal import EventLoop

/// One node of a cluster and the connection to it.
///
/// - Ownership: keeps its cluster until ``close()``.
/// - Threading: the loop's thread.
final class RedisNode: RedisReplyHandler {
    /// How long a node that refuses scripts isn't asked, in milliseconds.
    private static let restMs: UInt64 = 100

    /// Its place in the cluster's list; nil for the connection that only asks for the slot map.
    let index: Int?
    let address: NodeAddress
    let link: RedisLink
    private(set) var cluster: RedisCluster?
    /// Why it doesn't answer; nil while it does and while nobody knows yet.
    private(set) var failure: RedisFailure?
    /// Why it refuses scripts although it is connected; nil when it doesn't.
    private(set) var refusal: RedisFailure?
    /// Whether it stood in the last slot map.
    var isListed = false
    private var restUntilMs: UInt64 = 0

    init(index: Int?, address: NodeAddress, options: RedisClientOptions, cluster: RedisCluster) {
        self.index = index
        self.address = address
        self.cluster = cluster
        var options = options
        options.endpoint.address = .tcp(host: address.host, port: address.port)
        options.clusterSeeds = []
        options.whenDisconnected = .refuse
        if index == nil { options.scripts = [] }
        link = RedisLink(loop: cluster.loop, options: options, handler: nil)
        link.handler = self
        link.node = self
    }

    /// Whether it takes commands.
    var isReady: Bool { link.isReady }

    /// Whether its first connection is still being made.
    var isComing: Bool { !link.isReady && failure == nil }

    /// Fails what is in flight and lets everything go.
    func close() {
        link.close()
        cluster = nil
    }

    /// Sends a command; nil when it was taken. A node that refused a script gets one at a time, so that a
    /// server in distress isn't asked as fast as it can refuse.
    func issue(
        _ command: UnsafeRawBufferPointer, _ entry: CommandEntry, isAsking: Bool, nowMs: UInt64
    ) -> RedisFailure.Code? {
        if entry.isScript, refusal != nil {
            guard nowMs >= restUntilMs else { return .unavailable }
            restUntilMs = nowMs &+ Self.restMs
        }
        return unsafe link.issue(encoded: command, entry, isAsking: isAsking)
    }

    func answered(_ entry: CommandEntry, _ reply: RedisReplyView) {
        if entry.isScript { refusal = nil }
        cluster?.answered(entry, reply, by: self)
    }

    func failed(_ entry: CommandEntry, _ failure: RedisFailure) {
        if entry.isScript, failure.isRefusalOfNode, let cluster {
            refusal = failure
            restUntilMs = cluster.loop.nowMs &+ Self.restMs
        }
        cluster?.failed(entry, failure, by: self)
    }

    func redirected(_ entry: CommandEntry, _ command: [UInt8], _ redirection: Redirection) {
        cluster?.redirected(entry, command, redirection)
    }

    func redisReply(_ tag: RedisTag, _ reply: borrowing RedisReplyView) {}

    func redisFailed(_ tag: RedisTag, _ failure: RedisFailure) {}

    func redisConnected() {
        failure = nil
        refusal = nil
        cluster?.connected(self)
    }

    func redisDisconnected(_ failure: RedisFailure) {
        self.failure = failure
        cluster?.disconnected(self, failure)
    }
}

extension RedisFailure {
    /// Whether the reply says that its node can't do what any script asks of it.
    fileprivate var isRefusalOfNode: Bool {
        switch code {
        case .cluster: message.hasPrefix("CLUSTERDOWN")
        case .outOfMemory, .misconfigured, .busy, .loading, .readOnly, .masterDown, .notPermitted: true
        default: false
        }
    }
}
