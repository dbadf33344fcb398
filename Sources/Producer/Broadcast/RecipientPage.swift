internal import Core

/// The recipients of some shards, from the reading to the last acknowledgement.
///
/// - Ownership: one part's; its number names it in Redis tags and delivery reports.
final class RecipientPage {
    /// The page's number, unlike that of any other page in memory.
    let number: UInt32
    /// The shards that it covers.
    let shards: Range<Int>
    /// Replies that are still to come.
    var awaited = 0
    /// Whether a reply was none: the page is read again.
    var hasFailed = false
    /// When it is read again, in ms of the loop's clock.
    var retryAtMs: UInt64 = 0
    /// Recipients that were handed to Kafka at least once, in order.
    private(set) var produced = 0
    /// Recipients whose jobs the broker has acknowledged.
    private(set) var acknowledged = 0
    /// Recipients whose jobs the broker refused, to be produced again.
    private(set) var refused: [UInt32] = []

    private var names = ByteBuffer(capacity: 4096)
    /// Where each name ends.
    private var ends: [Int] = []

    init(number: UInt32, shards: Range<Int>) {
        self.number = number
        self.shards = shards
    }

    /// How many recipients it has.
    var count: Int { ends.count }
    /// Whether all of its shards have been read.
    var isRead: Bool { awaited == 0 && !hasFailed }
    /// Whether there is something to produce now.
    var isWaiting: Bool { isRead && (produced < count || !refused.isEmpty) }
    /// Whether every recipient has its job.
    var isComplete: Bool { isRead && acknowledged == count }
    /// Whether some of it is out.
    var isBegun: Bool { produced > 0 }

    /// Adds a recipient that was read.
    func add(_ name: UnsafeRawBufferPointer) {
        unsafe names.append(name)
        ends.append(names.count)
    }

    /// Forgets what was read, to read it again.
    func clear() {
        names.clear()
        ends.removeAll(keepingCapacity: true)
        hasFailed = false
    }

    /// The recipient to produce next; nil when there is none.
    var next: UInt32? { refused.last ?? (produced < count ? UInt32(truncatingIfNeeded: produced) : nil) }

    /// The name at an index below `count`.
    /// - Valid: until something is added.
    func name(_ index: UInt32) -> UnsafeRawBufferPointer {
        let start = index == 0 ? 0 : ends[Int(index) - 1]
        return unsafe UnsafeRawBufferPointer(rebasing: names.bytes[start..<ends[Int(index)]])
    }

    /// Notes that `next` was handed to Kafka.
    func advance() { if refused.popLast() == nil { produced += 1 } }

    /// Notes that the broker has acknowledged one.
    func acknowledge() { acknowledged += 1 }

    /// Notes that the broker has refused one, which is produced again.
    func refuse(_ index: UInt32) { if Int(index) < count { refused.append(index) } }
}
