internal import Core
internal import Glibc

/// Serialising: control frames first, then bodies that were started, then new requests.
extension FramedSession {
    func produce(budget: Int, into out: inout ByteBuffer) -> Bool? {
        let start = out.count
        if !control.isEmpty {
            unsafe out.append(control.bytes)
            control.clear()
            acks = 0
        }
        guard fault == nil else { return true }
        while window.left > 0, let item = started.first {
            if out.count - start >= budget { return false }
            if sendBody(item.streamID, item.slot, budget - (out.count - start), &out) != .blocked {
                started.removeFirst()
            }
        }
        while let item = pending.first, streams.count < Int(settings.streamLimit) {
            if out.count - start >= budget { return false }
            guard item.slot >= 0, unsafe notes.pointee.owns(item.slot, item.streamID) else {
                pending.removeFirst()
                unsafe notes.pointee.closedStreams += 1
                continue
            }
            let bodyCount = unsafe slab.slots[Int(item.slot)].request.body.count
            guard bodyCount == 0 || window.left > 0 else { break }
            pending.removeFirst()
            begin(item, bodyCount, &out)
            guard bodyCount > 0 else { continue }
            if sendBody(item.streamID, item.slot, budget - (out.count - start), &out) == .blocked {
                started.append(item)
            }
        }
        // A started body that only the budget stopped goes on in the next call.
        return started.isEmpty || window.left <= 0
    }

    /// What became of the attempt to send a body.
    enum BodyProgress: Equatable {
        case done
        /// The stream's own window is used up; its WINDOW_UPDATE queues it again.
        case parked
        /// The connection's window or the budget is used up.
        case blocked
    }

    /// Writes a request's HEADERS and opens its stream.
    private func begin(_ item: SendQueue.Item, _ bodyCount: Int, _ out: inout ByteBuffer) {
        var stream = ClientStream()
        stream.id = item.streamID
        stream.slot = item.slot
        stream.window = SendWindow(settings.initialWindow)
        stream.isSent = bodyCount == 0
        unsafe streams.insert(stream)
        lastSentID = item.streamID
        let slot = unsafe slab.slots + Int(item.slot)
        unsafe slot.pointee.isWritten = true
        var count = 0
        unsafe out.appendWith(minimum: roomForHeaders(item, slot)) { room in
            guard let base = room.baseAddress else { return 0 }
            let start = unsafe base.assumingMemoryBound(to: UInt8.self)
            var cursor = unsafe BlockCursor(start + FrameHeader.byteCount)
            unsafe writeBlock(item, slot, bodyCount, &cursor)
            count = unsafe cursor.at - start - FrameHeader.byteCount
            let header = FrameHeader(
                length: count, type: FrameType.headers,
                flags: FrameFlag.endHeaders | (bodyCount == 0 ? FrameFlag.endStream : 0),
                streamID: item.streamID)
            unsafe header.write(to: start)
            return FrameHeader.byteCount + count
        }
        if count > FrameHeader.payloadMax { split(count, item.streamID, bodyCount == 0, &out) }
    }

    private func roomForHeaders(
        _ item: SendQueue.Item, _ slot: UnsafeMutablePointer<RequestSlot>
    ) -> Int {
        let overhead = HeaderEncoder.fieldOverhead
        var room = FrameHeader.byteCount + HeaderEncoder.updateMax + blocks.room(item.template)
        unsafe room += slot.pointee.request.path.count + overhead
        for at in unsafe 0..<slot.pointee.request.headerCount {
            let value = unsafe slot.pointee.request.headers[at]
            room += Int(value.count) + value.header.name.utf8CodeUnitCount + overhead
        }
        // The length's digits and its name's number.
        return room + RequestSlab.lengthMax + overhead
    }

    /// Pseudo-headers come first (RFC 9113 section 8.3), the path before the template's.
    private func writeBlock(
        _ item: SendQueue.Item, _ slot: UnsafeMutablePointer<RequestSlot>, _ bodyCount: Int,
        _ cursor: inout BlockCursor
    ) {
        encoder.writeUpdate(&cursor)
        if let path = unsafe slot.pointee.request.path.baseAddress {
            unsafe encoder.writeLiteral(
                name: StaticHeader.path, path.assumingMemoryBound(to: UInt8.self),
                slot.pointee.request.path.count, &cursor)
        }
        blocks.write(item.template, &encoder, &cursor)
        for at in unsafe 0..<slot.pointee.request.headerCount {
            let value = unsafe slot.pointee.request.headers[at]
            guard let base = unsafe value.base else { continue }
            let name = value.header.name
            unsafe encoder.write(
                name.utf8Start, name.utf8CodeUnitCount, base, Int(value.count), value.header.use, &cursor)
        }
        if bodyCount > 0 {
            let (digits, count) = unsafe slab.writeLength(Int(item.slot), bodyCount)
            unsafe encoder.writeLiteral(name: StaticHeader.contentLength, digits, count, &cursor)
        }
    }

    /// Cuts a block that is larger than a frame into HEADERS and CONTINUATION (RFC 9113 section 6.10).
    private func split(_ count: Int, _ streamID: Int32, _ endsStream: Bool, _ out: inout ByteBuffer) {
        let block = unsafe Array(out.bytes.suffix(count))
        out.truncate(to: out.count - count - FrameHeader.byteCount)
        var at = 0
        while at < count {
            let length = min(FrameHeader.payloadMax, count - at)
            var header = FrameHeader(
                length: length, type: at == 0 ? FrameType.headers : FrameType.continuation,
                streamID: streamID)
            if at == 0, endsStream { header.flags |= FrameFlag.endStream }
            if at + length == count { header.flags |= FrameFlag.endHeaders }
            append(header, to: &out)
            out.append(array: Array(block[at..<(at + length)]))
            at += length
        }
    }

    private func append(_ header: FrameHeader, to out: inout ByteBuffer) {
        unsafe out.appendWith(minimum: FrameHeader.byteCount) { room in
            guard let base = room.baseAddress else { return 0 }
            unsafe header.write(to: base.assumingMemoryBound(to: UInt8.self))
            return FrameHeader.byteCount
        }
    }

    /// Writes as much of a body as the windows and the budget allow; always one frame when the windows do.
    private func sendBody(
        _ streamID: Int32, _ index: Int32, _ budget: Int, _ out: inout ByteBuffer
    ) -> BodyProgress {
        guard let stream = unsafe streams.find(streamID) else { return .done }
        guard unsafe notes.pointee.owns(index, streamID) else {
            // The request was given up and its bytes may be gone.
            unsafe fail(stream.pointee, .cancel)
            return .done
        }
        let slot = unsafe slab.slots + Int(index)
        let body = unsafe slot.pointee.request.body
        var sent = unsafe slot.pointee.bodySent
        var left = budget
        repeat {
            let allowed = unsafe min(window.left, stream.pointee.window.left)
            let length = min(FrameHeader.payloadMax, body.count - sent, Int(max(0, allowed)))
            guard length > 0 else { break }
            window.spend(length)
            unsafe stream.pointee.window.spend(length)
            let isLast = sent + length == body.count
            let header = FrameHeader(
                length: length, type: FrameType.data, flags: isLast ? FrameFlag.endStream : 0,
                streamID: streamID)
            append(header, to: &out)
            unsafe out.append(UnsafeRawBufferPointer(rebasing: body[sent..<(sent + length)]))
            sent += length
            left -= length + FrameHeader.byteCount
        } while sent < body.count && left > 0
        unsafe slot.pointee.bodySent = sent
        if sent == body.count {
            unsafe stream.pointee.isSent = true
            return .done
        }
        guard unsafe stream.pointee.window.left <= 0 else { return .blocked }
        unsafe stream.pointee.isParked = true
        return .parked
    }
}
