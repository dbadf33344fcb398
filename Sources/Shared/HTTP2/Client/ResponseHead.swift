internal import CNghttp2
internal import Glibc

/// The rules for a response's headers and length, one stream at a time (RFC 9113 sections 8.1 to 8.3).
///
/// As strict as an nghttp2 session: a response with a header that is not well formed is malformed as a whole.
struct ResponseHead: Equatable {
    enum Verdict: Equatable {
        case keep
        case ignore
        /// The stream is to be reset with PROTOCOL_ERROR.
        case malformed
    }

    /// Of the block being read; -1 before there is one.
    private(set) var status: Int16 = -1
    private var sawRegular = false
    /// Whether a 1xx block was the last, so that the real head is still due.
    private(set) var isInterim = false
    /// Whether the final head was read, so that a further block can only hold trailers.
    private(set) var isFinal = false
    private var length: Int64 = -1
    private var received: Int64 = 0

    /// Whether any block was read, which DATA must not precede.
    var isOpen: Bool { isFinal || isInterim }

    /// Judges one header of a block.
    mutating func header(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int
    ) -> Verdict {
        guard nameCount > 0 else { return .malformed }
        if unsafe name[0] == UInt8(ascii: ":") {
            return unsafe pseudo(name, nameCount, value, valueCount)
        }
        sawRegular = true
        // Upper case in a name is refused as well.
        guard unsafe nghttp2_check_header_name(name, nameCount) != 0,
            unsafe nghttp2_check_header_value_rfc9113(value, valueCount) != 0
        else { return .malformed }
        if unsafe Self.isConnectionSpecific(name, nameCount) { return .malformed }
        switch nameCount {
        case 2 where unsafe Self.equal(name, "te"):
            return unsafe Self.isText(value, valueCount, "trailers") ? .keep : .malformed
        case 14 where unsafe Self.equal(name, "content-length"):
            return unsafe contentLength(value, valueCount)
        default: return .keep
        }
    }

    private mutating func pseudo(
        _ name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafePointer<UInt8>, _ valueCount: Int
    ) -> Verdict {
        guard !isFinal, !sawRegular, status < 0, nameCount == 7, unsafe Self.equal(name, ":status"),
            valueCount == 3
        else { return .malformed }
        var code: Int16 = 0
        for at in 0..<3 {
            let digit = unsafe value[at] &- UInt8(ascii: "0")
            guard digit < 10 else { return .malformed }
            code = code * 10 + Int16(digit)
        }
        // 101 has no meaning in HTTP/2 (RFC 9113 section 8.6).
        guard code != 101 else { return .malformed }
        status = code
        return .keep
    }

    private mutating func contentLength(_ value: UnsafePointer<UInt8>, _ count: Int) -> Verdict {
        guard length < 0, count > 0, status / 100 != 1 || status < 0 else { return .malformed }
        var number: Int64 = 0
        for at in 0..<count {
            let digit = unsafe value[at] &- UInt8(ascii: "0")
            guard digit < 10 else { return .malformed }
            let (tens, tensOverflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflow) = tens.addingReportingOverflow(Int64(digit))
            guard !tensOverflow, !overflow else { return .malformed }
            number = sum
        }
        if status == 204, number != 0 || count != 1 { return .malformed }
        length = number
        // RFC 9110 section 8.6 forbids it with 204.
        return status == 204 ? .ignore : .keep
    }

    /// A block's end.
    /// - Returns: false when the response is malformed.
    mutating func endOfBlock(endsStream: Bool) -> Bool {
        if isFinal { return endsStream && isLengthKept }
        guard status >= 0 else { return false }
        if status / 100 == 1 {
            self = ResponseHead()
            isInterim = true
            return !endsStream
        }
        isInterim = false
        isFinal = true
        if status == 204 || status == 304 { length = 0 }
        return !endsStream || isLengthKept
    }

    /// A piece of the body.
    /// - Returns: false when there must be none, or not as much.
    mutating func data(_ count: Int, endsStream: Bool) -> Bool {
        received += Int64(count)
        if count > 0, !isFinal || (length >= 0 && received > length) { return false }
        return !endsStream || (isFinal && isLengthKept)
    }

    private var isLengthKept: Bool { length < 0 || received == length }

    private static func isConnectionSpecific(_ name: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        switch count {
        case 7: unsafe equal(name, "upgrade")
        case 10: unsafe equal(name, "connection") || equal(name, "keep-alive")
        case 16: unsafe equal(name, "proxy-connection")
        case 17: unsafe equal(name, "transfer-encoding")
        default: false
        }
    }

    @inline(__always)
    private static func equal(_ name: UnsafePointer<UInt8>, _ text: StaticString) -> Bool {
        unsafe memcmp(name, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    private static func isText(_ value: UnsafePointer<UInt8>, _ count: Int, _ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return unsafe strncasecmp(
            UnsafeRawPointer(value).assumingMemoryBound(to: CChar.self),
            UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self), count) == 0
    }
}
