import Core
import Foundation
import Jobs
import Testing

@testable import Rendering

/// The examples in docs/job-format.md are what they say.
@Suite struct DocumentationTests {
    static func page() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/job-format.md"), encoding: .utf8)
    }

    /// The JSON blocks of a text, without the white space between tokens.
    static func blocks(_ text: Substring) -> [String] {
        text.components(separatedBy: "```json\n").dropFirst().compactMap { part in
            guard let end = part.range(of: "```") else { return nil }
            var out = ByteBuffer()
            Array(part[..<end.lowerBound].utf8).withUnsafeBytes { JSONCompact.append($0, to: &out) }
            return out.text
        }
    }

    @Test func `Every job in the documentation is accepted`() throws {
        let jobs = Self.blocks(try Self.page()[...]).filter { $0.contains(#""app":"#) }
        #expect(jobs.count >= 9)
        for job in jobs { try withJob(job) { #expect($0.app.string.isEmpty == false) } }
    }

    @Test(arguments: PayloadProfile.allCases)
    func `Every profile's example renders to the payloads beside it`(profile: PayloadProfile) throws {
        let page = try Self.page()
        let start = try #require(page.range(of: "### \(profile.rawValue)\n"))
        let rest = page[start.upperBound...]
        let end = rest.range(of: "\n##")?.lowerBound ?? rest.endIndex
        let blocks = Self.blocks(rest[..<end])
        try #require(blocks.count == 3)
        let settings = RenderSettings(profile: profile, appName: "App")
        let badge: Int64? = try withJob(blocks[0]) { $0.wantsBadge } ? 1 : nil
        #expect(try apns(blocks[0], settings, badge: badge).body == blocks[1])
        #expect(try fcm(blocks[0], settings, badge: badge).body == blocks[2])
    }

    @Test func `Every fault code, type and field is in the documentation`() throws {
        let page = try Self.page()
        for code in JobFault.Code.allCases {
            #expect(page.contains("`\(code.rawValue)`"), "\(code.rawValue)")
        }
        for type in JobType.allCases { #expect(page.contains("`\(type.word)`"), "\(type.word)") }
    }
}
