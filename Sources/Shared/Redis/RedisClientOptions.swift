package import Security

/// What becomes of a command that is issued while there is no connection.
package enum RedisDisconnectedPolicy: Sendable {
    /// It is refused at once.
    case refuse
    /// It waits for the connection, within its deadline and the bounds of the client.
    case hold
}

/// How a ``RedisClient`` behaves.
package struct RedisClientOptions: Sendable {
    /// Where the server is.
    package var endpoint: RedisEndpoint
    /// The nodes of a Redis Cluster to ask for its other nodes; empty for a single server. Login, encryption
    /// and everything else are as for ``endpoint``.
    package var clusterSeeds: [RedisEndpoint] = []
    /// Trust and client certificate of an encrypted connection; nil trusts the system's authorities.
    package var tls: TLSContext?
    /// The scripts that are loaded on each connection.
    package var scripts: [RedisScript] = []
    /// Shown by `CLIENT LIST`; letters, digits and hyphens.
    package var clientName = "peal"
    /// Milliseconds from issuing a command to its reply.
    package var timeoutMs: UInt64 = 2_000
    /// Milliseconds for resolving, connecting and logging in.
    package var connectTimeoutMs: UInt64 = 2_000
    /// The first pause before connecting again; each further one is twice as long.
    package var backoffFirstMs: UInt64 = 50
    /// The longest pause before connecting again.
    package var backoffLastMs: UInt64 = 2_000
    /// The most commands without a reply.
    package var maximumInFlight = 65_536
    /// The most bytes of commands without a reply.
    package var maximumBufferedBytes = 8 << 20
    /// What becomes of commands without a connection.
    package var whenDisconnected = RedisDisconnectedPolicy.refuse

    /// Makes options with their defaults.
    package init(endpoint: RedisEndpoint) { self.endpoint = endpoint }
}

/// What a ``RedisClient`` counted since it was made.
package struct RedisStatistics: Sendable, Equatable {
    /// Commands taken.
    package var commands: UInt64 = 0
    /// Replies given to the handler, errors not included.
    package var replies: UInt64 = 0
    /// Error replies.
    package var errorReplies: UInt64 = 0
    /// Commands that found no connection.
    package var refusedUnavailable: UInt64 = 0
    /// Commands that found too many in flight.
    package var refusedInFlight: UInt64 = 0
    /// Commands that found the buffer full.
    package var refusedBuffer: UInt64 = 0
    /// Times that the oldest command's deadline passed.
    package var timeouts: UInt64 = 0
    /// Connections that were ready.
    package var connects: UInt64 = 0
    /// Attempts that didn't get as far as a ready connection.
    package var connectFailures: UInt64 = 0
    /// Ready connections that were lost or given up.
    package var disconnects: UInt64 = 0
    /// Scripts that the server had forgotten.
    package var scriptReloads: UInt64 = 0
    /// Commands that a node of a cluster sent to the node that has their slot now.
    package var moved: UInt64 = 0
    /// Commands that a node of a cluster sent to the node that is receiving their slot.
    package var asked: UInt64 = 0
    /// Slot maps of a cluster taken over.
    package var slotMaps: UInt64 = 0
    /// Bytes received.
    package var bytesIn: UInt64 = 0
    /// Bytes sent.
    package var bytesOut: UInt64 = 0

    /// Makes counters that stand at nought.
    package init() {}
}

extension RedisStatistics {
    /// Adds the counters of another connection.
    package mutating func add(_ other: RedisStatistics) {
        commands &+= other.commands
        replies &+= other.replies
        errorReplies &+= other.errorReplies
        refusedUnavailable &+= other.refusedUnavailable
        refusedInFlight &+= other.refusedInFlight
        refusedBuffer &+= other.refusedBuffer
        timeouts &+= other.timeouts
        connects &+= other.connects
        connectFailures &+= other.connectFailures
        disconnects &+= other.disconnects
        scriptReloads &+= other.scriptReloads
        moved &+= other.moved
        asked &+= other.asked
        slotMaps &+= other.slotMaps
        bytesIn &+= other.bytesIn
        bytesOut &+= other.bytesOut
    }
}
