internal import Core
internal import Kafka

/// A copy of a record of one of the stage's topics, with its place.
struct HeldRecord {
    /// One header as it came.
    struct Header {
        let name: [UInt8]
        let value: [UInt8]
    }

    let topic: Int
    let partition: Int
    let offset: Int64
    /// The assignment that it was read in.
    let epoch: UInt32
    let timestampMs: Int64
    let key: [UInt8]
    let value: [UInt8]
    let headers: [Header]

    init(_ record: borrowing KafkaRecord, epoch: UInt32) {
        topic = Int(record.topic)
        partition = Int(record.partition)
        offset = record.offset
        self.epoch = epoch
        timestampMs = record.timestampMs
        key = unsafe record.key.map { unsafe Array($0) } ?? []
        value = unsafe record.value.map { unsafe Array($0) } ?? []
        var found: [Header] = []
        unsafe record.forEachHeader { name, value in
            if found.count < KafkaHeaders.maxCount {
                unsafe found.append(Header(name: Array(name), value: Array(value)))
            }
        }
        headers = found
    }

    /// The last header of that name as text; nil when there is none.
    func text(_ name: StaticString) -> String? {
        let wanted = "\(name)"
        return headers.last { String(decoding: $0.name, as: UTF8.self) == wanted }
            .map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The last header of that name as a number that isn't negative; nil when there is none.
    func number(_ name: StaticString) -> Int64? {
        text(name).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Adds the headers that are the sender's own, `traceparent` among them.
    func addForeign(to out: inout KafkaHeaders) {
        for header in headers where !header.name.starts(with: "peal-".utf8) {
            unsafe header.name.withUnsafeBytes { name in
                unsafe header.value.withUnsafeBytes { value in _ = unsafe out.add(name: name, value) }
            }
        }
    }
}
