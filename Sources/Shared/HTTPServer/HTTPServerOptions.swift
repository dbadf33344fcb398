/// Where an HTTP server listens and what it allows.
package struct HTTPServerOptions: Sendable {
    /// The numeric address to bind, such as `127.0.0.1`, `0.0.0.0` or `::`.
    package var host = "127.0.0.1"
    /// The port; 0 picks a free one.
    package var port: UInt16 = 0
    /// Connections at a time; more are refused at accept.
    package var connectionsMax: UInt32 = 256
    /// How long a connection may be idle or take over one request, in seconds.
    package var idleTimeoutSeconds: UInt32 = 30
    /// The longest body; a longer one is answered 413.
    package var bodyBytesMax = 1 << 20
    /// Memory for a connection's request line and headers; longer ones are answered 431.
    package var headerBytesMax = 32 << 10

    /// The defaults: loopback, any free port.
    package init() {}

    /// The defaults at an address.
    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// Why a server could not start.
package struct HTTPServerFailure: Error, CustomStringConvertible {
    /// A closed set, usable as a metric label.
    package enum Code: String, Sendable {
        case invalidAddress = "invalid_address"
        case listen = "listen"
    }

    /// The kind of failure.
    package let code: Code
    /// What to fix.
    package let description: String
}
