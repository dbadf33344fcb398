internal import CNghttp2
internal import Glibc

/// The C side of a client session: thunks that copy out and note, nothing else.
///
/// The context is borrowed: ``HTTP2ClientSession`` frees its ``ClientNotes`` after the nghttp2 session.
enum ClientCallbacks {
    static func makeSession(
        _ notes: UnsafeMutablePointer<ClientNotes>, _ memory: NativeMemory
    ) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var session: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, clientBeginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, clientHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, clientDataChunk)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, clientFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, clientStreamClose)
        var functions = unsafe memory.functions
        let result = unsafe nghttp2_session_client_new3(&session, callbacks, notes, nil, &functions)
        return unsafe result == 0 ? session : nil
    }

    /// Lends nghttp2 as much of a body as flow control allows now.
    static let readBody: nghttp2_data_source_read_callback = {
        _, streamID, into, length, flags, source, user in
        guard let user = unsafe user, let into = unsafe into, let source = unsafe source,
            let flags = unsafe flags
        else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let notes = unsafe clientNotes(user)
        guard let index = unsafe notes.pointee.slot(source.pointee.ptr, streamID) else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let slot = unsafe notes.pointee.slots + Int(index)
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

private func clientNotes(_ user: UnsafeMutableRawPointer) -> UnsafeMutablePointer<ClientNotes> {
    unsafe user.assumingMemoryBound(to: ClientNotes.self)
}

private func clientBeginHeaders(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let user = unsafe user else { return 0 }
    let notes = unsafe clientNotes(user)
    let streamID = unsafe frame.pointee.hd.stream_id
    let data = unsafe nghttp2_session_get_stream_user_data(session, streamID)
    unsafe notes.pointee.current = unsafe notes.pointee.slot(data, streamID) ?? -1
    unsafe notes.pointee.blockBytes = 0
    return 0
}

private func clientHeader(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?,
    _ nameCount: Int, _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8,
    _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user, let name = unsafe name, let value = unsafe value else { return 0 }
    let notes = unsafe clientNotes(user)
    unsafe notes.pointee.blockBytes &+= nameCount &+ valueCount
    guard unsafe notes.pointee.blockBytes <= ClientNotes.blockBytesMax else {
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    guard unsafe notes.pointee.current >= 0 else { return 0 }
    let index = unsafe Int(notes.pointee.current)
    let slot = unsafe notes.pointee.slots + index
    unsafe slot.pointee.headerBytes += nameCount + valueCount
    guard unsafe slot.pointee.headerBytes <= RequestSlab.headerBytesMax else {
        unsafe notes.pointee.oversizedHeaders &+= 1
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    unsafe ClientNotes.note(
        slot, notes.pointee.texts + index * RequestSlab.textBytes, name, nameCount, value, valueCount)
    return 0
}

private func clientDataChunk(
    _ session: OpaquePointer?, _ flags: UInt8, _ streamID: Int32, _ data: UnsafePointer<UInt8>?,
    _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let user = unsafe user, let data = unsafe data else { return 0 }
    let notes = unsafe clientNotes(user)
    guard
        let slot = unsafe notes.pointee.slot(
            nghttp2_session_get_stream_user_data(session, streamID), streamID)
    else { return 0 }
    unsafe RequestSlab.appendAnswer(notes.pointee.slots + Int(slot), data, count)
    return 0
}

private func clientFrame(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ user: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let user = unsafe user else { return 0 }
    let notes = unsafe clientNotes(user)
    let hd = unsafe frame.pointee.hd
    let isAck = UInt32(hd.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
    switch UInt32(hd.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        guard UInt32(hd.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return 0 }
        let data = unsafe nghttp2_session_get_stream_user_data(session, hd.stream_id)
        guard let index = unsafe notes.pointee.slot(data, hd.stream_id) else { return 0 }
        let slot = unsafe notes.pointee.slots + Int(index)
        unsafe slot.pointee.isComplete = true
        // The stream closes by itself unless the body is still on its way (RFC 9113 section 8.1).
        if unsafe slot.pointee.bodySent < slot.pointee.request.body.count {
            unsafe notes.pointee.ended.append(
                ClientNotes.Ended(slot: index, streamID: hd.stream_id, code: 0, streamIsOpen: true))
        }
    case NGHTTP2_SETTINGS.rawValue: if !isAck { unsafe notes.pointee.settingsChanged = true }
    case NGHTTP2_PING.rawValue: if isAck { unsafe notes.pointee.pingAcks += 1 }
    case NGHTTP2_GOAWAY.rawValue:
        let goAway = unsafe frame.pointee.goaway
        let debugData = unsafe UnsafeBufferPointer(
            start: goAway.opaque_data, count: min(goAway.opaque_data_len, ClientNotes.debugDataMax))
        unsafe notes.pointee.goAway = unsafe ClientNotes.GoAway(
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
    let notes = unsafe clientNotes(user)
    unsafe notes.pointee.closedStreams += 1
    if let slot = unsafe notes.pointee.slot(
        nghttp2_session_get_stream_user_data(session, streamID), streamID)
    {
        unsafe notes.pointee.ended.append(
            ClientNotes.Ended(slot: slot, streamID: streamID, code: code, streamIsOpen: false))
    }
    return 0
}
