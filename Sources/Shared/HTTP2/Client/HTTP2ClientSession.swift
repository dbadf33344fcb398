internal import CNghttp2
internal import Core

/// An nghttp2 session as a ``ClientSession``: the oracle that ``FramedSession`` is held to.
///
/// - Ownership: owns the session. The callbacks' context and the session's memory are kept alive by this
///   object.
@safe
final class HTTP2ClientSession: ClientSession {
    let notes: UnsafeMutablePointer<ClientNotes>
    private let slab: RequestSlab
    private let memory: NativeMemory
    private let raw: OpaquePointer
    // Bit set once a header's name is in the compression table, so that later values refer to it by number.
    private var namesIndexed: UInt32 = 0

    init(slab: RequestSlab, connection: UInt32) throws(TransportFailure) {
        let notes = UnsafeMutablePointer<ClientNotes>.allocate(capacity: 1)
        unsafe notes.initialize(to: ClientNotes(slab: slab, connection: connection))
        let memory = NativeMemory()
        guard let session = unsafe ClientCallbacks.makeSession(notes, memory) else {
            unsafe notes.deinitialize(count: 1)
            unsafe notes.deallocate()
            throw TransportFailure(.outOfMemory, "nghttp2 has no memory for a session")
        }
        unsafe self.notes = unsafe notes
        self.slab = slab
        self.memory = memory
        unsafe raw = unsafe session
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES.rawValue), value: 1),
        ]
        unsafe nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        // Room for many small answers at once, so that WINDOW_UPDATEs are rare.
        unsafe nghttp2_session_set_local_window_size(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, 1 << 20)
    }

    deinit {
        unsafe nghttp2_session_del(raw)
        unsafe notes.deinitialize(count: 1)
        unsafe notes.deallocate()
    }

    func submit(_ index: Int32, _ template: CompiledTemplate) -> Submitted {
        let slot = unsafe slab.slots + Int(index)
        let block = unsafe template.block
        guard let path = unsafe slot.pointee.request.path.baseAddress else { return .malformed }
        let pathCount = unsafe slot.pointee.request.path.count
        let pathBytes = unsafe path.assumingMemoryBound(to: UInt8.self)
        guard unsafe pathBytes[0] == UInt8(ascii: "/"), unsafe FieldBytes.isClean(pathBytes, pathCount)
        else { return .malformed }
        unsafe block[CompiledTemplate.pathIndex].value = unsafe UnsafeMutablePointer(mutating: pathBytes)
        unsafe block[CompiledTemplate.pathIndex].valuelen = pathCount
        var count = template.fixedCount
        for at in unsafe 0..<(slot.pointee.request.headerCount) {
            let value = unsafe slot.pointee.request.headers[at]
            guard unsafe fill(block + count, value) else { return .malformed }
            count += 1
        }
        let bodyCount = unsafe slot.pointee.request.body.count
        if bodyCount > 0 {
            let (digits, digitCount) = unsafe slab.writeLength(Int(index), bodyCount)
            let name: StaticString = "content-length"
            unsafe block[count] = unsafe CompiledTemplate.field(
                name.utf8Start, name.utf8CodeUnitCount, digits, digitCount, indexed: true)
            count += 1
        }
        unsafe slot.pointee.bodySent = 0
        unsafe slot.pointee.isWritten = bodyCount == 0
        let data = unsafe UnsafeMutableRawPointer(bitPattern: Int(index) + 1)
        var provider = unsafe nghttp2_data_provider()
        unsafe provider.source.ptr = unsafe data
        unsafe provider.read_callback = unsafe ClientCallbacks.readBody
        let streamID =
            unsafe bodyCount > 0
            ? nghttp2_submit_request(raw, nil, block, count, &provider, data)
            : nghttp2_submit_request(raw, nil, block, count, nil, data)
        guard streamID > 0 else { return .refused }
        unsafe slot.pointee.streamID = streamID
        unsafe slot.pointee.connection = unsafe notes.pointee.connection
        return .ok
    }

    private func fill(_ place: UnsafeMutablePointer<nghttp2_nv>, _ value: OutgoingRequest.Value) -> Bool {
        guard let base = unsafe value.base, unsafe FieldBytes.isClean(base, Int(value.count)) else {
            return false
        }
        let name = value.header.name
        var indexed = true
        if value.header.changes {
            let bit = UInt32(1) << UInt32(value.header.rawValue)
            indexed = namesIndexed & bit == 0
            namesIndexed |= bit
        }
        unsafe place.pointee = unsafe CompiledTemplate.field(
            name.utf8Start, name.utf8CodeUnitCount, base, Int(value.count), indexed: indexed)
        return true
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> String? {
        let taken = unsafe nghttp2_session_mem_recv(
            raw, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        if taken == bytes.count { return nil }
        let reason = unsafe taken < 0 ? String(cString: nghttp2_strerror(Int32(clamping: taken))) : "stopped"
        return "the server broke the HTTP/2 protocol: \(reason)"
    }

    func produce(budget: Int, into out: inout ByteBuffer) -> Bool? {
        var produced = 0
        while produced < budget {
            var frame: UnsafePointer<UInt8>?
            let count = unsafe nghttp2_session_mem_send(raw, &frame)
            if count < 0 { return nil }
            if count == 0 { return true }
            unsafe out.append(UnsafeRawBufferPointer(start: frame, count: count))
            produced += count
        }
        return false
    }

    var isOver: Bool {
        unsafe nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0
    }

    var streamLimit: UInt32 {
        unsafe nghttp2_session_get_remote_settings(raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// For tests: what may still be sent on the connection.
    var windowLeft: Int32 { unsafe nghttp2_session_get_remote_window_size(raw) }

    /// nghttp2 has bounds of its own and doesn't say which.
    var limitPassed: SessionLimit? { nil }

    var idsAreUsedUp: Bool { unsafe nghttp2_session_get_next_stream_id(raw) > UInt32(Int32.max) - 4096 }

    func cancel(_ streamID: Int32) {
        unsafe nghttp2_submit_rst_stream(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, HTTP2Code.cancel.rawValue)
    }

    func ping() { unsafe nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

    func goAway() {
        unsafe nghttp2_submit_goaway(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, HTTP2Code.noError.rawValue, nil, 0)
    }

    func skip(toStreamID id: Int32) { unsafe nghttp2_session_set_next_stream_id(raw, id) }
}
