internal import Glibc

/// What a client session notes while it takes bytes or serialises; handled once it has returned.
///
/// - Ownership: behind a pointer that the session owns, so that nghttp2's callbacks pay for no reference
///   count and no exclusivity check. The slots and texts are the slab's, which the session keeps alive.
@safe
struct ClientNotes {
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

    let slots: UnsafeMutablePointer<RequestSlot>
    let texts: UnsafeMutablePointer<UInt8>
    let capacity: Int
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
        unsafe slots = unsafe slab.slots
        unsafe texts = unsafe slab.texts
        capacity = slab.capacity
        self.connection = connection
        ended.reserveCapacity(256)
    }

    /// The slot behind nghttp2's stream user data, if it still belongs to the stream.
    @inline(__always)
    func slot(_ data: UnsafeMutableRawPointer?, _ streamID: Int32) -> Int32? {
        guard let data = unsafe data else { return nil }
        // Only indices of slots that were in use are ever stored, so the slot is initialised.
        let index = Int(bitPattern: data) - 1
        guard index >= 0, index < capacity else { return nil }
        let slot = unsafe slots + index
        guard unsafe slot.pointee.streamID == streamID, unsafe slot.pointee.connection == connection else {
            return nil
        }
        return Int32(truncatingIfNeeded: index)
    }

    /// Whether the request in the slot is still the stream's.
    @inline(__always)
    func owns(_ index: Int32, _ streamID: Int32) -> Bool {
        let slot = unsafe slots + Int(index)
        return unsafe slot.pointee.streamID == streamID && slot.pointee.connection == connection
    }

    mutating func close(_ slot: Int32, _ streamID: Int32, _ code: HTTP2Code) {
        closedStreams += 1
        guard owns(slot, streamID) else { return }
        ended.append(Ended(slot: slot, streamID: streamID, code: code.rawValue, streamIsOpen: false))
    }

    /// Keeps what the pool wants of one response header.
    static func note(
        _ slot: UnsafeMutablePointer<RequestSlot>, _ texts: UnsafeMutablePointer<UInt8>,
        _ name: UnsafePointer<UInt8>, _ nameCount: Int,
        _ value: UnsafePointer<UInt8>, _ valueCount: Int
    ) {
        func named(_ text: StaticString) -> Bool { unsafe memcmp(name, text.utf8Start, nameCount) == 0 }
        func keep(_ part: Int) -> UInt8 {
            guard valueCount <= RequestSlab.textMax else { return 0 }
            unsafe memcpy(texts + part * RequestSlab.textMax, value, valueCount)
            return UInt8(truncatingIfNeeded: valueCount)
        }
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
}
