/// One stream between its HEADERS and its end.
struct ClientStream {
    var id: Int32 = 0
    /// The request's slot, which may have been given up since.
    var slot: Int32 = -1
    var window = SendWindow()
    var received = ReceiveWindow(size: SendWindow.initial)
    var head = ResponseHead()
    /// We have sent END_STREAM.
    var isSent = false
    /// The server has sent END_STREAM.
    var isAnswered = false
    /// Its body waits for the stream's own window.
    var isParked = false
}

/// The open streams of a connection by their id.
///
/// Open addressing on the id, since ids are handed out in order and are odd: the streams in flight lie near
/// each other with a gap after each, so that a removal moves nothing. One that stays open for long only
/// pushes a later one into its gap when the ids have gone round the table.
///
/// - Ownership: owns its memory.
@safe
struct StreamTable: ~Copyable {
    private var places: UnsafeMutablePointer<ClientStream>
    private var mask: Int
    private(set) var count = 0

    init(capacity: Int = 256) {
        var size = 16
        while size < capacity { size *= 2 }
        unsafe places = UnsafeMutablePointer<ClientStream>.allocate(capacity: size)
        unsafe places.initialize(repeating: ClientStream(), count: size)
        mask = size - 1
    }

    deinit { unsafe places.deallocate() }

    var isEmpty: Bool { count == 0 }

    @inline(__always)
    private func home(_ id: Int32) -> Int { Int(id) & mask }

    /// The stream's place, or nil.
    /// - Valid: until the next insertion or removal.
    @inline(__always)
    func find(_ id: Int32) -> UnsafeMutablePointer<ClientStream>? {
        var at = home(id)
        while true {
            let place = unsafe places + at
            if unsafe place.pointee.id == id { return unsafe place }
            if unsafe place.pointee.id == 0 { return nil }
            at = (at + 1) & mask
        }
    }

    /// Adds a stream that isn't there; ids are above zero.
    @discardableResult
    mutating func insert(_ stream: ClientStream) -> UnsafeMutablePointer<ClientStream> {
        // A quarter full at most, so that runs stay short.
        if (count + 1) * 4 > mask + 1 { grow() }
        var at = home(stream.id)
        while unsafe places[at].id != 0 { at = (at + 1) & mask }
        unsafe places[at] = stream
        count += 1
        return unsafe places + at
    }

    /// Removes a stream, and moves those behind it up so that none becomes unreachable.
    mutating func remove(_ id: Int32) {
        guard let place = unsafe find(id) else { return }
        var hole = unsafe place - places
        var at = hole
        while true {
            at = (at + 1) & mask
            let other = unsafe places[at].id
            if other == 0 { break }
            // Whether the other's home lies at or before the hole on its way.
            let distance = (at &- home(other)) & mask
            if distance >= (at &- hole) & mask {
                unsafe places[hole] = unsafe places[at]
                hole = at
            }
        }
        unsafe places[hole].id = 0
        count -= 1
    }

    /// The ids of all streams, in no order. For what happens rarely.
    var ids: [Int32] {
        var found: [Int32] = []
        for at in 0...mask where unsafe places[at].id != 0 { unsafe found.append(places[at].id) }
        return found
    }

    private mutating func grow() {
        let old = unsafe places
        let oldSize = mask + 1
        let size = oldSize * 2
        unsafe places = UnsafeMutablePointer<ClientStream>.allocate(capacity: size)
        unsafe places.initialize(repeating: ClientStream(), count: size)
        mask = size - 1
        count = 0
        for at in 0..<oldSize where unsafe old[at].id != 0 { unsafe insert(old[at]) }
        unsafe old.deallocate()
    }
}

/// Requests in the order in which their turn comes, in a ring without an allocation a request.
struct SendQueue {
    struct Item: Equatable {
        var streamID: Int32
        /// -1 once it was cancelled.
        var slot: Int32
        /// The place of the request's template in ``HeaderBlocks``.
        var template: Int32
    }

    private var items: [Item] = []
    private var head = 0

    var isEmpty: Bool { head == items.count }
    var count: Int { items.count - head }
    var first: Item? { head < items.count ? items[head] : nil }

    mutating func append(_ item: Item) {
        // What was taken makes room before the memory grows.
        if head * 2 >= items.count, items.count == items.capacity {
            items.removeSubrange(0..<head)
            head = 0
        }
        items.append(item)
    }

    mutating func removeFirst() {
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        }
    }

    /// Marks a stream's item as cancelled. For what happens rarely.
    /// - Returns: whether it was there.
    mutating func cancel(_ streamID: Int32) -> Bool {
        guard let at = items[head...].firstIndex(where: { $0.streamID == streamID }) else { return false }
        items[at].slot = -1
        return true
    }
}
