internal import CNghttp2
internal import Core

/// What a server announces and bounds.
package struct HTTP2ServerOptions: Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS in the first SETTINGS; nil leaves it out, which means no limit.
    package var maxConcurrentStreams: UInt32? = 1000
    /// SETTINGS_INITIAL_WINDOW_SIZE: the receive window of each stream.
    package var streamWindow: UInt32 = 65_535
    /// The receive window of the connection; 65,535 is the protocol's default and lower values are ignored.
    package var connectionWindow: Int32 = 65_535
    /// Bytes of headers a request may have before its stream is reset.
    package var headerBytesMax = 16 * 1024
    /// Bytes of body kept for a request; the rest is dropped and marked.
    package var bodyBytesMax = 64 * 1024

    package init() {}
}

/// What happens on a server session, noted by the callbacks and handled once nghttp2 has returned.
@safe
final class ServerStreams {
    enum Event {
        case complete(slot: Int32, streamID: Int32)
        case closed(streamID: Int32, code: UInt32)
    }

    let options: HTTP2ServerOptions
    private(set) var slots: UnsafeMutablePointer<ServerStream>
    private var capacity = 0
    private var free: [Int32] = []
    var events: [Event] = []
    var pingAcks: UInt64 = 0
    var current: Int32 = -1

    init(options: HTTP2ServerOptions) {
        self.options = options
        unsafe slots = UnsafeMutablePointer<ServerStream>.allocate(capacity: 0)
    }

    deinit {
        unsafe slots.deinitialize(count: capacity)
        unsafe slots.deallocate()
    }

    func take(_ streamID: Int32) -> Int32 {
        if free.isEmpty { grow() }
        let slot = free.removeLast()
        unsafe slots[Int(slot)].reset(streamID: streamID)
        return slot
    }

    func release(_ slot: Int32) {
        unsafe slots[Int(slot)].phase = .free
        unsafe slots[Int(slot)].streamID = 0
        free.append(slot)
    }

    private func grow() {
        let size = max(16, capacity * 2)
        let fresh = UnsafeMutablePointer<ServerStream>.allocate(capacity: size)
        unsafe fresh.moveInitialize(from: slots, count: capacity)
        for index in capacity..<size {
            unsafe (fresh + index).initialize(to: ServerStream())
            free.append(Int32(index))
        }
        unsafe slots.deallocate()
        unsafe slots = fresh
        capacity = size
    }

    /// The slot behind nghttp2's stream user data, if it still belongs to the stream.
    func slot(_ data: UnsafeMutableRawPointer?, _ streamID: Int32) -> Int32? {
        guard let data = unsafe data else { return nil }
        let index = Int(bitPattern: data) - 1
        guard index >= 0, index < capacity, unsafe slots[index].streamID == streamID else { return nil }
        return Int32(index)
    }
}

/// One nghttp2 server session: bytes in, requests and bytes out. No socket, no TLS.
///
/// - Ownership: owns the session; the callbacks' context is kept alive by this object.
@safe
final class HTTP2ServerSession {
    let streams: ServerStreams
    private let memory: NativeMemory
    private let raw: OpaquePointer
    private let header: UnsafeMutablePointer<nghttp2_nv>
    // Set once a header's name is in the compression table, so that later values refer to it by number.
    private var namesIndexed: UInt32 = 0

    init(options: HTTP2ServerOptions) throws(TransportFailure) {
        let streams = ServerStreams(options: options)
        let memory = NativeMemory()
        guard let session = unsafe ServerCallbacks.makeSession(streams, memory) else {
            throw TransportFailure(.outOfMemory, "nghttp2 has no memory for a session")
        }
        self.streams = streams
        self.memory = memory
        unsafe raw = session
        unsafe header = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: ResponseHeaders.countMax + 1)
        submitFirstSettings()
    }

    deinit {
        unsafe nghttp2_session_del(raw)
        unsafe header.deallocate()
    }

    private func submitFirstSettings() {
        var entries: [nghttp2_settings_entry] = []
        if let limit = streams.options.maxConcurrentStreams {
            entries.append(Self.setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limit))
        }
        if streams.options.streamWindow != 65_535 {
            entries.append(
                Self.setting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, streams.options.streamWindow))
        }
        unsafe nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        if streams.options.connectionWindow > 65_535 {
            unsafe nghttp2_session_set_local_window_size(
                raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, streams.options.connectionWindow)
        }
    }

    private static func setting(_ id: nghttp2_settings_id, _ value: UInt32) -> nghttp2_settings_entry {
        nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value)
    }

    /// Takes plaintext from the client.
    /// - Returns: false when the client broke the protocol beyond repair.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let taken = unsafe nghttp2_session_mem_recv(
            raw, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        return taken == bytes.count
    }

    /// Serialises up to about `budget` bytes of waiting frames.
    /// - Returns: true when nothing more waits, false when the budget was used up, nil on a fatal error.
    func produce(budget: Int, _ sink: (UnsafeRawBufferPointer) -> Void) -> Bool? {
        var produced = 0
        while produced < budget {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(raw, &frame)
            if count < 0 { return nil }
            if count == 0 { return true }
            unsafe sink(UnsafeRawBufferPointer(start: frame, count: count))
            produced += count
        }
        return false
    }

    /// Whether the session has nothing left to do in either direction.
    var isOver: Bool {
        unsafe nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0
    }

    /// Queues a response. False when the stream is gone or already answered.
    func respond(
        _ streamID: Int32, status: UInt16, headers: borrowing ResponseHeaders, body: UnsafeRawBufferPointer
    ) -> Bool {
        let data = unsafe nghttp2_session_get_stream_user_data(raw, streamID)
        guard let slot = unsafe streams.slot(data, streamID) else { return false }
        let stream = unsafe streams.slots + Int(slot)
        guard unsafe stream.pointee.phase != .responded else { return false }
        unsafe stream.pointee.phase = .responded
        unsafe stream.pointee.out.append(unsigned: UInt64(min(max(status, 100), 999)))
        unsafe stream.pointee.out.append(headers.values.bytes)
        unsafe stream.pointee.out.append(body)
        unsafe stream.pointee.outSent = 3 + headers.values.count
        guard let base = unsafe stream.pointee.out.bytes.baseAddress else { return false }
        let start = unsafe UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self))
        unsafe header[0] = Self.field(":status", start, 3, 0)
        for index in 0..<headers.count { unsafe fill(index, headers.entries[index], start + 3) }
        var provider = unsafe nghttp2_data_provider()
        unsafe provider.source.ptr = data
        unsafe provider.read_callback = ServerCallbacks.readBody
        let result =
            unsafe body.isEmpty
            ? nghttp2_submit_response(raw, streamID, header, headers.count + 1, nil)
            : nghttp2_submit_response(raw, streamID, header, headers.count + 1, &provider)
        return result == 0
    }

    private func fill(_ index: Int, _ entry: ResponseHeaders.Entry, _ values: UnsafeMutablePointer<UInt8>) {
        var flags: UInt32 = 0
        if entry.header.changes {
            let bit = UInt32(1) << UInt32(entry.header.rawValue)
            if namesIndexed & bit != 0 { flags = NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
            namesIndexed |= bit
        }
        unsafe header[index + 1] = Self.field(
            entry.header.name, values + Int(entry.start), Int(entry.count), flags)
    }

    private static func field(
        _ name: StaticString, _ value: UnsafeMutablePointer<UInt8>, _ count: Int, _ flags: UInt32
    ) -> nghttp2_nv {
        // nghttp2 keeps the two pointers until the frame is serialised and never writes through them.
        let noCopy = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        return unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start), value: value,
            namelen: name.utf8CodeUnitCount, valuelen: count,
            flags: UInt8(truncatingIfNeeded: flags | noCopy))
    }

    func reset(_ streamID: Int32, _ code: HTTP2Code) {
        unsafe nghttp2_submit_rst_stream(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, code.rawValue)
    }

    func goAway(lastStreamID: Int32, _ code: HTTP2Code, _ debugData: UnsafeRawBufferPointer) {
        unsafe nghttp2_submit_goaway(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStreamID, code.rawValue,
            debugData.baseAddress?.assumingMemoryBound(to: UInt8.self), debugData.count)
    }

    func setMaxConcurrentStreams(_ limit: UInt32) {
        var entry = Self.setting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limit)
        unsafe nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), &entry, 1)
    }

    func ping() { unsafe nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    /// The highest stream the client has opened.
    var lastStreamID: Int32 { unsafe nghttp2_session_get_last_proc_stream_id(raw) }
}
