/// The documentation of families, as Markdown.
package struct MetricsDocument {
    private let groups: [(title: String, families: [MetricFamily])]
    /// A label with more values is listed once, at the end.
    private static let inlineMax = 16

    /// Of these groups, in their order.
    package init(_ groups: [(title: String, families: [MetricFamily])]) { self.groups = groups }

    /// A section for each group, then one for the long sets of label values.
    package var markdown: String {
        var text = ""
        var long: [MetricLabel] = []
        for group in groups {
            text += "\n## \(group.title)\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n"
            for family in group.families {
                let labels = family.labels.map { label in
                    if label.values.count > Self.inlineMax, !long.contains(label) { long.append(label) }
                    return "`\(label.name)`"
                }
                let bounds = family.boundsUs.isEmpty ? "" : " Bounds: \(Self.bounds(family))."
                text +=
                    "| `\(family.name)` | \(family.kind.rawValue) | \(labels.joined(separator: ", "))"
                    + " | \(Self.cell(family.help))\(bounds) |\n"
            }
            text += Self.labels(of: group.families)
        }
        text += "\n## Long label sets\n"
        for label in long {
            let owners = groups.flatMap(\.families).filter { $0.labels.contains(label) }.map {
                "`\($0.name)`"
            }
            text += "\n`\(label.name)` of \(owners.joined(separator: ", ")):\n\n"
            text += Self.wrapped(label.values.map { "`\($0)`" }) + "\n"
        }
        return text
    }

    private static func labels(of families: [MetricFamily]) -> String {
        var seen: [MetricLabel] = []
        var text = ""
        for label in families.flatMap(\.labels) where !seen.contains(label) {
            seen.append(label)
            let names = families.filter { $0.labels.contains(label) }.map(\.name)
            // A name that means different things is told apart by its metrics.
            let isShared = families.contains { family in
                family.labels.contains { $0.name == label.name && $0 != label }
            }
            let owner = isShared ? " of " + names.map { "`\($0)`" }.joined(separator: ", ") : ""
            let values =
                label.values.isEmpty
                ? label.about
                : label.values.count > inlineMax
                    ? "\(label.values.count) values, listed at the end"
                    : label.values.map { "`\($0)`" }.joined(separator: ", ")
            text += "- `\(label.name)`\(owner): \(values)\n"
        }
        return text.isEmpty ? "" : "\n" + text
    }

    private static func bounds(_ family: MetricFamily) -> String {
        func shown(_ us: UInt64) -> String {
            us >= 1_000_000 && us % 1_000_000 == 0 ? "\(us / 1_000_000)" : "\(Double(us) / 1e6)"
        }
        return family.boundsUs.map(shown).joined(separator: ", ") + " s"
    }

    private static func cell(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }

    private static func wrapped(_ words: [String]) -> String {
        var text = ""
        var line = ""
        for word in words {
            if line.utf8.count + word.utf8.count > 100 {
                text += line + "\n"
                line = ""
            }
            line += line.isEmpty ? word : " " + word
        }
        return text + line + "\n"
    }
}
