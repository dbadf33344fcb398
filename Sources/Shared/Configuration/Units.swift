/// Reads quantities as people write them.
package enum Units {
    /// Milliseconds of a duration such as `500ms`, `10s`, `15m`, `1h`, `2d`, or `0`; nil when it is none.
    package static func durationMs(_ text: String) -> Int64? {
        let units: [(String, Int64)] = [
            ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        return quantity(text, units: units, bare: text == "0" ? 1 : nil)
    }

    /// Bytes of a size such as `4096`, `64KiB`, `1MB`; nil when it is none.
    package static func bytes(_ text: String) -> Int64? {
        let units: [(String, Int64)] = [
            ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("kB", 1000), ("KB", 1000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000), ("B", 1),
        ]
        return quantity(text, units: units, bare: 1)
    }

    /// The duration in the largest unit that fits.
    package static func text(durationMs: Int64) -> String {
        for (name, size) in [("d", Int64(86_400_000)), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
        where durationMs >= size && durationMs % size == 0 {
            return "\(durationMs / size)\(name)"
        }
        return durationMs == 0 ? "0" : "\(durationMs)ms"
    }

    private static func quantity(_ text: String, units: [(String, Int64)], bare: Int64?) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty, let number = Int64(digits) else { return nil }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let size = unit.isEmpty ? bare : units.first(where: { $0.0 == unit })?.1 else { return nil }
        let (value, overflow) = number.multipliedReportingOverflow(by: size)
        return overflow ? nil : value
    }
}
