import Foundation
import Testing

/// The style rules that can be checked by reading files.
@Suite("Tidy")
struct TidyTests {
    let tree = SourceTree.shared

    @Test("The tree is found")
    func treeIsFound() {
        #expect(tree.sources.count > 20)
        #expect(tree.tests.count > 20)
        #expect(Manifest(tree.manifest).targets.count > 30)
    }

    @Test("No Swift file is longer than 500 lines")
    func fileLength() {
        let long = tree.swift.filter { $0.lines.count > 501 }.map { "\($0.path): \($0.lines.count)" }
        #expect(long == [])
    }

    @Test("No function is longer than 70 lines")
    func functionLength() {
        var long: [String] = []
        for file in tree.swift {
            for function in SwiftCode(file.text).functions where function.length > 70 {
                long.append("\(file.path):\(function.line): \(function.length) lines")
            }
        }
        #expect(long == [])
    }

    @Test("No line is wider than 110 columns and none holds a tab or trailing space")
    func lineShape() {
        var faults: [String] = []
        for file in tree.swift {
            for (index, line) in file.lines.enumerated() {
                // A literal that can't be broken may stick out: what counts is where the code ends.
                let isComment = line.drop { $0 == " " }.hasPrefix("//")
                let width =
                    isComment
                    ? line.count
                    : (file.code[index].lastIndex { $0 != " " }).map {
                        file.code[index].distance(from: file.code[index].startIndex, to: $0) + 1
                    } ?? 0
                let isWide = width > 110 && file.path.hasPrefix("Sources/")
                if isWide || line.contains("\t") || line.hasSuffix(" ") {
                    faults.append("\(file.path):\(index + 1)")
                }
            }
        }
        #expect(faults == [])
    }

    @Test("No leftover markers")
    func leftovers() {
        let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X:", "HA" + "CK:"]
        expectNone(tree.swift) { line in words.contains { line.contains($0) } }
    }

    @Test("Nothing in Sources may trap on purpose: no forced try, cast or unwrap, no fatal error")
    func traps() throws {
        let forced = try Regex("[A-Za-z0-9_)\\]>?]!(?!=)")
        expectNoneInCode(tree.sources) { line in
            line.contains("fatal" + "Error(") || line.contains(forced)
        }
    }

    @Test("Sources don't import Foundation")
    func foundation() {
        expectNoneInCode(tree.sources) { $0.contains("import Foundation") }
    }

    @Test("Every import is a dependency that Package.swift grants")
    func imports() {
        let targets = Manifest(tree.manifest).targets
        let system: Set = ["Glibc", "Synchronization", "Testing", "Foundation", "FoundationEssentials"]
        var faults: [String] = []
        for target in targets where !target.isC {
            let files = tree.swift.filter { $0.path.hasPrefix(target.folder + "/") }
            #expect(!files.isEmpty, "\(target.name) has no files in \(target.folder)")
            let granted = system.union(target.dependencies)
            for file in files {
                for module in Self.imports(of: file) where !granted.contains(module) {
                    faults.append("\(file.path) imports \(module)")
                }
            }
        }
        #expect(faults == [])
    }

    @Test("A target depends only on targets above it in Package.swift")
    func layers() {
        var known: Set<String> = []
        for target in Manifest(tree.manifest).targets {
            for name in target.dependencies where !known.contains(name) {
                Issue.record("\(target.name) depends on \(name), which isn't declared before it")
            }
            known.insert(target.name)
        }
    }

    @Test("Each C module is imported by one target")
    func oneDoorEach() {
        let targets = Manifest(tree.manifest).targets
        for door in targets where door.isC {
            let users = targets.filter { target in
                tree.swift.contains {
                    $0.path.hasPrefix(target.folder + "/") && Self.imports(of: $0).contains(door.name)
                }
            }
            #expect(users.count <= 1, "\(door.name) is imported by \(users.map(\.name))")
        }
    }

    /// Properties whose type says what they are may go without; so may the members that a protocol documents.
    @Test("Every type and function that other targets see has a doc comment")
    func documented() throws {
        let declaration = try Regex(
            "^ *(@[a-zA-Z()]+ +)*(package|public) .*(func|struct|class|enum|protocol|typealias|subscript)[ (]"
        )
        let requirements = Set(tree.sources.flatMap(Self.requirements))
        var faults: [String] = []
        for file in tree.sources {
            for (index, line) in file.code.enumerated() where line.contains(declaration) {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                let name = words.firstIndex(of: "func").flatMap { words.dropFirst($0 + 1).first } ?? ""
                // An operator has no name here; its protocol documents it.
                if let rest = line.split(separator: " func ").dropFirst().first, rest.first?.isLetter != true
                {
                    continue
                }
                if line.contains("import ") || requirements.contains(String(name)) { continue }
                if !Self.isDocumented(file.lines, index) {
                    faults.append("\(file.path):\(index + 1): \(line)")
                }
            }
        }
        #expect(faults == [])
    }

    @Test("No path of somebody's machine")
    func machinePaths() {
        let paths = ["/ro" + "ot/", "/ho" + "me/", "/wo" + "rk/", "/tm" + "p/wt"]
        expectNone(tree.allText) { line in paths.contains { line.contains($0) } }
    }
}

extension TidyTests {
    private func expectNone(_ files: [SourceFile], _ isFault: (Substring) -> Bool) {
        var faults: [String] = []
        for file in files {
            for (index, line) in file.lines.enumerated() where isFault(line) {
                faults.append("\(file.path):\(index + 1): \(line)")
            }
        }
        #expect(faults == [])
    }

    private func expectNoneInCode(_ files: [SourceFile], _ isFault: (Substring) -> Bool) {
        var faults: [String] = []
        for file in files {
            for (index, line) in file.code.enumerated() where isFault(line) {
                faults.append("\(file.path):\(index + 1): \(line)")
            }
        }
        #expect(faults == [])
    }

    private static func imports(of file: SourceFile) -> [String] {
        file.code.compactMap { line in
            var words = line.split(separator: " ")
            while let first = words.first, first != "import" {
                guard
                    ["package", "public", "internal", "private", "@testable", "@preconcurrency"].contains(
                        first)
                else { return nil }
                words.removeFirst()
            }
            guard words.count > 1 else { return nil }
            let name = words.count > 2 ? words[2] : words[1]
            return name.split(separator: ".").first.map(String.init)
        }
    }

    /// The names of the functions that the file's protocols ask for.
    private static func requirements(of file: SourceFile) -> [String] {
        var names: [String] = []
        var isInside = false
        for line in file.code {
            if line.contains("protocol ") && line.contains("{") { isInside = !line.contains("}") }
            if isInside, let name = line.split(separator: "func ").dropFirst().first {
                names.append(String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" }))
            }
            if line.hasPrefix("}") { isInside = false }
        }
        return names
    }

    /// A doc comment above, with nothing but attributes between.
    private static func isDocumented(_ lines: [Substring], _ index: Int) -> Bool {
        var at = index - 1
        while at >= 0 {
            let code = lines[at].drop { $0 == " " }
            if code.hasPrefix("///") { return true }
            guard code.hasPrefix("@") else { return false }
            at -= 1
        }
        return false
    }
}

@Suite("The tidy test's own reader")
struct SwiftCodeTests {
    @Test("Comments and strings are blanked, code is kept")
    func blanking() {
        let code = SwiftCode("let a = \"x! \\(b + \"{\") {\" // y!\nlet c = d /* { */ + 1\n")
        let kept = code.lines.map { $0.replacing(" ", with: "") }
        #expect(kept == ["leta=\"\"", "letc=d+1", ""])
    }

    @Test("Long and raw strings are blanked")
    func longStrings() {
        let code = SwiftCode("a(\"\"\"\n  \"x\" {\n  \"\"\")\nb(#\"\\\" } \"#)\n")
        #expect(!code.bytes.contains(UInt8(ascii: "{")))
        #expect(!code.bytes.contains(UInt8(ascii: "}")))
    }

    @Test("A function's length runs from its keyword to its closing brace")
    func functionLengths() {
        let text = """
            protocol P {
                func a()
                func b() -> Int
            }
            struct S {
                func long(
                    _ x: Int
                ) -> Int
                where Int: P
                {
                    if x > 0 { return 1 }
                    return 2
                }
            }
            """
        #expect(SwiftCode(text).functions == [FunctionSpan(line: 6, length: 8)])
    }
}
