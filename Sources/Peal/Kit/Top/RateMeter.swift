/// Turns counters that only grow into rates over the last seconds. A value without a clock.
struct RateMeter {
    /// How far a rate looks back, in ms.
    static let windowMs: Int64 = 10_000

    private var samples: [(atMs: Int64, values: [String: Int64])] = []

    /// Takes the counters of one moment and gives the rates a second; a counter that wasn't there before, or
    /// has shrunk, has none yet.
    mutating func take(_ values: [String: Int64], atMs: Int64) -> [String: Double] {
        if let last = samples.last, atMs < last.atMs { samples = [] }
        samples.append((atMs, values))
        while samples.count > 2, samples[1].atMs <= atMs - Self.windowMs { samples.removeFirst() }
        guard let first = samples.first, atMs > first.atMs else { return [:] }
        let seconds = Double(atMs - first.atMs) / 1000
        var rates: [String: Double] = [:]
        for (name, value) in values {
            guard let before = first.values[name], value >= before else { continue }
            rates[name] = Double(value - before) / seconds
        }
        return rates
    }
}

/// Bars of eight heights, one a value.
enum Sparkline {
    private static let bars = Array("▁▂▃▄▅▆▇█")

    /// The last `width` values; what is nought is a blank, what is not has a bar at least.
    static func render(_ values: [Double], width: Int) -> String {
        let shown = values.suffix(max(0, width)).map { $0.isFinite ? max(0, $0) : 0 }
        let top = shown.max() ?? 0
        let text = shown.map { value -> String in
            guard value > 0, top > 0 else { return " " }
            return String(bars[min(bars.count - 1, Int(value / top * Double(bars.count)))])
        }
        return text.joined()
    }
}
