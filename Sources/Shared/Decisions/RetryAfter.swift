import Core

/// The Retry-After header (RFC 9110 section 10.2.3): a number of seconds or an HTTP date.
package enum RetryAfter {
    /// What is honoured at most; a longer wait is taken for a mistake.
    package static let longestMs: Int64 = 86_400_000

    /// The wait in ms from `nowMs`; nil when the value is neither form. A date in the past is no wait.
    package static func parse(_ bytes: UnsafeRawBufferPointer, nowMs: Int64) -> Int64? {
        guard bytes.count > 0, bytes.count <= 64 else { return nil }
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: " ", omittingEmptySubsequences: true)
        if parts.count == 1, let first = parts.first, first.utf8.allSatisfy({ (48...57).contains($0) }) {
            guard let seconds = Int64(first) else { return longestMs }
            return seconds > longestMs / 1000 ? longestMs : seconds * 1000
        }
        guard let date = httpDateMs(parts) else { return nil }
        let (wait, overflow) = date.subtractingReportingOverflow(nowMs)
        return overflow ? nil : min(max(wait, 0), longestMs)
    }

    /// The time of a `Date` header in ms since 1970; nil when it is none.
    package static func date(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count > 0, bytes.count <= 64 else { return nil }
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        return httpDateMs(text.split(separator: " ", omittingEmptySubsequences: true))
    }

    /// The time of a `Date` header in ms since 1970; nil when it is none. For cold paths.
    package static func date(text: String) -> Int64? {
        unsafe Array(text.utf8).withUnsafeBytes { unsafe date($0) }
    }

    /// Reads an IMF-fixdate such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7), the one form
    /// that is sent.
    private static func httpDateMs(_ parts: [Substring]) -> Int64? {
        guard parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT" || parts[5] == "UTC" else {
            return nil
        }
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
        guard let day = Int(parts[1]), (1...31).contains(day),
            let month = names.firstIndex(of: String(parts[2])),
            let year = Int(parts[3]), (1970...9999).contains(year), clock.count == 3,
            (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        let days = Timestamp.days(year: year, month: month + 1, day: day)
        return (Int64(days) * 86_400 + Int64(clock[0] * 3600 + clock[1] * 60 + clock[2])) * 1000
    }
}
