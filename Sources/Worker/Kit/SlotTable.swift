/// What a ``SlotTable`` keeps.
protocol PooledSlot {
    /// A slot that is not in use.
    init()
    /// Grows with every reuse, so that a late answer to a former use is recognised.
    var generation: UInt32 { get set }
    /// Whether it is in use.
    var isInUse: Bool { get }
}

/// Slots of one kind in chunks of memory that never move, reused through a free list.
///
/// - Ownership: frees the chunks in `deinit`; what the slots point to is their user's.
/// - Threading: one thread.
/// - Cost: allocates a chunk of 1,024 slots at a time, nothing in steady state.
@safe
struct SlotTable<Slot: PooledSlot>: ~Copyable {
    private static var chunkSize: Int { 1024 }
    private var chunks: [UnsafeMutablePointer<Slot>] = unsafe []
    private var free: [Int32] = []
    /// Slots in use.
    private(set) var count = 0

    init() {}

    deinit {
        for index in unsafe chunks.indices {
            unsafe chunks[index].deinitialize(count: Self.chunkSize)
            unsafe chunks[index].deallocate()
        }
    }

    /// Takes a slot, fresh but for its generation.
    mutating func take() -> Int32 {
        if free.isEmpty { grow() }
        count += 1
        return free.removeLast()
    }

    private mutating func grow() {
        let chunk = UnsafeMutablePointer<Slot>.allocate(capacity: Self.chunkSize)
        unsafe chunk.initialize(repeating: Slot(), count: Self.chunkSize)
        let first = unsafe Int32(chunks.count * Self.chunkSize)
        unsafe chunks.append(chunk)
        free.append(contentsOf: (first..<first + Int32(Self.chunkSize)).reversed())
    }

    /// Gives a slot back.
    mutating func give(_ index: Int32) {
        let generation = self[index].generation &+ 1
        self[index] = Slot()
        self[index].generation = generation
        count -= 1
        free.append(index)
    }

    /// One more than the highest index that was ever given out.
    var capacity: Int { unsafe chunks.count * Self.chunkSize }

    /// Whether a slot meets the condition. Looks at all of them: for rare questions.
    func contains(where condition: (borrowing Slot) -> Bool) -> Bool {
        for chunk in unsafe chunks.indices {
            for index in 0..<Self.chunkSize where unsafe condition(chunks[chunk][index]) { return true }
        }
        return false
    }

    subscript(index: Int32) -> Slot {
        unsafeAddress { unsafe UnsafePointer(address(index)) }
        unsafeMutableAddress { unsafe address(index) }
    }

    private func address(_ index: Int32) -> UnsafeMutablePointer<Slot> {
        let chunk = Int(index) / Self.chunkSize
        // An index that was never given out is a bug of the shard.
        precondition(unsafe index >= 0 && chunk < chunks.count, "slot index out of range")
        return unsafe chunks[chunk] + Int(index) % Self.chunkSize
    }

    /// A reference that survives reuse: the generation and the index.
    func reference(_ index: Int32) -> UInt64 {
        UInt64(self[index].generation) << 32 | UInt64(UInt32(bitPattern: index))
    }

    /// The slot that a reference means; nil when it was given back since.
    func resolve(_ reference: UInt64) -> Int32? {
        let index = Int32(truncatingIfNeeded: reference & 0xFFFF_FFFF)
        guard index >= 0, unsafe Int(index) < chunks.count * Self.chunkSize,
            self[index].generation == UInt32(reference >> 32), self[index].isInUse
        else { return nil }
        return index
    }
}
