package import Core

/// Writes an exposition, family by family.
///
/// ```swift
/// var writer = MetricWriter(.text)
/// writer.begin(WorkerFamilies.deliveries)
/// writer.add(["shop", "apns"], count)
/// let body = writer.finish()
/// ```
/// - Cost: allocates; it runs on the thread that answers a scrape.
package struct MetricWriter: ~Copyable {
    /// The form that is written.
    package let format: MetricFormat
    private var out: ByteBuffer
    private var family: MetricFamily?
    /// The label values of the family's samples so far: Prometheus refuses a whole exposition for a sample
    /// that comes twice.
    private var seen: Set<[String]> = []

    /// An empty exposition.
    package init(_ format: MetricFormat) {
        self.format = format
        out = ByteBuffer(capacity: 16_384)
    }

    /// Begins a family; its samples follow.
    package mutating func begin(_ family: MetricFamily) {
        self.family = family
        seen.removeAll(keepingCapacity: true)
        let name = format == .openMetrics ? family.openName : family.name
        out.append("# HELP ")
        out.append(text: name)
        out.append(" ")
        escape(family.help, quotes: format == .openMetrics)
        out.append("\n# TYPE ")
        out.append(text: name)
        out.append(" ")
        out.append(text: format == .text && family.kind == .info ? "gauge" : family.kind.rawValue)
        out.append("\n")
        if format == .openMetrics, !family.unit.isEmpty {
            out.append(text: "# UNIT \(name) \(family.unit)\n")
        }
    }

    /// A sample of the family that was begun. `labels` are the values of its labels, in their order; a second
    /// sample with the same ones is left out.
    package mutating func add(_ labels: [String] = [], _ value: UInt64) {
        guard start(labels) else { return }
        out.append(unsigned: value)
        out.append("\n")
    }

    /// A sample that says yes with 1 and no with 0.
    package mutating func add(_ labels: [String] = [], _ isSo: Bool) { add(labels, isSo ? 1 : 0) }

    /// A sample that may be a fraction, or negative.
    package mutating func add(_ labels: [String] = [], number value: Double) {
        guard start(labels) else { return }
        out.append(text: Self.text(value))
        out.append("\n")
    }

    /// A family of one sample without labels.
    package mutating func single(_ family: MetricFamily, _ value: UInt64) {
        begin(family)
        add([], value)
    }

    /// A histogram's buckets, its sum and its count. Its values count so many a second: 1000 for
    /// milliseconds.
    package mutating func add(_ labels: [String] = [], _ histogram: Histogram, perSecond: UInt64) {
        guard let family, isFresh(labels) else { return }
        let bounds = family.boundsUs.map { $0 &* perSecond / 1_000_000 }
        for (bound, count) in zip(family.boundsUs, histogram.cumulative(bounds)) {
            sample(family, "_bucket", labels, bound: Self.text(Double(bound) / 1e6))
            out.append(unsigned: count)
            out.append("\n")
        }
        sample(family, "_bucket", labels, bound: "+Inf")
        out.append(unsigned: histogram.total)
        out.append("\n")
        sample(family, "_sum", labels)
        out.append(text: Self.text(Double(histogram.sum) / Double(perSecond)))
        out.append("\n")
        sample(family, "_count", labels)
        out.append(unsigned: histogram.total)
        out.append("\n")
    }

    /// The same of times in the fixed buckets, whose bounds are the family's.
    package mutating func add(_ labels: [String] = [], _ times: TimeBuckets) {
        guard let family, isFresh(labels) else { return }
        let bounds = family.boundsUs.map { Self.text(Double($0) / 1e6) } + ["+Inf"]
        for (bound, count) in zip(bounds, times.cumulative) {
            sample(family, "_bucket", labels, bound: bound)
            out.append(unsigned: count)
            out.append("\n")
        }
        sample(family, "_sum", labels)
        out.append(text: Self.text(Double(times.sumMs) / 1000))
        out.append("\n")
        sample(family, "_count", labels)
        out.append(unsigned: times.total)
        out.append("\n")
    }

    /// The exposition's bytes.
    package consuming func finish() -> [UInt8] {
        if format == .openMetrics { out.append("# EOF\n") }
        return out.array
    }

    // MARK: Parts of a line

    private mutating func start(_ labels: [String]) -> Bool {
        guard let family, isFresh(labels) else { return false }
        sample(family, "", labels)
        return true
    }

    private mutating func isFresh(_ labels: [String]) -> Bool {
        assert(labels.count == family?.labels.count, "a sample has other labels than its family")
        return seen.insert(labels).inserted
    }

    private mutating func sample(
        _ family: MetricFamily, _ suffix: StaticString, _ labels: [String], bound: String? = nil
    ) {
        out.append(text: family.name)
        out.append(suffix)
        var separator: StaticString = "{"
        for (label, value) in zip(family.labels, labels) {
            out.append(separator)
            out.append(text: label.name)
            out.append("=\"")
            escape(value, quotes: true)
            out.append("\"")
            separator = ","
        }
        if let bound {
            out.append(separator)
            out.append("le=\"")
            out.append(text: bound)
            out.append("\"")
        }
        out.append(labels.isEmpty && bound == nil ? " " : "} ")
    }

    private mutating func escape(_ text: String, quotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): out.append("\\\\")
            case UInt8(ascii: "\n"): out.append("\\n")
            case UInt8(ascii: "\"") where quotes: out.append("\\\"")
            default: out.append(byte: byte)
            }
        }
    }

    private static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return "\(value)"
    }
}
