import CMicrohttpd
import EventLoop
import Glibc
import Synchronization

/// One connection of a server: whose it is, and until when the peer has to have done its part.
///
/// libmicrohttpd's own timeout begins anew with every byte, so a peer that dribbles would never be cut off.
/// - Threading: any; `descriptor` is only used under the lock of `HTTPConnections`.
final class HTTPConnection: Sendable {
    /// The peer's numeric address; empty when it is unknown.
    let remote: String
    let descriptor: Int32
    /// In monotonic ms; 0 while the peer owes nothing.
    private let dueMs: Atomic<UInt64>

    init(remote: String, descriptor: Int32, dueMs: UInt64) {
        self.remote = remote
        self.descriptor = descriptor
        self.dueMs = Atomic(dueMs)
    }

    func setDue(ms: UInt64) { dueMs.store(ms, ordering: .relaxed) }

    func isOverdue(nowMs: UInt64) -> Bool {
        let due = dueMs.load(ordering: .relaxed)
        return due > 0 && due < nowMs
    }
}

/// The connections of a server, and the thread that cuts those off whose peers take too long.
///
/// - Threading: any.
final class HTTPConnections: Sendable {
    private let requestMs: UInt64
    private let idleMs: UInt64
    private let open = Locked<[ObjectIdentifier: HTTPConnection]>([:])
    private let stopping = BlockingQueue<Void>(capacity: 1)
    private let watcher: Locked<WorkerThread?> = Locked(nil)

    init(options: HTTPServerOptions) {
        requestMs = options.requestTimeoutMs
        idleMs = UInt64(options.idleTimeoutSeconds) * 1000
    }

    /// Starts to watch, if anything is bounded.
    func start() {
        guard requestMs > 0 else { return }
        let period = min(500, max(20, requestMs / 8))
        let thread = WorkerThread.start(name: "http-watch") { [self] in
            var batch: [Void] = []
            while stopping.take(into: &batch, timeoutMs: period) { cutOff() }
        }
        watcher.withLock { $0 = thread }
    }

    func stop() {
        stopping.close()
        let thread = watcher.withLock { (thread: inout WorkerThread?) -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }

    func opened(remote: String, descriptor: Int32) -> HTTPConnection {
        let connection = HTTPConnection(remote: remote, descriptor: descriptor, dueMs: headDueMs)
        open.withLock { $0[ObjectIdentifier(connection)] = connection }
        return connection
    }

    /// To be called before the descriptor is closed.
    func closed(_ connection: HTTPConnection) {
        open.withLock { $0[ObjectIdentifier(connection)] = nil }
    }

    var count: Int { open.withLock { $0.count } }

    /// When a head has to be here that may still be waited for.
    var headDueMs: UInt64 { requestMs > 0 ? Clock.monotonicMs + requestMs + idleMs : 0 }
    /// When a body has to be here, or an answer gone.
    var bodyDueMs: UInt64 { requestMs > 0 ? Clock.monotonicMs + requestMs : 0 }

    private func cutOff() {
        let now = Clock.monotonicMs
        open.withLock { connections in
            // The server's thread sees the end and closes; until then the descriptor is this connection's.
            for connection in connections.values where connection.isOverdue(nowMs: now) {
                _ = shutdown(connection.descriptor, Int32(SHUT_RDWR))
            }
        }
    }
}

/// Thread: the server's. A connection was accepted, or is about to be closed.
func httpConnection(
    _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
    _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
    guard let context = unsafe context, let connection = unsafe connection, let slot = unsafe slot else {
        return
    }
    let core = unsafe Unmanaged<HTTPServerCore>.fromOpaque(context).takeUnretainedValue()
    if peal_mhd_is_start(code) != 0 {
        let remote = unsafe peal_mhd_client(connection).map { unsafe SocketAddress.text(of: $0) } ?? ""
        let opened = unsafe core.connections.opened(
            remote: remote, descriptor: peal_mhd_descriptor(connection))
        // Retained by the slot; released below, which libmicrohttpd calls once for each connection.
        unsafe slot.pointee = Unmanaged.passRetained(opened).toOpaque()
    } else if let known = unsafe slot.pointee {
        unsafe slot.pointee = nil
        core.connections.closed(unsafe Unmanaged<HTTPConnection>.fromOpaque(known).takeRetainedValue())
    }
}
