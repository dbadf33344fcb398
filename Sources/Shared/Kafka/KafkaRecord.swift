import CRdkafka

/// One record, borrowed from librdkafka for the length of the call it is given to.
///
/// - Valid: only within `KafkaRecordSink.take`; copy what must outlive it.
@safe
package struct KafkaRecord: ~Copyable {
    /// The topic's index in the consumer's list.
    package let topic: Int32
    package let partition: Int32
    package let offset: Int64
    /// The record's timestamp in milliseconds since 1970; -1 when it has none.
    package let timestampMs: Int64
    /// The key's bytes; nil when the record has none.
    package let key: UnsafeRawBufferPointer?
    /// The value's bytes; nil for a null value.
    package let value: UnsafeRawBufferPointer?

    private let message: UnsafeMutablePointer<rd_kafka_message_t>

    init(_ message: UnsafeMutablePointer<rd_kafka_message_t>, topic: Int32) {
        unsafe self.message = message
        self.topic = topic
        unsafe partition = message.pointee.partition
        unsafe offset = message.pointee.offset
        unsafe timestampMs = rd_kafka_message_timestamp(message, nil)
        unsafe key = message.pointee.key.map {
            unsafe UnsafeRawBufferPointer(start: $0, count: message.pointee.key_len)
        }
        unsafe value = message.pointee.payload.map {
            unsafe UnsafeRawBufferPointer(start: $0, count: message.pointee.len)
        }
    }

    /// The last header of that name; nil when there is none. Headers are parsed at the first question.
    package func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
        var list: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return nil
        }
        var value: UnsafeRawPointer?
        var size = 0
        let found = unsafe name.utf8Start.withMemoryRebound(
            to: CChar.self, capacity: name.utf8CodeUnitCount + 1
        ) { unsafe rd_kafka_header_get_last(list, $0, &value, &size) }
        guard found == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return unsafe UnsafeRawBufferPointer(start: value, count: unsafe value == nil ? 0 : size)
    }

    /// Whether the record has any header.
    package var hasHeaders: Bool {
        var list: OpaquePointer?
        return unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// Calls `body` with each header's name and value, in the record's order.
    package func forEachHeader(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        var list: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        var index = 0
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var size = 0
        while unsafe rd_kafka_header_get_all(list, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR
        {
            index += 1
            guard let start = unsafe name else { continue }
            let nameBytes = unsafe UnsafeRawBufferPointer(start: start, count: length(of: start))
            unsafe body(
                nameBytes, UnsafeRawBufferPointer(start: value, count: unsafe value == nil ? 0 : size))
        }
    }

    private func length(of text: UnsafePointer<CChar>) -> Int {
        var count = 0
        while unsafe text[count] != 0 { count += 1 }
        return count
    }
}

/// Takes records on the thread that polls.
package protocol KafkaRecordSink: AnyObject {
    /// Takes one record; copy what must outlive the call.
    func take(_ record: borrowing KafkaRecord)
}
