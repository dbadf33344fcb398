internal import Core

/// Reading: frames out of bytes that come in any pieces.
extension FramedSession {
    /// CONTINUATION frames of one block at most; each could hold 16 KiB of headers.
    static let continuationsMax = 8
    /// Acknowledgements that may wait for a server that doesn't read.
    static let acksMax = 1_000
    /// Bytes of control frames that may wait likewise.
    static let controlMax = 1 << 20

    func receive(_ bytes: UnsafeRawBufferPointer) -> String? {
        if fault == nil {
            do throws(ConnectionFault) {
                unsafe try take(bytes)
            } catch {
                fail(error)
            }
        }
        return fault.map { "the server broke the HTTP/2 protocol: it \($0.reason)" }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) throws(ConnectionFault) {
        var rest = unsafe bytes
        if !partial.isEmpty {
            guard let header = unsafe try complete(&rest) else { return }
            let payload = unsafe UnsafeRawBufferPointer(
                rebasing: partial.bytes[FrameHeader.byteCount...])
            unsafe try take(header, payload)
            partial.clear()
        }
        while rest.count >= FrameHeader.byteCount, let base = rest.baseAddress {
            let header = unsafe FrameHeader(reading: base.assumingMemoryBound(to: UInt8.self))
            try check(header)
            let end = FrameHeader.byteCount + header.length
            guard rest.count >= end else { break }
            unsafe try take(
                header, UnsafeRawBufferPointer(start: base + FrameHeader.byteCount, count: header.length))
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        }
        unsafe partial.append(rest)
    }

    /// Adds to the frame that was cut off.
    /// - Returns: its header once it is complete.
    private func complete(
        _ rest: inout UnsafeRawBufferPointer
    ) throws(ConnectionFault) -> FrameHeader? {
        var end = FrameHeader.byteCount
        while true {
            let more = min(max(0, end - partial.count), rest.count)
            unsafe partial.append(UnsafeRawBufferPointer(rebasing: rest[..<more]))
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[more...])
            guard partial.count >= end, let base = unsafe partial.bytes.baseAddress else { return nil }
            let header = unsafe FrameHeader(reading: base.assumingMemoryBound(to: UInt8.self))
            if partial.count == FrameHeader.byteCount { try check(header) }
            end = FrameHeader.byteCount + header.length
            if partial.count == end { return header }
        }
    }

    /// What can be said of a frame before its payload is there.
    private func check(_ header: FrameHeader) throws(ConnectionFault) {
        if let fault = header.fault { throw fault }
        if !settings.isKnown, header.type != FrameType.settings || header.has(FrameFlag.ack) {
            throw ConnectionFault(.protocolError, "began with a frame of type \(header.type), not SETTINGS")
        }
        let isContinuation = header.type == FrameType.continuation
        if openBlock.length >= 0 {
            guard isContinuation, header.streamID == openBlock.streamID else {
                throw ConnectionFault(.protocolError, "interrupted a header block")
            }
        } else if isContinuation {
            throw ConnectionFault(.protocolError, "sent CONTINUATION without HEADERS")
        }
    }

    private func take(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        switch header.type {
        case FrameType.headers: unsafe try takeHeaders(header, payload)
        case FrameType.data: unsafe try takeData(header, payload)
        case FrameType.continuation: unsafe try takeContinuation(header, payload)
        case FrameType.windowUpdate: unsafe try takeWindowUpdate(header, payload)
        case FrameType.settings: unsafe try takeSettings(header, payload)
        case FrameType.ping: try takePing(header, unsafe Array(payload))
        case FrameType.resetStream: unsafe try takeReset(header, payload)
        case FrameType.goAway: unsafe try takeGoAway(payload)
        // PRIORITY, and types that later documents define (RFC 9113 section 5.5).
        default: try spendIdle()
        }
        guard control.count <= Self.controlMax else {
            throw ConnectionFault(.controlBytes, "doesn't read what it makes us answer")
        }
    }

    func spendIdle() throws(ConnectionFault) {
        guard idleFrames.spend() else {
            throw ConnectionFault(
                .idleFrames, "sent \(IdleFrameBudget.most) frames that bring nothing forward")
        }
    }

    /// The stream of a frame; nil when it is over, which the server may not know yet.
    func find(_ header: FrameHeader) throws(ConnectionFault) -> UnsafeMutablePointer<ClientStream>? {
        if let stream = unsafe streams.find(header.streamID) { return unsafe stream }
        guard header.streamID & 1 == 1, header.streamID <= lastSentID else {
            throw ConnectionFault(
                .protocolError,
                "sent a frame of type \(header.type) on stream \(header.streamID), which was never opened")
        }
        try spendIdle()
        return nil
    }

    // MARK: The connection's frames

    private func takeSettings(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        if header.has(FrameFlag.ack) {
            guard awaitsSettingsAck else {
                throw ConnectionFault(.protocolError, "acknowledged SETTINGS that were never sent")
            }
            awaitsSettingsAck = false
            return
        }
        let change = unsafe try settings.apply(payload)
        if let size = change.headerTableSize { encoder.setTable(size) }
        if change.windowDelta != 0 { try shiftWindows(change.windowDelta) }
        unsafe notes.pointee.settingsChanged = true
        try acknowledge(FrameType.settings, [])
    }

    private func shiftWindows(_ delta: Int32) throws(ConnectionFault) {
        // In order, so that the oldest goes on first.
        for id in streams.ids.sorted() {
            guard let stream = unsafe streams.find(id) else { continue }
            guard unsafe stream.pointee.window.add(delta) else {
                throw ConnectionFault(.flowControlError, "raised the window of stream \(id) past 2^31-1")
            }
            unsafe wake(stream)
        }
    }

    private func acknowledge(_ type: UInt8, _ payload: [UInt8]) throws(ConnectionFault) {
        acks += 1
        guard acks <= Self.acksMax else {
            throw ConnectionFault(.acknowledgements, "sent more PING and SETTINGS than it lets us answer")
        }
        append(type, flags: FrameFlag.ack, payload: payload)
    }

    private func takePing(_ header: FrameHeader, _ payload: [UInt8]) throws(ConnectionFault) {
        if header.has(FrameFlag.ack) {
            unsafe notes.pointee.pingAcks += 1
        } else {
            try acknowledge(FrameType.ping, payload)
        }
    }

    private func takeGoAway(_ payload: UnsafeRawBufferPointer) throws(ConnectionFault) {
        let last = Int32(bitPattern: unsafe Self.word(payload, 0) & 0x7FFF_FFFF)
        guard last == 0 || last & 1 == 1, last <= lastStreamAlive else {
            throw ConnectionFault(.protocolError, "sent GOAWAY with the last stream \(last)")
        }
        lastStreamAlive = last
        hasGoAway = true
        let debugData = unsafe Array(payload[8...].prefix(ClientNotes.debugDataMax))
        unsafe notes.pointee.goAway = ClientNotes.GoAway(
            lastStreamID: last, code: HTTP2Code(rawValue: Self.word(payload, 4)), debugData: debugData)
        for id in streams.ids.sorted() where id > last {
            if let stream = unsafe streams.find(id) { unsafe close(stream.pointee, .refusedStream) }
        }
        // The server has never seen these.
        while let item = pending.first {
            pending.removeFirst()
            if item.slot >= 0 {
                unsafe notes.pointee.close(item.slot, item.streamID, .refusedStream)
            } else {
                unsafe notes.pointee.closedStreams += 1
            }
        }
    }

    // MARK: Windows and resets

    private func takeWindowUpdate(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        let increment = Int32(bitPattern: unsafe Self.word(payload, 0) & 0x7FFF_FFFF)
        if header.streamID == 0 {
            try spendIdle()
            guard increment > 0 else { throw Self.zeroIncrement }
            guard window.add(increment) else {
                throw ConnectionFault(.flowControlError, "raised the connection's window past 2^31-1")
            }
            return
        }
        guard let stream = unsafe try find(header) else { return }
        try spendIdle()
        guard increment > 0 else { throw Self.zeroIncrement }
        guard unsafe stream.pointee.window.add(increment) else {
            return unsafe fail(stream.pointee, .flowControlError)
        }
        unsafe wake(stream)
    }

    private static var zeroIncrement: ConnectionFault {
        ConnectionFault(.protocolError, "sent WINDOW_UPDATE by nothing")
    }

    /// Queues a body again whose stream has a window now.
    private func wake(_ stream: UnsafeMutablePointer<ClientStream>) {
        guard unsafe stream.pointee.isParked, unsafe stream.pointee.window.left > 0 else { return }
        unsafe stream.pointee.isParked = false
        unsafe started.append(
            SendQueue.Item(streamID: stream.pointee.id, slot: stream.pointee.slot, template: 0))
    }

    private func takeReset(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        guard let stream = unsafe try find(header) else { return }
        unsafe close(stream.pointee, HTTP2Code(rawValue: Self.word(payload, 0)))
    }

    static func word(_ payload: UnsafeRawBufferPointer, _ at: Int) -> UInt32 {
        unsafe UInt32(bigEndian: payload.loadUnaligned(fromByteOffset: at, as: UInt32.self))
    }
}
