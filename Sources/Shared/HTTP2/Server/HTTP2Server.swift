package import EventLoop
package import Security

/// An HTTP/2 server over TLS on one loop: accepts clients and flushes their answers once a turn.
///
/// For several cores run one server on each loop with `reusePort`.
/// - Threading: the loop's.
package final class HTTP2Server: IOHandler, TurnHandler {
    /// The bound port.
    package let port: UInt16
    /// Settings for connections accepted from now on.
    package var options: HTTP2ServerOptions
    /// Requests received so far.
    package internal(set) var requests: UInt64 = 0
    /// Connections accepted so far.
    package private(set) var accepted: UInt64 = 0
    /// Connections refused because ``connectionsMax`` was reached.
    package private(set) var refused: UInt64 = 0
    /// Why the last connection that failed did so.
    package internal(set) var lastFailure = ""
    /// Clients at a time.
    package var connectionsMax = 4096
    /// The connections that are open or shaking hands.
    package private(set) var connections: [HTTP2ServerConnection] = []

    let loop: EventLoop
    private let context: TLSContext
    private let listener: Int32
    private var registration: Registration?
    private(set) var delegate: (any HTTP2ServerDelegate)?
    var dirty: [HTTP2ServerConnection] = []
    private var flushing: [HTTP2ServerConnection] = []

    /// Listens on a numeric host; port 0 lets the kernel choose.
    /// - Parameters:
    ///   - loop: runs everything; keeps the server until ``close()``.
    ///   - host: a numeric address.
    ///   - port: the port, or 0.
    ///   - reusePort: lets several servers share the port.
    ///   - context: the server's certificate.
    ///   - options: what is announced and bounded.
    ///   - delegate: kept until ``close()``.
    /// - Throws: when the address cannot be bound.
    package init(
        loop: EventLoop, host: String, port: UInt16, reusePort: Bool = false, context: TLSContext,
        options: HTTP2ServerOptions, delegate: any HTTP2ServerDelegate
    ) throws(SystemFailure) {
        self.loop = loop
        self.context = context
        self.options = options
        self.delegate = delegate
        listener = try Socket.listen(host: host, port: port, reusePort: reusePort)
        self.port = Socket.port(of: listener)
        registration = try loop.add(descriptor: listener, interest: .readable, handler: self)
        loop.addTurnHandler(self)
    }

    /// Accepts no more clients; those that are connected stay.
    package func stopListening() {
        guard let registration else { return }
        loop.remove(registration)
        self.registration = nil
        Socket.close(listener)
    }

    /// Stops listening and closes every connection.
    package func close() {
        stopListening()
        for connection in connections { connection.close(lingers: false) }
        loop.removeTurnHandler(self)
        dirty = []
        delegate = nil
    }

    package func ioReady(_ events: IOEvents) {
        // Bounded, so that a storm of clients can't starve the connected ones; epoll reports the rest again.
        for _ in 0..<64 {
            guard let descriptor = Socket.accept(listener) else { return }
            open(descriptor)
        }
    }

    private func open(_ descriptor: Int32) {
        guard connections.count < connectionsMax else {
            refused &+= 1
            Socket.close(descriptor)
            return
        }
        guard let tls = try? TLSConnection(server: context) else { return Socket.close(descriptor) }
        let stream = TLSStream(loop: loop, descriptor: descriptor, tls: tls)
        accepted &+= 1
        do {
            let connection = try HTTP2ServerConnection(
                server: self, number: accepted, stream: stream, options: options)
            try connection.start()
            connections.append(connection)
        } catch {
            stream.close()
        }
    }

    package func endOfTurn() {
        while !dirty.isEmpty {
            swap(&dirty, &flushing)
            for connection in flushing { connection.flush() }
            flushing.removeAll(keepingCapacity: true)
        }
    }

    func forget(_ connection: HTTP2ServerConnection) {
        connections.removeAll { $0 === connection }
    }
}
