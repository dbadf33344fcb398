import Foundation
import Testing
import YAML

/// The files for those who run Peal, and the tools that judge them.
enum DeployFiles {
    /// The repository.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    static let prometheus = root + "/deploy/prometheus"
    static let rulesPath = prometheus + "/peal.rules.yml"
    static let dashboardsPath = root + "/deploy/grafana/dashboards"

    static func text(_ path: String) throws -> String {
        try String(contentsOfFile: path.hasPrefix("/") ? path : "\(root)/\(path)", encoding: .utf8)
    }

    /// Every rule of the rule file, in order.
    static func rules() throws -> [Rule] {
        let file = try YAMLDocument.parse(text: try text(rulesPath))
        let groups = try #require(file["groups"]?.elements)
        return try groups.flatMap { try #require($0["rules"]?.elements).map(Rule.init) }
    }

    /// The dashboards, by their file names.
    static func dashboards() throws -> [(name: String, board: [String: Any])] {
        try FileManager.default.contentsOfDirectory(atPath: dashboardsPath).sorted().map { name in
            let bytes = try #require(FileManager.default.contents(atPath: "\(dashboardsPath)/\(name)"))
            return (name, try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any]))
        }
    }

    /// Runs a program to its end.
    /// - Returns: its exit code, and what it wrote to both outputs.
    static func run(_ words: [String], in directory: String? = nil) throws -> (code: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let bytes = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
    }
}

/// A recording or alert rule.
struct Rule {
    /// The name of its series, or of its alert.
    let name: String
    let isAlert: Bool
    let expression: String
    let labels: [String: String]
    let annotations: [String: String]

    init(_ node: YAMLNode) throws {
        isAlert = node["alert"] != nil
        name = try #require((node["alert"] ?? node["record"])?.text)
        expression = try #require(node["expr"]?.text)
        labels = Self.texts(node["labels"])
        annotations = Self.texts(node["annotations"])
    }

    private static func texts(_ node: YAMLNode?) -> [String: String] {
        Dictionary(
            (node?.entries ?? []).map { ($0.key, $0.value.text ?? "") },
            uniquingKeysWith: { first, _ in first })
    }
}
