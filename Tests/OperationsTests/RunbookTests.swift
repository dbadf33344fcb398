import Foundation
import Terminal
import Testing

@testable import PealKit

@Suite("docs/operations.md") struct RunbookTests {
    /// A section of the document.
    private struct Section {
        var title: String
        var text: String
        /// As GitHub makes it of the title.
        var anchor: String {
            String(
                title.lowercased().compactMap { character in
                    character == " "
                        ? "-" : character.isLetter || character.isNumber || character == "-" ? character : nil
                })
        }
    }

    private func sections() throws -> [Section] {
        var sections: [Section] = []
        for line in try DeployFiles.text("docs/operations.md").split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("## ") || line.hasPrefix("### ") {
                sections.append(Section(title: String(line.drop { $0 == "#" }.dropFirst()), text: ""))
            } else if !sections.isEmpty {
                sections[sections.count - 1].text += line + "\n"
            }
        }
        return sections
    }

    @Test("Every alert leads to a section that names it and says its symptoms, checks and levers")
    func alerts() throws {
        let sections = try sections()
        #expect(Set(sections.map(\.anchor)).count == sections.count)
        for alert in try DeployFiles.rules() where alert.isAlert {
            let link = try #require(alert.annotations["runbook_url"])
            #expect(link.hasPrefix("docs/operations.md#"), "\(alert.name)")
            let anchor = link.split(separator: "#").last.map(String.init)
            guard let section = sections.first(where: { $0.anchor == anchor }) else {
                Issue.record("\(alert.name) leads to \(link), which is not there")
                continue
            }
            #expect(section.text.contains("`\(alert.name)`"), "\(section.title) does not name \(alert.name)")
            for part in ["**Symptoms.**", "**Check.**", "**Lever.**"] {
                #expect(section.text.contains(part), "\(section.title) has no \(part)")
            }
        }
    }

    @Test("Every section about a fault has the three parts, in order")
    func parts() throws {
        let faults = try sections().filter { $0.text.contains("**Symptoms.**") }
        #expect(faults.count >= 18)
        for section in faults {
            let places = ["**Symptoms.**", "**Check.**", "**Lever.**"].map {
                section.text.range(of: $0)?.lowerBound
            }
            #expect(places.allSatisfy { $0 != nil }, "\(section.title)")
            let known = places.compactMap { $0 }
            #expect(known == known.sorted(), "\(section.title)")
        }
    }

    @Test("Every command of peal that is named exists, and so does every file and section that is linked")
    func references() throws {
        let text = try DeployFiles.text("docs/operations.md")
        let commands = Set(PealCommand.command.subcommands.map(\.name))
        for match in text.matches(of: /(?:^|[`\s(])peal ([a-z]+)/.anchorsMatchLineEndings()) {
            let word = String(match.1)
            // A command is written as one: in backquotes, or at the beginning of a line of a block.
            guard text[match.range].first == "`" || text[match.range].hasPrefix("peal") else { continue }
            #expect(commands.contains(word), "there is no peal \(word)")
        }
        let anchors = Set(try sections().map(\.anchor))
        for match in text.matches(of: /\]\(([^)\s]+)\)/) {
            let parts = match.1.split(separator: "#", omittingEmptySubsequences: false)
            if let file = parts.first, !file.isEmpty, !file.hasPrefix("http") {
                let path = "\(DeployFiles.root)/docs/\(file)"
                #expect(FileManager.default.fileExists(atPath: path), "\(match.1)")
            } else if parts.count > 1 {
                #expect(anchors.contains(String(parts[1])), "\(match.1)")
            }
        }
    }
}
