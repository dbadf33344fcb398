internal import Terminal

/// One part of `peal bench`: what its operand names, and what a run of everything goes through in turn.
protocol BenchPart {
    /// The operand, such as `latency`.
    static var name: String { get }
    /// One line for `--help`.
    static var summary: String { get }

    /// Measures, with processes and a directory of its own.
    /// - Parameters:
    ///   - options: how long, and with what.
    ///   - say: takes one line of progress at a time.
    /// - Returns: the figures, with the targets that they belong to.
    /// - Throws: what could not be started, or a run that went wrong.
    static func run(
        _ options: BenchOptions, say: (String) -> Void
    ) throws(StackFailure) -> BenchFindings
}

/// What a part of the bench measured.
struct BenchFindings: Sendable {
    /// A table with the line above it.
    struct Section: Sendable {
        let title: String
        let table: TextTable
    }

    /// A member of the JSON report; `json` is its value as JSON text.
    struct Member: Sendable {
        let key: String
        let json: String
    }

    var targets: [BenchTarget] = []
    var sections: [Section] = []
    var members: [Member] = []
    var plots: [BenchPlot] = []
}

/// A target and what was measured of it.
struct BenchTarget: Sendable {
    /// The name of its JSON boolean without the `_met` at its end, such as `transport_100_rps`.
    let key: String
    /// What is measured, such as "transport, 100 streams: requests/s against h2load".
    let title: String
    /// The bound as text, such as ">= 1.1 x".
    let bound: String
    /// What was measured as text, such as "1.65 x".
    let measured: String
    let isMet: Bool
}

/// Curves to be drawn into one SVG file.
struct BenchPlot: Sendable {
    /// One curve.
    struct Series: Sendable {
        let name: String
        let points: [(x: Double, y: Double)]
    }

    /// The file's name without its ending, such as `latency`.
    let name: String
    let title: String
    let xLabel: String
    let yLabel: String
    let series: [Series]
}
