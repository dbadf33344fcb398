/// Which of a pool's header templates a request uses.
package struct TemplateID: Equatable, Sendable {
    let index: Int32
}

/// The request headers that differ from request to request.
package enum VariableHeader: UInt8, CaseIterable, Sendable {
    case apnsID, apnsExpiration, apnsCollapseID, apnsPriority, apnsPushType, apnsTopic
    case apnsChannelID, apnsRequestID, authorization, traceParent

    /// The lower-case name on the wire.
    package var name: StaticString {
        switch self {
        case .apnsID: "apns-id"
        case .apnsExpiration: "apns-expiration"
        case .apnsCollapseID: "apns-collapse-id"
        case .apnsPriority: "apns-priority"
        case .apnsPushType: "apns-push-type"
        case .apnsTopic: "apns-topic"
        case .apnsChannelID: "apns-channel-id"
        case .apnsRequestID: "apns-request-id"
        case .authorization: "authorization"
        case .traceParent: "traceparent"
        }
    }

    /// Whether values rarely repeat. Apple asks to index such a header once and never again, which keeps its
    /// name in the small compression table and its values out.
    var changes: Bool {
        switch self {
        case .apnsID, .apnsExpiration, .apnsCollapseID, .apnsChannelID, .apnsRequestID, .traceParent: true
        case .apnsPriority, .apnsPushType, .apnsTopic, .authorization: false
        }
    }

    /// How it goes into a header block.
    var use: HeaderUse {
        if self == .authorization { return .secret }
        return changes ? .changes : .repeats
    }
}

/// One request as plain data: where its bytes are, not the bytes.
///
/// - Ownership: the caller keeps the memory behind the path, the header values and the body unchanged until
///   the sink has heard of the request's tag.
@safe
package struct OutgoingRequest {
    @safe
    struct Value {
        var header: VariableHeader = .apnsID
        var count: Int32 = 0
        var base: UnsafePointer<UInt8>?
    }

    /// How many variable headers a request may carry.
    package static let headersMax = 6

    /// The constant headers.
    package var template: TemplateID
    /// The caller's name for the request, handed back with its outcome.
    package var tag: UInt64
    /// When the request is given up, in the loop's milliseconds.
    package var deadlineMs: UInt64
    /// Whether it gets a stream before others that wait for one.
    package var isUrgent = false
    /// The path, such as `/3/device/…`.
    package var path: UnsafeRawBufferPointer
    /// The body; may be empty.
    package var body: UnsafeRawBufferPointer
    var headers = InlineArray<6, Value>(repeating: Value())
    private(set) var headerCount = 0

    /// Makes a request without variable headers.
    package init(
        template: TemplateID, tag: UInt64, deadlineMs: UInt64, path: UnsafeRawBufferPointer,
        body: UnsafeRawBufferPointer
    ) {
        self.template = template
        self.tag = tag
        self.deadlineMs = deadlineMs
        unsafe self.path = path
        unsafe self.body = body
    }

    /// Adds a header that the template doesn't have. At most ``headersMax`` fit; empty values and more are
    /// ignored.
    package mutating func add(_ header: VariableHeader, _ value: UnsafeRawBufferPointer) {
        guard headerCount < Self.headersMax, let base = value.baseAddress, value.count > 0 else { return }
        unsafe headers[headerCount] = Value(
            header: header, count: Int32(clamping: value.count),
            base: base.assumingMemoryBound(to: UInt8.self))
        headerCount += 1
    }
}

extension OutgoingRequest {
    /// Whether no byte of the path and the headers can break the frames of others.
    var isWellFormed: Bool {
        guard let start = unsafe path.baseAddress else { return false }
        let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
        guard unsafe bytes[0] == UInt8(ascii: "/"), unsafe FieldBytes.isClean(bytes, path.count) else {
            return false
        }
        for at in 0..<headerCount {
            let value = headers[at]
            guard let base = unsafe value.base, unsafe FieldBytes.isClean(base, Int(value.count)) else {
                return false
            }
        }
        return true
    }
}

/// The checks that keep a request from breaking the frames of others.
enum FieldBytes {
    /// Whether the bytes are the text.
    static func equal(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for at in 0..<count where unsafe bytes[at] != text.utf8Start[at] { return false }
        return true
    }

    /// Whether no byte is a control character. Eight bytes at a time, as this runs for every request.
    static func isClean(_ base: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var at = 0
        var bad: UInt64 = 0
        let raw = unsafe UnsafeRawPointer(base)
        while at + 8 <= count {
            let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            // High bit set in each byte below 0x20, then in each byte equal to 0x7F.
            bad |= (word &- 0x2020_2020_2020_2020) & ~word
            let flipped = word ^ 0x7F7F_7F7F_7F7F_7F7F
            bad |= (flipped &- 0x0101_0101_0101_0101) & ~flipped
            at += 8
        }
        if bad & 0x8080_8080_8080_8080 != 0 { return false }
        while at < count {
            let byte = unsafe base[at]
            if byte < 0x20 || byte == 0x7F { return false }
            at += 1
        }
        return true
    }
}
