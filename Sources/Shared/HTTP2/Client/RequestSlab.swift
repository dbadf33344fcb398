internal import Core
internal import Glibc

/// One request from submission to its outcome.
@safe
struct RequestSlot {
    enum Phase: UInt8 {
        case free, pending, sending
        /// The deadline has passed and the sink is about to hear of it.
        case expired
    }

    // What every callback looks at comes first, so that it shares a cache line.
    var phase = Phase.free
    /// HEADERS have been serialised, so the server may have seen the request.
    var isWritten = false
    var isComplete = false
    var bodyWasCut = false
    var resends: UInt8 = 0
    var apnsIDCount: UInt8 = 0
    var apnsUniqueIDCount: UInt8 = 0
    var retryAfterCount: UInt8 = 0
    var status: UInt16 = 0
    /// The connection's number while sending; 0 else.
    var connection: UInt32 = 0
    var streamID: Int32 = 0
    var bodySent = 0
    var headerBytes = 0
    /// The next slot of the free list or of the pending queue.
    var next: Int32 = -1
    var answerCount = 0
    var answerCapacity = 0
    var answer: UnsafeMutablePointer<UInt8>?
    var request: OutgoingRequest

    init(request: OutgoingRequest) { self.request = request }

    mutating func clearAnswer() {
        status = 0
        isComplete = false
        bodyWasCut = false
        apnsIDCount = 0
        apnsUniqueIDCount = 0
        retryAfterCount = 0
        headerBytes = 0
        answerCount = 0
    }
}

/// A pool's requests in one flat array that never moves; memory is touched as it is first used.
///
/// - Ownership: owns the slots and their answer buffers. Indices, not pointers, go to nghttp2.
@safe
final class RequestSlab {
    static let answerMax = 16 * 1024
    static let answerKept = 1024
    static let headerBytesMax = 16 * 1024
    /// Short texts of each slot, end to end: apns-id, apns-unique-id, retry-after, the content-length digits.
    static let textBytes = 128
    static let textMax = 40
    /// Digits of a body's length at most.
    static let lengthMax = 8

    let capacity: Int
    let slots: UnsafeMutablePointer<RequestSlot>
    let texts: UnsafeMutablePointer<UInt8>
    private(set) var used = 0
    private(set) var highWater = 0
    private var freeHead: Int32 = -1

    init(capacity: Int) {
        self.capacity = capacity
        unsafe slots = UnsafeMutablePointer<RequestSlot>.allocate(capacity: capacity)
        unsafe texts = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity * Self.textBytes)
    }

    deinit {
        for index in 0..<highWater { unsafe slots[index].answer?.deallocate() }
        unsafe slots.deallocate()
        unsafe texts.deallocate()
    }

    /// A slot for the request, or nil when all are in use.
    func take(_ request: OutgoingRequest) -> Int32? {
        let index: Int32
        if freeHead >= 0 {
            index = freeHead
            let slot = unsafe slots + Int(index)
            freeHead = unsafe slot.pointee.next
            unsafe slot.pointee.request = request
            unsafe slot.pointee.clearAnswer()
            unsafe slot.pointee.isWritten = false
            unsafe slot.pointee.resends = 0
            unsafe slot.pointee.bodySent = 0
            unsafe slot.pointee.next = -1
        } else {
            guard highWater < capacity else { return nil }
            index = Int32(truncatingIfNeeded: highWater)
            unsafe (slots + highWater).initialize(to: RequestSlot(request: request))
            highWater += 1
        }
        unsafe slots[Int(index)].phase = .pending
        used += 1
        return index
    }

    func release(_ index: Int32) {
        let slot = unsafe slots + Int(index)
        unsafe slot.pointee.phase = .free
        unsafe slot.pointee.streamID = 0
        unsafe slot.pointee.connection = 0
        if unsafe slot.pointee.answerCapacity > Self.answerKept {
            unsafe slot.pointee.answer?.deallocate()
            unsafe slot.pointee.answer = nil
            unsafe slot.pointee.answerCapacity = 0
        }
        unsafe slot.pointee.next = freeHead
        freeHead = index
        used -= 1
    }

    func text(_ index: Int, _ part: Int) -> UnsafeMutablePointer<UInt8> {
        unsafe texts + index * Self.textBytes + part * Self.textMax
    }

    /// Writes the body's length in decimal to the slot's last text and returns its place.
    func writeLength(_ index: Int, _ value: Int) -> (UnsafeMutablePointer<UInt8>, Int) {
        let end = unsafe texts + (index + 1) * Self.textBytes
        var at = unsafe end
        var rest = value
        var count = 0
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            unsafe at -= 1
            unsafe at.pointee = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
            rest = quotient
            count += 1
        } while rest > 0 && count < Self.lengthMax
        return unsafe (at, count)
    }

    /// Keeps a piece of the answer's body, up to the bound.
    static func appendAnswer(
        _ slot: UnsafeMutablePointer<RequestSlot>, _ data: UnsafePointer<UInt8>, _ count: Int
    ) {
        let have = unsafe slot.pointee.answerCount
        let take = min(count, answerMax - have)
        if take < count { unsafe slot.pointee.bodyWasCut = true }
        guard take > 0 else { return }
        if unsafe slot.pointee.answerCapacity < have + take {
            var size = unsafe max(256, slot.pointee.answerCapacity)
            while size < have + take { size *= 2 }
            let fresh = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
            if let old = unsafe slot.pointee.answer {
                unsafe memcpy(fresh, old, have)
                unsafe old.deallocate()
            }
            unsafe slot.pointee.answer = fresh
            unsafe slot.pointee.answerCapacity = size
        }
        if let answer = unsafe slot.pointee.answer { unsafe memcpy(answer + have, data, take) }
        unsafe slot.pointee.answerCount = have + take
    }
}

/// A request whose deadline has passed, as it was at that moment.
struct ExpiredRequest {
    var index: Int32
    var streamID: Int32
    var connection: UInt32
    var wasWritten: Bool
}

/// A queue of slots linked through ``RequestSlot/next``.
struct SlotQueue {
    private var head: Int32 = -1
    private var tail: Int32 = -1
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ index: Int32, _ slab: RequestSlab) {
        unsafe slab.slots[Int(index)].next = -1
        if tail >= 0 { unsafe slab.slots[Int(tail)].next = index } else { head = index }
        tail = index
        count += 1
    }

    mutating func prepend(_ index: Int32, _ slab: RequestSlab) {
        unsafe slab.slots[Int(index)].next = head
        head = index
        if tail < 0 { tail = index }
        count += 1
    }

    mutating func popFirst(_ slab: RequestSlab) -> Int32? {
        guard head >= 0 else { return nil }
        let index = head
        head = unsafe slab.slots[Int(index)].next
        if head < 0 { tail = -1 }
        unsafe slab.slots[Int(index)].next = -1
        count -= 1
        return index
    }
}

/// Two queues in one: urgent requests leave first, each kind in its own order.
struct UrgentFirstQueue {
    private var urgent = SlotQueue()
    private var others = SlotQueue()

    var count: Int { urgent.count + others.count }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ index: Int32, _ slab: RequestSlab) {
        if unsafe slab.slots[Int(index)].request.isUrgent {
            urgent.append(index, slab)
        } else {
            others.append(index, slab)
        }
    }

    mutating func prepend(_ index: Int32, _ slab: RequestSlab) {
        if unsafe slab.slots[Int(index)].request.isUrgent {
            urgent.prepend(index, slab)
        } else {
            others.prepend(index, slab)
        }
    }

    mutating func popFirst(_ slab: RequestSlab) -> Int32? {
        urgent.popFirst(slab) ?? others.popFirst(slab)
    }
}
