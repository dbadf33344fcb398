/// Numbers and times as people read them.
package enum Human {
    /// The number with separators: `1,234,567`.
    package static func grouped(_ value: Int) -> String {
        let digits = Array(String(value.magnitude))
        var text = value < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// The number in three digits: `950`, `12.3 k`, `1.23 M`.
    package static func short(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        if value < 0 { return "-" + short(-value) }
        return scaled(value, step: 1000, units: ["", "k", "M", "G", "T"])
    }

    /// The size in three digits and a unit: `512 B`, `1.50 MiB`.
    package static func bytes(_ value: UInt64) -> String {
        scaled(Double(value), step: 1024, units: ["B", "KiB", "MiB", "GiB", "TiB"])
    }

    /// A rate: `12.3 k/s`.
    package static func rate(_ perSecond: Double) -> String { short(perSecond) + "/s" }

    /// The part as a percentage with one decimal: `12.5 %`; `-` of nothing.
    package static func percent(_ part: Int, of whole: Int) -> String {
        guard whole > 0 else { return "-" }
        return decimal(Double(part) / Double(whole) * 100, places: 1) + " %"
    }

    /// A span of time: `850 us`, `12.3 ms`, `4.50 s`, `2 min 05 s`, `3 h 07 min`, `2 d 03 h`.
    package static func duration(us: Double) -> String {
        guard us.isFinite, us >= 0 else { return "-" }
        if us < 999.5 { return decimal(us, places: 0) + " us" }
        if us < 999_500 { return threeDigits(us / 1000) + " ms" }
        if us < 59_995_000 { return threeDigits(us / 1_000_000) + " s" }
        let seconds = us >= 9e15 ? Int(9e9) : Int((us / 1_000_000).rounded())
        if seconds < 3600 { return "\(seconds / 60) min \(two(seconds % 60)) s" }
        if seconds < 86_400 { return "\(seconds / 3600) h \(two(seconds / 60 % 60)) min" }
        return "\(seconds / 86_400) d \(two(seconds / 3600 % 24)) h"
    }

    /// A span of time given in milliseconds.
    package static func duration(ms: Double) -> String { duration(us: ms * 1000) }

    /// The number with that many decimals, rounded half up.
    package static func decimal(_ value: Double, places: Int) -> String {
        guard value.isFinite, value.magnitude < 1e15 else { return "-" }
        var scale = 1
        for _ in 0..<max(0, min(6, places)) { scale *= 10 }
        guard value.magnitude * Double(scale) < 9e18 else { return String(value) }
        let whole = Int((value.magnitude * Double(scale)).rounded())
        let sign = value < 0 && whole > 0 ? "-" : ""
        guard scale > 1 else { return sign + String(whole) }
        let fraction = String(whole % scale)
        let zeros = String(repeating: "0", count: max(0, min(6, places) - fraction.count))
        return "\(sign)\(whole / scale).\(zeros)\(fraction)"
    }

    /// Milliseconds of `250ms`, `10s`, `5m`, `1h`, `2d`; a bare number is seconds. Nil when it is none of
    /// them.
    package static func parseDurationMs(_ text: String) -> Int? {
        let units: [(String, Double)] = [
            ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        let unit = units.first { text.hasSuffix($0.0) }
        guard let value = Double(text.dropLast(unit?.0.count ?? 0)), value >= 0 else { return nil }
        let ms = value * (unit?.1 ?? 1000)
        guard ms.isFinite, ms < 9e15 else { return nil }
        return Int(ms.rounded())
    }

    private static func scaled(_ value: Double, step: Double, units: [String]) -> String {
        var rest = value
        var unit = 0
        while rest >= step - 0.5, unit < units.count - 1 {
            rest /= step
            unit += 1
        }
        let number =
            unit == 0
            ? decimal(rest, places: rest == rest.rounded() || rest >= 100 ? 0 : 1) : threeDigits(rest)
        return units[unit].isEmpty ? number : "\(number) \(units[unit])"
    }

    private static func threeDigits(_ value: Double) -> String {
        decimal(value, places: value < 9.995 ? 2 : value < 99.95 ? 1 : 0)
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
