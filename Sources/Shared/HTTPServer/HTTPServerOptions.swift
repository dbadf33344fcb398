/// Where an HTTP server listens and what it allows.
package struct HTTPServerOptions: Sendable {
    /// A server's certificate chain and private key, as PEM texts.
    package struct Identity: Sendable {
        package var certificatePEM: String
        package var keyPEM: String

        package init(certificatePEM: String, keyPEM: String) {
            self.certificatePEM = certificatePEM
            self.keyPEM = keyPEM
        }
    }

    /// The numeric address to bind, such as `127.0.0.1`, `0.0.0.0` or `::`.
    package var host = "127.0.0.1"
    /// The port; 0 picks a free one.
    package var port: UInt16 = 0
    /// Threads that read requests and call the handler.
    package var threads = 1
    /// Connections at a time; more are refused at accept.
    package var connectionsMax: UInt32 = 256
    /// Connections at a time from one address; 0 for no limit.
    package var connectionsPerAddressMax: UInt32 = 0
    /// How long a connection may be silent, in seconds. A client that sends a byte now and then is not
    /// silent: see `requestTimeoutMs`.
    package var idleTimeoutSeconds: UInt32 = 30
    /// How long a request may take to arrive, and an answer to leave, in milliseconds; 0 for as long as the
    /// client isn't silent. A head may take the idle timeout longer, since a connection may wait for it.
    package var requestTimeoutMs: UInt64 = 0
    /// The longest body; a longer one is answered 413.
    package var bodyBytesMax = 1 << 20
    /// Bytes of all bodies that may be in memory at a time; what goes beyond is answered 503.
    package var bodiesBytesMax = 256 << 20
    /// Memory for a connection's request line and headers; longer ones are answered 431.
    package var headerBytesMax = 32 << 10
    /// TLS 1.2 or 1.3 with this identity; nil for none.
    package var identity: Identity?
    /// Words the server's own refusals: a status and one sentence that says what to fix.
    package var refusal: @Sendable (Int, String) -> HTTPResponse = { HTTPResponse.refusal($0, $1) }

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
        case identity = "identity"
        case listen = "listen"
    }

    /// The kind of failure.
    package let code: Code
    /// What to fix.
    package let description: String
}
