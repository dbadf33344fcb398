import Foundation

/// One text file of the repository.
struct SourceFile: Sendable {
    /// Relative to the repository's root, such as `Sources/Shared/Core/Hash.swift`.
    let path: String
    let text: String
    /// The same without comments and literals; only for Swift files.
    let code: [Substring]

    init(path: String, text: String) {
        self.path = path
        self.text = text
        code = path.hasSuffix(".swift") ? SwiftCode(text).lines : []
    }

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
}

/// The repository's files, read once.
struct SourceTree: Sendable {
    static let shared = SourceTree()

    let root: URL
    let sources: [SourceFile]
    let tests: [SourceFile]
    let manifest: String

    /// Everything that is text and that a reader of the repository sees.
    let allText: [SourceFile]

    var swift: [SourceFile] { sources + tests }

    private init() {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        self.root = root
        sources = Self.read(root, "Sources", ["swift"])
        tests = Self.read(root, "Tests", ["swift"])
        manifest =
            (try? String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)) ?? ""
        let kinds = ["swift", "h", "c", "cpp", "md", "yaml", "yml", "json", "ndjson", "lua", "service", "sh"]
        var all: [SourceFile] = []
        for folder in ["Sources", "Tests", "docs", "deploy"] { all += Self.read(root, folder, kinds) }
        for name in ["Package.swift", "Makefile", "README.md"] {
            let url = root.appendingPathComponent(name)
            if let text = try? String(contentsOf: url, encoding: .utf8) {
                all.append(SourceFile(path: name, text: text))
            }
        }
        allText = all
    }

    private static func read(_ root: URL, _ folder: String, _ kinds: [String]) -> [SourceFile] {
        let base = root.appendingPathComponent(folder)
        guard let walk = FileManager.default.enumerator(atPath: base.path) else { return [] }
        var files: [SourceFile] = []
        while let name = walk.nextObject() as? String {
            guard kinds.contains(URL(fileURLWithPath: name).pathExtension),
                let text = try? String(contentsOf: base.appendingPathComponent(name), encoding: .utf8)
            else { continue }
            files.append(SourceFile(path: "\(folder)/\(name)", text: text))
        }
        return files.sorted { $0.path < $1.path }
    }
}
