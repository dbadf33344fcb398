internal import EventLoop
package import Redis
package import Security

/// The certificates of redis-servers that speak TLS, for one test; they go with the object.
package final class RedisTLS {
    private let directory: String
    /// Trusts the servers' certificate.
    package let context: TLSContext

    /// Makes an authority and a certificate for loopback.
    package init() throws {
        directory = try Files.makeTemporaryDirectory(prefix: "peal-redis-tls")
        let identity = try ThrowAwayIdentity.make(hosts: ["localhost", "127.0.0.1"])
        for (name, text) in [
            ("ca.pem", identity.caPEM), ("cert.pem", identity.certificatePEM), ("key.pem", identity.keyPEM),
        ] {
            try Files.write(path: "\(directory)/\(name)", text: text, mode: 0o600)
        }
        context = try TLSContext.client(
            TLSClientOptions(caFile: "\(directory)/ca.pem", applicationProtocols: []))
    }

    deinit { Files.removeTree(directory) }

    /// A port that was free a moment ago.
    package static func freePort() throws -> UInt16 {
        try Socket.freePort()
    }

    /// What a server is started with to speak TLS on a port.
    package func settings(port: UInt16) -> [String] {
        [
            "--tls-port", "\(port)", "--tls-cert-file", "\(directory)/cert.pem", "--tls-key-file",
            "\(directory)/key.pem", "--tls-ca-cert-file", "\(directory)/ca.pem", "--tls-auth-clients", "no",
        ]
    }

    /// The server at a TLS port.
    package func endpoint(port: UInt16) -> RedisEndpoint {
        RedisEndpoint(address: .tcp(host: "127.0.0.1", port: port), isEncrypted: true)
    }
}
