import EventLoop
import Testing

@testable import PealKit

@Suite("The bench's plots")
struct BenchPlotTests {
    private static func plot(
        title: String = "Latency", _ series: [BenchPlot.Series], name: String = "latency"
    ) -> BenchPlot {
        BenchPlot(name: name, title: title, xLabel: "jobs a second", yLabel: "ms", series: series)
    }

    private static func series(_ name: String, _ points: [(Double, Double)]) -> BenchPlot.Series {
        .init(name: name, points: points.map { (x: $0.0, y: $0.1) })
    }

    @Test("The checker of these tests finds what is wrong")
    func checker() {
        #expect(WellFormedXML("<a b=\"1\"><c/>t&amp;t</a>").fault == nil)
        for bad in [
            "", "text", "<a>", "<a></b>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>", "<a>&no;</a>",
            "<a/><b/>", "<a b=\"<\"/>", "<a>\u{1}</a>", "<a", "<a b=\"1/>", "< a/>", "<!--x--><a/>",
        ] {
            #expect(WellFormedXML(bad).fault != nil, "\(bad)")
        }
    }

    @Test("A plot is one well-formed document with its title, labels, legend and curves")
    func document() {
        let text = SVGPlot.render(
            Self.plot([
                Self.series("median", [(1_000, 2), (20_000, 3), (50_000, 9)]),
                Self.series("99th percentile", [(1_000, 8), (20_000, 30), (50_000, 250)]),
            ]))
        let xml = WellFormedXML(text)
        #expect(xml.fault == nil)
        #expect(xml.elements.first == "svg")
        for word in ["Latency", "jobs a second", "ms (logarithmic)", "median", "99th percentile"] {
            #expect(xml.text.contains(word))
        }
        #expect(text.contains("prefers-color-scheme:dark"))
        #expect(text.components("http") == 1)
        #expect(text.components("class=\"curve c0\"") == 2)
        #expect(text.components("class=\"curve c1\"") == 2)
    }

    @Test("A long title is drawn smaller, and still readable")
    func titles() {
        let short = SVGPlot.render(Self.plot(title: "Latency", []))
        let long = SVGPlot.render(Self.plot(title: String(repeating: "latency ", count: 12), []))
        let endless = SVGPlot.render(Self.plot(title: String(repeating: "latency ", count: 900), []))
        #expect(short.contains("font-size:17.0px"))
        #expect(!long.contains("font-size:17.0px") && !long.contains("font-size:8.0px"))
        #expect(endless.contains("font-size:8.0px"))
    }

    @Test("Text is escaped, wherever it comes from")
    func escaping() {
        let evil = "</text><script>\"'&\u{0}\u{1B}\u{FFFE}"
        let plot = BenchPlot(
            name: "x", title: evil, xLabel: evil, yLabel: evil, series: [Self.series(evil, [(1, 1), (2, 2)])])
        let text = SVGPlot.render(plot)
        let xml = WellFormedXML(text)
        #expect(xml.fault == nil)
        #expect(!xml.elements.contains("script"))
        #expect(xml.text.contains("</text><script>\"'&\u{FFFD}\u{FFFD}\u{FFFD}"))
    }

    @Test("Odd curves are drawn or left out, and never spoil the document")
    func oddCurves() {
        let cases: [[BenchPlot.Series]] = [
            [], [Self.series("none", [])], [Self.series("one", [(5, 5)])], [Self.series("zero", [(0, 0)])],
            [Self.series("same", [(3, 7), (3, 7)])], [Self.series("below", [(-5, -1), (-1, -9)])],
            [Self.series("nan", [(.nan, 1), (1, .infinity), (2, 3)])],
            [Self.series("tiny", [(.leastNonzeroMagnitude, .leastNonzeroMagnitude), (1, 1)])],
            [Self.series("huge", [(1, 1e300), (2, -1e300), (3, 4)])],
            [Self.series("both", [(-1e15, 1e15), (1e15, -1e15)])],
            (0..<30).map { Self.series("a series with a long name, number \($0)", [(1, 1), (2, 4)]) },
            [Self.series("many", (1...5_000).map { (Double($0), Double($0 * $0)) })],
        ]
        for series in cases {
            let text = SVGPlot.render(Self.plot(series))
            #expect(WellFormedXML(text).fault == nil, "\(series.first?.name ?? "no series")")
            #expect(!text.contains("nan") || series.first?.name == "nan")
            #expect(!text.contains("\"-\"") && !text.contains("inf"))
        }
    }

    @Test("A scale holds every value between its ends, and its labels are in order")
    func scales() {
        let cases: [[Double]] = [
            [0], [1], [-3], [0, 0.013], [7, 8, 9], [12, 950], [100, 293_000], [-40, 25], [0.5, 0.7], [1e15],
            [1e-9, 1e9], [0, 1e15], [3, 3, 3],
        ]
        for values in cases {
            let scale = PlotScale(values)
            #expect(scale.low < scale.high, "\(values)")
            #expect(scale.ticks == scale.ticks.sorted(), "\(values)")
            #expect((2...24).contains(scale.ticks.count), "\(values): \(scale.ticks)")
            for value in values {
                let slack = (scale.high - scale.low) * 0.01
                #expect(value >= scale.low - slack && value <= scale.high + slack, "\(values)")
                #expect((0...1).contains(scale.place(value)), "\(values)")
            }
        }
        #expect(PlotScale([]).ticks.first == 0)
    }

    @Test("An axis is logarithmic when the values span more than a linear one can show")
    func logarithm() {
        #expect(PlotScale([10, 1_000]).isLogarithmic)
        #expect(!PlotScale([10, 100]).isLogarithmic)
        #expect(!PlotScale([0, 1_000]).isLogarithmic)
        let scale = PlotScale([10, 1_000])
        #expect(scale.ticks == [10, 20, 50, 100, 200, 500, 1_000])
        #expect(abs(scale.place(100) - 0.5) < 1e-9)
        #expect(PlotScale([0, 100]).place(50) == 0.5)
    }

    @Test("Labels are short and exact")
    func labels() {
        let wanted: [(Double, String)] = [
            (0, "0"), (1, "1"), (2.5, "2.5"), (0.05, "0.05"), (250, "250"), (1_500, "1.5k"),
            (293_000, "293k"), (20_000_000, "20M"), (-4, "-4"), (3e9, "3G"), (1e-9, "1e-09"), (.nan, ""),
        ]
        for (value, text) in wanted { #expect(PlotScale.label(value) == text) }
    }

    @Test("Plots are written below the directory, whatever they are called")
    func files() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-plots")
        defer { Files.removeTree(directory) }
        let inside = "\(directory)/plots"
        try BenchOutput.prepare(directory: inside)
        try BenchOutput.prepare(directory: inside)
        let paths = try BenchOutput.write(
            [Self.plot([Self.series("a", [(1, 1)])]), Self.plot([], name: "../../etc/passwd")], to: inside)
        #expect(paths == ["\(inside)/latency.svg", "\(inside)/------etc-passwd.svg"])
        for path in paths { #expect(WellFormedXML(try Files.readText(path: path)).fault == nil) }
        #expect(!Files.exists(paths[0] + ".new"))
    }

    @Test("What can't be written is told before anything is measured")
    func notWritable() throws {
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-plots")
        defer { Files.removeTree(directory) }
        let file = "\(directory)/file"
        try Files.write(path: file, text: "")
        #expect(throws: StackFailure.self) { try BenchOutput.prepare(directory: file) }
        #expect(throws: StackFailure.self) { try BenchOutput.prepare(directory: "\(directory)/no/such") }
        #expect(throws: StackFailure.self) { try BenchOutput.prepare(file: "\(directory)/no/such") }
        #expect(throws: StackFailure.self) { try BenchOutput.prepare(file: "\(file)/below") }
        try BenchOutput.prepare(file: "\(directory)/new.json")
        try BenchOutput.prepare(file: "new.json")
    }
}

extension String {
    /// How often the piece occurs.
    fileprivate func components(_ piece: String) -> Int {
        var count = 0
        var rest = self[...]
        while let found = rest.firstRange(of: piece) {
            count += 1
            rest = rest[found.upperBound...]
        }
        return count
    }
}
