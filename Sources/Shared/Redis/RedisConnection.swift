internal import Core
internal import EventLoop
internal import Security

/// One socket to Redis with its parser.
///
/// - Ownership: closes the socket in ``close(loop:)``, which its client calls exactly once.
final class RedisConnection {
    let descriptor: Int32
    let parser: ReplyParser
    var registration: Registration?
    /// Encrypts and decrypts; nil on a plain connection.
    let tls: TLSConnection?
    /// Whether the socket took less than it was given.
    var isBlocked = false

    init?(descriptor: Int32, tls: TLSConnection?) {
        guard let parser = ReplyParser() else { return nil }
        self.descriptor = descriptor
        self.parser = parser
        self.tls = tls
    }

    func close(loop: EventLoop) {
        if let registration { loop.remove(registration) }
        registration = nil
        Socket.close(descriptor)
    }
}

/// A resolved host name, on its way from the thread that looked it up.
struct HostLookup: Sendable {
    let attempt: UInt64
    let result: Result<String, SystemFailure>
}
