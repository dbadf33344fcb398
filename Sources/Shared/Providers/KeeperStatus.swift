package import Decisions
internal import EventLoop

/// What a keeper shows of its credentials, for metrics and probes.
package struct KeeperStatus: Sendable {
    /// One credential. Steady times are ms of the monotonic clock.
    package struct Entry: Sendable {
        package var name: String
        /// nil without a token.
        package var mintedSteadyMs: Int64?
        package var expiresSteadyMs: Int64?
        /// Whether the token is the one that all pods share.
        package var isShared: Bool
        /// Why there is no usable token; empty when there is one.
        package var fault: String
    }

    package var entries: [Entry] = []
    /// Tokens that this process signed or traded.
    package var minted: UInt64 = 0
    /// Tokens that it took over from other pods.
    package var adopted: UInt64 = 0
    /// Tokens that it made for itself because Redis was away or of no help.
    package var fallbacks: UInt64 = 0
    /// Whether tokens are shared through Redis, and whether it is away.
    package var isSharing = false
    package var isRedisAway = false
    /// What is known of this machine's clock.
    package var skew = ClockSkew()

    package init() {}
}
