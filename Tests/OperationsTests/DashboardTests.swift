import EventLoop
import Foundation
import Testing

@Suite("Grafana dashboards") struct DashboardTests {
    /// A panel's place on the grid of 24 columns.
    private struct Place {
        let x, y, width, height: Int

        func overlaps(_ other: Place) -> Bool {
            x < other.x + other.width && other.x < x + width && y < other.y + other.height
                && other.y < y + height
        }
    }

    @Test("Ids are unique, panels don't overlap, and each says what it shows in which unit")
    func panels() throws {
        let boards = try DeployFiles.dashboards()
        #expect(boards.count == 4)
        let identifiers = boards.compactMap { $0.board["uid"] as? String }
        #expect(Set(identifiers).count == boards.count)
        #expect(Set(boards.compactMap { $0.board["title"] as? String }).count == boards.count)
        for (name, board) in boards {
            let panels = try #require(board["panels"] as? [[String: Any]])
            #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count, "\(name)")
            var places: [Place] = []
            for panel in panels {
                let title = try #require(panel["title"] as? String)
                let grid = try #require(panel["gridPos"] as? [String: Int])
                let place = Place(
                    x: try #require(grid["x"]), y: try #require(grid["y"]), width: try #require(grid["w"]),
                    height: try #require(grid["h"]))
                #expect(place.x >= 0 && place.x + place.width <= 24, "\(name): \(title)")
                #expect(!places.contains { $0.overlaps(place) }, "\(name): \(title)")
                places.append(place)
                guard panel["type"] as? String != "row" else { continue }
                #expect((panel["description"] as? String)?.hasSuffix(".") == true, "\(name): \(title)")
                let fields = (panel["fieldConfig"] as? [String: Any])?["defaults"] as? [String: Any]
                #expect(fields?["unit"] is String, "\(name): \(title)")
                try checkSource(panel, "\(name): \(title)")
                let references = try Self.targets(of: panel).compactMap { $0["refId"] as? String }
                #expect(!references.isEmpty && Set(references).count == references.count, "\(name): \(title)")
            }
        }
    }

    /// Every data source is the board's variable, so that a board works whatever the source is called.
    private func checkSource(_ panel: [String: Any], _ place: String) throws {
        for owner in [panel] + (try Self.targets(of: panel)) {
            let source = try #require(owner["datasource"] as? [String: String])
            #expect(source["uid"] == "${datasource}", "\(place)")
        }
    }

    private static func targets(of panel: [String: Any]) throws -> [[String: Any]] {
        try #require(panel["targets"] as? [[String: Any]])
    }

    @Test("promtool takes every expression, and every metric, label and variable in it exists")
    func expressions() throws {
        let known = KnownSeries(rules: try DeployFiles.rules())
        var file = "groups:\n- name: dashboards\n  rules:\n"
        var count = 0
        for (name, board) in try DeployFiles.dashboards() {
            let list = (board["templating"] as? [String: Any])?["list"] as? [[String: Any]]
            let variables = Set(try #require(list).compactMap { $0["name"] as? String })
            for panel in try #require(board["panels"] as? [[String: Any]]) where panel["targets"] != nil {
                for expression in try Self.targets(of: panel).compactMap({ $0["expr"] as? String }) {
                    let place = "\(name): \(panel["title"] ?? "")"
                    #expect(known.faults(in: expression) == [], "\(place)")
                    #expect(Self.unknownVariables(in: expression, variables) == [], "\(place)")
                    let plain = Self.filled(expression).replacing("'", with: "''")
                    file += "  - {record: 'board:\(count)', expr: '\(plain)'}\n"
                    count += 1
                }
            }
            for definition in list?.compactMap({ $0["definition"] as? String }) ?? [] {
                let inner = definition.dropFirst("label_values(".count).dropLast()
                let metric = inner.prefix(
                    inner.lastIndex(of: ",").map { inner.distance(from: inner.startIndex, to: $0) } ?? 0)
                #expect(known.faults(in: String(metric)) == [], "\(name)")
            }
        }
        #expect(count > 60)
        let directory = try Files.makeTemporaryDirectory(prefix: "peal-test")
        defer { Files.removeTree(directory) }
        try Files.write(path: "\(directory)/boards.yml", text: file)
        let check = try DeployFiles.run(["promtool", "check", "rules", "\(directory)/boards.yml"])
        #expect(check.code == 0, "\(check.output)")
    }

    /// The expression as Grafana would send it.
    private static func filled(_ expression: String) -> String {
        expression.replacing("$__rate_interval", with: "1m").replacing("$__range", with: "1h")
    }

    private static func unknownVariables(in expression: String, _ known: Set<String>) -> [String] {
        filled(expression).split(separator: "$", omittingEmptySubsequences: false).dropFirst().map { part in
            String(part.prefix { $0.isLetter || $0 == "_" })
        }.filter { !known.contains($0) }
    }

    @Test("Every key that is read from Redis, and every field, is documented")
    func redisKeys() throws {
        let document = try DeployFiles.text("docs/redis-keys.md")
        let board = try #require(try DeployFiles.dashboards().first { $0.name == "peal-redis.json" }).board
        var keys: Set<String> = []
        for panel in try #require(board["panels"] as? [[String: Any]]) where panel["targets"] != nil {
            for target in try Self.targets(of: panel) {
                #expect(["hgetall", "xrange"].contains(try #require(target["command"] as? String)))
                keys.insert(try #require(target["keyName"] as? String))
            }
            for transformation in panel["transformations"] as? [[String: Any]] ?? [] {
                let options = transformation["options"] as? [String: Any]
                let names = (options?["include"] as? [String: Any])?["names"] as? [String] ?? []
                for name in names where name != "$time" {
                    // The stream has each field twice, the second time with the sum.
                    let field = name.hasSuffix("_total") ? String(name.dropLast("_total".count)) : name
                    #expect(document.contains("`\(field)`"), "\(field)")
                }
            }
        }
        #expect(keys == ["peal:total:{$app}", "peal:ts:{$app}", "peal:pods", "peal:control"])
        for key in keys { #expect(document.contains(key.replacing("$app", with: "shop")), "\(key)") }
    }
}
