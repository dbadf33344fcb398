package import Decisions
package import HTTP2
package import Jobs
package import Security

/// One way to a provider: an endpoint and the credential that opens it. Connections are never shared between
/// two.
///
/// Apple fixes team and key on a connection with the first push, so the credential is part of the identity.
package struct RouteDefinition: Sendable {
    package let provider: Provider
    /// Which of Apple's services; production for everything else.
    package let environment: PushEnvironment
    /// A name for logs and metrics, without secrets: `apns/production/TEAM123456/ABC123DEFG`. A route that
    /// took the place of one of the same name ends in `@2` and so on.
    package internal(set) var name: String
    package let endpoint: HTTP2Endpoint
    package let tls: TLSContext
    package let limits: PoolLimits
    /// The bounds of the second pool, for what is likely to be refused.
    package let sideLimits: PoolLimits
    /// The source of the `authorization` header; nil when a client certificate stands for it.
    package internal(set) var bearer: Bearer?
    /// The constant path of FCM requests; empty for APNs, whose path holds the token.
    package let path: [UInt8]
    /// Milliseconds a request may take, waiting for a stream included.
    package let requestTimeoutMs: UInt64
    /// A digest of what the route was made of, so that a change of a file shows.
    package internal(set) var fingerprint = ""
    /// When the client certificate expires, ms since 1970; nil without one.
    package internal(set) var certificateExpiryMs: Int64?
    /// The route whose place this one took; -1 for none.
    package internal(set) var predecessor: Int32 = -1
    /// Until when the predecessor may stand in, ms since 1970.
    package internal(set) var overlapUntilMs: Int64 = 0

    package init(
        provider: Provider, environment: PushEnvironment, name: String, endpoint: HTTP2Endpoint,
        tls: TLSContext,
        limits: PoolLimits, sideLimits: PoolLimits, bearer: Bearer?, path: [UInt8], requestTimeoutMs: UInt64
    ) {
        self.provider = provider
        self.environment = environment
        self.name = name
        self.endpoint = endpoint
        self.tls = tls
        self.limits = limits
        self.sideLimits = sideLimits
        self.bearer = bearer
        self.path = path
        self.requestTimeoutMs = requestTimeoutMs
    }

    /// The host and, unless it is 443, the port, as `:authority` has it.
    var authority: String {
        endpoint.port == 443 ? endpoint.serverName : "\(endpoint.serverName):\(endpoint.port)"
    }
}
