import Core

/// What an APNs error body (or GOAWAY debug data) says.
package struct APNsErrorBody: Equatable, Sendable {
    package var reason: APNsReason
    /// When APNs confirmed that the token was no longer valid, in ms since 1970; only with status 410.
    package var timestampMs: Int64?
    /// The reason's own text when it is `unknown`, cut to 64 bytes of printable ASCII, to count it by name.
    package var unknownName: String?

    package init(reason: APNsReason = .none, timestampMs: Int64? = nil, unknownName: String? = nil) {
        self.reason = reason
        self.timestampMs = timestampMs
        self.unknownName = unknownName
    }

    /// Reads a body of any kind. One that is empty or not JSON has no reason; the status then decides alone.
    package static func parse(_ bytes: UnsafeRawBufferPointer) -> APNsErrorBody {
        guard bytes.count > 0, let document = try? unsafe JSONValue.parse(bytes) else {
            return APNsErrorBody()
        }
        guard let name = document["reason"]?.string else { return APNsErrorBody() }
        let reason = APNsReason.parse(name)
        return APNsErrorBody(
            reason: reason, timestampMs: document["timestamp"]?.wholeNumber.flatMap { $0 > 0 ? $0 : nil },
            unknownName: reason == .unknown ? printable(name) : nil)
    }

    private static func printable(_ text: String) -> String {
        String(decoding: text.utf8.prefix(64).map { (0x21...0x7E).contains($0) ? $0 : 0x5F }, as: UTF8.self)
    }
}

extension JSONValue {
    /// The value of a number without a fraction, also when it is written as `1.7e12` or as a string of
    /// digits.
    var wholeNumber: Int64? {
        switch self {
        case .number(let text): Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }
        case .string(let text): Int64(text)
        default: nil
        }
    }
}
