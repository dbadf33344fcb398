import CMicrohttpd
import EventLoop
import Glibc

/// The body of an answer that goes on for as long as both sides want, such as server-sent events: put it into
/// ``HTTPResponse/stream``, then ``send(_:)`` whenever there is something.
///
/// - Bounds: at most ``pendingMax`` bytes wait for the peer. One that lets more wait, or takes longer than
///   the server's `requestTimeoutMs` for what waits, is cut off. It costs no thread.
/// - Ownership: the server keeps it until the answer is over. ``close()`` ends the answer in good order, and
///   so does a server that stops.
/// - Threading: any.
/// - Safety: `connection` is only touched between libmicrohttpd's suspend and the one resume, while it keeps
///   the connection alive.
@safe package final class HTTPStream: @unchecked Sendable {
    /// Bytes that may wait for the peer.
    package let pendingMax: Int

    private enum Phase { case new, running, suspended, over }
    private let lock = Lock()
    private var phase = Phase.new
    private var isClosing = false
    private var pending: [UInt8] = []
    private var taken = 0
    private var connection: OpaquePointer?
    private var owner: HTTPConnection?
    private var timeoutMs: UInt64 = 0

    /// Makes a stream that nobody reads yet; what is sent before the answer begins waits.
    package init(pendingMax: Int = 256 << 10) { self.pendingMax = pendingMax }

    /// Whether the peer may still read it.
    package var isOpen: Bool { lock.withLock { !isClosing && phase != .over } }

    /// Bytes that the peer has not taken yet.
    package var waiting: Int { lock.withLock { pending.count - taken } }

    /// Hands bytes over; false when the answer is over, or ends because too much waits.
    package func send(_ bytes: [UInt8]) -> Bool {
        lock.withLock {
            guard !isClosing, phase != .over else { return false }
            guard pending.count - taken + bytes.count <= pendingMax else {
                isClosing = true
                // What waits is of no use any more; the server's watch ends the connection.
                owner?.setDue(ms: 1)
                return false
            }
            if taken == pending.count, timeoutMs > 0 { owner?.setDue(ms: Clock.monotonicMs + timeoutMs) }
            pending.removeFirst(taken)
            taken = 0
            pending.append(contentsOf: bytes)
            resume()
            return true
        }
    }

    /// Ends the answer once what waits is sent.
    package func close() {
        lock.withLock {
            guard !isClosing else { return }
            isClosing = true
            resume()
        }
    }

    // MARK: The server's side

    /// The answer begins on a connection.
    func begin(_ connection: OpaquePointer, owner: HTTPConnection?, timeoutMs: UInt64) {
        lock.withLock {
            guard phase == .new else { return }
            phase = .running
            unsafe self.connection = connection
            self.owner = owner
            self.timeoutMs = timeoutMs
        }
    }

    /// The answer is over, whatever became of it.
    func end() {
        lock.withLock {
            phase = .over
            unsafe connection = nil
            owner = nil
            pending = []
            taken = 0
        }
    }

    /// Gives libmicrohttpd the next bytes: how many, 0 after having suspended the connection, -1 at the end.
    func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        lock.withLock {
            let count = min(room.count, pending.count - taken)
            guard count > 0 else {
                guard !isClosing, phase == .running, let connection = unsafe connection else { return -1 }
                phase = .suspended
                // Everything was taken: from now on the peer owes nothing.
                owner?.setDue(ms: 0)
                unsafe MHD_suspend_connection(connection)
                return 0
            }
            unsafe pending.withUnsafeBytes {
                unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[taken..<taken + count]))
            }
            taken += count
            return count
        }
    }

    /// Under the lock.
    private func resume() {
        guard phase == .suspended, let connection = unsafe connection else { return }
        phase = .running
        unsafe MHD_resume_connection(connection)
    }
}

/// Thread: the server's. libmicrohttpd has room for more of a stream.
func httpStreamRead(
    _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ room: UnsafeMutablePointer<CChar>?, _ size: Int
) -> Int {
    guard let context = unsafe context, let room = unsafe room else { return -1 }
    let stream = unsafe Unmanaged<HTTPStream>.fromOpaque(context).takeUnretainedValue()
    return unsafe stream.read(into: UnsafeMutableRawBufferPointer(start: room, count: size))
}

/// Thread: the server's. The answer is over, and libmicrohttpd lets it go.
func httpStreamFree(_ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<HTTPStream>.fromOpaque(context).takeRetainedValue().end()
}
