internal import Core

/// Answers: header blocks and bodies.
extension FramedSession {
    // MARK: Header blocks

    func takeHeaders(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        let content = unsafe try Self.content(header, payload)
        if let stream = unsafe try find(header), unsafe stream.pointee.isAnswered {
            throw ConnectionFault(
                .streamClosed, "sent HEADERS on stream \(header.streamID), which it had ended")
        }
        if header.has(FrameFlag.endHeaders) { return unsafe try takeBlock(header, content) }
        openBlock = header
        continuations = 0
        block.clear(keepingAtMost: 4096)
        unsafe block.append(content)
    }

    func takeContinuation(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        continuations += 1
        guard continuations <= Self.continuationsMax else {
            throw ConnectionFault(
                .continuations, "cut a header block into more than \(continuations) frames")
        }
        unsafe block.append(payload)
        guard header.has(FrameFlag.endHeaders) else { return }
        let first = openBlock
        openBlock.length = -1
        unsafe try takeBlock(first, block.bytes)
        block.clear(keepingAtMost: 4096)
    }

    private static func content(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) -> UnsafeRawBufferPointer {
        // The header was checked, so the byte is there when the flag is.
        let padding = unsafe header.has(FrameFlag.padded) ? payload[0] : 0
        guard let range = header.content(paddedBy: padding) else {
            throw ConnectionFault(.protocolError, "sent more padding than payload")
        }
        return unsafe UnsafeRawBufferPointer(rebasing: payload[range])
    }

    /// A complete header block. It is decoded whatever becomes of its stream, for the sake of the table that
    /// all blocks share.
    private func takeBlock(
        _ header: FrameHeader, _ bytes: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        let stream = unsafe streams.find(header.streamID)
        let slot = unsafe stream.flatMap { stream -> Int32? in
            unsafe notes.pointee.owns(stream.pointee.slot, stream.pointee.id)
                ? stream.pointee.slot : nil
        }
        var blockBytes = 0
        var code: HTTP2Code?
        let isValid = unsafe decoder.decode(bytes) { name, nameCount, value, valueCount in
            blockBytes += nameCount + valueCount
            guard code == nil, let stream = unsafe stream else { return }
            switch unsafe stream.pointee.head.header(name, nameCount, value, valueCount) {
            case .malformed: code = .protocolError
            case .ignore: break
            case .keep:
                guard let slot else { return }
                if unsafe !keep(slot, name, nameCount, value, valueCount) { code = .internalError }
            }
        }
        guard isValid else {
            throw ConnectionFault(.compressionError, "sent a header block that can't be decompressed")
        }
        guard blockBytes <= ClientNotes.blockBytesMax else {
            throw ConnectionFault(.headerBytes, "sent \(blockBytes) bytes of headers at once")
        }
        guard let stream = unsafe stream else { return }
        let endsStream = header.has(FrameFlag.endStream)
        if code == nil, unsafe !stream.pointee.head.endOfBlock(endsStream: endsStream) {
            code = .protocolError
        }
        if let code { return unsafe fail(stream.pointee, code) }
        if endsStream {
            unsafe answered(stream)
        } else if unsafe !stream.pointee.head.isOpen || stream.pointee.head.isInterim {
            try spendIdle()
        }
    }

    /// - Returns: false when the answer has more headers than are kept.
    private func keep(
        _ index: Int32, _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>,
        _ valueCount: Int
    ) -> Bool {
        let slot = unsafe slab.slots + Int(index)
        unsafe slot.pointee.headerBytes += nameCount + valueCount
        guard unsafe slot.pointee.headerBytes <= RequestSlab.headerBytesMax else {
            unsafe notes.pointee.oversizedHeaders &+= 1
            return false
        }
        unsafe ClientNotes.note(
            slot, slab.texts + Int(index) * RequestSlab.textBytes, name, nameCount, value, valueCount)
        return true
    }

    // MARK: Bodies

    func takeData(
        _ header: FrameHeader, _ payload: UnsafeRawBufferPointer
    ) throws(ConnectionFault) {
        let stream = unsafe try find(header)
        if let stream = unsafe stream {
            if unsafe stream.pointee.isAnswered {
                throw ConnectionFault(
                    .streamClosed, "sent DATA on stream \(header.streamID), which it had ended")
            }
            guard unsafe stream.pointee.head.isOpen else {
                throw ConnectionFault(
                    .protocolError, "sent DATA on stream \(header.streamID) before HEADERS")
            }
        }
        let content = unsafe try Self.content(header, payload)
        // Padding counts, and so does what comes for a stream that is over (RFC 9113 section 6.9.1).
        switch received.take(header.length) {
        case .ok: break
        case .give(let count): giveBack(count, streamID: 0)
        case .exceeded:
            throw ConnectionFault(.flowControlError, "sent more than the connection's window")
        }
        guard let stream = unsafe stream else { return }
        let endsStream = header.has(FrameFlag.endStream)
        switch unsafe stream.pointee.received.take(header.length, isLast: endsStream) {
        case .ok: break
        case .give(let count): giveBack(count, streamID: header.streamID)
        case .exceeded: return unsafe fail(stream.pointee, .flowControlError)
        }
        guard unsafe stream.pointee.head.data(content.count, endsStream: endsStream) else {
            return unsafe fail(stream.pointee, .protocolError)
        }
        if unsafe content.isEmpty, !endsStream { try spendIdle() }
        if let base = content.baseAddress, unsafe !content.isEmpty,
            unsafe notes.pointee.owns(stream.pointee.slot, header.streamID)
        {
            unsafe RequestSlab.appendAnswer(
                slab.slots + Int(stream.pointee.slot), base.assumingMemoryBound(to: UInt8.self),
                content.count)
        }
        if endsStream { unsafe answered(stream) }
    }

    /// The server has sent END_STREAM and everything before it was in order.
    private func answered(_ stream: UnsafeMutablePointer<ClientStream>) {
        idleFrames.refill()
        let copy = unsafe stream.pointee
        if unsafe notes.pointee.owns(copy.slot, copy.id) {
            unsafe slab.slots[Int(copy.slot)].isComplete = true
        }
        if copy.isSent { return close(copy, .noError) }
        // Before the body was sent: the connection gives the stream up (RFC 9113 section 8.1).
        unsafe stream.pointee.isAnswered = true
        if unsafe notes.pointee.owns(copy.slot, copy.id) {
            unsafe notes.pointee.ended.append(
                ClientNotes.Ended(slot: copy.slot, streamID: copy.id, code: 0, streamIsOpen: true))
        }
    }
}
