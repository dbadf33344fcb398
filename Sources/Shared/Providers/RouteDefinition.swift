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
    /// A name for logs and metrics, without secrets: `apns/production/TEAM123456/ABC123DEFG`.
    package let name: String
    package let endpoint: HTTP2Endpoint
    package let tls: TLSContext
    package let limits: PoolLimits
    /// The bounds of the second pool, for what is likely to be refused.
    package let sideLimits: PoolLimits
    /// The source of the `authorization` header; nil when a client certificate stands for it.
    package let bearer: Bearer?
    /// The constant path of FCM requests; empty for APNs, whose path holds the token.
    package let path: [UInt8]
    /// Milliseconds a request may take, waiting for a stream included.
    package let requestTimeoutMs: UInt64

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
