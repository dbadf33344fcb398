internal import EventLoop
internal import Glibc

/// A client's connection and the one behind it.
///
/// - Threading: the proxy's thread.
final class ProxyConnection {
    private static let waitingMax = 1 << 20

    /// Its place in the proxy's history.
    let number: Int
    let route: Int
    private unowned let owner: ProxyLoop
    private var client: ProxyEnd?
    private var server: ProxyEnd?
    private var isClosed = false

    init(owner: ProxyLoop, number: Int, route: Int) {
        self.owner = owner
        self.number = number
        self.route = route
    }

    /// Whether bytes wait for their time.
    var hasWaiting: Bool { client?.queue.isEmpty == false || server?.queue.isEmpty == false }

    /// Starts to watch both sockets, which it owns from now on.
    func start(client clientSocket: Int32, server serverSocket: Int32) throws(SystemFailure) {
        let client = ProxyEnd(self, descriptor: clientSocket, isClient: true)
        let server = ProxyEnd(self, descriptor: serverSocket, isClient: false)
        server.isConnecting = true
        self.client = client
        self.server = server
        do throws(SystemFailure) {
            client.registration = try owner.loop.add(
                descriptor: clientSocket, interest: .readable, handler: client)
            server.registration = try owner.loop.add(
                descriptor: serverSocket, interest: .writable, handler: server)
        } catch {
            close(.proxy)
            throw error
        }
    }

    func ready(_ end: ProxyEnd, _ events: IOEvents) {
        guard !isClosed, let other = end.isClient ? server : client else { return }
        if end.isConnecting {
            guard Socket.connectResult(end.descriptor) == 0 else { return close(.upstream) }
            end.isConnecting = false
        }
        if events.contains(.writable) { send(end) }
        if !isClosed, events.contains(.readable) || events.contains(.hangup), !isStalled {
            receive(end, for: other)
        } else if !isClosed, events.contains(.hangup) {
            // Nothing is read while the route is stalled, and this event would come again and again.
            return close(end.isClient ? .client : .upstream)
        }
        refresh()
    }

    private var isStalled: Bool { owner.mode(of: route) == .stalled }

    private func receive(_ end: ProxyEnd, for other: ProxyEnd) {
        let count = end.receive()
        if count > 0 {
            var dueMs: UInt64 = 0
            if case .delayed(let ms) = owner.mode(of: route) {
                dueMs = owner.loop.nowMs + ms
                owner.tick()
            }
            other.queue.append((dueMs, end.taken(count)))
            other.waiting += count
            if !other.isConnecting { send(other) }
        } else if !Socket.wouldBlock(count) {
            if count < 0 { return close(end.isClient ? .client : .upstream) }
            end.hasEnded = true
            if other.queue.isEmpty { close(end.isClient ? .client : .upstream) } else { owner.tick() }
        }
    }

    private func send(_ end: ProxyEnd) {
        guard !isStalled, !end.isConnecting else { return }
        while let first = end.queue.first, first.dueMs <= owner.loop.nowMs {
            let count = end.send(first.bytes)
            if count < 0 {
                if !Socket.wouldBlock(count) { close(end.isClient ? .client : .upstream) }
                return
            }
            end.waiting -= count
            if count < first.bytes.count {
                end.queue[0].bytes = first.bytes[(first.bytes.startIndex + count)...]
                return
            }
            end.queue.removeFirst()
        }
    }

    /// Moves what is due and sets what the sockets are watched for.
    func refresh() {
        guard !isClosed, let client, let server else { return }
        send(client)
        if !isClosed { send(server) }
        guard !isClosed else { return }
        if client.hasEnded, server.queue.isEmpty { return close(.client) }
        if server.hasEnded, client.queue.isEmpty { return close(.upstream) }
        watch(client, whileRoomIn: server)
        watch(server, whileRoomIn: client)
    }

    private func watch(_ end: ProxyEnd, whileRoomIn other: ProxyEnd) {
        guard let registration = end.registration else { return }
        var interest: IOEvents = []
        if end.isConnecting {
            interest = .writable
        } else if !isStalled {
            if !end.hasEnded, other.waiting < Self.waitingMax { interest.insert(.readable) }
            if let first = end.queue.first, first.dueMs <= owner.loop.nowMs { interest.insert(.writable) }
        }
        owner.loop.setInterest(registration, interest)
    }

    /// Ends both connections; by a reset when the proxy does it on its own account.
    func close(_ cause: ProxyLink.Cause) {
        guard !isClosed else { return }
        isClosed = true
        for end in [client, server] {
            guard let end else { continue }
            if let registration = end.registration { owner.loop.remove(registration) }
            if cause == .proxy { Socket.reset(end.descriptor) } else { Socket.close(end.descriptor) }
        }
        owner.closed(self, cause)
        client = nil
        server = nil
    }
}

/// One of the two sockets of a connection.
final class ProxyEnd: IOHandler {
    private weak var connection: ProxyConnection?
    let descriptor: Int32
    let isClient: Bool
    var registration: Registration?
    var isConnecting = false
    /// Whether it will send nothing more.
    var hasEnded = false
    /// What is to be sent to it, each piece not before its time.
    var queue: [(dueMs: UInt64, bytes: ArraySlice<UInt8>)] = []
    var waiting = 0
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)

    init(_ connection: ProxyConnection, descriptor: Int32, isClient: Bool) {
        self.connection = connection
        self.descriptor = descriptor
        self.isClient = isClient
    }

    func ioReady(_ events: IOEvents) { connection?.ready(self, events) }

    func receive() -> Int {
        unsafe buffer.withUnsafeMutableBytes { unsafe Socket.recv(descriptor, into: $0) }
    }

    /// A copy of what was just received.
    func taken(_ count: Int) -> ArraySlice<UInt8> { ArraySlice(Array(buffer[..<count])) }

    func send(_ bytes: ArraySlice<UInt8>) -> Int {
        unsafe bytes.withUnsafeBytes { unsafe Socket.send(descriptor, $0) }
    }
}
