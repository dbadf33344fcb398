internal import Core
internal import EventLoop
internal import Glibc
internal import Security

/// One TLS connection over one socket, with writes gathered into records. Shared by client and server.
///
/// - Ownership: owns the descriptor; ``close()`` gives it back to the kernel.
/// - Threading: the loop's.
@safe
final class TLSStream {
    /// What a receive led to.
    enum Received: Equatable {
        /// Plaintext was handed on, and everything the socket had has been read.
        case drained
        /// Plaintext was handed on, and the socket may have more: epoll reports it again.
        case more
        /// The peer closed, in good order or not.
        case closed
        /// The TLS layer or the socket failed.
        case failed(String)
    }

    /// Ciphertext that may wait for the socket before serialising stops.
    static let backlogMax = 256 * 1024
    static let recordBytes = 16_384
    private static let receiveBytes = 65_536

    let tls: TLSConnection
    private let loop: EventLoop
    private(set) var descriptor: Int32
    private var registration: Registration?
    private let plain: UnsafeMutableRawBufferPointer
    private var staging = ByteBuffer(capacity: 96 * 1024)
    private var writes = 0
    private var waitsForSocket = false
    private(set) var bytesIn: UInt64 = 0
    private(set) var bytesOut: UInt64 = 0

    init(loop: EventLoop, descriptor: Int32, tls: TLSConnection) {
        self.loop = loop
        self.descriptor = descriptor
        self.tls = tls
        unsafe plain = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.recordBytes * 2, alignment: 16)
    }

    deinit {
        unsafe plain.deallocate()
        if descriptor >= 0 { Socket.close(descriptor) }
    }

    func register(_ handler: any IOHandler, interest: IOEvents) throws(SystemFailure) {
        registration = try loop.add(descriptor: descriptor, interest: interest, handler: handler)
        waitsForSocket = interest.contains(.writable)
    }

    /// Whether ciphertext waits for a slow peer so that nothing more should be serialised.
    var isBacklogged: Bool { tls.outgoing.count >= Self.backlogMax }
    /// Whether everything written has been taken by the kernel.
    var isFlushed: Bool { tls.outgoing.isEmpty && staging.isEmpty }

    // MARK: Receiving

    /// Takes one helping from the socket into the TLS layer.
    func fill() -> Received {
        guard descriptor >= 0 else { return .closed }
        var result = 0
        let descriptor = self.descriptor
        var lent = 0
        unsafe tls.incoming.appendWith(minimum: Self.receiveBytes) { free in
            lent = free.count
            result = unsafe Socket.recv(descriptor, into: free)
            return max(0, result)
        }
        if result > 0 {
            bytesIn &+= UInt64(result)
            return result == lent ? .more : .drained
        }
        if result == 0 { return .closed }
        return Socket.wouldBlock(result) || result == -Int(EINTR)
            ? .drained : .failed(Self.text("receive", result))
    }

    /// Decrypts what has been received and hands each piece on until `body` returns false.
    /// - Returns: `.drained` when all was read or refused, else how the stream ended.
    func decrypt(_ body: (UnsafeRawBufferPointer) -> Bool) -> Received {
        while true {
            do {
                switch try unsafe tls.read(into: plain) {
                case .bytes(let count):
                    if unsafe !body(UnsafeRawBufferPointer(rebasing: plain[..<count])) { return .drained }
                case .wantsMore: return .drained
                case .closed: return .closed
                }
            } catch {
                return .failed(error.message)
            }
        }
    }

    // MARK: Sending

    /// Starts a burst of writes: the first four go out record by record, later ones 64 KiB at a time.
    func beginBurst() { writes = 0 }

    /// Room in the burst's present batch.
    var batchRoom: Int {
        max(1, (writes < 4 ? Self.recordBytes : 4 * Self.recordBytes) - staging.count)
    }

    /// Gathers plaintext; nothing is encrypted yet.
    @inline(__always)
    func gather(_ bytes: UnsafeRawBufferPointer) { unsafe staging.append(bytes) }

    /// Lends the buffer in which plaintext is gathered, to be appended to.
    @inline(__always)
    func gather<Result>(_ body: (inout ByteBuffer) -> Result) -> Result { body(&staging) }

    /// Encrypts and sends the whole records that were gathered, and with `all` the rest too.
    /// - Returns: nil, or why the connection failed.
    func send(all: Bool) -> String? {
        let ready = all ? staging.count : staging.count / Self.recordBytes * Self.recordBytes
        if ready > 0 {
            do {
                try unsafe tls.write(UnsafeRawBufferPointer(rebasing: staging.bytes[..<ready]))
            } catch {
                return error.message
            }
            staging.consume(ready)
            writes += 1
        }
        return transmit()
    }

    /// Sends ciphertext until the kernel takes no more, and waits for it to do so.
    func transmit() -> String? {
        guard descriptor >= 0 else { return nil }
        while !tls.outgoing.isEmpty {
            let count = unsafe Socket.send(descriptor, tls.outgoing.bytes)
            if count > 0 {
                bytesOut &+= UInt64(count)
                tls.outgoing.consume(count)
                continue
            }
            if count == -Int(EINTR) { continue }
            if Socket.wouldBlock(count) { break }
            return Self.text("send", count)
        }
        setWaits(!tls.outgoing.isEmpty)
        return nil
    }

    private func setWaits(_ waits: Bool) {
        guard waits != waitsForSocket, let registration else { return }
        waitsForSocket = waits
        loop.setInterest(registration, waits ? [.readable, .writable] : .readable)
    }

    private static func text(_ doing: String, _ result: Int) -> String {
        SystemFailure(errno: Int32(clamping: -result), doing: doing).description
    }

    // MARK: Ending

    /// Closes the socket. With `reset` the peer gets a TCP reset instead of an orderly end.
    func close(reset: Bool = false) {
        guard descriptor >= 0 else { return }
        if let registration { loop.remove(registration) }
        registration = nil
        if reset {
            var option = linger(l_onoff: 1, l_linger: 0)
            unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
        Socket.close(descriptor)
        descriptor = -1
    }
}
