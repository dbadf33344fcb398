/// The frame types of RFC 9113 section 6.
enum FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let resetStream: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
}

/// The frame flags of RFC 9113 section 6; which apply depends on the type.
enum FrameFlag {
    static let endStream: UInt8 = 0x1
    static let ack: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
}

/// A fault of the server that ends the whole connection (RFC 9113 section 5.4.1).
struct ConnectionFault: Error, Equatable {
    let code: HTTP2Code
    /// What the server did, as the end of a sentence that starts with it.
    let reason: String
    /// The bound that it passed; nil when it broke a rule of the protocol.
    let limit: SessionLimit?

    init(_ code: HTTP2Code, _ reason: String) {
        self.code = code
        self.reason = reason
        limit = nil
    }

    /// Of a server that keeps to the letter of the protocol and asks for too much.
    init(_ limit: SessionLimit, _ reason: String) {
        code = .enhanceYourCalm
        self.reason = reason
        self.limit = limit
    }
}

/// The nine bytes in front of every frame (RFC 9113 section 4.1).
struct FrameHeader: Equatable {
    static let byteCount = 9
    /// The largest payload both sides may send as long as neither announces more, which we never do.
    static let payloadMax = 16_384
    /// Settings in one frame at most; the protocol knows fewer than ten.
    static let settingsMax = 32

    var length: Int
    var type: UInt8
    var flags: UInt8
    var streamID: Int32

    init(length: Int, type: UInt8, flags: UInt8 = 0, streamID: Int32) {
        self.length = length
        self.type = type
        self.flags = flags
        self.streamID = streamID
    }

    /// Reads nine bytes.
    @inline(__always)
    init(reading bytes: UnsafePointer<UInt8>) {
        let raw = unsafe UnsafeRawPointer(bytes)
        let word = unsafe UInt32(bigEndian: raw.loadUnaligned(as: UInt32.self))
        length = Int(word >> 8)
        type = UInt8(truncatingIfNeeded: word)
        flags = unsafe bytes[4]
        let id = unsafe UInt32(bigEndian: raw.loadUnaligned(fromByteOffset: 5, as: UInt32.self))
        // The highest bit is reserved and ignored.
        streamID = Int32(bitPattern: id & 0x7FFF_FFFF)
    }

    /// Writes nine bytes.
    @inline(__always)
    func write(to bytes: UnsafeMutablePointer<UInt8>) {
        let raw = UnsafeMutableRawPointer(bytes)
        let word = UInt32(truncatingIfNeeded: length) << 8 | UInt32(type)
        unsafe raw.storeBytes(of: word.bigEndian, as: UInt32.self)
        unsafe bytes[4] = flags
        unsafe raw.storeBytes(
            of: UInt32(bitPattern: streamID).bigEndian, toByteOffset: 5, as: UInt32.self)
    }

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// What is wrong with the header of a frame from a server, whatever the payload and the state are.
    var fault: ConnectionFault? {
        guard length <= Self.payloadMax else {
            return ConnectionFault(.frameSizeError, "sent a frame of \(length) bytes")
        }
        switch type {
        case FrameType.data, FrameType.headers, FrameType.continuation: return streamFrameFault
        case FrameType.priority: return needsStream ?? exactly(5)
        case FrameType.resetStream: return needsStream ?? exactly(4)
        case FrameType.windowUpdate: return exactly(4)
        case FrameType.ping: return needsConnection ?? exactly(8)
        case FrameType.settings: return needsConnection ?? settingsFault
        case FrameType.goAway:
            return needsConnection
                ?? (length >= 8 ? nil : ConnectionFault(.frameSizeError, "sent a GOAWAY of \(length) bytes"))
        case FrameType.pushPromise:
            return ConnectionFault(.protocolError, "sent PUSH_PROMISE, which is switched off")
        default: return nil
        }
    }

    private var streamFrameFault: ConnectionFault? {
        if let fault = needsStream { return fault }
        var least = 0
        if type != FrameType.continuation {
            if has(FrameFlag.padded) { least += 1 }
            if type == FrameType.headers, has(FrameFlag.priority) { least += 5 }
        }
        return length >= least
            ? nil : ConnectionFault(.frameSizeError, "sent a frame too short for its flags")
    }

    private var settingsFault: ConnectionFault? {
        if has(FrameFlag.ack) { return exactly(0) }
        guard length % 6 == 0 else {
            return ConnectionFault(.frameSizeError, "sent SETTINGS of \(length) bytes")
        }
        return length / 6 <= Self.settingsMax
            ? nil : ConnectionFault(SessionLimit.settings, "sent \(length / 6) settings at once")
    }

    private var needsStream: ConnectionFault? {
        streamID != 0
            ? nil : ConnectionFault(.protocolError, "sent a frame of type \(type) without a stream")
    }

    private var needsConnection: ConnectionFault? {
        streamID == 0
            ? nil : ConnectionFault(.protocolError, "sent a frame of type \(type) on stream \(streamID)")
    }

    private func exactly(_ count: Int) -> ConnectionFault? {
        length == count
            ? nil
            : ConnectionFault(.frameSizeError, "sent a frame of type \(type) with \(length) bytes")
    }

    /// Where a DATA or HEADERS frame's content lies in its payload, without padding and priority fields.
    /// - Returns: nil when there is more padding than payload (RFC 9113 section 6.1).
    func content(paddedBy padding: UInt8) -> Range<Int>? {
        var start = has(FrameFlag.padded) ? 1 : 0
        if type == FrameType.headers, has(FrameFlag.priority) { start += 5 }
        let end = length - (has(FrameFlag.padded) ? Int(padding) : 0)
        return start <= end ? start..<end : nil
    }
}
