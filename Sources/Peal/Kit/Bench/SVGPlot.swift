internal import Terminal

/// Draws curves as one SVG document that needs nothing else: no script, no font, no other file. A viewer that
/// prefers dark colours gets them; one that knows nothing about that gets the light ones.
struct SVGPlot {
    private static let width = 760.0
    private static let left = 76.0
    private static let right = 28.0
    private static let plotHeight = 300.0
    private static let legendRow = 22.0
    /// What a letter of the legend takes, about, and one of the title: text can't be measured here.
    private static let letter = 7.2
    private static let titleLetter = 9.8
    /// Colours that are told apart by people who can't tell red from green, on white and on black.
    private static let colours = [
        ("#0969da", "#58a6ff"), ("#bc4c00", "#ffa657"), ("#1a7f37", "#56d364"), ("#8250df", "#d2a8ff"),
        ("#6e7781", "#b1bac4"), ("#bf3989", "#ff9bce"),
    ]

    private let plot: BenchPlot
    private let x: PlotScale
    private let y: PlotScale
    private let places: [(x: Double, row: Int)]
    private let top: Double

    private init(_ plot: BenchPlot) {
        self.plot = plot
        x = PlotScale(plot.series.flatMap { $0.points.map(\.x) })
        y = PlotScale(plot.series.flatMap { $0.points.map(\.y) })
        places = Self.legend(plot.series.map(\.name))
        top = 52 + Double((places.last?.row ?? 0) + 1) * Self.legendRow
    }

    /// The document.
    static func render(_ plot: BenchPlot) -> String { SVGPlot(plot).document }

    private var bottom: Double { top + Self.plotHeight }
    private var height: Double { bottom + 62 }
    private var plotWidth: Double { Self.width - Self.left - Self.right }

    private var document: String {
        let title = Self.escape(plot.title)
        let size = "\(number(Self.width)) \(number(height))"
        var out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(size)\" role=\"img\">\n"
        out += "<title>\(title)</title>\n<style>\n\(Self.style)</style>\n"
        out += "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
        out += "<text class=\"title\" x=\"\(number(Self.left))\" y=\"30\""
        out += " style=\"font-size:\(number(titleSize))px\">\(title)</text>\n"
        out += legend + grid + curves
        return out + "</svg>\n"
    }

    /// A title that would run over the edge is drawn smaller.
    private var titleSize: Double {
        let wide = Double(max(1, DisplayWidth.of(plot.title))) * Self.titleLetter
        return max(8, 17 * min(1, plotWidth / wide))
    }

    private static var style: String {
        func rules(_ paper: String, _ ink: String, _ faint: String, _ grid: String, isDark: Bool) -> String {
            var out = ".paper{fill:\(paper)} text{fill:\(faint)} .title{fill:\(ink)} .name{fill:\(ink)}\n"
            out += ".grid{stroke:\(grid)} .axis{stroke:\(faint)}\n"
            for (index, colour) in colours.enumerated() {
                let one = isDark ? colour.1 : colour.0
                out += ".c\(index){stroke:\(one)} .m\(index){fill:\(one)}\n"
            }
            return out
        }
        return "text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}\n"
            + ".title{font-weight:600}\n"
            + ".curve{fill:none;stroke-width:2;stroke-linejoin:round}\n"
            + ".again{stroke-dasharray:6 4}\n"
            + rules("#ffffff", "#1f2328", "#59636e", "#d1d9e0", isDark: false)
            + "@media (prefers-color-scheme:dark){\n"
            + rules("#0d1117", "#f0f6fc", "#9198a1", "#30363d", isDark: true) + "}\n"
    }

    // MARK: - Legend

    /// Where each name of the legend goes: as many in a row as fit.
    private static func legend(_ names: [String]) -> [(x: Double, row: Int)] {
        var places: [(x: Double, row: Int)] = []
        var at = left
        var row = 0
        for name in names {
            let wide = 36 + Double(DisplayWidth.of(name)) * letter + 20
            if at > left, at + wide > width - right {
                at = left
                row += 1
            }
            places.append((at, row))
            at += wide
        }
        return places
    }

    private var legend: String {
        var out = ""
        for (index, series) in plot.series.enumerated() {
            let start = places[index].x
            let level = 54 + Double(places[index].row) * Self.legendRow
            out += "<path class=\"\(curveClass(index))\" d=\"M\(number(start)) \(number(level))h26\"/>"
            out += mark(index, start + 13, level)
            out += "<text class=\"name\" x=\"\(number(start + 34))\" y=\"\(number(level + 4.5))\">"
            out += "\(Self.escape(series.name))</text>\n"
        }
        return out
    }

    // MARK: - Axes

    private var grid: String {
        var out = ""
        for tick in y.ticks {
            let level = row(tick)
            out += line("grid", Self.left, level, Self.left + plotWidth, level)
            out += label(PlotScale.label(tick), Self.left - 10, level + 4.5, "end")
        }
        for tick in x.ticks {
            let at = column(tick)
            out += line("grid", at, top, at, bottom)
            out += label(PlotScale.label(tick), at, bottom + 20, "middle")
        }
        out += line("axis", Self.left, bottom, Self.left + plotWidth, bottom)
        let middle = Self.left + plotWidth / 2
        out += label(Self.note(plot.xLabel, x), middle, bottom + 46, "middle")
        let height = number(top + Self.plotHeight / 2)
        out += "<text transform=\"translate(20 \(height)) rotate(-90)\" text-anchor=\"middle\">"
        return out + "\(Self.escape(Self.note(plot.yLabel, y)))</text>\n"
    }

    private static func note(_ label: String, _ scale: PlotScale) -> String {
        scale.isLogarithmic ? "\(label) (logarithmic)" : label
    }

    private func line(_ kind: String, _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
        "<path class=\"\(kind)\" d=\"M\(number(x1)) \(number(y1))L\(number(x2)) \(number(y2))\"/>\n"
    }

    private func label(_ text: String, _ x: Double, _ y: Double, _ anchor: String) -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\">\(Self.escape(text))</text>\n"
    }

    // MARK: - Curves

    private var curves: String {
        var out = ""
        for (index, series) in plot.series.enumerated() {
            let points = series.points.filter { $0.x.isFinite && $0.y.isFinite }
                .map { (x: column($0.x), y: row($0.y)) }
            guard !points.isEmpty else { continue }
            let path = points.map { "\(number($0.x)) \(number($0.y))" }.joined(separator: "L")
            out += "<path class=\"\(curveClass(index))\" d=\"M\(path)\"/>\n"
            // With many points the marks would hide the curve.
            if points.count <= 24 { out += points.map { mark(index, $0.x, $0.y) }.joined() + "\n" }
        }
        return out
    }

    private func curveClass(_ index: Int) -> String {
        let isRepeated = index >= Self.colours.count
        return "curve c\(index % Self.colours.count)\(isRepeated ? " again" : "")"
    }

    /// Each series has a shape of its own, too, for those who see no colours.
    private func mark(_ index: Int, _ x: Double, _ y: Double) -> String {
        let kind = "class=\"m\(index % Self.colours.count)\""
        let at = "\(number(x)) \(number(y))"
        switch index % 4 {
        case 0: return "<circle \(kind) cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"4\"/>"
        case 1: return "<path \(kind) d=\"M\(at)m-4 -4h8v8h-8z\"/>"
        case 2: return "<path \(kind) d=\"M\(at)m0 -5l5 5l-5 5l-5 -5z\"/>"
        default: return "<path \(kind) d=\"M\(at)m0 -5l5 9h-10z\"/>"
        }
    }

    private func column(_ value: Double) -> Double { Self.left + x.place(value) * plotWidth }

    private func row(_ value: Double) -> Double { bottom - y.place(value) * Self.plotHeight }

    private func number(_ value: Double) -> String { Human.decimal(value, places: 1) }

    /// Text that can stand anywhere in an XML document; what XML 1.0 (section 2.2) doesn't allow is replaced.
    static func escape(_ text: String) -> String {
        var out = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": out.append(contentsOf: "&amp;".unicodeScalars)
            case "<": out.append(contentsOf: "&lt;".unicodeScalars)
            case ">": out.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": out.append(contentsOf: "&quot;".unicodeScalars)
            case "'": out.append(contentsOf: "&#39;".unicodeScalars)
            default: out.append(isAllowed(scalar) ? scalar : "\u{FFFD}")
            }
        }
        return String(out)
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        let value = scalar.value
        let isControl = value < 0x20 && value != 0x09 && value != 0x0A && value != 0x0D
        return !isControl && value != 0xFFFE && value != 0xFFFF
    }
}
