import Foundation

/// What Package.swift says, read from its text: names, folders and dependencies of every target, in order.
struct Manifest {
    struct Target {
        let name: String
        let folder: String
        let dependencies: [String]
        let isC: Bool
    }

    let targets: [Target]

    init(_ text: String) {
        var found: [Target] = []
        let body = text.range(of: "targets: [\n").map { text[$0.upperBound...] } ?? text[...]
        for start in Self.starts(in: body) {
            let call = Self.call(body[start...])
            let strings = Self.strings(in: call)
            guard let name = strings.first else { continue }
            let folder: String
            let rest: ArraySlice<String>
            if call.hasPrefix("shared(") {
                folder = "Sources/Shared/\(name)"
                rest = strings.dropFirst()
            } else if call.hasPrefix("door(") {
                folder = "Sources/Shared/C/\(name)"
                rest = []
            } else if call.hasPrefix("tests(") {
                folder = "Tests/\(name)"
                rest = strings.dropFirst()
            } else if call.hasPrefix(".target(") {
                folder =
                    Self.strings(in: call.range(of: "path:").map { call[$0.upperBound...] } ?? "").first ?? ""
                rest = Self.strings(in: Self.array(after: "dependencies:", in: call))[...]
            } else {
                folder = strings.count > 1 ? strings[1] : ""
                rest = strings.dropFirst(2)
            }
            found.append(
                Target(
                    name: name, folder: folder, dependencies: Array(rest),
                    isC: folder.hasPrefix("Sources/Shared/C/")))
        }
        targets = found
    }

    private static func starts(in text: Substring) -> [String.Index] {
        var found: [String.Index] = []
        var lineStart = text.startIndex
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            lineStart = line.startIndex
            let code = line.drop { $0 == " " }
            let depth = line.count - code.count
            let calls = ["shared(", "library(", "door(", "executable(", "tests(", ".target("]
            if depth == 8, calls.contains(where: { code.hasPrefix($0) }) { found.append(code.startIndex) }
            if lineStart == text.endIndex { break }
        }
        return found
    }

    /// From the call's name to its closing parenthesis.
    private static func call(_ text: Substring) -> Substring {
        var depth = 0
        for index in text.indices {
            if text[index] == "(" { depth += 1 }
            if text[index] == ")" {
                depth -= 1
                if depth == 0 { return text[...index] }
            }
        }
        return text
    }

    private static func array(after label: String, in text: Substring) -> Substring {
        guard let from = text.range(of: label)?.upperBound, let end = text[from...].firstIndex(of: "]")
        else { return "" }
        return text[from...end]
    }

    private static func strings(in text: Substring) -> [String] {
        text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .compactMap { $0.offset % 2 == 1 ? String($0.element) : nil }
    }
}
