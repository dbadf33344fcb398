/// The server's SETTINGS as far as a client heeds them (RFC 9113 section 6.5.2).
struct PeerSettings: Equatable {
    /// What one SETTINGS frame changed.
    struct Change: Equatable {
        /// The difference for every stream's send window.
        var windowDelta: Int32 = 0
        /// The new bound of our header table, the lowest when the frame has several.
        var headerTableSize: UInt32?
    }

    /// Streams to use before the first SETTINGS say otherwise.
    static let streamsBeforeSettings: UInt32 = 100

    private(set) var streamLimit = PeerSettings.streamsBeforeSettings
    private(set) var initialWindow = SendWindow.initial
    private(set) var isKnown = false

    /// Takes the payload of one SETTINGS frame, whose length is a multiple of six.
    mutating func apply(_ payload: UnsafeRawBufferPointer) throws(ConnectionFault) -> Change {
        // Left out of the first frame, the limit means "unlimited".
        if !isKnown { streamLimit = .max }
        isKnown = true
        var change = Change()
        let before = initialWindow
        var at = 0
        while at + 6 <= payload.count {
            let id = unsafe UInt16(
                bigEndian: payload.loadUnaligned(fromByteOffset: at, as: UInt16.self))
            let value = unsafe UInt32(
                bigEndian: payload.loadUnaligned(fromByteOffset: at + 2, as: UInt32.self))
            try apply(id, value, &change)
            at += 6
        }
        // Both are from 0 to 2^31-1, so the difference fits.
        change.windowDelta = initialWindow - before
        return change
    }

    private mutating func apply(
        _ id: UInt16, _ value: UInt32, _ change: inout Change
    ) throws(ConnectionFault) {
        switch id {
        case 1: change.headerTableSize = min(change.headerTableSize ?? .max, value)
        case 2:
            guard value == 0 else {
                throw ConnectionFault(.protocolError, "sent SETTINGS_ENABLE_PUSH \(value)")
            }
        case 3: streamLimit = value
        case 4:
            guard let window = Int32(exactly: value) else {
                throw ConnectionFault(
                    .flowControlError, "sent SETTINGS_INITIAL_WINDOW_SIZE \(value)")
            }
            initialWindow = window
        case 5:
            guard (16_384...16_777_215).contains(value) else {
                throw ConnectionFault(.protocolError, "sent SETTINGS_MAX_FRAME_SIZE \(value)")
            }
        // RFC 8441 and RFC 9218: of no use to us, but the values are bounded.
        case 8, 9:
            guard value <= 1 else {
                throw ConnectionFault(.protocolError, "sent the setting \(id) with \(value)")
            }
        default: break
        }
    }
}
