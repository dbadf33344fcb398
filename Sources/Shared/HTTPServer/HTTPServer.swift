import CMicrohttpd
import EventLoop
import Glibc

/// A small HTTP/1.1 server for health, metrics, admin and gateway traffic.
///
/// - Ownership: `stop()` ends it; `deinit` stops it at once when that was forgotten.
/// - Threading: `start` and `stop` from any thread. Handlers run on the server's own thread, or threads, so a
///   handler that waits holds up others: answer later through `HTTPExchange` instead.
@safe package final class HTTPServer: Sendable {
    /// The port that it listens on.
    package let port: UInt16
    /// The address that it is bound to.
    package let host: String

    /// Connections at present.
    package var connectionCount: Int { core.connections.count }

    private let core: HTTPServerCore
    // libmicrohttpd allows `MHD_stop_daemon` and `MHD_quiesce_daemon` from any thread but its own;
    // `core.takeRunning()` lets exactly one caller through.
    private nonisolated(unsafe) let daemon: OpaquePointer

    /// Starts a server whose handler answers at once.
    package static func start(
        _ options: HTTPServerOptions, handler: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) throws(HTTPServerFailure) -> HTTPServer {
        try start(options) { (exchange: HTTPExchange) in exchange.respond(handler(exchange.request)) }
    }

    /// Starts a server whose handler may answer later, from any thread.
    /// - Fails: `invalid_address` when the host is not numeric; `listen` when the port is taken or not
    ///   allowed.
    package static func start(
        _ options: HTTPServerOptions, exchange handler: @escaping @Sendable (HTTPExchange) -> Void
    ) throws(HTTPServerFailure) -> HTTPServer {
        guard let address = SocketAddress(host: options.host, port: options.port) else {
            throw HTTPServerFailure(
                code: .invalidAddress,
                description: "\(options.host) is not a numeric address; use one such as 127.0.0.1 or ::.")
        }
        let core = HTTPServerCore(options: options, handler: handler)
        // The daemon holds the core unretained: this server owns both and stops the daemon before it lets the
        // core go.
        let context = unsafe Unmanaged.passUnretained(core).toOpaque()
        let started = unsafe address.withPointer { pointer, isIPv6 in
            var native = unsafe peal_mhd_options()
            unsafe native.address = pointer
            unsafe native.ipv6 = isIPv6 ? 1 : 0
            unsafe native.connections_max = options.connectionsMax
            unsafe native.per_address_max = options.connectionsPerAddressMax
            unsafe native.timeout_s = options.idleTimeoutSeconds
            unsafe native.threads = UInt32(clamping: options.threads)
            unsafe native.connection_memory = max(4096, options.headerBytesMax)
            unsafe native.handler = httpAccess
            unsafe native.completed = httpCompleted
            unsafe native.notify = httpConnection
            unsafe native.cls = context
            guard let identity = options.identity else { return unsafe peal_mhd_start(&native) }
            // GnuTLS has read both texts when the call returns.
            return unsafe identity.certificatePEM.withCString { certificate in
                unsafe identity.keyPEM.withCString { key in
                    unsafe native.certificate = certificate
                    unsafe native.key = key
                    return unsafe peal_mhd_start(&native)
                }
            }
        }
        guard let daemon = unsafe started else {
            let reason = unsafe String(cString: strerror(errno))
            if options.identity != nil, try canListen(options) {
                throw HTTPServerFailure(
                    code: .identity,
                    description:
                        "The certificate and the key can't be used; both are PEM, and they belong together.")
            }
            throw HTTPServerFailure(
                code: .listen,
                description:
                    "Cannot listen on \(options.host):\(options.port) (\(reason)); is the port taken?")
        }
        core.connections.start()
        return unsafe HTTPServer(core: core, daemon: daemon, host: options.host)
    }

    /// libmicrohttpd doesn't tell a bad certificate from a bad address.
    private static func canListen(_ options: HTTPServerOptions) throws(HTTPServerFailure) -> Bool {
        var plain = options
        plain.identity = nil
        let probe = try start(plain) { (_: HTTPRequest) in .notFound }
        probe.stop(deadlineMs: 0)
        return true
    }

    private init(core: HTTPServerCore, daemon: OpaquePointer, host: String) {
        self.core = core
        unsafe self.daemon = daemon
        self.host = host
        port = unsafe peal_mhd_port(daemon)
    }

    deinit { stop(deadlineMs: 0) }

    /// Refuses new connections, lets running requests finish until the deadline, then closes all connections.
    ///
    /// An answer that is sent meanwhile ends its connection, so that its peer goes to another server.
    /// Requests still without an answer at the deadline are answered 503. Calling it twice does nothing. Not
    /// to be called from a handler.
    package func stop(deadlineMs: UInt64 = 2_000) {
        guard core.takeRunning() else { return }
        let listener = unsafe MHD_quiesce_daemon(daemon)
        // Who connects from now on would wait in the kernel's queue until the end. The descriptor has to stay
        // open as long as the daemon's threads may use it.
        if listener >= 0 { _ = shutdown(listener, Int32(SHUT_RDWR)) }
        // They would go on for ever.
        core.closeStreams()
        let end = Clock.monotonicMs + deadlineMs
        while core.openCount > 0, Clock.monotonicMs < end { usleep(2_000) }
        core.refuseOpen()
        // A resumed connection needs a moment of the server's thread to send its 503.
        let grace = Clock.monotonicMs + min(deadlineMs, 200)
        while core.openCount > 0, Clock.monotonicMs < grace { usleep(2_000) }
        unsafe MHD_stop_daemon(daemon)
        core.connections.stop()
        if listener >= 0 { close(listener) }
    }
}
