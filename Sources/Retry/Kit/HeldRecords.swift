import Core
import Kafka

/// Where a held record stands.
enum HeldState: UInt8 {
    /// The slot is empty.
    case free
    /// Its offset lies too far above the lowest unfinished one to be tracked yet.
    case untracked
    /// It waits for its time.
    case held
    /// It is to be produced as soon as there is room.
    case ready
    /// It was produced; its report is awaited.
    case inFlight
}

/// What is known of one held record; its bytes are in one block of memory.
@safe
struct HeldRecord {
    var state = HeldState.free
    var generation: UInt32 = 0
    var partition: Int32 = 0
    var epoch: UInt32 = 0
    var offset: Int64 = 0
    var dueMs: Int64 = 0
    var enteredMs: Int64 = 0
    /// The index of the producer's topic that it goes to.
    var target: Int32 = 0
    /// Why it dies, when it does.
    var isDead = false
    /// How often producing it failed.
    var failures: UInt8 = 0

    // -1 stands for none.
    var keyCount: Int32 = -1
    var valueCount: Int32 = -1
    var headerBytes: Int32 = 0
    var block: UnsafeMutableRawPointer?

    var byteCount: Int { Int(max(0, keyCount)) + Int(max(0, valueCount)) + Int(headerBytes) }
}

/// The records of one tier in memory: a slab of slots, each with its bytes in one allocation.
///
/// ```
///   block:  key | value | (name length, value length, name, value) for each header
/// ```
///
/// - Ownership: frees the blocks in `release` and `deinit`.
/// - Threading: one owner.
@safe
final class HeldRecords {
    private(set) var slots: [HeldRecord] = []
    private var free: [UInt32] = []
    /// Slots in use.
    private(set) var count = 0
    /// Bytes of the blocks in use.
    private(set) var bytes = 0
    /// Headers that were left out because a record had more than Kafka's producer here carries.
    private(set) var headersCut: UInt64 = 0

    private static let headerHead = 6

    deinit {
        for slot in slots { unsafe slot.block?.deallocate() }
    }

    /// Copies the record into a slot. The caller sets what it decides afterwards.
    func insert(_ record: borrowing KafkaRecord) -> Int {
        var slot = HeldRecord()
        var headerBytes = 0
        var headerCount = 0
        unsafe record.forEachHeader { name, value in
            headerBytes += Self.headerHead + name.count + value.count
            headerCount += 1
        }
        let overflows =
            headerCount > KafkaHeaders.maxCount
            || headerBytes > KafkaHeaders.maxBytes - 2 * KafkaHeaders.maxCount
        let keyCount = unsafe record.key?.count ?? 0
        let valueCount = unsafe record.value?.count ?? 0
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: max(1, keyCount + valueCount + headerBytes), alignment: 1)
        if let key = unsafe record.key, let base = key.baseAddress {
            unsafe block.copyMemory(from: base, byteCount: keyCount)
        }
        if let value = unsafe record.value, let base = value.baseAddress {
            unsafe (block + keyCount).copyMemory(from: base, byteCount: valueCount)
        }
        var writer = unsafe HeaderWriter(base: block + keyCount + valueCount)
        if overflows {
            // Peal's own come first: a record must not lose its bookkeeping to a sender's many headers.
            unsafe record.forEachHeader { unsafe Self.isOurs($0) ? writer.add($0, $1) : () }
            unsafe record.forEachHeader { unsafe Self.isOurs($0) ? () : writer.add($0, $1) }
            headersCut &+= UInt64(max(0, headerCount - writer.count))
        } else {
            unsafe record.forEachHeader { unsafe writer.add($0, $1) }
        }
        unsafe slot.block = unsafe block
        slot.keyCount = unsafe record.key == nil ? -1 : Int32(clamping: keyCount)
        slot.valueCount = unsafe record.value == nil ? -1 : Int32(clamping: valueCount)
        slot.headerBytes = Int32(clamping: writer.written)
        slot.partition = record.partition
        slot.offset = record.offset
        return place(slot)
    }

    private func place(_ record: HeldRecord) -> Int {
        var slot = record
        count += 1
        bytes += slot.byteCount
        if let index = free.popLast() {
            slot.generation = slots[Int(index)].generation &+ 1
            slots[Int(index)] = slot
            return Int(index)
        }
        slots.append(slot)
        return slots.count - 1
    }

    /// Frees a slot; does nothing when it is free.
    func release(_ index: Int) {
        guard slots.indices.contains(index), slots[index].state != .free else { return }
        count -= 1
        bytes -= slots[index].byteCount
        unsafe slots[index].block?.deallocate()
        let generation = slots[index].generation
        slots[index] = HeldRecord()
        slots[index].generation = generation
        free.append(UInt32(truncatingIfNeeded: index))
    }

    /// Changes what is known of a record.
    func update(_ index: Int, _ body: (inout HeldRecord) -> Void) {
        guard slots.indices.contains(index) else { return }
        body(&slots[index])
    }

    /// The slot that a number from `token` names, while it is still about the same record.
    func index(ofToken token: UInt64) -> Int? {
        let index = Int(token & 0xFFFF_FFFF)
        guard slots.indices.contains(index), slots[index].state != .free,
            slots[index].generation == UInt32(truncatingIfNeeded: token >> 32)
        else { return nil }
        return index
    }

    /// A number that names the slot and the record in it.
    func token(_ index: Int) -> UInt64 {
        UInt64(slots[index].generation) << 32 | UInt64(UInt32(truncatingIfNeeded: index))
    }

    /// The record's key, while the slot holds it.
    func key(_ index: Int) -> UnsafeRawBufferPointer? {
        let slot = slots[index]
        guard slot.keyCount >= 0 else { return nil }
        return unsafe UnsafeRawBufferPointer(start: slot.block, count: Int(slot.keyCount))
    }

    /// The record's value, while the slot holds it.
    func value(_ index: Int) -> UnsafeRawBufferPointer? {
        let slot = slots[index]
        guard slot.valueCount >= 0, let block = unsafe slot.block else { return nil }
        return unsafe UnsafeRawBufferPointer(
            start: block + Int(max(0, slot.keyCount)), count: Int(slot.valueCount))
    }

    /// Calls `body` with each header's name and value.
    func forEachHeader(_ index: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        let slot = slots[index]
        guard let block = unsafe slot.block else { return }
        let start = unsafe block + Int(max(0, slot.keyCount)) + Int(max(0, slot.valueCount))
        let all = unsafe UnsafeRawBufferPointer(start: start, count: Int(slot.headerBytes))
        var at = 0
        while at + Self.headerHead <= all.count {
            let name = unsafe Int(all.loadUnaligned(fromByteOffset: at, as: UInt16.self))
            let value = unsafe Int(all.loadUnaligned(fromByteOffset: at + 2, as: UInt32.self))
            let end = at + Self.headerHead + name + value
            guard end <= all.count else { return }
            let from = at + Self.headerHead
            unsafe body(
                UnsafeRawBufferPointer(rebasing: all[from..<from + name]),
                UnsafeRawBufferPointer(rebasing: all[from + name..<end]))
            at = end
        }
    }

    private static func isOurs(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe name.starts(with: "peal-".utf8) || name.elementsEqual("traceparent".utf8)
    }
}

/// Writes headers into a block that has room for all of the record's.
@safe
private struct HeaderWriter {
    let base: UnsafeMutableRawPointer
    var written = 0
    var count = 0
    private var produced = 0

    init(base: UnsafeMutableRawPointer) { unsafe self.base = unsafe base }

    mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        // What `KafkaHeaders` would not take is left out here, where it can be chosen.
        let size = name.count + value.count + 1
        guard count < KafkaHeaders.maxCount, produced + size <= KafkaHeaders.maxBytes,
            let nameBase = name.baseAddress, name.count <= Int(UInt16.max)
        else { return }
        let at = unsafe base + written
        unsafe at.storeBytes(of: UInt16(name.count), as: UInt16.self)
        unsafe (at + 2).storeBytes(of: UInt32(value.count), as: UInt32.self)
        unsafe (at + 6).copyMemory(from: nameBase, byteCount: name.count)
        if let valueBase = value.baseAddress {
            unsafe (at + 6 + name.count).copyMemory(from: valueBase, byteCount: value.count)
        }
        written += 6 + name.count + value.count
        produced += size
        count += 1
    }
}
