import EventLoop
import HTTP2
import Security

/// One open port: tells the loop which of the services its connections belong to.
final class ListenerPort: HTTP2ServerDelegate {
    let listener: Listener
    private unowned let serving: ServingLoop
    private(set) var server: HTTP2Server?
    private let connectionsMax: Int

    init(listener: Listener, serving: ServingLoop, connectionsMax: Int) {
        self.listener = listener
        self.serving = serving
        self.connectionsMax = connectionsMax
    }

    /// Listens; returns the bound port.
    func open(
        loop: EventLoop, host: String, port: UInt16, context: TLSContext, options: HTTP2ServerOptions
    ) throws(SystemFailure) -> UInt16 {
        let server = try HTTP2Server(
            loop: loop, host: host, port: port, context: context, options: options, delegate: self)
        server.connectionsMax = connectionsMax
        self.server = server
        return server.port
    }

    /// Whether new connections are closed as soon as they are accepted.
    func setRefusing(_ refuses: Bool) { server?.connectionsMax = refuses ? 0 : connectionsMax }

    /// The stream limit that new connections are told.
    func setFirstStreamsMax(_ limit: UInt32) { server?.options.maxConcurrentStreams = limit }

    func opened(_ connection: HTTP2ServerConnection) {
        connection.context = ConnectionState(
            listener: listener, number: connection.number, peerPort: connection.peerPort,
            streamsMax: server?.options.maxConcurrentStreams ?? UInt32.max)
    }

    func received(_ request: HTTP2ServerRequest, on connection: HTTP2ServerConnection) {
        serving.received(request, on: connection)
    }

    func abandoned(streamID: Int32, code: HTTP2Code, on connection: HTTP2ServerConnection) {
        serving.abandoned()
    }

    func closed(_ connection: HTTP2ServerConnection) { serving.closed(connection) }
}
