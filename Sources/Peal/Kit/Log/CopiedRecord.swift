internal import Core
internal import Kafka

/// A record with memory of its own.
struct CopiedRecord: Equatable {
    struct Header: Equatable {
        var name: String
        var value: [UInt8]
    }

    /// The index of the topic in its scan.
    var topic: Int = 0
    var partition: Int32 = 0
    var offset: Int64 = 0
    var timestampMs: Int64 = -1
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [Header] = []

    init() {}

    /// Copies a record that Kafka lends.
    init(_ record: borrowing KafkaRecord) {
        topic = Int(record.topic)
        partition = record.partition
        offset = record.offset
        timestampMs = record.timestampMs
        key = unsafe record.key.map { unsafe Array($0) }
        value = unsafe record.value.map { unsafe Array($0) }
        unsafe record.forEachHeader { name, value in
            headers.append(
                unsafe Header(name: String(decoding: name, as: UTF8.self), value: Array(value)))
        }
    }

    /// The last header of that name as text; nil when there is none.
    func text(_ name: StaticString) -> String? {
        let wanted = "\(name)"
        return headers.last { $0.name == wanted }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The last header of that name as a number that isn't negative; nil when it isn't one.
    func number(_ name: StaticString) -> Int64? {
        text(name).flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// The key as text; empty without one.
    var keyText: String { key.map { String(decoding: $0, as: UTF8.self) } ?? "" }
}
