internal import Core
internal import Glibc

/// An HTTP/2 client session with its own frames: nghttp2 only decompresses response headers.
///
/// A request is serialised in ``produce(budget:into:)``, its HEADERS next to its DATA, straight into the TLS
/// layer's buffer. Until then nothing of it is anywhere, so a request that is given up before was never
/// written. While the connection's send window is used up, requests with a body wait as a whole: what was
/// started is finished first, in order, so that no stream starves.
///
/// - Ownership: owns its notes. Borrows a request's bytes until its outcome; keeps the templates it uses.
/// - Cost: no allocation a request in steady state.
@safe
final class FramedSession: ClientSession {
    let notes: UnsafeMutablePointer<ClientNotes>
    let slab: RequestSlab
    let decoder: HeaderDecoder
    var encoder = HeaderEncoder()
    var blocks = HeaderBlocks()
    var streams = StreamTable()
    var settings = PeerSettings()
    var window = SendWindow()
    // Room for many small answers at once, so that WINDOW_UPDATEs are rare.
    var received = ReceiveWindow(size: 1 << 20)
    var idleFrames = IdleFrameBudget()
    /// Frames that go out before any request's.
    var control = ByteBuffer(capacity: 256)
    /// Acknowledgements among them.
    var acks = 0
    /// Requests that have a stream id and nothing else yet.
    var pending = SendQueue()
    /// Streams whose HEADERS are out and whose body isn't, and that wait for the connection only.
    var started = SendQueue()
    private var nextID: Int64 = 1
    /// The newest stream of which the server may know.
    var lastSentID: Int32 = 0
    /// The newest stream that the server's GOAWAY leaves alive.
    var lastStreamAlive = Int32.max
    var hasGoAway = false
    private var saidGoAway = false
    private(set) var fault: ConnectionFault?

    // What was received of a frame that isn't complete, and of a header block.
    var partial = ByteBuffer(capacity: 1024)
    var block = ByteBuffer(capacity: 16)
    /// The HEADERS whose block goes on in CONTINUATION frames; a length of -1 for none.
    var openBlock = FrameHeader(length: -1, type: FrameType.headers, streamID: 0)
    var continuations = 0
    /// Our SETTINGS, until the server has acknowledged them.
    var awaitsSettingsAck = true

    init(slab: RequestSlab, connection: UInt32) throws(TransportFailure) {
        decoder = try HeaderDecoder()
        let notes = UnsafeMutablePointer<ClientNotes>.allocate(capacity: 1)
        unsafe notes.initialize(to: ClientNotes(slab: slab, connection: connection))
        unsafe self.notes = unsafe notes
        self.slab = slab
        control.append("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        // ENABLE_PUSH 0 and NO_RFC7540_PRIORITIES 1 (RFC 9218 section 2.1).
        append(FrameType.settings, payload: [0, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1])
        giveBack(UInt32(received.size - SendWindow.initial), streamID: 0)
    }

    deinit {
        unsafe notes.deinitialize(count: 1)
        unsafe notes.deallocate()
    }

    // MARK: What the connection asks

    var isOver: Bool {
        guard control.isEmpty else { return false }
        if fault != nil { return true }
        return (hasGoAway || saidGoAway) && streams.isEmpty && pending.isEmpty
    }

    var streamLimit: UInt32 { settings.streamLimit }

    var limitPassed: SessionLimit? { fault?.limit }

    var idsAreUsedUp: Bool { nextID > Int64(Int32.max) - 4096 }

    func skip(toStreamID id: Int32) { nextID = Int64(id) }

    func submit(_ index: Int32, _ template: CompiledTemplate) -> Submitted {
        let slot = unsafe slab.slots + Int(index)
        guard unsafe slot.pointee.request.isWellFormed else { return .malformed }
        guard nextID <= Int64(Int32.max), !hasGoAway, fault == nil else { return .refused }
        let streamID = Int32(truncatingIfNeeded: nextID)
        nextID += 2
        unsafe slot.pointee.bodySent = 0
        unsafe slot.pointee.isWritten = false
        unsafe slot.pointee.streamID = streamID
        unsafe slot.pointee.connection = unsafe notes.pointee.connection
        pending.append(
            SendQueue.Item(streamID: streamID, slot: index, template: blocks.use(template)))
        return .ok
    }

    func cancel(_ streamID: Int32) {
        if unsafe streams.find(streamID) != nil {
            reset(streamID, .cancel)
            streams.remove(streamID)
            unsafe notes.pointee.closedStreams += 1
        } else {
            // Counted as closed when its turn comes.
            _ = pending.cancel(streamID)
        }
    }

    func ping() { append(FrameType.ping, payload: [UInt8](repeating: 0, count: 8)) }

    func goAway() {
        saidGoAway = true
        let code = (fault?.code ?? .noError).rawValue
        // We accept no streams of the server, so the last one is 0.
        append(FrameType.goAway, payload: [0, 0, 0, 0] + Self.bigEndian(code))
    }

    // MARK: Control frames

    static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    func append(_ type: UInt8, flags: UInt8 = 0, streamID: Int32 = 0, payload: [UInt8]) {
        let header = FrameHeader(length: payload.count, type: type, flags: flags, streamID: streamID)
        unsafe control.appendWith(minimum: FrameHeader.byteCount) { room in
            guard let base = room.baseAddress else { return 0 }
            unsafe header.write(to: base.assumingMemoryBound(to: UInt8.self))
            return FrameHeader.byteCount
        }
        control.append(array: payload)
    }

    func giveBack(_ count: UInt32, streamID: Int32) {
        append(FrameType.windowUpdate, streamID: streamID, payload: Self.bigEndian(count))
    }

    func reset(_ streamID: Int32, _ code: HTTP2Code) {
        append(FrameType.resetStream, streamID: streamID, payload: Self.bigEndian(code.rawValue))
    }

    /// Ends a stream because the server broke its rules.
    func fail(_ stream: ClientStream, _ code: HTTP2Code) {
        reset(stream.id, code)
        close(stream, code)
    }

    /// Forgets a stream that is over on both sides.
    func close(_ stream: ClientStream, _ code: HTTP2Code) {
        unsafe notes.pointee.close(stream.slot, stream.id, code)
        streams.remove(stream.id)
    }

    func fail(_ fault: ConnectionFault) { if self.fault == nil { self.fault = fault } }
}
