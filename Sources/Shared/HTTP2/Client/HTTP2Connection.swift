internal import Core
internal import EventLoop
internal import Security

/// One client connection: a socket, TLS, a session and the machine that rules them.
///
/// - Ownership: kept by its pool, and by the loop while its socket is watched.
/// - Threading: the loop's.
final class HTTP2Connection: IOHandler {
    let number: UInt32
    private(set) var machine: ConnectionMachine
    private(set) var health = ConnectionHealth()
    /// When it should make room for a fresh one.
    private let ageEndMs: UInt64
    /// Whether it takes no more requests and was counted as such.
    private(set) var wasRetired = false
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
    let session: any ClientSession
    private let peer: String
    private var handling: [ClientNotes.Ended] = []
    private var hasSession = false
    private var tunnel: ProxyTunnel

    /// Starts to connect to a numeric address: the endpoint's or its proxy's.
    init(pool: HTTP2Pool, loop: EventLoop, number: UInt32, address: String) throws(TransportFailure) {
        self.pool = pool
        self.loop = loop
        self.number = number
        startedMs = loop.nowMs
        lastUsedMs = loop.nowMs
        peer = "\(pool.endpoint.host):\(pool.endpoint.port)"
        tunnel = ProxyTunnel(to: pool.endpoint)
        machine = ConnectionMachine(
            nowMs: loop.nowMs, streamsMax: pool.limits.streamsMax, timing: pool.timing,
            isGated: pool.limits.provesFirst)
        let age = pool.limits.ageMaxMs
        ageEndMs = age > 0 ? loop.nowMs &+ age &- RandomSource.seed() % (age / 10 + 1) : .max
        session = try pool.limits.session.make(slab: pool.slab, connection: number)
        do {
            let tls = try TLSConnection(client: pool.context, serverName: pool.endpoint.serverName)
            let port = pool.endpoint.proxy?.port ?? pool.endpoint.port
            let descriptor = try Socket.connect(host: address, port: port)
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

    func submit(_ slot: Int32, _ template: CompiledTemplate) -> Submitted {
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

    /// Requests are about to be submitted.
    func aboutToSend() { perform(machine.aboutToSend(nowMs: loop.nowMs)) }

    /// Why it should be replaced; nil when it need not be.
    func complaint(requestsWait: Bool) -> ConnectionMachine.Reason? {
        guard machine.state == .open else { return nil }
        if loop.nowMs >= ageEndMs { return .aged }
        return health.complaint(
            nowMs: loop.nowMs, shrunkMs: pool.limits.shrunkMs, requestsWait: requestsWait)
    }

    /// A request in flight here ran into its deadline: reset its stream.
    func timedOut(_ streamID: Int32) {
        session.cancel(streamID)
        health.failed()
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
                let target = pool.endpoint.proxy.map { "the proxy \($0.host):\($0.port)" } ?? peer
                return fail(SystemFailure(errno: result, doing: "connect to \(target)").description)
            }
            perform(machine.connected(toProxy: pool.endpoint.proxy != nil))
        } else if events.contains(.writable) {
            if let failure = stream.transmit() { return fail(failure) }
            pool.markDirty(self)
        }
        guard machine.state != .closed, events.contains(.readable) || events.contains(.hangup) else { return }
        if machine.state == .tunnelling { return continueTunnel() }
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
        if let violation {
            if let limit = session.limitPassed { pool.metrics.limits[limit.rawValue] &+= 1 }
            return fail(violation)
        }
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

    /// Asks the proxy for a tunnel. The request fits into the empty buffer of a new socket.
    private func startTunnel() {
        guard let proxy = pool.endpoint.proxy else { return }
        let request = tunnel.request(proxy)
        let sent = unsafe request.withUnsafeBytes { unsafe Socket.send(stream.descriptor, $0) }
        guard sent == request.count else {
            return fail("the proxy \(proxy.host):\(proxy.port) took no request")
        }
        // Nothing more to write for now.
        if let failure = stream.transmit() { return fail(failure) }
    }

    private func continueTunnel() {
        let name = pool.endpoint.proxy.map { "the proxy \($0.host):\($0.port)" } ?? "the proxy"
        let received = unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { room in
            let count = unsafe Socket.recv(stream.descriptor, into: room)
            let progress = unsafe tunnel.receive(room.prefix(max(0, count)))
            return (count: count, progress: progress)
        }
        if received.count == 0 { return fail("\(name) closed the connection before there was a tunnel") }
        if received.count < 0 {
            guard Socket.wouldBlock(received.count) else { return fail("\(name) reset the connection") }
            return
        }
        switch received.progress {
        case .wantsMore: break
        case .open: perform(machine.tunnelled())
        case .refused(let why, let isFinal): fail("\(name): \(why)", isTrust: isFinal)
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
            health.limited(to: machine.streamLimit, nowMs: loop.nowMs)
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
            pool.metrics.noteGoAway(GoAwayReason.word(goAway.code, debugData: goAway.debugData))
            pool.metrics.lastGoAway = Self.describe(goAway)
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
            let status = unsafe slot.pointee.status
            machine.answered(status: status)
            health.answered(status: status)
            pool.responded(ended.slot, on: self)
        } else if code == .refusedStream {
            pool.unprocessed(ended.slot, on: self, "the server refused the stream before processing it")
        } else if unsafe !slot.pointee.isWritten {
            pool.unprocessed(ended.slot, on: self, "the stream ended with \(code) before it was sent")
        } else {
            pool.metrics.resets &+= 1
            health.failed()
            pool.failed(
                ended.slot, TransportFailure(.ambiguous, "the stream was reset with \(code)"))
        }
    }

    // MARK: Sending

    private func pump(isLast: Bool) {
        guard machine.state == .awaitingSettings || machine.state == .open || machine.state == .draining
        else { return }
        while !stream.isBacklogged {
            let room = stream.batchRoom
            let state = stream.gather { session.produce(budget: room, into: &$0) }
            guard let isDone = state else { return fail("a frame could not be serialised") }
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
        case .startTunnel: startTunnel()
        case .startHandshake: continueHandshake()
        case .startSession:
            hasSession = true
            pool.markDirty(self)
        case .becameUsable: pool.connectionBecameUsable(self)
        case .sendPing:
            pool.metrics.pings &+= 1
            session.ping()
            pool.markDirty(self)
        case .retire(let reason):
            wasRetired = true
            pool.connectionRetired(self, reason)
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
        _ = stream.gather { session.produce(budget: TLSStream.recordBytes, into: &$0) }
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
        case .drained, .goAway, .idsUsedUp, .idle, .poolClosed, .failed, .aged, .shrunk, .faulty, .unwanted:
            reason.rawValue
        }
    }

    /// The code and, when there is one, the printable part of the debug data, for logs and metrics.
    private static func describe(_ goAway: ClientNotes.GoAway) -> String {
        let printable = goAway.debugData.prefix(200).filter { $0 >= 0x20 && $0 < 0x7F }
        return printable.isEmpty
            ? "\(goAway.code)" : "\(goAway.code): \(String(decoding: printable, as: UTF8.self))"
    }
}
