internal import Core

/// Percent-encoding of paths and queries (RFC 3986 section 2.1).
package enum PercentText {
    /// The text that the bytes stand for; nil for an escape that isn't one, for what isn't UTF-8 and for
    /// control characters.
    package static func decode(_ bytes: some Collection<UInt8>) -> String? {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var at = bytes.startIndex
        while at != bytes.endIndex {
            var byte = bytes[at]
            bytes.formIndex(after: &at)
            if byte == UInt8(ascii: "%") {
                guard at != bytes.endIndex, let high = Hex.value(bytes[at]) else { return nil }
                bytes.formIndex(after: &at)
                guard at != bytes.endIndex, let low = Hex.value(bytes[at]) else { return nil }
                bytes.formIndex(after: &at)
                byte = high << 4 | low
            }
            guard byte >= 0x20, byte != 0x7F else { return nil }
            out.append(byte)
        }
        return String(validating: out, as: UTF8.self)
    }

    /// The segments of a path as it was sent, each decoded, without the first slash; nil when one can't be.
    package static func segments(ofPath path: String) -> [String]? {
        var segments: [String] = []
        for segment in path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst()
        {
            guard let text = decode(segment) else { return nil }
            segments.append(text)
        }
        return segments
    }
}
