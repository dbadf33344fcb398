/// Deadlines of slots in a hashed wheel: constant time to add and remove, never early, at most one tick late.
///
/// A pure value: time is an argument.
struct DeadlineWheel {
    static let tickMs: UInt64 = 64
    private static let bucketCount = 512

    private struct Link {
        var next: Int32 = -1
        var previous: Int32 = -1
        var bucket: Int32 = -1
        var deadlineMs: UInt64 = 0
    }

    private var heads = [Int32](repeating: -1, count: bucketCount)
    private var links: [Link] = []
    // The last tick whose bucket has been swept.
    private var sweptTick: UInt64
    private(set) var count = 0

    init(nowMs: UInt64) { sweptTick = nowMs / Self.tickMs }

    /// Adds a slot, which must not be in the wheel.
    mutating func insert(_ index: Int32, deadlineMs: UInt64) {
        while links.count <= Int(index) { links.append(Link()) }
        // The tick after the deadline, so that a sweep of it is never early.
        let horizon = sweptTick &+ UInt64(Self.bucketCount) - 1
        let tick = min(max(deadlineMs / Self.tickMs &+ 1, sweptTick &+ 1), horizon)
        let bucket = Int(tick % UInt64(Self.bucketCount))
        let head = heads[bucket]
        links[Int(index)] = Link(
            next: head, previous: -1, bucket: Int32(truncatingIfNeeded: bucket), deadlineMs: deadlineMs)
        if head >= 0 { links[Int(head)].previous = index }
        heads[bucket] = index
        count += 1
    }

    /// Takes a slot out; one that is not in the wheel is ignored.
    mutating func remove(_ index: Int32) {
        guard Int(index) < links.count else { return }
        let link = links[Int(index)]
        guard link.bucket >= 0 else { return }
        if link.previous >= 0 {
            links[Int(link.previous)].next = link.next
        } else {
            heads[Int(link.bucket)] = link.next
        }
        if link.next >= 0 { links[Int(link.next)].previous = link.previous }
        links[Int(index)].bucket = -1
        count -= 1
    }

    /// Takes out every slot whose deadline has passed and appends it to `due`.
    mutating func expire(nowMs: UInt64, into due: inout [Int32]) {
        let target = nowMs / Self.tickMs
        guard target > sweptTick else { return }
        // After a long pause every bucket is swept once, not once a turn of the wheel.
        let first = max(sweptTick &+ 1, target >= UInt64(Self.bucketCount) ? target - 511 : 0)
        sweptTick = target
        for tick in first...target {
            var index = heads[Int(tick % UInt64(Self.bucketCount))]
            while index >= 0 {
                let link = links[Int(index)]
                remove(index)
                if link.deadlineMs <= nowMs {
                    due.append(index)
                } else {
                    insert(index, deadlineMs: link.deadlineMs)
                }
                index = link.next
            }
        }
    }
}
