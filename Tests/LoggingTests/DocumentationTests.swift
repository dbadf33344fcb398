import Core
import Foundation
import Testing

/// docs/logging.md says what the code does.
@Suite struct DocumentationTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private func text() throws -> String {
        try String(contentsOf: Self.root.appending(path: "docs/logging.md"), encoding: .utf8)
    }

    /// The first cells of the table under a heading, without backquotes.
    private func names(under heading: String, table: Int = 0) throws -> [String] {
        let section = try #require(try text().components(separatedBy: "\n## \(heading)\n").dropFirst().first)
            .components(separatedBy: "\n## ")[0]
        var tables: [[String]] = []
        var isInTable = false
        for line in section.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("|") {
                if !isInTable { tables.append([]) }
                tables[tables.count - 1].append(String(line.split(separator: "|")[0]))
            }
            isInTable = line.hasPrefix("|")
        }
        try #require(tables.count > table)
        return tables[table].dropFirst(2).flatMap { cell in
            cell.split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " `")) }
        }
    }

    private func sources() throws -> String {
        let folder = Self.root.appending(path: "Sources").path()
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
        return try files.filter { $0.hasSuffix(".swift") }.map {
            try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)
        }.joined()
    }

    @Test func itListsEverySubsystem() throws {
        #expect(try names(under: "Subsystems") == LogSubsystem.allCases.map(\.rawValue))
    }

    @Test func everyLoggerOfTheServicesIsAKnownSubsystem() throws {
        let code = try sources()
        for match in code.matches(of: /\.child\("([a-z]+)"/) {
            #expect(LogSubsystem(rawValue: String(match.1)) != nil, "\(match.1)")
        }
    }

    @Test func itListsTheFieldsOfADelivery() throws {
        let file = Self.root.appending(path: "Sources/Worker/Kit/DeliveryLine.swift")
        let code = try String(contentsOf: file, encoding: .utf8)
        let body = try #require(code.components(separatedBy: "enum DeliveryField").dropFirst().first)
            .components(separatedBy: "\n}\n")[0]
        let fields = body.matches(of: /\n    case ([a-zA-Z]+)(?: = "([a-z_]+)")?/).map {
            String($0.2 ?? $0.1)
        }
        #expect(fields.count > 10)
        #expect(Set(try names(under: "What became of a job", table: 1)) == Set(fields))
    }

    @Test func everyEventThatItNamesIsWritten() throws {
        let code = try sources()
        let events = try names(under: "What to do about a line") + names(under: "What became of a job")
        #expect(events.count > 12)
        for event in events { #expect(code.contains("\"\(event)\""), "\(event)") }
    }
}
