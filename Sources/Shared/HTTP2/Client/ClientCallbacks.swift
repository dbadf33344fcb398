internal import CNghttp2
internal import Glibc

/// What nghttp2's callbacks note on a client session; handled once nghttp2 has returned.
final class ClientStreams {
    /// A request whose stream ended, or whose answer is complete before its body was sent.
    struct Ended {
        var slot: Int32
        var streamID: Int32
        var code: UInt32
        var streamIsOpen: Bool
    }

    /// GOAWAY as it was received.
    struct GoAway {
        var lastStreamID: Int32
        var code: HTTP2Code
        var debugData: [UInt8]
    }

    /// Bytes of one header block after which the connection, not only its stream, is given up.
    static let blockBytesMax = 256 * 1024
    static let debugDataMax = 1024

    let slab: RequestSlab
    let connection: UInt32
    var ended: [Ended] = []
    var closedStreams = 0
    var settingsChanged = false
    var goAway: GoAway?
    var pingAcks = 0
    var blockBytes = 0
    var oversizedHeaders: UInt64 = 0
    // The slot whose header block is being read; header blocks are never interleaved (RFC 9113 section 4.3).
    var current: Int32 = -1

    init(slab: RequestSlab, connection: UInt32) {
        self.slab = slab
        self.connection = connection
        ended.reserveCapacity(256)
    }

    /// The slot behind nghttp2's stream user data, if it still belongs to the stream.
    func slot(_ data: UnsafeMutableRawPointer?, _ streamID: Int32) -> Int32? {
        guard let data = unsafe data else { return nil }
        let index = Int(bitPattern: data) - 1
        guard index >= 0, index < slab.highWater else { return nil }
        let slot = unsafe slab.slots + index
        guard unsafe slot.pointee.streamID == streamID, unsafe slot.pointee.connection == connection
        else { return nil }
        return Int32(truncatingIfNeeded: index)
    }
}

/// The C side of a client session: thunks that copy out and note, nothing else.
///
/// The context is borrowed: ``HTTP2ClientSession`` holds the ``ClientStreams`` longer than the nghttp2 session.
enum ClientCallbacks {
    static func makeSession(_ streams: ClientStreams, _ memory: NativeMemory) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var session: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, clientBeginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, clientHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, clientDataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, clientFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, clientStreamClose)
        let context = unsafe Unmanaged.passUnretained(streams).toOpaque()
        var functions = unsafe memory.functions
        let result = unsafe nghttp2_session_client_new3(&session, callbacks, context, nil, &functions)
        return unsafe result == 0 ? session : nil
    }

    /// Lends nghttp2 as much of a body as flow control allows now.
    static let readBody: nghttp2_data_source_read_callback = {
        _, streamID, into, length, flags, source, user in
        guard let user = unsafe user, let into = unsafe into, let source = unsafe source,
            let flags = unsafe flags
        else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let streams = unsafe clientStreams(user)
        guard let index = unsafe streams.slot(source.pointee.ptr, streamID) else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let slot = unsafe streams.slab.slots + Int(index)
        // DATA follows its stream's HEADERS, so those have been serialised.
        unsafe slot.pointee.isWritten = true
        let body = unsafe slot.pointee.request.body
        let start = unsafe slot.pointee.bodySent
        let count = min(length, body.count - start)
        if count > 0, let base = body.baseAddress { unsafe memcpy(into, base + start, count) }
        unsafe slot.pointee.bodySent = start + count
        if start + count == body.count { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }
}

private func clientStreams(_ user: UnsafeMutableRawPointer) -> ClientStreams {
    unsafe Unmanaged<ClientStreams>.fromOpaque(user).takeUnretainedValue()
}

private func clientBeginHeaders(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let user = unsafe user else { return 0 }
    let streams = unsafe clientStreams(user)
    let streamID = unsafe frame.pointee.hd.stream_id
    let data = unsafe nghttp2_session_get_stream_user_data(session, streamID)
    streams.current = unsafe streams.slot(data, streamID) ?? -1
    streams.blockBytes = 0
    return 0
}

private func clientHeader(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?,
    _ nameCount: Int, _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8,
    _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user, let name = unsafe name, let value = unsafe value else { return 0 }
    let streams = unsafe clientStreams(user)
    streams.blockBytes &+= nameCount &+ valueCount
    guard streams.blockBytes <= ClientStreams.blockBytesMax else {
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    guard streams.current >= 0 else { return 0 }
    let index = Int(streams.current)
    let slot = unsafe streams.slab.slots + index
    unsafe slot.pointee.headerBytes += nameCount + valueCount
    guard unsafe slot.pointee.headerBytes <= RequestSlab.headerBytesMax else {
        streams.oversizedHeaders &+= 1
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    unsafe noteHeader(streams.slab, index, name, nameCount, value, valueCount)
    return 0
}

private func noteHeader(
    _ slab: RequestSlab, _ index: Int, _ name: UnsafePointer<UInt8>, _ nameCount: Int,
    _ value: UnsafePointer<UInt8>, _ valueCount: Int
) {
    func named(_ text: StaticString) -> Bool { unsafe memcmp(name, text.utf8Start, nameCount) == 0 }
    func keep(_ part: Int) -> UInt8 {
        guard valueCount <= RequestSlab.textMax else { return 0 }
        unsafe memcpy(slab.text(index, part), value, valueCount)
        return UInt8(truncatingIfNeeded: valueCount)
    }
    let slot = unsafe slab.slots + index
    switch nameCount {
    case 7:
        if named(":status") {
            // nghttp2 lets only three digits through. A later block replaces a 1xx one.
            var status: UInt16 = 0
            for digit in 0..<min(3, valueCount) {
                status = unsafe status &* 10 &+ UInt16(value[digit] & 15)
            }
            unsafe slot.pointee.status = status
        } else if named("apns-id") {
            unsafe slot.pointee.apnsIDCount = keep(0)
        }
    case 14: if named("apns-unique-id") { unsafe slot.pointee.apnsUniqueIDCount = keep(1) }
    case 11: if named("retry-after") { unsafe slot.pointee.retryAfterCount = keep(2) }
    default: break
    }
}

private func clientDataChunk(
    _ session: OpaquePointer?, _ flags: UInt8, _ streamID: Int32, _ data: UnsafePointer<UInt8>?,
    _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user, let data = unsafe data else { return 0 }
    let streams = unsafe clientStreams(user)
    guard
        let slot = unsafe streams.slot(nghttp2_session_get_stream_user_data(session, streamID), streamID)
    else { return 0 }
    unsafe streams.slab.appendAnswer(Int(slot), data, count)
    return 0
}

private func clientFrame(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let user = unsafe user else { return 0 }
    let streams = unsafe clientStreams(user)
    let hd = unsafe frame.pointee.hd
    let isAck = UInt32(hd.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
    switch UInt32(hd.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        guard UInt32(hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return 0 }
        let data = unsafe nghttp2_session_get_stream_user_data(session, hd.stream_id)
        guard let index = unsafe streams.slot(data, hd.stream_id) else { return 0 }
        let slot = unsafe streams.slab.slots + Int(index)
        unsafe slot.pointee.isComplete = true
        // The stream closes by itself unless the body is still on its way (RFC 9113 section 8.1).
        if unsafe slot.pointee.bodySent < slot.pointee.request.body.count {
            streams.ended.append(
                ClientStreams.Ended(slot: index, streamID: hd.stream_id, code: 0, streamIsOpen: true))
        }
    case NGHTTP2_SETTINGS.rawValue: if !isAck { streams.settingsChanged = true }
    case NGHTTP2_PING.rawValue: if isAck { streams.pingAcks += 1 }
    case NGHTTP2_GOAWAY.rawValue:
        let goAway = unsafe frame.pointee.goaway
        let debugData = unsafe UnsafeBufferPointer(
            start: goAway.opaque_data, count: min(goAway.opaque_data_len, ClientStreams.debugDataMax))
        unsafe streams.goAway = ClientStreams.GoAway(
            lastStreamID: goAway.last_stream_id, code: HTTP2Code(rawValue: goAway.error_code),
            debugData: Array(debugData))
    default: break
    }
    return 0
}

private func clientStreamClose(
    _ session: OpaquePointer?, _ streamID: Int32, _ code: UInt32, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user else { return 0 }
    let streams = unsafe clientStreams(user)
    streams.closedStreams += 1
    if let slot = unsafe streams.slot(
        nghttp2_session_get_stream_user_data(session, streamID), streamID)
    {
        streams.ended.append(
            ClientStreams.Ended(slot: slot, streamID: streamID, code: code, streamIsOpen: false))
    }
    return 0
}
