internal import Core

/// The response headers that a push provider sends.
package enum ResponseHeader: UInt8, CaseIterable, Sendable {
    case apnsID, apnsUniqueID, contentType, contentLength, retryAfter, date, server, apnsRequestID

    /// The lower-case name on the wire.
    var name: StaticString {
        switch self {
        case .apnsID: "apns-id"
        case .apnsUniqueID: "apns-unique-id"
        case .contentType: "content-type"
        case .contentLength: "content-length"
        case .retryAfter: "retry-after"
        case .date: "date"
        case .server: "server"
        case .apnsRequestID: "apns-request-id"
        }
    }

    /// Whether each response carries another value, so that the value must stay out of the compression table.
    var changes: Bool {
        switch self {
        case .apnsID, .apnsUniqueID, .apnsRequestID: true
        case .contentType, .contentLength, .retryAfter, .date, .server: false
        }
    }
}

/// A reusable list of response headers, filled anew for each response without allocating.
package struct ResponseHeaders: ~Copyable {
    /// More than a provider ever sends; what doesn't fit is dropped.
    static let countMax = 8

    struct Entry {
        var header: ResponseHeader = .apnsID
        var start: Int32 = 0
        var count: Int32 = 0
    }

    var values: ByteBuffer
    var entries = InlineArray<8, Entry>(repeating: Entry())
    private(set) var count = 0

    /// Makes an empty list.
    package init() { values = ByteBuffer(capacity: 256) }

    /// Forgets all headers and keeps the memory.
    package mutating func clear() {
        values.clear()
        count = 0
    }

    /// Adds a header. At most eight fit; more are ignored.
    package mutating func add(_ header: ResponseHeader, _ value: UnsafeRawBufferPointer) {
        guard count < Self.countMax, value.count <= 4096 else { return }
        entries[count] = Entry(
            header: header, start: Int32(clamping: values.count), count: Int32(clamping: value.count))
        unsafe values.append(value)
        count += 1
    }

    /// Adds a header whose value is known at compile time.
    package mutating func add(_ header: ResponseHeader, _ value: StaticString) {
        unsafe add(header, UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    /// Adds a header with a decimal value.
    package mutating func add(_ header: ResponseHeader, decimal value: UInt64) {
        guard count < Self.countMax else { return }
        let start = values.count
        values.append(unsigned: value)
        entries[count] = Entry(
            header: header, start: Int32(clamping: start), count: Int32(clamping: values.count - start))
        count += 1
    }
}
