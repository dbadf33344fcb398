internal import Core
internal import EventLoop
internal import Glibc

/// A small HTTP proxy that opens tunnels by CONNECT, on threads of its own, for tests.
package final class ConnectProxy: Sendable {
    /// What it does with a request.
    package enum Conduct: Sendable {
        /// Opens the tunnel; with credentials only for who bears `user:password`.
        case tunnel(credentials: String?)
        /// Answers this status line and closes.
        case answer(String)
        /// Reads and says nothing.
        case hang
        /// Closes at once.
        case close
    }

    package let port: UInt16
    private let listener: Int32
    private let conduct: Locked<Conduct>
    private let heads = Locked<[String]>([])
    private let stopping = Locked(false)
    private let acceptor: Locked<WorkerThread?> = Locked(nil)

    /// Listens on a free port of the loopback address.
    package init(_ conduct: Conduct) throws {
        listener = try Socket.listen(host: "127.0.0.1", port: 0)
        port = Socket.port(of: listener)
        self.conduct = Locked(conduct)
        let thread = WorkerThread.start(name: "test-proxy") { [self] in accept() }
        acceptor.withLock { $0 = thread }
    }

    /// The request heads so far.
    package var requests: [String] { heads.withLock { $0 } }

    /// Changes what is done with later requests.
    package func set(_ conduct: Conduct) { self.conduct.withLock { $0 = conduct } }

    /// Closes the port and ends every tunnel.
    package func stop() {
        stopping.withLock { $0 = true }
        acceptor.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    private var isStopping: Bool { stopping.withLock { $0 } }

    private func accept() {
        var workers: [WorkerThread] = []
        while !isStopping {
            guard wait([listener]).first == true, let client = Socket.accept(listener) else { continue }
            workers.append(WorkerThread.start(name: "test-tunnel") { [self] in serve(client) })
        }
        Socket.close(listener)
        for worker in workers { worker.join() }
    }

    /// Which of the descriptors can be read, after at most 50 ms.
    private func wait(_ descriptors: [Int32]) -> [Bool] {
        var list = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        _ = poll(&list, nfds_t(list.count), 50)
        return list.map { $0.revents != 0 }
    }

    private func receive(_ descriptor: Int32) -> [UInt8]? {
        var room = [UInt8](repeating: 0, count: 65_536)
        let count = room.withUnsafeMutableBytes { Socket.recv(descriptor, into: $0) }
        if count < 0 { return Socket.wouldBlock(count) ? [] : nil }
        return count == 0 ? nil : Array(room[..<count])
    }

    private func send(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count, !isStopping {
            let count = bytes.withUnsafeBytes {
                Socket.send(descriptor, UnsafeRawBufferPointer(rebasing: $0[sent...]))
            }
            if count > 0 {
                sent += count
            } else if Socket.wouldBlock(count) {
                var list = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&list, 1, 50)
            } else {
                return false
            }
        }
        return sent == bytes.count
    }

    private func serve(_ client: Int32) {
        defer { Socket.close(client) }
        guard let head = readHead(client) else { return }
        heads.withLock { $0.append(head) }
        switch conduct.withLock({ $0 }) {
        case .hang: while !isStopping { _ = wait([]) }
        case .close: return
        case .answer(let line): _ = send(client, Array("\(line)\r\n\r\n".utf8))
        case .tunnel(let credentials):
            if let credentials, !head.contains("Basic \(Base64.encode(Array(credentials.utf8)))\r\n") {
                let answer =
                    "HTTP/1.1 407 Proxy Authentication Required\r\n"
                    + "Proxy-Authenticate: Basic realm=\"test\"\r\nContent-Length: 0\r\n\r\n"
                _ = send(client, Array(answer.utf8))
                // The client reads the answer before the end.
                _ = wait([client])
                return
            }
            relay(client, head)
        }
    }

    private func readHead(_ client: Int32) -> String? {
        var bytes: [UInt8] = []
        while !isStopping, bytes.count < 65_536 {
            if wait([client]).first == true {
                guard let more = receive(client) else { return nil }
                bytes += more
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if text.hasSuffix("\r\n\r\n") { return text }
        }
        return nil
    }

    private func relay(_ client: Int32, _ head: String) {
        let target = head.split(separator: " ").dropFirst().first ?? ""
        guard let colon = target.lastIndex(of: ":"), let port = UInt16(target[target.index(after: colon)...]),
            let server = try? Socket.connect(host: "127.0.0.1", port: port)
        else { return }
        defer { Socket.close(server) }
        var ready = pollfd(fd: server, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, 5_000)
        guard Socket.connectResult(server) == 0 else {
            _ = send(client, Array("HTTP/1.1 502 Bad Gateway\r\n\r\n".utf8))
            return
        }
        guard send(client, Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)) else { return }
        while !isStopping {
            let isReady = wait([client, server])
            if isReady[0] {
                guard let bytes = receive(client), send(server, bytes) else { return }
            }
            if isReady[1] {
                guard let bytes = receive(server), send(client, bytes) else { return }
            }
        }
    }
}
