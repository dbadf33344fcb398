package import EventLoop
internal import Core
internal import Security

/// Hears of a server's connections and requests, on the loop's thread.
package protocol HTTP2ServerDelegate: AnyObject {
    /// A client's handshake is done and the server's first SETTINGS are queued.
    func opened(_ connection: HTTP2ServerConnection)
    /// A request is complete. Answer now, later or never; the request's bytes are valid during this call
    /// only.
    func received(_ request: HTTP2ServerRequest, on connection: HTTP2ServerConnection)
    /// A stream ended before it was answered, for example because the client gave up.
    func abandoned(streamID: Int32, code: HTTP2Code, on connection: HTTP2ServerConnection)
    /// The connection is gone; its last event.
    func closed(_ connection: HTTP2ServerConnection)
}

/// One client's HTTP/2 connection on a server's loop.
///
/// Everything that it is told to send is flushed in one batch at the end of the loop's turn.
/// - Threading: the loop's.
package final class HTTP2ServerConnection: IOHandler, TimerHandler {
    private enum Phase {
        /// Then open or closed.
        case handshaking
        /// Then lingering or closed.
        case open
        /// Everything is sent and the sending direction ended; reads and drops until the client is done.
        case lingering
        case closed
    }

    /// How long a client may take to end its side, in ms.
    private static let lingerMs: UInt64 = 2_000

    /// A number that is different for each connection of the server.
    package let number: UInt64
    /// The delegate's own state for this connection.
    package var context: AnyObject?
    // Strong: the server drops its connections when they end, which breaks the cycle.
    private let server: HTTP2Server
    private let stream: TLSStream
    private let session: HTTP2ServerSession
    private var phase = Phase.handshaking
    private var isListed = false
    private var lingerTimer: TimerID?
    // Set by `swallowInput`: bytes are read and thrown away, as by a peer that has hung.
    private var isDeaf = false

    init(
        server: HTTP2Server, number: UInt64, stream: TLSStream, options: HTTP2ServerOptions
    ) throws(TransportFailure) {
        self.server = server
        self.number = number
        self.stream = stream
        session = try HTTP2ServerSession(options: options)
    }

    func start() throws(SystemFailure) { try stream.register(self, interest: .readable) }

    // MARK: What a delegate may ask for

    /// Whether the connection can still send.
    package var isOpen: Bool { phase == .open }
    /// The highest stream the client has opened.
    package var lastStreamID: Int32 { session.lastStreamID }
    /// PING acknowledgements received.
    package var pingAcks: UInt64 { session.streams.pingAcks }
    /// The client's TCP port; 0 once the socket is closed.
    package var peerPort: UInt16 { Socket.peerPort(of: stream.descriptor) }
    /// Ciphertext bytes received and sent.
    package var bytes: (received: UInt64, sent: UInt64) { (stream.bytesIn, stream.bytesOut) }

    /// Answers a request.
    /// - Returns: false when the stream is gone or already answered.
    @discardableResult
    package func respond(
        _ streamID: Int32, status: UInt16, headers: borrowing ResponseHeaders,
        body: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> Bool {
        let done = unsafe session.respond(streamID, status: status, headers: headers, body: body)
        markDirty()
        return done
    }

    /// Ends a stream with RST_STREAM.
    package func reset(_ streamID: Int32, _ code: HTTP2Code) {
        session.reset(streamID, code)
        markDirty()
    }

    /// Sends GOAWAY; streams above `lastStreamID` are not processed any more.
    package func goAway(lastStreamID: Int32, _ code: HTTP2Code, debugData: [UInt8] = []) {
        unsafe debugData.withUnsafeBytes { unsafe session.goAway(lastStreamID: lastStreamID, code, $0) }
        markDirty()
    }

    /// Changes SETTINGS_MAX_CONCURRENT_STREAMS with a new SETTINGS frame.
    package func setMaxConcurrentStreams(_ limit: UInt32) {
        session.setMaxConcurrentStreams(limit)
        markDirty()
    }

    /// Sends a PING.
    package func ping() {
        session.ping()
        markDirty()
    }

    /// Sends bytes that are no frames from a well-behaved server; for tests.
    package func sendRaw(_ bytes: [UInt8]) {
        guard phase == .open else { return }
        unsafe bytes.withUnsafeBytes { unsafe stream.gather($0) }
        markDirty()
    }

    /// From now on reads and ignores everything and sends nothing: a peer that has hung.
    package func hang() { isDeaf = true }

    /// Flushes, ends TLS in good order and closes the socket once the client has ended its side.
    package func close() { close(lingers: true) }

    func close(lingers: Bool) {
        if phase == .lingering, !lingers { return finish(reset: false) }
        guard phase == .open || phase == .handshaking else { return }
        flush()
        endInOrder(lingers: lingers)
    }

    private func endInOrder(lingers: Bool) {
        guard phase == .open || phase == .handshaking else { return }
        stream.tls.close()
        let failure = stream.transmit()
        guard lingers, failure == nil, stream.isFlushed else { return finish(reset: false) }
        // Closing a socket while something of the client's is unread resets the connection, and the client
        // loses the answers that it has not read yet. So the client is let to end first.
        Socket.shutdownWrite(stream.descriptor)
        phase = .lingering
        lingerTimer = server.loop.schedule(afterMs: Self.lingerMs, tag: 0, handler: self)
    }

    package func timerFired(_ tag: UInt64) {
        lingerTimer = nil
        if phase == .lingering { finish(reset: false) }
    }

    private func linger() {
        let filled = stream.fill()
        stream.tls.incoming.clear()
        switch filled {
        case .drained, .more: return
        case .closed, .failed: finish(reset: false)
        }
    }

    /// Resets the TCP connection at once.
    package func kill() { finish(reset: true) }

    // MARK: The loop's side

    package func ioReady(_ events: IOEvents) {
        if phase == .lingering { return linger() }
        if events.contains(.writable) {
            if let failure = stream.transmit() { return fail(failure) }
            markDirty()
        }
        guard events.contains(.readable) || events.contains(.hangup) else { return }
        let filled = stream.fill()
        if isDeaf {
            stream.tls.incoming.clear()
            if filled == .closed { finish(reset: false) }
            return
        }
        if phase == .handshaking, !continueHandshake() { return endIfClosed(filled) }
        guard phase == .open else { return }
        var isValid = true
        let decrypted = unsafe stream.decrypt { bytes in
            isValid = unsafe session.receive(bytes)
            deliver()
            return isValid && phase == .open
        }
        guard phase == .open else { return }
        markDirty()
        if !isValid {
            // nghttp2 has queued a GOAWAY that names the violation.
            return close()
        }
        endIfClosed(decrypted == .drained ? filled : decrypted)
    }

    private func endIfClosed(_ received: TLSStream.Received) {
        switch received {
        case .drained, .more: return
        case .closed: finish(reset: false)
        case .failed(let message): fail(message)
        }
    }

    private func continueHandshake() -> Bool {
        do {
            let isDone = try stream.tls.handshake()
            if let failure = stream.transmit() {
                fail(failure)
                return false
            }
            guard isDone else { return false }
        } catch {
            _ = stream.transmit()
            fail(error.message)
            return false
        }
        phase = .open
        server.delegate?.opened(self)
        markDirty()
        return phase == .open
    }

    private func deliver() {
        var index = 0
        while index < session.streams.events.count {
            let event = session.streams.events[index]
            index += 1
            switch event {
            case .complete(let slot, let streamID):
                let stream = unsafe session.streams.slots + Int(slot)
                guard unsafe stream.pointee.streamID == streamID, unsafe stream.pointee.phase == .complete
                else { continue }
                server.requests &+= 1
                unsafe server.delegate?.received(HTTP2ServerRequest(stream: stream), on: self)
            case .closed(let streamID, let code):
                server.delegate?.abandoned(streamID: streamID, code: HTTP2Code(rawValue: code), on: self)
            }
            if phase != .open { break }
        }
        session.streams.events.removeAll(keepingCapacity: true)
    }

    private func markDirty() {
        guard !isListed, phase == .open else { return }
        isListed = true
        server.dirty.append(self)
    }

    /// Serialises, encrypts and sends everything that waits, as far as the socket takes it.
    func flush() {
        isListed = false
        guard phase == .open, !isDeaf else { return }
        stream.beginBurst()
        while !stream.isBacklogged {
            let state = unsafe session.produce(budget: stream.batchRoom) { unsafe stream.gather($0) }
            guard let isDone = state else { return fail("nghttp2 could not serialise a frame") }
            if let failure = stream.send(all: isDone) { return fail(failure) }
            if isDone {
                if session.isOver, stream.isFlushed { endInOrder(lingers: true) }
                return
            }
        }
    }

    private func fail(_ message: String) {
        server.lastFailure = message
        finish(reset: false)
    }

    private func finish(reset: Bool) {
        guard phase != .closed else { return }
        phase = .closed
        if let lingerTimer { server.loop.cancel(lingerTimer) }
        lingerTimer = nil
        stream.close(reset: reset)
        server.forget(self)
        server.delegate?.closed(self)
    }
}
