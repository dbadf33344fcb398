import Foundation
import Metrics
import Testing

@testable import PealKit

@Suite struct MetricsDocumentTests {
    private static let families = MetricsCatalogue.groups.flatMap(\.families)

    /// Run with PEAL_TEST_WRITE=1 to write the tables anew after a change of a family.
    @Test func theDocumentHasWhatTheFamiliesSay() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/metrics.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(text.range(of: "<!-- metrics -->\n"))
        let end = try #require(text.range(of: "<!-- end -->"))
        let written =
            text[..<start.upperBound] + MetricsDocument(MetricsCatalogue.groups).markdown + "\n"
            + text[end.lowerBound...]
        if ProcessInfo.processInfo.environment["PEAL_TEST_WRITE"] == "1" {
            try written.write(to: file, atomically: true, encoding: .utf8)
        } else {
            #expect(text == written)
        }
    }

    @Test func namesAreUniqueAndKeepToTheConventions() throws {
        let names = Self.families.map(\.name)
        #expect(Set(names).count == names.count)
        // A family's name in OpenMetrics may not be another one's either.
        #expect(Set(Self.families.map(\.openName)).count == names.count)
        let pattern = try Regex("[a-z][a-z0-9]*(_[a-z0-9]+)*")
        for family in Self.families {
            #expect(try pattern.wholeMatch(in: family.name) != nil, "\(family.name)")
            #expect((family.kind == .counter) == family.name.hasSuffix("_total"), "\(family.name)")
            #expect((family.kind == .info) == family.name.hasSuffix("_info"), "\(family.name)")
            #expect((family.kind == .histogram) == !family.boundsUs.isEmpty, "\(family.name)")
            #expect(family.kind != .histogram || family.unit == "seconds", "\(family.name)")
            #expect(family.help.hasSuffix("."), "\(family.name)")
            #expect(!family.roles.isEmpty, "\(family.name)")
            for label in family.labels {
                #expect(try pattern.wholeMatch(in: label.name) != nil, "\(family.name) \(label.name)")
                #expect(label.values.isEmpty != label.about.isEmpty, "\(family.name) \(label.name)")
                #expect(Set(label.values).count == label.values.count, "\(family.name) \(label.name)")
            }
        }
    }

    @Test func boundsRiseAndAreWholeInTheUnitThatIsCounted() {
        for family in Self.families where family.kind == .histogram {
            #expect(zip(family.boundsUs, family.boundsUs.dropFirst()).allSatisfy { $0 < $1 })
            // The gateway counts microseconds, the others milliseconds.
            if family.roles != [.gateway] {
                #expect(family.boundsUs.allSatisfy { $0 % 1000 == 0 }, "\(family.name)")
            }
        }
    }

    @Test func everyRoleHasTheFamiliesOfEveryProcess() {
        for role in MetricRole.allCases {
            let names = MetricsCatalogue.families(of: role).map(\.name)
            #expect(names.contains("peal_build_info") && names.contains("peal_ready"), "\(role)")
            #expect(names.count > 8, "\(role)")
        }
    }
}
