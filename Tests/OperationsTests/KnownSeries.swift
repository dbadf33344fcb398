import Metrics
import PealKit

/// What may be named in a rule or a dashboard: the metrics of the code, what Prometheus adds, and what the rules
/// record.
struct KnownSeries {
    /// The labels of a target: see deploy/prometheus.
    static let targetLabels: Set<String> = ["job", "instance", "namespace"]

    private var labels: [String: Set<String>] = [
        "up": [], "ALERTS": ["alertname", "alertstate", "severity", "cause"],
    ]

    init(rules: [Rule]) {
        for family in MetricsCatalogue.groups.flatMap(\.families) {
            let names = Set(family.labels.map(\.name))
            guard family.kind == .histogram else {
                labels[family.name] = names
                continue
            }
            labels[family.name + "_bucket"] = names.union(["le"])
            for suffix in ["_sum", "_count"] { labels[family.name + suffix] = names }
        }
        for rule in rules where !rule.isAlert {
            labels[rule.name] = Set(PromQLNames(rule.expression).groupings)
        }
        // An alert carries the labels of its expression.
        for rule in rules where rule.isAlert {
            let names = PromQLNames(rule.expression)
            labels["ALERTS"]?.formUnion(names.groupings)
            for selector in names.selectors {
                let own = labels[selector.metric] ?? []
                labels["ALERTS"]?.formUnion(own)
            }
        }
    }

    /// What is wrong with the names of an expression; empty when all is well.
    func faults(in expression: String) -> [String] {
        let names = PromQLNames(expression)
        var faults: [String] = []
        var known = Self.targetLabels
        for selector in names.selectors {
            guard let own = labels[selector.metric] else {
                faults.append("there is no metric \(selector.metric)")
                continue
            }
            known.formUnion(own)
            for label in selector.labels where !own.contains(label) && !Self.targetLabels.contains(label) {
                faults.append("\(selector.metric) has no label \(label)")
            }
        }
        for label in names.groupings where !known.contains(label) {
            faults.append("nothing in the expression has the label \(label)")
        }
        return faults
    }
}
