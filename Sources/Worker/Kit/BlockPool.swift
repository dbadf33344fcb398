/// Memory blocks of a few sizes, reused without going back to the allocator.
///
/// One delivery keeps its path, ids and body in one block, so the steady state allocates nothing.
/// - Ownership: a block lent by ``take(_:)`` goes back by ``give(_:_:)`` exactly once; `deinit` frees the
///   idle ones.
/// - Threading: one thread.
@safe
struct BlockPool: ~Copyable {
    /// Sizes in bytes; a request above the last one gets a block of its own size that isn't kept.
    static let sizes = [768, 1536, 3072, 6144]
    /// Idle blocks kept for each size.
    private static let idleMax = 8192

    private var idle: [[UnsafeMutableRawPointer]] = unsafe Array(repeating: [], count: sizes.count)
    /// Blocks lent and not given back.
    private(set) var lent = 0
    /// Calls that had to ask the allocator.
    private(set) var allocations: UInt64 = 0

    init() {}

    deinit {
        for size in unsafe idle.indices {
            for index in unsafe idle[size].indices { unsafe idle[size][index].deallocate() }
        }
    }

    /// Lends a block of at least `count` bytes; its real size is in the result's count.
    mutating func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
        lent += 1
        let index = Self.index(for: count)
        guard index < Self.sizes.count else {
            allocations &+= 1
            return .allocate(byteCount: count, alignment: 16)
        }
        let size = Self.sizes[index]
        if let block = unsafe idle[index].popLast() { return unsafe .init(start: block, count: size) }
        allocations &+= 1
        return .allocate(byteCount: size, alignment: 16)
    }

    /// Takes a block back.
    mutating func give(_ block: UnsafeMutableRawBufferPointer) {
        lent -= 1
        guard let start = block.baseAddress else { return }
        let index = Self.index(for: block.count)
        if index < Self.sizes.count, block.count == Self.sizes[index], unsafe idle[index].count < Self.idleMax
        {
            unsafe idle[index].append(start)
        } else {
            unsafe block.deallocate()
        }
    }

    private static func index(for count: Int) -> Int {
        var index = 0
        while index < sizes.count, sizes[index] < count { index += 1 }
        return index
    }
}
