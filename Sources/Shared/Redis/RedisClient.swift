package import Core
package import EventLoop

/// A pipelining Redis client on an event loop: one server, or a Redis Cluster.
///
/// Without ``RedisClientOptions/clusterSeeds`` it is one connection whose replies come in the order of the
/// commands. With them it is a connection to each node that has slots: commands on one key are executed in
/// the order they were issued, also while their slot moves, and replies of different slots come in any order.
///
/// Commands are flushed once a turn of the loop or when 64 KiB have gathered. A command whose script the
/// server had forgotten is issued again behind later ones.
/// - Ownership: keeps the loop and the handler until ``close()``; the loop keeps the client.
/// - Threading: the loop's thread.
/// - Cost: no allocation a command in steady state.
package final class RedisClient {
    /// The options given.
    package let options: RedisClientOptions
    /// Exactly one of the two is there.
    private let link: RedisLink?
    private let cluster: RedisCluster?

    /// Makes a client that doesn't connect before ``start()``.
    package init(loop: EventLoop, options: RedisClientOptions, handler: any RedisReplyHandler) {
        self.options = options
        if options.clusterSeeds.isEmpty {
            link = RedisLink(loop: loop, options: options, handler: handler)
            cluster = nil
        } else {
            link = nil
            cluster = RedisCluster(loop: loop, options: options, handler: handler)
        }
    }

    /// Begins to connect. Calling it again does nothing.
    package func start() {
        link?.start()
        cluster?.start()
    }

    /// Whether commands go out now; of a cluster, whether any node takes them.
    package var isReady: Bool { link?.isReady ?? cluster?.isReady ?? false }

    /// Whether what one command met says nothing about the next one, which may go to another node.
    package var isCluster: Bool { cluster != nil }

    /// Which nodes of a cluster don't answer, for readiness; nil when all do. A single server's trouble is
    /// told by ``isReady`` and ``lastFailure``.
    package var trouble: String? { cluster?.trouble }

    /// The nodes of a cluster that have slots, as far as they are known; none of a single server.
    package var nodes: [RedisEndpoint] {
        (cluster?.nodes ?? []).compactMap { $0 }.filter(\.isListed).map(\.link.options.endpoint)
    }

    /// Commands without a reply.
    package var inFlight: Int { link?.inFlight ?? cluster?.inFlight ?? 0 }

    /// Bytes of commands without a reply.
    package var bufferedBytes: Int { link?.bufferedBytes ?? cluster?.bufferedBytes ?? 0 }

    /// Counters since the start; of a cluster, the sums of its nodes.
    package var statistics: RedisStatistics {
        link?.statistics ?? cluster?.statistics ?? RedisStatistics()
    }

    /// From a command's issue to its reply, in whole milliseconds of the loop's clock.
    package var roundTrips: TimeBuckets { link?.roundTrips ?? cluster?.roundTrips ?? TimeBuckets() }

    /// Why the last connection or attempt ended; nil while there was none.
    package var lastFailure: RedisFailure? { link.map(\.lastFailure) ?? cluster?.lastFailure }

    /// Takes one command, which `encode` appends to the buffer.
    ///
    /// `encode` must not call the client. Returns nil when the command was taken, else why not; then neither
    /// method of the handler is called for it.
    package func issue(
        _ tag: RedisTag, _ encode: (inout RedisCommandBuffer) -> Void
    ) -> RedisFailure.Code? {
        if let link { return link.issue(tag, encode) }
        return cluster?.issue(tag, encode) ?? nil
    }

    /// Fails what is in flight with `.closed`, closes the connections and lets the handler go.
    package func close() {
        link?.close()
        cluster?.close()
    }
}
