import Core
import EventLoop
import HTTP2
import Security

/// The simulator's loop: listeners, connections, delayed answers, timed events.
///
/// - Threading: made and run on the simulator's own thread; other threads talk to it through
///   ``SimulatorInbox``.
final class ServingLoop: TimerHandler, TurnHandler, WakeHandler {
    private static let delayTag: UInt64 = 1
    private static let eventTag: UInt64 = 2
    private static let delayedMax = 1 << 20

    let loop: EventLoop
    let judge: Judge
    let record: RequestRecord
    let settings: SimulatorSettings
    private let inbox: SimulatorInbox
    private let journal: RecordJournal?
    private let responder = Responder(seed: RandomSource.seed())
    private var ports: [ListenerPort] = []
    private var delayed = DelayQueue()
    private var delayTimer: (id: TimerID, dueMs: UInt64)?
    private var scriptNumber: UInt64 = 0
    private var wallTurn = UInt64.max
    private var orders: [SimulatorInbox.Order] = []
    private var wallMs = Clock.wallMs
    /// Added to wall time, to play with the age of credentials.
    var clockOffsetMs: Int64 = 0
    private(set) var stats = SimulatorStats()

    init(
        loop: EventLoop, settings: SimulatorSettings, judge: Judge, record: RequestRecord,
        inbox: SimulatorInbox, journal: RecordJournal? = nil
    ) {
        self.loop = loop
        self.settings = settings
        self.judge = judge
        self.record = record
        self.inbox = inbox
        self.journal = journal
        loop.addTurnHandler(self)
        loop.addWakeHandler(self)
    }

    /// Opens one listener.
    func listen(_ listener: Listener, port: UInt16, context: TLSContext) throws(SystemFailure) -> UInt16 {
        var options = HTTP2ServerOptions()
        options.maxConcurrentStreams = firstStreamsMax(listener)
        options.connectionWindow = 4 << 20
        let opened = ListenerPort(listener: listener, serving: self, connectionsMax: settings.connectionsMax)
        let bound = try opened.open(
            loop: loop, host: settings.host, port: port, context: context, options: options)
        ports.append(opened)
        return bound
    }

    private func firstStreamsMax(_ listener: Listener) -> UInt32 {
        if listener == .fcm { return settings.fcmStreamsMax }
        return settings.acceptsAll ? settings.apnsStreamsMax : settings.apnsStreamsBeforeToken
    }

    /// Serves until stopped.
    func run() {
        loop.run()
        for port in ports { port.server?.close() }
        loop.removeTurnHandler(self)
        loop.removeWakeHandler(self)
    }

    // MARK: - Connections

    func abandoned() { stats.streamsAbandoned += 1 }

    func closed(_ connection: HTTP2ServerConnection) {
        delayed.remove(connection: connection)
        stats.connectionsClosed += 1
    }

    // MARK: - Requests

    func received(_ request: HTTP2ServerRequest, on connection: HTTP2ServerConnection) {
        guard let state = connection.context as? ConnectionState, request.streamID <= state.lastStreamID
        else {
            return
        }
        if wallTurn != loop.turns {
            wallTurn = loop.turns
            wallMs = Clock.wallMs + clockOffsetMs
        }
        var seen = ProviderRequest()
        fill(&seen, from: request)
        if state.listener == .fcm, seen.path.equals("/token"), seen.method.equals("POST") {
            let (status, body) = judge.oauth.exchange(body: seen.body, nowMs: wallMs)
            responder.send(
                json: body, status: status, to: request.streamID, connection: connection, wallMs: wallMs)
            return
        }
        var row = RecordRow()
        row.stream = request.streamID
        var texts = RecordTexts()
        let moment = Moment(wallMs: wallMs, steadyMs: loop.nowMs)
        let answer = judge.judge(seen, on: state, at: moment, row: &row, texts: &texts)
        record.append(row, texts)
        if let journal { journal.append(record.requests(from: record.count - 1, limit: 1)) }
        if answer.streamsMax >= 0 {
            state.streamsMax = UInt32(answer.streamsMax)
            connection.setMaxConcurrentStreams(state.streamsMax)
        }
        carryOut(
            answer, stream: request.streamID,
            id: answer.reason == APNsReason.badMessageID.rawValue ? .empty : seen.apnsID, state: state,
            connection: connection
        )
    }

    private func fill(_ seen: inout ProviderRequest, from request: HTTP2ServerRequest) {
        unsafe seen.method = Bytes(request[.method])
        unsafe seen.path = Bytes(request[.path])
        unsafe seen.authorization = Bytes(request[.authorization])
        unsafe seen.apnsID = Bytes(request[.apnsID])
        unsafe seen.topic = Bytes(request[.apnsTopic])
        unsafe seen.pushType = Bytes(request[.apnsPushType])
        unsafe seen.priority = Bytes(request[.apnsPriority])
        unsafe seen.expiration = Bytes(request[.apnsExpiration])
        unsafe seen.collapseID = Bytes(request[.apnsCollapseID])
        unsafe seen.contentType = Bytes(request[.contentType])
        unsafe seen.body = Bytes(request.body)
        var duplicates = false
        unsafe request.forEachOther { name, _ in
            let bytes = unsafe Bytes(name)
            if bytes.hasPrefix("apns-") || bytes.equals("authorization") { duplicates = true }
        }
        seen.hasDuplicates = duplicates
    }

    private func carryOut(
        _ answer: Answer, stream: Int32, id: Bytes, state: ConnectionState,
        connection: HTTP2ServerConnection
    ) {
        let rule = answer.rule >= 0 ? judge.rule(Int(answer.rule)) : nil
        if answer.delayMs > 0, delayed.count < Self.delayedMax {
            delayed.push(
                DelayedAnswer(
                    dueMs: loop.nowMs + UInt64(answer.delayMs), order: 0, answer: answer, stream: stream,
                    id: RequestID(id),
                    rule: rule, connection: connection, state: state))
            return
        }
        act(answer, stream: stream, id: .borrowed(id), rule: rule, state: state, connection: connection)
    }

    private func act(
        _ answer: Answer, stream: Int32, id: AnswerID, rule: FaultRule?, state: ConnectionState,
        connection: HTTP2ServerConnection
    ) {
        switch answer.action {
        case .respond:
            responder.send(
                answer, to: stream, id: id, rule: rule, state: state, connection: connection, wallMs: wallMs)
        case .swallow: break
        case .reset: connection.reset(stream, HTTP2Code(rawValue: answer.errorCode))
        case .kill: connection.kill()
        case .closeTLS: connection.close()
        case .goaway:
            let last = lastStreamID(answer, stream: stream)
            goAway(
                answer, last: last, debug: debugData(answer, rule: rule), connection: connection, state: state
            )
            guard stream <= last, answer.status > 0 else { return }
            responder.send(
                answer, to: stream, id: id, rule: rule, state: state, connection: connection, wallMs: wallMs)
        }
    }

    // MARK: - GOAWAY

    private func lastStreamID(_ answer: Answer, stream: Int32) -> Int32 {
        switch answer.lastStream {
        case .previous: max(0, stream - 2)
        case .this: stream
        case .none: 0
        case .all: Int32.max
        case .exact: Int32(clamping: answer.streamID)
        }
    }

    private func goAway(
        _ answer: Answer, last: Int32, debug: [UInt8], connection: HTTP2ServerConnection,
        state: ConnectionState
    ) {
        state.lastStreamID = min(state.lastStreamID, last)
        stats.goaways += 1
        connection.goAway(lastStreamID: last, HTTP2Code(rawValue: answer.errorCode), debugData: debug)
    }

    /// APNs puts its reason into the debug data, in the same JSON as in an answer.
    private func debugData(_ answer: Answer, rule: FaultRule?) -> [UInt8] {
        if let text = rule?.text { return text }
        guard let reason = APNsReason(rawValue: answer.reason), reason != .none else { return [] }
        return APNsReason.bodies[Int(reason.rawValue)]
    }

    // MARK: - Time

    func endOfTurn() {
        guard let due = delayed.nextDueMs else { return }
        if let timer = delayTimer {
            guard due < timer.dueMs else { return }
            loop.cancel(timer.id)
        }
        let wait = due > loop.nowMs ? due - loop.nowMs : 0
        delayTimer = (loop.schedule(afterMs: wait, tag: Self.delayTag, handler: self), due)
    }

    func timerFired(_ tag: UInt64) {
        if tag == Self.delayTag {
            delayTimer = nil
            while let entry = delayed.pop(nowMs: loop.nowMs) {
                guard entry.connection.isOpen else { continue }
                act(
                    entry.answer, stream: entry.stream, id: .kept(entry.id), rule: entry.rule,
                    state: entry.state,
                    connection: entry.connection)
            }
        } else {
            let index = Int(truncatingIfNeeded: tag >> 8 & 0xFFFF)
            guard tag >> 24 == scriptNumber, index < judge.script.events.count else { return }
            happen(judge.script.events[index])
        }
    }

    /// Replaces the fault script and arms its timed events.
    func install(_ script: FaultScript) {
        scriptNumber += 1
        for port in ports {
            port.setRefusing(false)
            port.setFirstStreamsMax(firstStreamsMax(port.listener))
        }
        judge.install(script, nowMs: loop.nowMs)
        for (index, event) in script.events.enumerated() {
            let tag = scriptNumber << 24 | UInt64(index) << 8 | Self.eventTag
            if event.atMs == 0 {
                happen(event)
            } else {
                _ = loop.schedule(afterMs: event.atMs, tag: tag, handler: self)
            }
        }
    }

    private func happen(_ event: FaultEvent) {
        stats.events += 1
        for port in ports {
            if let provider = event.provider, provider != port.listener.provider { continue }
            if let environment = event.environment, environment != port.listener.environment { continue }
            switch event.kind {
            case .streamsMax(let limit): port.setFirstStreamsMax(limit)
            case .refuseConnections(let refuses): port.setRefusing(refuses)
            case .wire, .hang, .ping, .garbage: break
            }
            for connection in port.server?.connections ?? [] where connection.isOpen {
                happen(event, to: connection)
            }
        }
    }

    private func happen(_ event: FaultEvent, to connection: HTTP2ServerConnection) {
        guard let state = connection.context as? ConnectionState else { return }
        switch event.kind {
        case .streamsMax(let limit):
            state.streamsMax = limit
            connection.setMaxConcurrentStreams(limit)
        case .refuseConnections: break
        case .hang: connection.hang()
        case .ping: connection.ping()
        case .garbage: connection.sendRaw(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        case .wire(let answer):
            switch answer.action {
            case .kill: connection.kill()
            case .closeTLS: connection.close()
            default:
                let last = lastStreamID(answer, stream: connection.lastStreamID)
                let debug = event.text.isEmpty ? debugData(answer, rule: nil) : event.text
                goAway(answer, last: last, debug: debug, connection: connection, state: state)
            }
        }
    }

    // MARK: - Orders

    func woken() {
        inbox.drain(into: &orders)
        for order in orders { order(self) }
        orders.removeAll(keepingCapacity: true)
    }

    /// The counters of now.
    func snapshot() -> SimulatorStats {
        var now = stats
        for port in ports {
            guard let server = port.server else { continue }
            now.requests += server.requests
            now.openConnections += server.connections.count
            now.connections[Int(port.listener.rawValue)] = server.accepted
            now.connectionsRefused += server.refused
        }
        now.delayedAnswers = delayed.count
        now.signaturesChecked = judge.authority.verifications
        now.accessTokensGranted = judge.oauth.granted
        now.accessTokensRefused = judge.oauth.refused
        now.devices = judge.devices.count
        return now
    }
}
