internal import Core
internal import EventLoop
internal import Security

extension RedisLink: IOHandler {
    /// The socket is ready.
    func ioReady(_ events: IOEvents) {
        switch state {
        case .connecting: connectFinished()
        case .handshaking, .greeting, .ready, .retiring:
            if events.contains(.readable) || events.contains(.hangup) { receive() }
            if events.contains(.writable) { unblock() }
        case .idle, .resolving, .waiting, .closed: break
        }
    }

    private func unblock() {
        guard let connection, let registration = connection.registration else { return }
        connection.isBlocked = false
        loop.setInterest(registration, .readable)
        if let tls = connection.tls, !sendCiphertext(tls, on: connection) { return }
        flush()
    }

    /// Sends as much as the socket takes.
    func flush() {
        guard let connection else { return }
        switch state {
        case .greeting:
            while !greeting.bytes.isEmpty, !connection.isBlocked {
                guard let taken = unsafe send(greeting.bytes.bytes, on: connection) else { return }
                greeting.bytes.consume(taken)
            }
        case .ready, .retiring:
            while pipeline.unsent > 0, !connection.isBlocked {
                let sent = pipeline.sent
                let rest = unsafe UnsafeRawBufferPointer(rebasing: pipeline.buffer.bytes.bytes[sent...])
                guard let taken = unsafe send(rest, on: connection) else { return }
                pipeline.sent += taken
            }
        default: break
        }
    }

    /// Sends once; nil when nothing was taken because the socket is full or the connection was dropped.
    private func send(_ bytes: UnsafeRawBufferPointer, on connection: RedisConnection) -> Int? {
        guard let tls = connection.tls else { return unsafe sendOnce(bytes, on: connection) }
        // What is encrypted counts as sent: it leaves as soon as the socket takes it.
        let part = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix(64 << 10))
        do throws(SecurityFailure) {
            unsafe try tls.write(part)
        } catch {
            drop(RedisFailure(.connectionLost, "can't encrypt to \(options.endpoint): \(error)"))
            return nil
        }
        return sendCiphertext(tls, on: connection) ? part.count : nil
    }

    /// Sends what is encrypted as far as the socket takes it; false when the connection was dropped.
    func sendCiphertext(_ tls: TLSConnection, on connection: RedisConnection) -> Bool {
        while !tls.outgoing.isEmpty, !connection.isBlocked {
            guard let taken = unsafe sendOnce(tls.outgoing.bytes, on: connection) else {
                return self.connection === connection
            }
            tls.outgoing.consume(taken)
        }
        return true
    }

    private func sendOnce(_ bytes: UnsafeRawBufferPointer, on connection: RedisConnection) -> Int? {
        let taken = unsafe Socket.send(connection.descriptor, bytes)
        if taken > 0 {
            pipeline.statistics.bytesOut &+= UInt64(taken)
            return taken
        }
        if Socket.wouldBlock(taken) {
            connection.isBlocked = true
            if let registration = connection.registration {
                loop.setInterest(registration, [.readable, .writable])
            }
            return nil
        }
        let failure = SystemFailure(
            errno: Int32(truncatingIfNeeded: -taken), doing: "send to \(options.endpoint)")
        drop(RedisFailure(.connectionLost, "\(failure)"))
        return nil
    }

    /// Reads what is there, a bounded number of times so that other handlers of the loop get their turn.
    func receive() {
        guard let connection else { return }
        for _ in 0..<16 {
            guard let count = receiveOnce(connection), self.connection === connection else { return }
            if count < ReceiveBuffer.size { break }
        }
        if case .retiring = state, self.connection === connection, let retirement { drop(retirement) }
    }

    /// Reads once; nil when the connection is no more.
    private func receiveOnce(_ connection: RedisConnection) -> Int? {
        let count: Int
        if let tls = connection.tls {
            var received = 0
            unsafe tls.incoming.appendWith(minimum: ReceiveBuffer.size) {
                received = unsafe Socket.recv(connection.descriptor, into: $0)
                return max(0, received)
            }
            count = received
        } else {
            count = unsafe Socket.recv(connection.descriptor, into: receiveBuffer.bytes)
        }
        guard count > 0 else {
            if Socket.wouldBlock(count) { return 0 }
            let failure = SystemFailure(
                errno: Int32(truncatingIfNeeded: -count), doing: "receive from \(options.endpoint)")
            let text = count == 0 ? "\(options.endpoint) closed the connection" : "\(failure)"
            drop(RedisFailure(.connectionLost, text))
            return nil
        }
        pipeline.statistics.bytesIn &+= UInt64(count)
        let isAlive = connection.tls.map { decrypt($0, connection) } ?? parse(count, connection)
        return isAlive ? count : nil
    }

    /// Takes what the TLS connection has received; false when the connection is no more.
    private func decrypt(_ tls: TLSConnection, _ connection: RedisConnection) -> Bool {
        if case .handshaking = state, !shakeHands(tls, on: connection) { return false }
        if case .handshaking = state { return true }
        while true {
            do throws(SecurityFailure) {
                switch unsafe try tls.read(into: receiveBuffer.bytes) {
                case .bytes(let count):
                    guard parse(count, connection) else { return false }
                case .wantsMore: return sendCiphertext(tls, on: connection)
                case .closed:
                    drop(RedisFailure(.connectionLost, "\(options.endpoint) closed the connection"))
                    return false
                }
            } catch {
                drop(RedisFailure(.connectionLost, "can't decrypt from \(options.endpoint): \(error)"))
                return false
            }
        }
    }

    /// Parses the first `count` bytes of the receive buffer; false when the connection is no more.
    private func parse(_ count: Int, _ connection: RedisConnection) -> Bool {
        var rest = unsafe UnsafeRawBufferPointer(rebasing: receiveBuffer.bytes[..<count])
        while unsafe !rest.isEmpty {
            // hiredis moves what is left of its buffer after each kibibyte that it parsed: small helpings
            // keep that cheap.
            let helping = unsafe UnsafeRawBufferPointer(rebasing: rest.prefix(8192))
            unsafe rest = unsafe UnsafeRawBufferPointer(rebasing: rest.dropFirst(8192))
            guard unsafe connection.parser.feed(helping) else {
                drop(RedisFailure(.protocolBroken, "\(options.endpoint) sent a reply beyond the bounds"))
                return false
            }
            guard takeReplies(connection) else { return false }
        }
        return true
    }

    /// Takes the whole replies; false when the connection is no more.
    private func takeReplies(_ connection: RedisConnection) -> Bool {
        while true {
            switch connection.parser.next() {
            case .wantsMore: return true
            case .broken:
                drop(
                    RedisFailure(
                        .protocolBroken,
                        "\(options.endpoint) breaks the protocol: \(connection.parser.failureText)"))
                return false
            case .reply:
                let reply = connection.parser.reply
                if case .greeting = state {
                    guard greeted(reply) else { return false }
                } else {
                    take(reply)
                }
                guard self.connection === connection else { return false }
            }
        }
    }

    private func take(_ reply: RedisReplyView) {
        let isError = reply.type == .error
        if isError, reissueIfScriptIsForgotten(reply) || redirect(reply) { return }
        guard let entry = pipeline.takeAnswered() else {
            drop(RedisFailure(.protocolBroken, "\(options.endpoint) answers what wasn't asked"))
            return
        }
        guard entry.origin != .own else { return }
        // The deadline tells when it was issued; both times are the loop's.
        let leftMs = Int64(clamping: entry.deadlineMs) &- Int64(clamping: loop.nowMs)
        pipeline.roundTrips.record(ms: Int64(clamping: options.timeoutMs) &- leftMs)
        guard !isError else {
            takeError(entry, reply)
            return
        }
        pipeline.statistics.replies &+= 1
        failuresInRow = 0
        if let node { node.answered(entry, reply) } else { handler?.redisReply(entry.tag, reply) }
    }

    private func takeError(_ entry: CommandEntry, _ reply: RedisReplyView) {
        pipeline.statistics.errorReplies &+= 1
        let failure = errorReply(reply)
        if failure.code == .readOnly || failure.code == .masterDown, case .ready = state {
            state = .retiring
            retirement = failure
        }
        if let node { node.failed(entry, failure) } else { handler?.redisFailed(entry.tag, failure) }
    }

    private func errorReply(_ reply: RedisReplyView) -> RedisFailure {
        let text = reply.text
        let code = unsafe RedisFailure.Code.ofErrorReply(reply.bytes)
        guard node == nil, Redirection(text, askedHost: "") != nil else { return RedisFailure(code, text) }
        return RedisFailure(
            code,
            "\(options.endpoint) is a node of a Redis Cluster, but Peal is set up for a single server: set "
                + "redis.cluster to true (\(text))")
    }

    /// Gives a command whose slot lies on another node back to the cluster; true when it did.
    private func redirect(_ reply: RedisReplyView) -> Bool {
        guard let node, let first = pipeline.ring.first, first.origin != .own,
            unsafe RedisFailure.Code.ofErrorReply(reply.bytes) == .cluster,
            let redirection = Redirection(reply.text, askedHost: node.address.host)
        else { return false }
        let command = pipeline.oldestCommand()
        guard let entry = pipeline.takeAnswered() else { return false }
        node.redirected(entry, command, redirection)
        return true
    }

    /// Loads the oldest command's script and issues that command again behind it; once.
    private func reissueIfScriptIsForgotten(_ reply: RedisReplyView) -> Bool {
        guard let entry = pipeline.ring.first, entry.origin == .caller, pipeline.sent >= entry.length,
            unsafe RedisFailure.Code.ofErrorReply(reply.bytes) == .noScript
        else { return false }
        let command = pipeline.oldestCommand()
        guard let script = options.scripts.first(where: { command.contains($0.callPrefix) }) else {
            return false
        }
        pipeline.reissue(command, of: entry, after: script)
        return true
    }
}

/// The memory that the socket is read into.
@safe
struct ReceiveBuffer: ~Copyable {
    static let size = 64 << 10
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    deinit { unsafe bytes.deallocate() }
}
