import Foundation
import Terminal
import Testing

@testable import PealKit

/// What is generated for shells and for `man`, of the real programs.
@Suite struct ShellsTests {
    /// The folder of the executables that were built beside this test bundle.
    private static func folder() throws -> URL {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var folder = URL(fileURLWithPath: own).deletingLastPathComponent()
        for _ in 0..<4 {
            let candidate = folder.appendingPathComponent("peal-producer")
            if FileManager.default.isExecutableFile(atPath: candidate.path) { return folder }
            folder.deleteLastPathComponent()
        }
        throw CocoaError(.fileNoSuchFile)
    }

    private func run(_ path: String, _ arguments: [String]) throws -> (code: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    private func tool(_ names: String...) -> String? {
        names.lazy.map { "/usr/bin/\($0)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// A command of a program that is missing here would be missing in completions and pages.
    @Test func everyProgramIsDescribedAsItDescribesItself() throws {
        let folder = try Self.folder()
        #expect(
            Programs.all.map(\.name).sorted() == [
                "peal", "peal-producer", "peal-retry", "peal-simulator", "peal-worker",
            ])
        for program in Programs.all {
            let path = folder.appendingPathComponent(program.name).path
            let shown = try run(path, ["--help"])
            guard case .help(let text) = try ArgumentParser.parse(["--help"], for: program) else {
                Issue.record("no help")
                continue
            }
            #expect(shown.code == 0 && shown.output == text)
            #expect(try run(path, ["--version"]).output == "\(program.name) \(Programs.version)\n")
        }
    }

    @Test func thePagesAreWrittenAndFormattersFindNoFault() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "peal-man-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let peal = try Self.folder().appendingPathComponent("peal").path
        #expect(try run(peal, ["man", "--dir", folder.path]).code == 0)
        for program in Programs.all {
            let page = folder.appending(path: "\(program.name).1").path
            let text = try String(contentsOfFile: page, encoding: .utf8)
            #expect(text.contains(".SH NAME\n") && text.contains(".SH SEE ALSO\n"))
            #expect(try run(peal, ["man", program.name]).output.hasPrefix(text.prefix(60)))
            if let mandoc = tool("mandoc") {
                #expect(try run(mandoc, ["-Tlint", "-Wwarning", page]).output == "")
            }
            if let groff = tool("groff") {
                let shown = try run(groff, ["-man", "-ww", "-Tutf8", "-z", page])
                #expect(shown.code == 0 && shown.output == "")
            }
        }
        #expect(try run(peal, ["man", "--dir", folder.path + "/none"]).code == 2)
        #expect(try run(peal, ["man", "peal-nothing"]).code == 64)
    }

    @Test func aPageBearsTheDayThatItIsGiven() {
        let pages = ManCommand.pages(epochS: 1_767_225_600)
        #expect(pages.allSatisfy { $0.text.contains(" 1 2026-01-01 ") })
        #expect(ManCommand.pages(epochS: .max).first?.text.contains("9999-12-31") == true)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func aShellTakesTheScriptOfAllPrograms(shell: String) throws {
        let peal = try Self.folder().appendingPathComponent("peal").path
        let made = try run(peal, ["completions", shell])
        #expect(made.code == 0)
        for program in Programs.all { #expect(made.output.contains(program.name)) }
        let file = FileManager.default.temporaryDirectory.appending(path: "peal-\(UUID().uuidString)")
        try Data(made.output.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        if let path = tool(shell) ?? (shell == "bash" ? "/bin/bash" : nil) {
            let checked = try run(path, ["-n", file.path])
            #expect(checked.code == 0 && checked.output == "")
        }
        #expect(try run(peal, ["completions", "csh"]).code == 64)
        #expect(try run(peal, ["completions"]).code == 64)
    }
}
