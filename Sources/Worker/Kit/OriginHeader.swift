internal import Core

/// The parts of `peal-origin`: `topic/partition/offset`.
struct OriginHeader {
    let topicHash: UInt16
    let partition: Int32
    let offset: Int64

    /// Reads the header from its end, since a topic's name may not hold a slash but a value of ours may be
    /// anything.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var slashes: [Int] = []
        for position in bytes.indices where unsafe bytes[position] == UInt8(ascii: "/") {
            slashes.append(position)
        }
        guard slashes.count >= 2 else { return nil }
        let first = slashes[slashes.count - 2]
        let second = slashes[slashes.count - 1]
        let partitionText = unsafe String(decoding: bytes[(first + 1)..<second], as: UTF8.self)
        let offsetText = unsafe String(decoding: bytes[(second + 1)...], as: UTF8.self)
        guard let partition = Int32(partitionText), let offset = Int64(offsetText) else { return nil }
        topicHash = unsafe UInt16(
            truncatingIfNeeded: Hash64.of(UnsafeRawBufferPointer(rebasing: bytes[..<first])))
        self.partition = partition
        self.offset = offset
    }
}
