internal import Core
internal import EventLoop
internal import Security

/// One client connection: a socket, TLS, an nghttp2 session and the machine that rules them.
///
/// - Ownership: kept by its pool, and by the loop while its socket is watched.
/// - Threading: the loop's.
final class HTTP2Connection: IOHandler {
    let number: UInt32
    private(set) var machine: ConnectionMachine
    /// Debug data of the server's GOAWAY.
    private(set) var goAwayReason: [UInt8] = []
    private(set) var goAwayCode: HTTP2Code?
    private(set) var responses: UInt64 = 0
    let startedMs: UInt64
    var lastUsedMs: UInt64
    var isListed = false

    // Strong: the pool drops its connections when they end, which breaks the cycle.
    private let pool: HTTP2Pool
    private let loop: EventLoop
    private let stream: TLSStream
    let session: HTTP2ClientSession
    private let peer: String
    private var handling: [ClientNotes.Ended] = []
    private var hasSession = false

    /// Starts to connect to a numeric address.
    init(pool: HTTP2Pool, loop: EventLoop, number: UInt32, address: String) throws(TransportFailure) {
        self.pool = pool
        self.loop = loop
        self.number = number
        startedMs = loop.nowMs
        lastUsedMs = loop.nowMs
        peer = "\(pool.endpoint.host):\(pool.endpoint.port)"
        machine = ConnectionMachine(
            nowMs: loop.nowMs, streamsMax: pool.limits.streamsMax, timing: pool.timing)
        session = try HTTP2ClientSession(slab: pool.slab, connection: number)
        do {
            let tls = try TLSConnection(client: pool.context, serverName: pool.endpoint.serverName)
            let descriptor = try Socket.connect(host: address, port: pool.endpoint.port)
            stream = TLSStream(loop: loop, descriptor: descriptor, tls: tls)
        } catch let error as SecurityFailure {
            throw TransportFailure(.connectFailed, error.message)
        } catch {
            throw TransportFailure(.connectFailed, "\(error)")
        }
    }

    func start() throws(SystemFailure) { try stream.register(self, interest: [.readable, .writable]) }

    // MARK: What the pool asks

    /// How many more requests may be submitted now; none while the socket is behind.
    var capacity: Int { stream.isBacklogged ? 0 : machine.capacity }
    var inFlight: Int { machine.inFlight }
    var bytes: (received: UInt64, sent: UInt64) { (stream.bytesIn, stream.bytesOut) }
    var oversizedHeaders: UInt64 { unsafe session.notes.pointee.oversizedHeaders }

    func submit(_ slot: Int32, _ template: CompiledTemplate) -> HTTP2ClientSession.Submitted {
        let result = session.submit(slot, template)
        if result == .ok { machine.opened() }
        return result
    }

    /// Serialises what has been submitted, keeping the last part-record for more to come.
    func pumpGroup() { pump(isLast: false) }

    /// Serialises and sends everything.
    func flush() {
        isListed = false
        pump(isLast: true)
        if session.idsAreUsedUp { perform(machine.retire(.idsUsedUp, nowMs: loop.nowMs)) }
    }

    func beginBurst() { stream.beginBurst() }

    /// A request in flight here ran into its deadline: reset its stream.
    func timedOut(_ streamID: Int32) {
        session.cancel(streamID)
        pool.markDirty(self)
        perform(machine.requestTimedOut(nowMs: loop.nowMs))
    }

    func retire(_ reason: ConnectionMachine.Reason) { perform(machine.retire(reason, nowMs: loop.nowMs)) }

    func tick() { perform(machine.tick(nowMs: loop.nowMs)) }

    /// Says goodbye and closes without a word to the pool.
    func shut() {
        machine.lost()
        sayGoodbye()
        stream.close()
    }

    // MARK: The socket

    func ioReady(_ events: IOEvents) {
        if machine.state == .connecting {
            guard events.contains(.writable) || events.contains(.hangup) else { return }
            let result = Socket.connectResult(stream.descriptor)
            guard result == 0 else {
                return fail(SystemFailure(errno: result, doing: "connect to \(peer)").description)
            }
            perform(machine.connected())
        } else if events.contains(.writable) {
            if let failure = stream.transmit() { return fail(failure) }
            pool.markDirty(self)
        }
        guard machine.state != .closed, events.contains(.readable) || events.contains(.hangup) else { return }
        let filled = stream.fill()
        if machine.state == .handshaking { continueHandshake() }
        if machine.state == .connecting || machine.state == .handshaking || machine.state == .closed {
            return endIfOver(filled)
        }
        machine.received(nowMs: loop.nowMs)
        var violation: String?
        let decrypted = unsafe stream.decrypt { bytes in
            violation = unsafe session.receive(bytes)
            drainNotes()
            return violation == nil && machine.state != .closed
        }
        guard machine.state != .closed else { return }
        if let violation { return fail(violation) }
        pool.markDirty(self)
        endIfOver(decrypted == .drained ? filled : decrypted)
    }

    private func endIfOver(_ received: TLSStream.Received) {
        guard machine.state != .closed else { return }
        switch received {
        case .drained, .more: return
        case .closed: fail("\(peer) closed the connection")
        case .failed(let message): fail(message)
        }
    }

    private func continueHandshake() {
        do {
            let isDone = try stream.tls.handshake()
            if let failure = stream.transmit() { return fail(failure) }
            guard isDone else { return }
        } catch {
            // The alert that tells the server why.
            _ = stream.transmit()
            return fail("\(peer): \(error.message)", isTrust: true)
        }
        guard stream.tls.applicationProtocol == "h2" else {
            return fail("\(peer) does not speak HTTP/2 (no ALPN agreement on h2)", isTrust: true)
        }
        perform(machine.handshakeDone())
    }

    // MARK: Notes of the session

    private func drainNotes() {
        let notes = unsafe session.notes
        if unsafe notes.pointee.settingsChanged {
            unsafe notes.pointee.settingsChanged = false
            perform(machine.settings(streamLimit: session.streamLimit))
        }
        if unsafe notes.pointee.pingAcks > 0 {
            unsafe notes.pointee.pingAcks = 0
            machine.pingAcked()
        }
        if unsafe notes.pointee.closedStreams > 0 {
            unsafe machine.streamsClosed(notes.pointee.closedStreams)
            unsafe notes.pointee.closedStreams = 0
        }
        if let goAway = unsafe notes.pointee.goAway {
            unsafe notes.pointee.goAway = nil
            goAwayReason = goAway.debugData
            goAwayCode = goAway.code
            pool.metrics.goAways &+= 1
            perform(machine.retire(.goAway, nowMs: loop.nowMs))
        }
        guard unsafe !notes.pointee.ended.isEmpty else { return }
        // The sink may submit more, but nothing reaches the session before the end of the turn.
        unsafe swap(&notes.pointee.ended, &handling)
        for ended in handling { finish(ended) }
        handling.removeAll(keepingCapacity: true)
    }

    private func finish(_ ended: ClientNotes.Ended) {
        let slot = unsafe pool.slab.slots + Int(ended.slot)
        // The slot may have been given up since, for example by its deadline.
        guard unsafe slot.pointee.streamID == ended.streamID, unsafe slot.pointee.connection == number else {
            return
        }
        let code = HTTP2Code(rawValue: ended.code)
        if unsafe slot.pointee.isComplete, unsafe slot.pointee.status >= 200 {
            if ended.streamIsOpen { session.cancel(ended.streamID) }
            responses &+= 1
            pool.responded(ended.slot, on: self)
        } else if code == .refusedStream {
            pool.unprocessed(ended.slot, on: self, "the server refused the stream before processing it")
        } else if unsafe !slot.pointee.isWritten {
            pool.unprocessed(ended.slot, on: self, "the stream ended with \(code) before it was sent")
        } else {
            pool.metrics.resets &+= 1
            pool.failed(
                ended.slot, TransportFailure(.ambiguous, "the stream was reset with \(code)"))
        }
    }

    // MARK: Sending

    private func pump(isLast: Bool) {
        guard machine.state == .awaitingSettings || machine.state == .open || machine.state == .draining
        else { return }
        while !stream.isBacklogged {
            let state = unsafe session.produce(budget: stream.batchRoom) { unsafe stream.gather($0) }
            guard let isDone = state else { return fail("nghttp2 could not serialise a frame") }
            let holdsBack = isDone && !isLast
            if !holdsBack, let failure = stream.send(all: isDone) { return fail(failure) }
            if isDone { break }
        }
        // Streams that end while frames are serialised: refused by a GOAWAY or reset by us.
        drainNotes()
        if isLast, session.isOver {
            fail("\(peer) \(goAwayCode == nil ? "broke the HTTP/2 protocol" : "ended the HTTP/2 session")")
        }
    }

    // MARK: Acting

    private func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .none: break
        case .startHandshake: continueHandshake()
        case .startSession:
            hasSession = true
            pool.markDirty(self)
        case .becameUsable: pool.connectionBecameUsable(self)
        case .sendPing:
            pool.metrics.pings &+= 1
            session.ping()
            pool.markDirty(self)
        case .retire(let reason): pool.connectionRetired(self, reason)
        case .close(let reason): end(reason, "\(peer): \(Self.explain(reason))", isTrust: false)
        }
    }

    private func fail(_ message: String, isTrust: Bool = false) {
        guard machine.state != .closed else { return }
        end(.failed, message, isTrust: isTrust)
    }

    private func end(_ reason: ConnectionMachine.Reason, _ message: String, isTrust: Bool) {
        machine.lost()
        sayGoodbye()
        stream.close()
        pool.connectionEnded(self, reason, message, isTrust: isTrust)
    }

    /// Sends the last frames, GOAWAY among them, and ends TLS in good order, as far as the socket takes it.
    private func sayGoodbye() {
        guard hasSession else { return }
        session.goAway()
        _ = unsafe session.produce(budget: TLSStream.recordBytes) { unsafe stream.gather($0) }
        guard stream.send(all: true) == nil else { return }
        stream.tls.close()
        _ = stream.transmit()
    }

    private static func explain(_ reason: ConnectionMachine.Reason) -> String {
        switch reason {
        case .connectTimedOut: "no HTTP/2 connection within the time for connecting"
        case .pingTimedOut: "no answer to PING"
        case .drainTimedOut: "requests were still in flight at the end of the time for draining"
        case .unresponsive: "several requests in a row timed out without a byte from the server"
        case .drained, .goAway, .idsUsedUp, .idle, .poolClosed, .failed: reason.rawValue
        }
    }
}
