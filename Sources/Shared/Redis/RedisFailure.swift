/// Why a Redis command has no reply, or has an error as its reply.
package struct RedisFailure: Error, Equatable {
    /// The class of a failure; without payload, so that it serves as a metric label.
    package enum Code: UInt8, Sendable, CaseIterable {
        /// There is no usable connection; the command was certainly not executed.
        case unavailable
        /// The bound on commands in flight is reached; the command was certainly not executed.
        case tooManyInFlight
        /// The bound on buffered bytes is reached; the command was certainly not executed.
        case bufferFull
        /// The caller announced another number of arguments than it encoded.
        case malformed
        /// No reply within the deadline; the command may have been executed.
        case timedOut
        /// The connection went away before the reply; the command may have been executed.
        case connectionLost
        /// The peer doesn't speak RESP2, or exceeded a bound.
        case protocolBroken
        /// The client was closed.
        case closed
        /// NOAUTH, WRONGPASS.
        case authentication
        /// NOPERM.
        case notPermitted
        /// LOADING: the server reads its data set.
        case loading
        /// READONLY: the server was demoted to a replica.
        case readOnly
        /// MASTERDOWN.
        case masterDown
        /// OOM: `maxmemory` is reached and nothing may be evicted.
        case outOfMemory
        /// NOSCRIPT, also after the script was loaded again.
        case noScript
        /// MOVED, ASK, TRYAGAIN, CLUSTERDOWN.
        case cluster
        /// BUSY: a script runs for too long.
        case busy
        /// A lock that the caller needs was not let go in time; nothing was changed. Redis itself is well.
        case contended
        /// MISCONF, NOREPLICAS: persistence fails or replicas are missing, and writes are refused.
        case misconfigured
        /// WRONGTYPE.
        case wrongType
        /// Any other error reply.
        case refused
    }

    /// The class of the failure.
    package let code: Code
    /// What happened, for a log.
    package let message: String

    /// Makes a failure.
    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension RedisFailure.Code {
    /// Whether the command may or may not have been executed.
    package var isOutcomeUnknown: Bool { self == .timedOut || self == .connectionLost }

    /// Whether waiting can help: Redis is away, demoted, full or busy, and the same command may work later.
    package var isOutage: Bool {
        switch self {
        case .unavailable, .tooManyInFlight, .bufferFull, .timedOut, .connectionLost, .protocolBroken,
            .loading,
            .readOnly, .masterDown, .outOfMemory, .busy, .misconfigured, .cluster, .authentication:
            true
        case .malformed, .closed, .notPermitted, .noScript, .contended, .wrongType, .refused: false
        }
    }

    /// The class of an error reply by its first word.
    package static func ofErrorReply(_ text: UnsafeRawBufferPointer) -> Self {
        for (prefix, code) in prefixes where unsafe text.starts(with: prefix) {
            let next = prefix.count
            if unsafe text.count == next || text[next] == UInt8(ascii: " ") { return code }
        }
        return .refused
    }

    private static let prefixes: [([UInt8], Self)] = words.map { (Array($0.0.utf8), $0.1) }

    private static let words: [(String, Self)] = [
        ("OOM", .outOfMemory), ("READONLY", .readOnly), ("LOADING", .loading), ("MASTERDOWN", .masterDown),
        ("NOSCRIPT", .noScript), ("MOVED", .cluster), ("ASK", .cluster), ("TRYAGAIN", .cluster),
        ("CLUSTERDOWN", .cluster), ("BUSY", .busy), ("MISCONF", .misconfigured),
        ("NOREPLICAS", .misconfigured),
        ("NOAUTH", .authentication), ("WRONGPASS", .authentication), ("NOPERM", .notPermitted),
        ("WRONGTYPE", .wrongType),
    ]
}
