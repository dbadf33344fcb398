/// The life of one client connection as a pure value: no socket, no clock.
///
/// ```
///   connecting -> [tunnelling ->] handshaking -> awaitingSettings -> open -> draining -> closed
///        \______________\______________\_______________\______________\________/
///                      any failure or passed deadline: closed
/// ```
///
/// - Note: an unset stream limit of the peer would mean "unlimited" (RFC 9113 section 5.1.2), so nothing is
///   sent before the first SETTINGS.
struct ConnectionMachine {
    /// How long each step may take, in milliseconds.
    struct Timing: Equatable {
        /// From the start of the connect to the server's first SETTINGS.
        var connectMs: UInt64 = 10_000
        /// Silence after which a PING asks whether the peer is still there, and the least time between PINGs.
        /// 0: never.
        var pingIdleMs: UInt64 = 60_000
        /// The same while no request is in flight; nil for the same time, 0 for never.
        var pingQuietMs: UInt64?
        /// How long a PING may stay unanswered.
        var pingTimeoutMs: UInt64 = 10_000
        /// How long requests in flight may take to finish once no new ones are sent.
        var drainMs: UInt64 = 30_000
    }

    enum State: Equatable {
        /// The TCP handshake is under way.
        case connecting
        /// A proxy has been asked for a tunnel.
        case tunnelling
        /// The TLS handshake is under way.
        case handshaking
        /// The server's first SETTINGS are due.
        case awaitingSettings
        /// Requests may be sent.
        case open
        /// Requests in flight may finish; none is sent.
        case draining
        /// Over.
        case closed
    }

    /// Why a connection ended or is to end.
    enum Reason: String, Equatable, CaseIterable {
        case connectTimedOut, pingTimedOut, drainTimedOut, drained, goAway, idsUsedUp, idle, unresponsive
        case poolClosed, failed
        /// It is old; or its stream limit fell and stayed low; or most requests on it fail; or the caller
        /// wants it no more.
        case aged, shrunk, faulty, unwanted
    }

    enum Action: Equatable {
        case none
        case startTunnel
        case startHandshake
        case startSession
        /// The connection takes requests from now on.
        case becameUsable
        case sendPing
        /// No more requests here; those in flight may finish.
        case retire(Reason)
        case close(Reason)
    }

    /// Deadlines of this many requests in a row without one byte from the peer: it is gone.
    static let silentTimeoutsMax = 3

    let timing: Timing
    private(set) var state = State.connecting
    /// Streams that nghttp2 has not closed yet.
    private(set) var inFlight = 0
    /// The peer's limit, cut to ours.
    private(set) var streamLimit = 0
    let streamsMax: Int
    /// Whether one request alone asks whether the credential is good before others follow.
    let isGated: Bool
    /// Whether a request was answered in a way that only a good credential gets.
    private(set) var isProven = false
    private var deadlineMs: UInt64
    private var lastReceivedMs: UInt64
    private var lastPingMs: UInt64
    private var awaitsPing = false
    private var silentTimeouts = 0

    init(nowMs: UInt64, streamsMax: Int, timing: Timing, isGated: Bool = false) {
        self.timing = timing
        self.isGated = isGated
        self.streamsMax = streamsMax
        deadlineMs = nowMs &+ timing.connectMs
        lastReceivedMs = nowMs
        lastPingMs = nowMs
    }

    /// How many more requests may be sent now.
    var capacity: Int {
        guard state == .open else { return 0 }
        return max(0, (isGated && !isProven ? min(1, streamLimit) : streamLimit) - inFlight)
    }

    // MARK: Inputs

    mutating func connected(toProxy: Bool = false) -> Action {
        guard state == .connecting else { return .none }
        state = toProxy ? .tunnelling : .handshaking
        return toProxy ? .startTunnel : .startHandshake
    }

    /// The proxy has opened the tunnel.
    mutating func tunnelled() -> Action {
        guard state == .tunnelling else { return .none }
        state = .handshaking
        return .startHandshake
    }

    mutating func handshakeDone() -> Action {
        guard state == .handshaking else { return .none }
        state = .awaitingSettings
        return .startSession
    }

    mutating func settings(streamLimit limit: UInt32) -> Action {
        switch state {
        case .awaitingSettings:
            streamLimit = min(Int(limit), streamsMax)
            state = .open
            return .becameUsable
        case .open, .draining:
            streamLimit = min(Int(limit), streamsMax)
            return .none
        case .connecting, .tunnelling, .handshaking, .closed:
            return .none
        }
    }

    mutating func received(nowMs: UInt64) {
        lastReceivedMs = nowMs
        silentTimeouts = 0
    }

    mutating func pingAcked() { awaitsPing = false }

    mutating func opened() { inFlight += 1 }

    /// Notes an answer's status: 401, 403 and server errors say nothing good of the credential.
    mutating func answered(status: UInt16) {
        if status < 500, status != 401, status != 403 { isProven = true }
    }

    /// Requests are about to be sent. After a silence the connection may be dead without a sign, so a PING
    /// goes with the first of them: it fails long before their deadlines do.
    mutating func aboutToSend(nowMs: UInt64) -> Action {
        guard state == .open, inFlight == 0, nowMs >= lastReceivedMs &+ timing.pingIdleMs else {
            return .none
        }
        return askIfAlive(nowMs: nowMs)
    }

    mutating func streamsClosed(_ count: Int) { inFlight = max(0, inFlight - count) }

    /// Asks for no more requests to be sent, for example because of GOAWAY.
    mutating func retire(_ reason: Reason, nowMs: UInt64) -> Action {
        switch state {
        case .awaitingSettings, .open:
            state = .draining
            deadlineMs = nowMs &+ timing.drainMs
            return .retire(reason)
        case .connecting, .tunnelling, .handshaking:
            state = .closed
            return .close(reason)
        case .draining, .closed:
            return .none
        }
    }

    /// A request on this connection ran into its deadline.
    mutating func requestTimedOut(nowMs: UInt64) -> Action {
        guard state == .open || state == .draining else { return .none }
        silentTimeouts += 1
        if silentTimeouts >= Self.silentTimeoutsMax {
            state = .closed
            return .close(.unresponsive)
        }
        return askIfAlive(nowMs: nowMs)
    }

    /// Time has passed, or streams have ended.
    mutating func tick(nowMs: UInt64) -> Action {
        switch state {
        case .connecting, .tunnelling, .handshaking, .awaitingSettings:
            guard nowMs >= deadlineMs else { return .none }
            state = .closed
            return .close(.connectTimedOut)
        case .draining:
            if inFlight == 0 {
                state = .closed
                return .close(.drained)
            }
            if nowMs >= deadlineMs {
                state = .closed
                return .close(.drainTimedOut)
            }
            return checkPing(nowMs: nowMs)
        case .open:
            return checkPing(nowMs: nowMs)
        case .closed:
            return .none
        }
    }

    /// The connection is gone.
    mutating func lost() { state = .closed }

    private mutating func checkPing(nowMs: UInt64) -> Action {
        if awaitsPing {
            guard nowMs >= lastPingMs &+ timing.pingTimeoutMs else { return .none }
            state = .closed
            return .close(.pingTimedOut)
        }
        let silenceMs = inFlight > 0 ? timing.pingIdleMs : timing.pingQuietMs ?? timing.pingIdleMs
        guard silenceMs > 0, nowMs >= lastReceivedMs &+ silenceMs else { return .none }
        return askIfAlive(nowMs: nowMs)
    }

    private mutating func askIfAlive(nowMs: UInt64) -> Action {
        guard timing.pingIdleMs > 0, !awaitsPing, nowMs >= lastPingMs &+ timing.pingIdleMs else {
            return .none
        }
        awaitsPing = true
        lastPingMs = nowMs
        return .sendPing
    }
}

extension ConnectionMachine.Reason {
    /// The name in metrics.
    var label: String {
        switch self {
        case .connectTimedOut: "connect_timed_out"
        case .pingTimedOut: "ping_timed_out"
        case .drainTimedOut: "drain_timed_out"
        case .drained: "drained"
        case .goAway: "goaway"
        case .idsUsedUp: "ids_used_up"
        case .idle: "idle"
        case .unresponsive: "unresponsive"
        case .poolClosed: "pool_closed"
        case .failed: "failed"
        case .aged: "aged"
        case .shrunk: "shrunk"
        case .faulty: "faulty"
        case .unwanted: "unwanted"
        }
    }
}
