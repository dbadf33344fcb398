/// The kinds of processes that expose metrics.
package enum MetricRole: String, Sendable, CaseIterable {
    case worker, retry, gateway, expand, simulator
}

/// One label of a family.
package struct MetricLabel: Sendable, Equatable {
    /// The label's name.
    package let name: String
    /// Every value that it can have; empty when they come from the configuration.
    package let values: [String]
    /// What its values are, for the documentation.
    package let about: String

    /// A label whose values are all known.
    package static func closed(_ name: String, _ values: [String]) -> MetricLabel {
        MetricLabel(name: name, values: values, about: "")
    }

    /// A label whose values come from the configuration, and are as many as are configured.
    package static func open(_ name: String, _ about: String) -> MetricLabel {
        MetricLabel(name: name, values: [], about: about)
    }
}

/// What is to be known about a metric: a value that the exposition, the documentation and the tests share.
package struct MetricFamily: Sendable, Equatable {
    /// How its samples are to be read.
    package enum Kind: String, Sendable {
        /// Only rises, from 0 at the start of the process.
        case counter
        case gauge
        case histogram
        /// A gauge that is always 1; what it tells is in its labels.
        case info
    }

    /// The name in Prometheus' text form; a counter's ends in `_total`.
    package let name: String
    /// How its samples are to be read.
    package let kind: Kind
    /// One sentence.
    package let help: String
    /// What is written with each sample.
    package let labels: [MetricLabel]
    /// Which processes expose it.
    package let roles: [MetricRole]
    /// A histogram's bounds, rising, in microseconds; `+Inf` comes on top.
    package let boundsUs: [UInt64]

    private init(
        _ name: String, _ kind: Kind, _ help: String, _ labels: [MetricLabel], _ roles: [MetricRole],
        boundsUs: [UInt64] = []
    ) {
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
        self.roles = roles
        self.boundsUs = boundsUs
    }

    /// A family that only rises; the name ends in `_total`.
    package static func counter(
        _ name: String, _ help: String, _ labels: [MetricLabel] = [], by roles: [MetricRole]
    ) -> MetricFamily { MetricFamily(name, .counter, help, labels, roles) }

    /// A family that rises and falls.
    package static func gauge(
        _ name: String, _ help: String, _ labels: [MetricLabel] = [], by roles: [MetricRole]
    ) -> MetricFamily { MetricFamily(name, .gauge, help, labels, roles) }

    /// A family of times in seconds.
    package static func histogram(
        _ name: String, _ help: String, _ labels: [MetricLabel] = [], boundsUs: [UInt64],
        by roles: [MetricRole]
    ) -> MetricFamily { MetricFamily(name, .histogram, help, labels, roles, boundsUs: boundsUs) }

    /// A family that is known by its labels; the name ends in `_info`.
    package static func info(
        _ name: String, _ help: String, _ labels: [MetricLabel], by roles: [MetricRole]
    ) -> MetricFamily { MetricFamily(name, .info, help, labels, roles) }

    /// The unit at the end of the name; empty when there is none.
    package var unit: String {
        Self.units.first { openName.hasSuffix("_" + $0) } ?? ""
    }

    /// The name in OpenMetrics, where the samples of counters and infos bear the suffix and the family does
    /// not.
    package var openName: String {
        switch kind {
        case .counter: name.hasSuffix("_total") ? String(name.dropLast(6)) : name
        case .info: name.hasSuffix("_info") ? String(name.dropLast(5)) : name
        case .gauge, .histogram: name
        }
    }

    private static let units = ["seconds", "bytes", "records", "jobs"]
}
