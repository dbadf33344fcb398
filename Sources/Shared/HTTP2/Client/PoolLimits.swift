/// The bounds and deadlines of a pool. Times are in milliseconds.
package struct PoolLimits: Sendable {
    /// Connections kept open even when idle.
    package var connectionsMin = 1
    /// Connections at most.
    package var connectionsMax = 8
    /// Streams on one connection at most, whatever the server allows.
    package var streamsMax = 1000
    /// Requests accepted and not yet finished, waiting ones included; beyond it `submit` refuses.
    package var requestsMax = 8192
    /// From the start of a connect to the server's first SETTINGS.
    package var connectMs: UInt64 = 10_000
    /// First wait after a failed connect; doubles each time.
    package var backoffFirstMs: UInt64 = 1_000
    /// Longest wait after a failed connect.
    package var backoffMaxMs: UInt64 = 60_000
    /// How long requests must have waited for a stream before a connection is added.
    package var growAfterMs: UInt64 = 100
    /// How long a connection above the minimum may be idle.
    package var idleCloseMs: UInt64 = 600_000
    /// Silence before a PING, and the least time between PINGs; 0 sends none.
    package var pingIdleMs: UInt64 = 60_000
    /// The same while nothing is in flight; nil for the same time, 0 sends none.
    package var pingQuietMs: UInt64?
    /// How long a PING may stay unanswered.
    package var pingTimeoutMs: UInt64 = 10_000
    /// How long requests may take to finish after GOAWAY.
    package var drainMs: UInt64 = 30_000
    /// Resends of a request that the server proved not to have processed.
    package var resendsMax: UInt8 = 3
    /// Failed connects in a row, with no connection open, after which waiting requests fail.
    package var failWaitingAfterConnects = 3
    /// Whether a new connection sends one request alone until its answer shows that the credential is good.
    package var provesFirst = false
    /// How long a connection may live, spread by a tenth; 0 for ever.
    package var ageMaxMs: UInt64 = 0
    /// How long a stream limit that fell to a quarter must stay low, with requests waiting, before the
    /// connection is replaced.
    package var shrunkMs: UInt64 = 1_000
    /// Connects that may follow each other at once, and the time for each further one; a time of 0 sets no
    /// bound.
    package var connectBurst = 16
    package var connectEveryMs: UInt64 = 1_000
    /// The same for connections that replace others before these are gone.
    package var replaceBurst = 8
    package var replaceEveryMs: UInt64 = 5_000

    /// How connections speak HTTP/2.
    package var session = HTTP2SessionKind.framed

    package init() {}
}

/// Where a pool connects to.
package struct HTTP2Endpoint: Sendable {
    /// A name or numeric address to connect to.
    package var host: String
    /// The TCP port.
    package var port: UInt16
    /// The name for SNI and the certificate check; usually the host.
    package var serverName: String
    /// The proxy to connect through; nil for none. It resolves the host.
    package var proxy: HTTP2Proxy?

    package init(host: String, port: UInt16, serverName: String? = nil, proxy: HTTP2Proxy? = nil) {
        self.host = host
        self.port = port
        self.serverName = serverName ?? host
        self.proxy = proxy
    }
}

/// A pool's gauges and counters at one moment.
package struct PoolMetrics: Sendable, Equatable {
    /// Connections that take requests.
    package var open = 0
    /// Connections being made.
    package var connecting = 0
    /// Connections that only finish what is in flight.
    package var draining = 0
    /// Streams in use.
    package var streams = 0
    /// Streams allowed on the open connections.
    package var streamLimit = 0
    /// Requests that wait for a stream.
    package var waiting = 0
    /// Open connections whose stream limit fell and stays low.
    package var shrunk = 0

    package var submitted: UInt64 = 0
    package var refused: UInt64 = 0
    package var responses: UInt64 = 0
    package var failures: UInt64 = 0
    package var timeouts: UInt64 = 0
    package var resends: UInt64 = 0
    package var resets: UInt64 = 0
    package var refusedStreams: UInt64 = 0
    package var connects: UInt64 = 0
    package var connectFailures: UInt64 = 0
    package var lost: UInt64 = 0
    package var goAways: UInt64 = 0
    /// The same by ``GoAwayReason``.
    package var goAwayReasons: [String: UInt64] = [:]
    package var pings: UInt64 = 0
    package var pingTimeouts: UInt64 = 0
    package var bodiesCut: UInt64 = 0
    package var oversizedHeaders: UInt64 = 0
    package var bytesSent: UInt64 = 0
    package var bytesReceived: UInt64 = 0
    /// Why the last connect failed or the last connection was lost; empty when none was.
    package var lastFailure = ""
    /// Failed connects since the last success.
    package var connectFailuresInARow = 0
    /// Why the last GOAWAY came, as far as the server said; empty when it did not.
    package var lastGoAway = ""
    /// Connections that take no more requests, by the reason of ``retirements`` at the same place.
    package var retired = [UInt64](repeating: 0, count: ConnectionMachine.Reason.allCases.count)

    /// Connections that ended because the server passed a bound, by the case of ``SessionLimit`` at the same
    /// place.
    package var limits = [UInt64](repeating: 0, count: SessionLimit.allCases.count)

    /// The names of the reasons to retire a connection, usable as metric labels.
    package static let retirements = ConnectionMachine.Reason.allCases.map(\.label)

    /// Nothing yet.
    package init() {}

    mutating func noteGoAway(_ word: String) {
        goAways &+= 1
        let isKnown = goAwayReasons[word] != nil || goAwayReasons.count < GoAwayReason.wordsMax
        goAwayReasons[isKnown ? word : GoAwayReason.other, default: 0] &+= 1
    }
}
