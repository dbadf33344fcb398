internal import Core
internal import EventLoop
internal import Security

/// What a reply to one of the first commands of a connection means.
enum GreetingStep {
    /// AUTH, SELECT, CLIENT SETNAME: must not be an error.
    case acknowledged(String)
    /// SCRIPT LOAD: must be the digest.
    case script(RedisScript)
}

extension RedisLink {
    /// Begins an attempt.
    func connect() {
        attempt &+= 1
        connectTimer = loop.schedule(
            afterMs: options.connectTimeoutMs, tag: TimerTag.connect.rawValue, handler: self)
        switch options.endpoint.address {
        case .unix(let path):
            open { () throws(SystemFailure) in try Socket.connectUnix(path: path) }
        case .tcp(let host, let port) where Self.isNumeric(host):
            open { () throws(SystemFailure) in try Socket.connect(host: host, port: port) }
        case .tcp(let host, _):
            state = .resolving
            look(up: host)
        }
    }

    private static func isNumeric(_ host: String) -> Bool {
        host.contains(":") || host.allSatisfy { $0 == "." || $0.isNumber }
    }

    /// Resolves on a thread of its own, since a resolver can block for many seconds.
    private func look(up host: String) {
        let inbox = lookups
        let attempt = attempt
        _ = WorkerThread.start(name: "redis-resolve") {
            let result: Result<String, SystemFailure>
            do throws(SystemFailure) {
                result = .success(try Resolver.resolve(host))
            } catch {
                result = .failure(error)
            }
            inbox.push(HostLookup(attempt: attempt, result: result))
        }
    }

    func resolved(_ lookup: HostLookup) {
        guard case .resolving = state, lookup.attempt == attempt else { return }
        guard case .tcp(_, let port) = options.endpoint.address else { return }
        switch lookup.result {
        case .success(let address):
            open { () throws(SystemFailure) in try Socket.connect(host: address, port: port) }
        case .failure(let failure):
            drop(RedisFailure(.unavailable, "can't resolve \(options.endpoint): \(failure)"))
        }
    }

    private func open(_ make: () throws(SystemFailure) -> Int32) {
        let tls: TLSConnection?
        do throws(SecurityFailure) {
            tls = try makeTLS()
        } catch {
            drop(RedisFailure(.unavailable, "can't encrypt to \(options.endpoint): \(error)"))
            return
        }
        do throws(SystemFailure) {
            let descriptor = try make()
            guard let made = RedisConnection(descriptor: descriptor, tls: tls) else {
                Socket.close(descriptor)
                drop(RedisFailure(.unavailable, "no memory for a Redis reader"))
                return
            }
            connection = made
            state = .connecting
            made.registration = try loop.add(descriptor: descriptor, interest: .writable, handler: self)
        } catch {
            drop(RedisFailure(.unavailable, "can't connect to \(options.endpoint): \(error)"))
        }
    }

    private func makeTLS() throws(SecurityFailure) -> TLSConnection? {
        guard options.endpoint.isEncrypted, case .tcp(let host, _) = options.endpoint.address else {
            return nil
        }
        let context: TLSContext
        if let known = options.tls ?? tlsContext {
            context = known
        } else {
            context = try TLSContext.client(TLSClientOptions(applicationProtocols: []))
        }
        tlsContext = context
        return try TLSConnection(client: context, serverName: host)
    }

    /// The socket is connected, or isn't going to be.
    func connectFinished() {
        guard let connection, let registration = connection.registration else { return }
        let code = Socket.connectResult(connection.descriptor)
        guard code == 0 else {
            let failure = SystemFailure(errno: code, doing: "connect to \(options.endpoint)")
            drop(RedisFailure(.unavailable, "\(failure)"))
            return
        }
        loop.setInterest(registration, .readable)
        guard let tls = connection.tls else {
            greet()
            return
        }
        state = .handshaking
        shakeHands(tls, on: connection)
    }

    /// Goes on with the TLS handshake; false when the connection is no more.
    @discardableResult
    func shakeHands(_ tls: TLSConnection, on connection: RedisConnection) -> Bool {
        let isComplete: Bool
        do throws(SecurityFailure) {
            isComplete = try tls.handshake()
        } catch {
            // The alert that tells the peer why is worth one attempt.
            _ = sendCiphertext(tls, on: connection)
            drop(RedisFailure(.unavailable, "can't encrypt to \(options.endpoint): \(error)"))
            return false
        }
        guard sendCiphertext(tls, on: connection) else { return false }
        if isComplete { greet() }
        return self.connection === connection
    }

    private func greet() {
        state = .greeting
        greeting.clear()
        greetingSteps.removeAll()
        if let password = options.endpoint.password {
            greeting.begin(options.endpoint.user == nil ? 2 : 3)
            greeting.argument("AUTH")
            if let user = options.endpoint.user { greeting.argument(text: user) }
            greeting.argument(text: password)
            greetingSteps.append(.acknowledged("AUTH"))
        }
        if options.endpoint.database != 0 {
            greeting.begin(2)
            greeting.argument("SELECT")
            greeting.argument(decimal: Int64(options.endpoint.database))
            greetingSteps.append(.acknowledged("SELECT"))
        }
        greeting.begin(3)
        greeting.argument("CLIENT")
        greeting.argument("SETNAME")
        greeting.argument(text: options.clientName)
        greetingSteps.append(.acknowledged("CLIENT SETNAME"))
        for script in options.scripts {
            greeting.encodeLoad(script)
            greetingSteps.append(.script(script))
        }
        // The reply that matters: LOADING and the like are said here, before a command of the caller is lost.
        greeting.begin(1)
        greeting.argument("PING")
        greetingSteps.append(.acknowledged("PING"))
        greetingSteps.reverse()
        flush()
    }

    /// Takes the reply to one of the first commands; false when the connection was dropped.
    func greeted(_ reply: RedisReplyView) -> Bool {
        guard let step = greetingSteps.popLast() else {
            drop(RedisFailure(.protocolBroken, "\(options.endpoint) answers what wasn't asked"))
            return false
        }
        if reply.type == .error {
            let code = unsafe RedisFailure.Code.ofErrorReply(reply.bytes)
            drop(RedisFailure(code, "\(options.endpoint) refuses the connection: \(reply.text)"))
            return false
        }
        if case .script(let script) = step, reply.text != script.digest {
            drop(
                RedisFailure(.protocolBroken, "\(options.endpoint) names script \(script.name) \(reply.text)")
            )
            return false
        }
        if greetingSteps.isEmpty { becomeReady() }
        return true
    }

    private func becomeReady() {
        if let connectTimer { loop.cancel(connectTimer) }
        connectTimer = nil
        state = .ready
        pipeline.sent = 0
        readySinceMs = loop.nowMs
        pipeline.statistics.connects &+= 1
        handler?.redisConnected()
    }

    func closeConnection() {
        connection?.close(loop: loop)
        connection = nil
    }

    /// Gives the connection or the attempt up, fails what it carried and arranges the next attempt.
    func drop(_ failure: RedisFailure) {
        let wasReady: Bool
        switch state {
        case .closed: return
        case .ready, .retiring: wasReady = true
        default: wasReady = false
        }
        closeConnection()
        if let connectTimer { loop.cancel(connectTimer) }
        state = .waiting
        lastFailure = failure
        if wasReady {
            pipeline.statistics.disconnects &+= 1
            // A connection that served for a while earns a quick second one.
            if loop.nowMs &- readySinceMs > 5_000 { failuresInRow = 0 }
        } else {
            pipeline.statistics.connectFailures &+= 1
        }
        connectTimer = loop.schedule(
            afterMs: nextPauseMs(), tag: TimerTag.reconnect.rawValue, handler: self)
        failureAfterLoss(failure, wasReady: wasReady)
        if case .closed = state { return }
        handler?.redisDisconnected(failure)
    }

    private func failureAfterLoss(_ failure: RedisFailure, wasReady: Bool) {
        let (touched, untouched) = entriesSent(wasReady: wasReady)
        pipeline.sent = 0
        let unknown = failure.code == .timedOut ? failure : RedisFailure(.connectionLost, failure.message)
        failEntries(count: touched, unknown)
        guard options.whenDisconnected == .refuse else { return }
        failEntries(count: untouched, RedisFailure(.unavailable, failure.message))
    }

    /// How many commands the server may have seen, and how many it can't have.
    private func entriesSent(wasReady: Bool) -> (touched: Int, untouched: Int) {
        let all = pipeline.ring.count
        guard wasReady else { return (0, all) }
        let touched = pipeline.ring.countCovering(pipeline.sent)
        return (touched, all - touched)
    }

    private func nextPauseMs() -> UInt64 {
        let doubled = options.backoffFirstMs << min(failuresInRow, 16)
        failuresInRow &+= 1
        let longest = max(1, min(options.backoffLastMs, doubled))
        jitter = Hash64.mix(jitter, 0x9E37_79B9_7F4A_7C15)
        return longest / 2 + jitter % (longest / 2 + 1)
    }
}

extension RedisLink: WakeHandler {
    /// A host name was looked up.
    func woken() {
        var found: [HostLookup] = []
        lookups.drain(into: &found)
        for lookup in found { resolved(lookup) }
    }
}

extension RedisCommandBuffer {
    mutating func encodeLoad(_ script: RedisScript) {
        begin(3)
        argument("SCRIPT")
        argument("LOAD")
        argument(text: script.source)
    }
}
