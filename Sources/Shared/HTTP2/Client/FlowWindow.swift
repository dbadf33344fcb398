/// What we may still send on a stream or a connection (RFC 9113 section 6.9).
struct SendWindow: Equatable {
    static let initial: Int32 = 65_535

    /// Bytes; below zero after the server lowered SETTINGS_INITIAL_WINDOW_SIZE.
    private(set) var left: Int32

    init(_ left: Int32 = SendWindow.initial) { self.left = left }

    mutating func spend(_ count: Int) { left &-= Int32(truncatingIfNeeded: count) }

    /// Takes a WINDOW_UPDATE, or a difference of SETTINGS_INITIAL_WINDOW_SIZE.
    /// - Returns: false when the window would pass 2^31-1, which is the server's error.
    mutating func add(_ delta: Int32) -> Bool {
        let (sum, overflow) = left.addingReportingOverflow(delta)
        if !overflow { left = sum }
        return !overflow
    }
}

/// What the server may still send on a stream or a connection, given back in halves so that WINDOW_UPDATEs
/// are few.
struct ReceiveWindow: Equatable {
    enum Taken: Equatable {
        case ok
        /// Tell the server that it may send this many bytes more.
        case give(UInt32)
        /// The server sent more than it was allowed.
        case exceeded
    }

    let size: Int32
    private(set) var used: Int32 = 0

    init(size: Int32) { self.size = size }

    /// Counts a DATA frame's payload, padding included. With `isLast` nothing is given back, as nothing more
    /// follows.
    mutating func take(_ count: Int, isLast: Bool = false) -> Taken {
        guard count <= Int(size &- used) else { return .exceeded }
        used &+= Int32(truncatingIfNeeded: count)
        guard used >= size / 2, used > 0, !isLast else { return .ok }
        defer { used = 0 }
        return .give(UInt32(bitPattern: used))
    }
}

/// Bounds frames that bring nothing forward, such as empty DATA, PRIORITY and frames for streams that are
/// over: each costs CPU and none costs the server anything (RFC 9113 section 10.5).
struct IdleFrameBudget: Equatable {
    /// Such frames between two answers.
    static let most = 10_000

    private(set) var left = IdleFrameBudget.most

    /// - Returns: false when the budget is used up.
    mutating func spend() -> Bool {
        left -= 1
        return left >= 0
    }

    /// A request has been answered.
    mutating func refill() { left = Self.most }
}
