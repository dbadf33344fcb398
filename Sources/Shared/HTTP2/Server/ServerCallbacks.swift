internal import CNghttp2
internal import Core
internal import Glibc

/// The C side of a server session: thunks that copy out and note, nothing else.
///
/// The context is borrowed: ``HTTP2ServerSession`` holds the ``ServerStreams`` longer than the nghttp2
/// session.
enum ServerCallbacks {
    static func makeSession(_ streams: ServerStreams, _ memory: NativeMemory) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        var session: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, unsafe nghttp2_option_new(&option) == 0
        else { return nil }
        defer {
            unsafe nghttp2_session_callbacks_del(callbacks)
            unsafe nghttp2_option_del(option)
        }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, serverBeginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, serverHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, serverDataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, serverFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, serverStreamClose)
        // A client that times many requests out resets many streams; that is no attack here.
        unsafe nghttp2_option_set_stream_reset_rate_limit(option, 1_000_000, 100_000)
        let context = unsafe Unmanaged.passUnretained(streams).toOpaque()
        var functions = unsafe memory.functions
        let result = unsafe nghttp2_session_server_new3(&session, callbacks, context, option, &functions)
        return unsafe result == 0 ? session : nil
    }

    static let readBody: nghttp2_data_source_read_callback = {
        _, streamID, into, length, flags, source, user in
        guard let user = unsafe user, let into = unsafe into, let source = unsafe source,
            let flags = unsafe flags
        else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let streams = unsafe serverStreams(user)
        guard let slot = unsafe streams.slot(source.pointee.ptr, streamID) else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let stream = unsafe streams.slots + Int(slot)
        let bytes = unsafe stream.pointee.out.bytes
        let start = unsafe stream.pointee.outSent
        let count = min(length, bytes.count - start)
        if count > 0, let base = bytes.baseAddress { unsafe memcpy(into, base + start, count) }
        unsafe stream.pointee.outSent = start + count
        if start + count == bytes.count { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }
}

private func serverStreams(_ user: UnsafeMutableRawPointer) -> ServerStreams {
    unsafe Unmanaged<ServerStreams>.fromOpaque(user).takeUnretainedValue()
}

private func serverBeginHeaders(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let user = unsafe user else { return 0 }
    let streams = unsafe serverStreams(user)
    guard unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else {
        // Trailers: read and dropped.
        streams.current = -1
        return 0
    }
    let streamID = unsafe frame.pointee.hd.stream_id
    let slot = streams.take(streamID)
    streams.current = slot
    let data = unsafe UnsafeMutableRawPointer(bitPattern: Int(slot) + 1)
    return unsafe nghttp2_session_set_stream_user_data(session, streamID, data)
}

private func serverHeader(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?,
    _ nameCount: Int, _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8,
    _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user else { return 0 }
    let streams = unsafe serverStreams(user)
    guard streams.current >= 0 else { return 0 }
    let stream = unsafe streams.slots + Int(streams.current)
    guard unsafe stream.pointee.headerBytes + nameCount + valueCount <= streams.options.headerBytesMax else {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    unsafe stream.pointee.add(
        UnsafeRawBufferPointer(start: name, count: nameCount),
        UnsafeRawBufferPointer(start: value, count: valueCount))
    return 0
}

private func serverDataChunk(
    _ session: OpaquePointer?, _ flags: UInt8, _ streamID: Int32, _ data: UnsafePointer<UInt8>?,
    _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user else { return 0 }
    let streams = unsafe serverStreams(user)
    guard
        let slot = unsafe streams.slot(nghttp2_session_get_stream_user_data(session, streamID), streamID)
    else { return 0 }
    let stream = unsafe streams.slots + Int(slot)
    let room = unsafe max(0, streams.options.bodyBytesMax - stream.pointee.body.count)
    if count > room { unsafe stream.pointee.bodyTooLarge = true }
    unsafe stream.pointee.body.append(UnsafeRawBufferPointer(start: data, count: min(count, room)))
    return 0
}

private func serverFrame(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let user = unsafe user else { return 0 }
    let streams = unsafe serverStreams(user)
    let hd = unsafe frame.pointee.hd
    let type = UInt32(hd.type)
    if type == NGHTTP2_PING.rawValue {
        if UInt32(hd.flags) & NGHTTP2_FLAG_ACK.rawValue != 0 { streams.pingAcks &+= 1 }
        return 0
    }
    guard type == NGHTTP2_DATA.rawValue || type == NGHTTP2_HEADERS.rawValue,
        UInt32(hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0
    else { return 0 }
    let data = unsafe nghttp2_session_get_stream_user_data(session, hd.stream_id)
    guard let slot = unsafe streams.slot(data, hd.stream_id) else { return 0 }
    unsafe streams.slots[Int(slot)].phase = .complete
    streams.events.append(.complete(slot: slot, streamID: hd.stream_id))
    return 0
}

private func serverStreamClose(
    _ session: OpaquePointer?, _ streamID: Int32, _ code: UInt32, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user else { return 0 }
    let streams = unsafe serverStreams(user)
    guard
        let slot = unsafe streams.slot(nghttp2_session_get_stream_user_data(session, streamID), streamID)
    else { return 0 }
    if unsafe streams.slots[Int(slot)].phase != .responded {
        streams.events.append(.closed(streamID: streamID, code: code))
    }
    streams.release(slot)
    return 0
}
