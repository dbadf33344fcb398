internal import CLinux
internal import Glibc

/// Non-blocking, close-on-exec stream sockets with TCP_NODELAY set. Descriptors are owned by the caller.
package enum Socket {
    /// Starts to connect to a numeric address; the descriptor turns writable when it is done.
    package static func connect(host: String, port: UInt16) throws(SystemFailure) -> Int32 {
        try SystemFailure.check(
            unsafe host.withCString { unsafe peal_tcp_connect($0, port, 0) }, "connect to \(host):\(port)")
    }

    /// Starts to connect to a Unix socket.
    package static func connectUnix(path: String) throws(SystemFailure) -> Int32 {
        try SystemFailure.check(
            unsafe path.withCString { unsafe peal_unix_connect($0) }, "connect to \(path)")
    }

    /// The result of a connect that has finished: 0 or a positive `errno`.
    package static func connectResult(_ descriptor: Int32) -> Int32 { -peal_tcp_connect_result(descriptor) }

    /// Listens on a numeric address; port 0 lets the kernel choose.
    package static func listen(
        host: String, port: UInt16, backlog: Int32 = 1024, reusePort: Bool = false
    ) throws(SystemFailure) -> Int32 {
        try SystemFailure.check(
            unsafe host.withCString { unsafe peal_tcp_listen($0, port, backlog, reusePort ? 1 : 0) },
            "listen on \(host):\(port)")
    }

    /// A loopback port that nobody listened on a moment ago, for a program that is started on it.
    ///
    /// It lies below those that the kernel gives to outgoing connections (32768 and up on Linux), so that
    /// none of them takes it while the program is down.
    package static func freePort() throws(SystemFailure) -> UInt16 {
        for _ in 0..<200 {
            let port = 12_000 + UInt16(RandomSource.seed() % 20_000)
            let descriptor = unsafe "127.0.0.1".withCString { unsafe peal_tcp_listen($0, port, 1, 0) }
            guard descriptor >= 0 else { continue }
            close(descriptor)
            return port
        }
        throw SystemFailure(errno: EADDRINUSE, doing: "find a free port on 127.0.0.1")
    }

    /// The local port of a socket.
    package static func port(of descriptor: Int32) -> UInt16 {
        UInt16(clamping: peal_tcp_port(descriptor))
    }

    /// The port at the other end of a connected TCP socket; 0 when there is none.
    package static func peerPort(of descriptor: Int32) -> UInt16 {
        UInt16(clamping: peal_tcp_peer_port(descriptor))
    }

    /// Closes the descriptor with a reset: what was not sent is lost, and the peer reads an error.
    package static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        _ = Glibc.close(descriptor)
    }

    /// The next waiting connection, or nil when there is none.
    package static func accept(_ descriptor: Int32) -> Int32? {
        let client = peal_accept(descriptor)
        return client >= 0 ? client : nil
    }

    /// Receives: more than 0 bytes, 0 when the peer closed, or `-errno` (`-EAGAIN` when there is nothing
    /// yet).
    package static func recv(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        unsafe peal_recv(descriptor, buffer.baseAddress, buffer.count)
    }

    /// Sends without raising SIGPIPE: the number of bytes taken, or `-errno`.
    package static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        unsafe peal_send(descriptor, bytes.baseAddress, bytes.count)
    }

    /// Whether a negative result only means "not now".
    package static func wouldBlock(_ result: Int) -> Bool { result == -Int(EAGAIN) }

    /// Ends the sending direction: the peer reads the end after everything that was sent.
    package static func shutdownWrite(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes the descriptor.
    package static func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }
}

/// Name look-up. It blocks, so it never runs on a loop.
package enum Resolver {
    /// The first address of `host` as numeric text.
    package static func resolve(_ host: String) throws(SystemFailure) -> String {
        var text = [CChar](repeating: 0, count: 64)
        var family: Int32 = 0
        let code = unsafe host.withCString { name in
            unsafe text.withUnsafeMutableBufferPointer {
                unsafe peal_resolve(name, $0.baseAddress, $0.count, &family)
            }
        }
        guard code == 0 else { throw SystemFailure(errno: EHOSTUNREACH, doing: "resolve the name \(host)") }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
