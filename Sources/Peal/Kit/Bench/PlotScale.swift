internal import Glibc

/// One axis of a plot: where a value lies on it, and which values get a line and a label.
struct PlotScale: Equatable, Sendable {
    /// From this spread on, the axis is logarithmic: on a linear one small values would lie on its foot.
    static let spreadForLogarithm = 50.0
    /// About how many labels a linear axis gets.
    private static let wanted = 5.0

    let isLogarithmic: Bool
    let low: Double
    let high: Double
    /// In ascending order, all within `low...high`.
    let ticks: [Double]

    /// An axis that all the values lie on. Those that aren't finite, or are beyond 10^15, are passed over,
    /// and what is below 10^-9 counts as 0; of none it is 0...1.
    init(_ values: [Double]) {
        let drawn = values.filter { $0.isFinite && abs($0) <= 1e15 }.map { abs($0) < 1e-9 ? 0 : $0 }
        let least = drawn.min() ?? 0
        let most = drawn.max() ?? 1
        isLogarithmic = least > 0 && most / least >= Self.spreadForLogarithm
        ticks = isLogarithmic ? Self.powers(from: least, to: most) : Self.steps(from: least, to: most)
        low = ticks.first ?? 0
        high = ticks.last ?? 1
    }

    /// Where the value lies, from 0 at `low` to 1 at `high`.
    func place(_ value: Double) -> Double {
        let at =
            isLogarithmic
            ? (log(max(value, low)) - log(low)) / (log(high) - log(low)) : (value - low) / (high - low)
        return min(1, max(0, at))
    }

    /// Even steps of 1, 2 or 5 times a power of ten. Zero is on the axis, so that heights can be compared.
    private static func steps(from least: Double, to most: Double) -> [Double] {
        let bottom = min(0, least)
        let top = bottom == 0 && most == 0 ? 1 : max(0, most)
        let rough = (top - bottom) / wanted
        let power = pow(10, floor(log10(rough)))
        let step = [1, 2, 5, 10].map { $0 * power }.first { $0 >= rough * 0.999 } ?? power * 10
        let first = Int(floor(bottom / step + 1e-9))
        let last = Int(ceil(top / step - 1e-9))
        return (first...max(first + 1, last)).map { Double($0) * step }
    }

    /// 1, 2 and 5 times the powers of ten; over more than three of them the powers alone between the ends.
    private static func powers(from least: Double, to most: Double) -> [Double] {
        let first = Int(floor(log10(least) + 1e-9))
        let last = Int(ceil(log10(most) - 1e-9))
        let all = (first...last).flatMap { power in [1.0, 2, 5].map { $0 * pow(10, Double(power)) } }
        let below = all.last { $0 <= least * 1.001 } ?? least
        let above = all.first { $0 >= most * 0.999 } ?? most
        let within = all.filter { $0 >= below && $0 <= above }
        guard last - first > 3 else { return within }
        return within.filter { $0 == below || $0 == above || isPower($0) }
    }

    private static func isPower(_ value: Double) -> Bool {
        let power = log10(value)
        return abs(power - power.rounded()) < 1e-9
    }

    /// The value in at most three digits: `0`, `0.05`, `250`, `1.5k`, `20M`.
    static func label(_ value: Double) -> String {
        guard value.isFinite else { return "" }
        let size = abs(value)
        let unit = [(1e9, "G"), (1e6, "M"), (1e3, "k")].first { size >= $0.0 * 0.9995 } ?? (1, "")
        let scaled = size / unit.0
        if scaled > 0, scaled < 0.001 { return "\(value)" }
        let places = scaled >= 100 ? 0 : scaled >= 10 ? 1 : scaled >= 1 || scaled == 0 ? 2 : 4
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        var text = "\((scaled * scale).rounded() / scale)"
        if text.hasSuffix(".0") { text.removeLast(2) }
        return (value < 0 && text != "0" ? "-" : "") + text + unit.1
    }
}
