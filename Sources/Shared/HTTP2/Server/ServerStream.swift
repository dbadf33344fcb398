internal import Core

/// Where a header's value lies in its stream's header bytes. A start of -1 means absent.
struct HeaderSpan {
    var start: Int32 = -1
    var count: Int32 = 0
}

/// One request and its response while they are in flight on a server connection.
///
/// - Ownership: lives in its session's slab and keeps its buffers when it is used again.
struct ServerStream: ~Copyable {
    enum Phase: UInt8 {
        case free, receiving, complete, responded
    }

    var streamID: Int32 = 0
    var phase = Phase.free
    var bodyTooLarge = false
    var spans = InlineArray<16, HeaderSpan>(repeating: HeaderSpan())
    /// Values of known headers, end to end.
    var head = ByteBuffer(capacity: 512)
    /// Unknown and repeated headers: two-byte name length, two-byte value length, name, value.
    var others = ByteBuffer(capacity: 16)
    var body = ByteBuffer(capacity: 512)
    /// The response: header values, then the body.
    var out = ByteBuffer(capacity: 128)
    var outSent = 0

    mutating func reset(streamID: Int32) {
        self.streamID = streamID
        phase = .receiving
        bodyTooLarge = false
        spans = InlineArray(repeating: HeaderSpan())
        head.clear(keepingAtMost: 8192)
        others.clear(keepingAtMost: 1024)
        body.clear(keepingAtMost: 8192)
        out.clear(keepingAtMost: 8192)
        outSent = 0
    }

    mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        guard let base = name.baseAddress else { return }
        let known = unsafe RequestHeader.match(base.assumingMemoryBound(to: UInt8.self), name.count)
        if let known, spans[Int(known.rawValue)].start < 0 {
            spans[Int(known.rawValue)] = HeaderSpan(
                start: Int32(clamping: head.count), count: Int32(clamping: value.count))
            unsafe head.append(value)
            return
        }
        guard name.count <= 0xFFFF, value.count <= 0xFFFF else { return }
        others.append(byte: UInt8(truncatingIfNeeded: name.count >> 8))
        others.append(byte: UInt8(truncatingIfNeeded: name.count))
        others.append(byte: UInt8(truncatingIfNeeded: value.count >> 8))
        others.append(byte: UInt8(truncatingIfNeeded: value.count))
        unsafe others.append(name)
        unsafe others.append(value)
    }

    /// Bytes of headers so far, which the session bounds.
    var headerBytes: Int { head.count + others.count }
}

/// A complete request as its server sees it.
///
/// - Valid: during the delegate's call only; copy what is needed later, and keep ``streamID`` to answer then.
@safe
package struct HTTP2ServerRequest {
    let stream: UnsafeMutablePointer<ServerStream>

    /// The stream to answer on.
    package var streamID: Int32 { unsafe stream.pointee.streamID }
    /// The body, cut at the server's bound.
    package var body: UnsafeRawBufferPointer { unsafe stream.pointee.body.bytes }
    /// Whether the body was longer than the server's bound.
    package var bodyTooLarge: Bool { unsafe stream.pointee.bodyTooLarge }

    /// The header's first value; no bytes and no base address when it is absent.
    package subscript(_ header: RequestHeader) -> UnsafeRawBufferPointer {
        let span = unsafe stream.pointee.spans[Int(header.rawValue)]
        guard span.start >= 0 else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        let start = Int(span.start)
        return unsafe UnsafeRawBufferPointer(
            rebasing: stream.pointee.head.bytes[start..<(start + Int(span.count))])
    }

    /// Whether the header is present, even when empty.
    package func has(_ header: RequestHeader) -> Bool {
        unsafe stream.pointee.spans[Int(header.rawValue)].start >= 0
    }

    /// Calls `body` with the name and value of each unknown header and each repetition of a known one.
    package func forEachOther(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        let bytes = unsafe stream.pointee.others.bytes
        var at = 0
        while at + 4 <= bytes.count {
            let nameCount = unsafe Int(bytes[at]) << 8 | Int(bytes[at + 1])
            let valueCount = unsafe Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
            let nameEnd = at + 4 + nameCount
            guard nameEnd + valueCount <= bytes.count else { return }
            unsafe body(
                UnsafeRawBufferPointer(rebasing: bytes[(at + 4)..<nameEnd]),
                UnsafeRawBufferPointer(rebasing: bytes[nameEnd..<(nameEnd + valueCount)]))
            at = nameEnd + valueCount
        }
    }
}
